//! The keys: names of sixteen bytes, made from a number.
//!
//! A table of ten million strings would compete for the cache with what is measured, and count as its memory.
//! So every subject makes the name anew for each decision, in the same few instructions.

/// A name such as `user-aaabcdefghi`.
pub(crate) struct Name([u8; 16]);

/// So many users belong to one tenant.
const USERS_PER_TENANT: u32 = 100;

/// So many users share one device.
const USERS_PER_DEVICE: u32 = 4;

impl Name {
    /// The name of a user, one for each number.
    pub(crate) fn user(number: u32) -> Self {
        Self::of(*b"user-aaa", number)
    }

    /// The name of a user's tenant.
    pub(crate) fn tenant(user: u32) -> Self {
        Self::of(*b"tenant-a", user / USERS_PER_TENANT)
    }

    /// The name of a user's device.
    pub(crate) fn device(user: u32) -> Self {
        Self::of(*b"device-a", user / USERS_PER_DEVICE)
    }

    pub(crate) fn as_str(&self) -> &str {
        // It is ASCII; the check costs all alike.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    fn of(head: [u8; 8], number: u32) -> Self {
        let head = u128::from(u64::from_be_bytes(head));
        Self((head << 64 | u128::from(letters(number))).to_be_bytes())
    }
}

/// The eight hexadecimal digits of a number as the letters a to p, the highest first.
const fn letters(number: u32) -> u64 {
    const A: u64 = u64::from_be_bytes([b'a'; 8]);
    let mut digits = number as u64;
    digits = (digits | digits << 16) & 0x0000_ffff_0000_ffff;
    digits = (digits | digits << 8) & 0x00ff_00ff_00ff_00ff;
    digits = (digits | digits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    digits + A
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_sixteen_bytes_and_differ_as_their_numbers_do() {
        assert_eq!(Name::user(0).as_str(), "user-aaaaaaaaaaa");
        assert_eq!(Name::user(0x0123_4567).as_str(), "user-aaaabcdefgh");
        assert_eq!(Name::user(0xfedc_ba98).as_str(), "user-aaaponmlkji");
        assert_eq!(Name::tenant(100).as_str(), "tenant-aaaaaaaab");
    }
}
