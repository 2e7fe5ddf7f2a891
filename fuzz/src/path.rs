//! Paths: one normal form for every spelling, and no spelling by which a request escapes its policy.

use std::sync::{Arc, LazyLock};

use weir_core::path::normal_form;
use weir_core::{PATH, PolicySet};

use crate::support;

/// A key for each path, and a condition on some of them.
static POLICIES: LazyLock<Arc<PolicySet>> = LazyLock::new(|| {
    support::policies(
        "domain: fuzz\npolicies:\n  - { name: each, key: [path], quota: 5/minute }\n  \
         - { name: below-admin, when: { path: /admin/** }, quota: 5/minute }\n",
    )
});

/// Takes the input as a path, what is not UTF-8 replaced.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let normal = normal_form(&text);
    is_normal(&normal);
    assert_eq!(normal_form(&normal), normal, "the normal form of {text:?} has another normal form");
    assert_eq!(meaning(&normal), meaning(&text), "{normal:?} is not what {text:?} means");
    every_spelling_has_that_form(&text, &normal);
    policies_see_the_normal_form(&text);
}

/// Starts with a slash; no segment is empty or made of dots, but for a slash at the end; each byte is written
/// in the one way that it can be.
fn is_normal(path: &str) {
    assert!(path.starts_with('/'), "{path:?}");
    for segment in path.strip_suffix('/').unwrap_or(path).split('/').skip(1) {
        assert!(!matches!(segment, "" | "." | ".."), "{path:?} has the segment {segment:?}");
        let mut rest = segment.as_bytes();
        while let Some((&first, after)) = rest.split_first() {
            if let Some((byte, after)) = triplet(rest) {
                assert!(!is_plain(byte), "{path:?} encodes {byte:#x} for nothing");
                assert!(!rest[..3].iter().any(u8::is_ascii_lowercase), "{path:?} has two spellings");
                rest = after;
            } else {
                assert!(is_plain(first), "{path:?} has a bare {first:#x}");
                rest = after;
            }
        }
    }
}

/// What a path says, however it is spelt: its segments as bytes, and whether a slash ends it.
fn meaning(path: &str) -> (Vec<Vec<u8>>, bool) {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    let mut is_open = true;
    for segment in before_query(path).split('/') {
        let bytes = decoded(segment);
        is_open = matches!(&bytes[..], b"" | b"." | b"..");
        match &bytes[..] {
            b"" | b"." => {}
            b".." => drop(kept.pop()),
            _ => kept.push(bytes),
        }
    }
    let is_open = is_open || kept.is_empty();
    (kept, is_open)
}

/// Ways to write the same path that clients try.
fn every_spelling_has_that_form(text: &str, normal: &str) {
    let path = before_query(text);
    let spellings = [
        path.to_owned(),
        encoded(path),
        path.replace('/', "//"),
        path.replace('/', "/./"),
        path.replace('/', "/%2E/x/%2e./"),
        format!("/x/../{path}"),
        format!("/../{path}"),
        format!("{path}?/../{path}"),
        format!("{path}#{text}"),
    ];
    for spelling in spellings {
        assert_eq!(normal_form(&spelling), normal, "{spelling:?} and {text:?} are the same path");
    }
}

/// The key and the conditions of a request go by the normal form of its path, blanks around it left out.
fn policies_see_the_normal_form(text: &str) {
    let given = support::charges(&POLICIES, &[(PATH, text)]);
    if text.trim().is_empty() {
        assert!(given.charges.is_empty(), "a path that is not there was charged");
        assert_eq!(given.skipped.as_slice(), [0_usize], "blanks are a path that is not there");
        return;
    }
    let normal = normal_form(text.trim());
    assert_eq!(support::charges(&POLICIES, &[(PATH, &*normal)]), given, "{text:?} escapes by its spelling");
    let is_below = normal == "/admin" || normal.starts_with("/admin/");
    assert_eq!(given.charges.len(), 1 + usize::from(is_below), "{text:?} is {normal:?}");
}

fn before_query(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or_default()
}

fn decoded(segment: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = segment.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let (byte, after) = triplet(rest).unwrap_or((first, after));
        bytes.push(byte);
        rest = after;
    }
    bytes
}

/// Encodes all that can be: everything but slashes, and what is encoded already.
fn encoded(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let (byte, after) = triplet(rest).unwrap_or((first, after));
        let is_separator = first == b'/';
        out.push_str(&if is_separator { "/".to_owned() } else { format!("%{byte:02x}") });
        rest = after;
    }
    out
}

/// The byte of a percent-encoding at the start, and what comes after it.
fn triplet(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, after @ ..] = bytes else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some((digit(*high)? * 16 + digit(*low)?, after))
}

/// What a segment may hold as it is: `pchar` of RFC 3986, section 3.3.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}
