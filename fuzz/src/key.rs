//! Keys: equal where all parts are equal and in the same order, and nowhere else.

use std::sync::{Arc, LazyLock};

use weir_core::{Charges, Key, KeyBuilder, KeySecret, PolicySet};

use crate::support;

/// What people put between the parts of a key, and what the encoding of keys has inside.
const SEPARATORS: [char; 10] = [':', '/', '|', ',', '=', ' ', '\0', '\u{1}', 't', '-'];

static POLICIES: LazyLock<Arc<PolicySet>> = LazyLock::new(|| {
    support::policies("domain: fuzz\npolicies:\n  - { name: each, key: [tenant, user], quota: 5/minute }\n")
});

/// Two bytes that say how to split, and what is split.
pub fn check(input: &[u8]) {
    let (first, second, content) = match input {
        [first, second, content @ ..] => (*first, *second, content),
        _ => (0, 0, input),
    };
    let lists = part_lists(content, first, second);
    let keys: Vec<Key> = lists.iter().map(|parts| key(5, parts)).collect();
    for (i, (one, own)) in lists.iter().zip(&keys).enumerate() {
        for (other, theirs) in lists.iter().zip(&keys).skip(i + 1) {
            assert_eq!(own == theirs, one == other, "{one:?} and {other:?}");
        }
        assert_ne!(*own, key(6, one), "the secret is no part of the key of {one:?}");
        a_builder_is_not_spent(one);
    }
    let text = String::from_utf8_lossy(content);
    secrets(&text);
    no_value_imitates_a_separator(&text);
}

/// The content as different lists of parts, some of which may come out equal.
fn part_lists(content: &[u8], first: u8, second: u8) -> Vec<Vec<&[u8]>> {
    let by_first: Vec<&[u8]> = content.split(|byte| *byte == first).collect();
    let by_second: Vec<&[u8]> = content.split(|byte| *byte == second).collect();
    let (head, tail) = content.split_at(usize::from(second) % (content.len() + 1));
    let nothing: &[u8] = b"";
    vec![
        Vec::new(),
        vec![nothing],
        vec![content],
        vec![content, nothing],
        vec![nothing, content],
        vec![head, tail],
        vec![tail, head],
        content.chunks(1 + usize::from(first) % 16).collect(),
        by_first.iter().rev().copied().collect(),
        by_first.iter().skip(1).copied().collect(),
        by_first,
        by_second,
    ]
}

fn builder(secret: u8) -> KeyBuilder {
    KeyBuilder::new(&KeySecret::new([secret; 16]))
}

fn key(secret: u8, parts: &[&[u8]]) -> Key {
    parts.iter().fold(builder(secret), |key, part| key.part(part)).key()
}

/// A policy keeps a builder with its own parts in it, and every request goes on from there.
fn a_builder_is_not_spent(parts: &[&[u8]]) {
    let (own, others) = parts.split_at(parts.len() / 2);
    let start = own.iter().fold(builder(5), |key, part| key.part(part));
    let finish = || others.iter().fold(start, |key, part| key.part(part)).key();
    assert_eq!([finish(), finish()], [key(5, parts); 2], "{parts:?}");
    assert_eq!(format!("{start:?}"), "KeyBuilder(..)");
}

/// A secret is long enough, differs where its text does, and is not shown.
fn secrets(text: &str) {
    let secret = KeySecret::from_text(text);
    assert_eq!(secret.is_ok(), text.chars().count() >= KeySecret::TEXT_MIN, "{text:?}");
    if let Ok(secret) = secret {
        assert_eq!(format!("{secret:?}"), "KeySecret(..)");
        assert_eq!(KeySecret::from_text(text).as_ref(), Ok(&secret));
        assert_ne!(KeySecret::from_text(&format!("{text}\0")), Ok(secret));
    }
}

/// Two values of one request are split elsewhere than two of another, and so are two other parties.
fn no_value_imitates_a_separator(text: &str) {
    let mut seen: Vec<((&str, &str), Charges)> = Vec::new();
    for separator in SEPARATORS {
        let splits = [text.split_once(separator), text.rsplit_once(separator)];
        for (left, right) in splits.into_iter().flatten() {
            for pair in [(left.trim(), right.trim()), (right.trim(), left.trim())] {
                let charges = support::charges(&POLICIES, &[("tenant", pair.0), ("user", pair.1)]);
                if pair.0.is_empty() || pair.1.is_empty() {
                    assert!(
                        charges.charges.is_empty() && charges.skipped.as_slice() == [0_usize],
                        "{pair:?}"
                    );
                    continue;
                }
                for (other, others) in &seen {
                    assert_eq!(charges == *others, pair == *other, "{pair:?} and {other:?}");
                }
                seen.push((pair, charges));
            }
        }
    }
}
