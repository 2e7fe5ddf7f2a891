//! Partition keys: whose allowance it is, as 128 bits that say nothing about the values they came from.

use std::fmt;
use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher13};

use crate::rule::PolicyId;

/// The identity of one allowance in a store.
///
/// SipHash-1-3 with a 128-bit secret and 128 bits of output over a length-prefixed encoding: no client can
/// choose a collision, no value can imitate a separator, and no value reaches the store, a log or a label.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub u128);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:032x})", self.0)
    }
}

/// The secret with which keys are hashed. All nodes that share a store share it.
#[derive(Clone, PartialEq, Eq)]
pub struct KeySecret([u8; 16]);

/// A secret given in words was too short to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key secret has at least {} characters", KeySecret::TEXT_MIN)]
pub struct SecretTooShort;

impl KeySecret {
    /// The fewest characters of a secret given as text.
    pub const TEXT_MIN: usize = 16;

    /// A secret of sixteen bytes, best drawn at random.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// A secret from text of at least [`KeySecret::TEXT_MIN`] characters, condensed to sixteen bytes.
    ///
    /// # Errors
    ///
    /// The text is shorter than that.
    pub fn from_text(text: &str) -> Result<Self, SecretTooShort> {
        if text.chars().count() < Self::TEXT_MIN {
            return Err(SecretTooShort);
        }
        let hash = SipHasher13::new_with_key(b"weir key secret.").hash(text.as_bytes());
        Ok(Self(u128::from(hash).to_le_bytes()))
    }
}

/// Never shows the secret.
impl fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeySecret(..)")
    }
}

/// What the hash takes at a time.
const WORD: usize = 8;
const ZEROS: [u8; WORD] = [0; WORD];

/// Builds keys part by part. Cheap to copy, so that a policy keeps one with its own name already in it.
#[derive(Clone, Copy)]
pub struct KeyBuilder(SipHasher13);

impl KeyBuilder {
    /// A key with nothing in it yet.
    pub fn new(secret: &KeySecret) -> Self {
        Self(SipHasher13::new_with_key(&secret.0))
    }

    /// Adds one part. Its length goes before it, so ("a:b", "c") and ("a", "b:c") differ whatever the bytes.
    #[must_use]
    pub fn part(self, bytes: &[u8]) -> Self {
        self.tagged(0, bytes)
    }

    /// Adds one part of a kind: of another kind, the same bytes are another key.
    #[must_use]
    pub(crate) fn tagged(mut self, kind: u16, bytes: &[u8]) -> Self {
        // No value in memory has 2⁴⁸ bytes, so the kind fits above the length.
        let head = (bytes.len() as u64 | u64::from(kind) << 48).to_le_bytes();
        // Whole words in one stroke are fastest; the length tells the padding from the value.
        let size = head.len() + bytes.len().next_multiple_of(WORD);
        let mut both = [0; 64];
        if let Some(both) = both.get_mut(..size)
            && let Some((start, rest)) = both.split_first_chunk_mut()
            && let Some(value) = rest.get_mut(..bytes.len())
        {
            *start = head;
            value.copy_from_slice(bytes);
            self.0.write(both);
        } else {
            self.0.write(&head);
            self.0.write(bytes);
            self.0.write(ZEROS.get(..size - head.len() - bytes.len()).unwrap_or_default());
        }
        self
    }

    /// The finished key.
    pub fn key(&self) -> Key {
        Key(self.0.finish128().into())
    }

    /// The identity of all keys that begin with these parts.
    pub fn policy_id(&self) -> PolicyId {
        PolicyId(self.0.finish128().h1)
    }
}

impl fmt::Debug for KeyBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyBuilder(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secret: u8, parts: &[&str]) -> Key {
        let start = KeyBuilder::new(&KeySecret::new([secret; 16]));
        parts.iter().fold(start, |key, part| key.part(part.as_bytes())).key()
    }

    #[test]
    fn k01_no_value_imitates_a_separator() {
        for separator in [":", "_", "/", "|", "=", ",", "\0", "\n", "%3A", ""] {
            let joined = format!("a{separator}b");
            let rest = format!("b{separator}c");
            assert_ne!(key(1, &[&joined, "c"]), key(1, &["a", &rest]), "{separator:?}");
        }
        assert_ne!(key(1, &["a", "b", ""]), key(1, &["a", "b"]));
        assert_ne!(key(1, &["a", ""]), key(1, &["", "a"]));
        for value in ["", "a", "eight888", &"x".repeat(63)] {
            assert_ne!(key(1, &[value]), key(1, &[&format!("{value}\0")]), "{value:?}");
        }
    }

    #[test]
    fn k01_keys_are_not_cut_short() {
        for shared in [10, 64, 5_000] {
            let prefix = "x".repeat(shared);
            assert_ne!(key(1, &[&format!("{prefix}1")]), key(1, &[&format!("{prefix}2")]));
        }
    }

    #[test]
    fn keys_depend_on_the_secret_which_is_never_shown() {
        assert_ne!(key(1, &["a"]), key(2, &["a"]));
        assert_eq!(format!("{:?}", KeySecret::new([7; 16])), "KeySecret(..)");
        assert_eq!(KeySecret::from_text("too short"), Err(SecretTooShort));
        assert_ne!(KeySecret::from_text("sixteen letters!"), KeySecret::from_text("sixteen letters?"));
    }
}
