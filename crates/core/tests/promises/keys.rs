//! Promise 8: different values are different keys, whatever their bytes.

use proptest::prelude::*;
use weir_core::{Key, KeyBuilder, KeySecret};

use crate::hold;

fn key(parts: &[Vec<u8>]) -> Key {
    parts.iter().fold(KeyBuilder::new(&KeySecret::new([3; 16])), |key, part| key.part(part)).key()
}

#[test]
fn promise_8_no_two_lists_of_parts_share_a_key() {
    // Few letters and short parts, so that imitations of separators are tried often.
    let letter = prop::sample::select(b"ab:|\0\n%".to_vec());
    let parts = || prop::collection::vec(prop::collection::vec(letter.clone(), 0..4), 0..4);
    hold(20_000, (parts(), parts()), |(a, b)| {
        prop_assert_eq!(key(&a) == key(&b), a == b);
        Ok(())
    });
}

#[test]
fn promise_8_paths_have_one_normal_form() {
    let piece = prop::sample::select(vec![
        "/", "//", ".", "..", "a", "B", "%", "%2e", "%2F", "%41", "%zz", "?", "#", "é",
    ]);
    hold(20_000, prop::collection::vec(piece, 0..12), |pieces| {
        let path = pieces.concat();
        let normal = weir_core::path::normal_form(&path);
        prop_assert!(normal.starts_with('/'));
        prop_assert!(!normal.contains("//") && !normal.contains("/./") && !normal.contains("/../"));
        let again = weir_core::path::normal_form(&normal).into_owned();
        prop_assert_eq!(again, normal.into_owned());
        Ok(())
    });
}
