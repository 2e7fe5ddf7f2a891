//! The numbers of a call, as a `MessagePack` array: a server reads it in one stroke.

/// Numbers, packed one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed {
    bytes: Vec<u8>,
    count: u32,
}

const FIXINT_MAX: u64 = 0x7f;
const FLOAT_64: u8 = 0xcb;
const ARRAY_32: u8 = 0xdd;

impl Packed {
    /// Adds a whole number. What is beyond 2⁵³ is rounded, as it is where it is read.
    #[expect(clippy::cast_precision_loss, reason = "a double is what the reader has")]
    pub(super) fn push(&mut self, number: u64) {
        match u8::try_from(number) {
            Ok(small) if number <= FIXINT_MAX => {
                self.bytes.push(small);
                self.count += 1;
            }
            _ => self.push_double(number as f64),
        }
    }

    /// Adds a number that may be negative.
    #[expect(clippy::cast_precision_loss, reason = "a double is what the reader has")]
    pub(super) fn push_signed(&mut self, number: i64) {
        match u64::try_from(number) {
            Ok(number) => self.push(number),
            Err(_) => self.push_double(number as f64),
        }
    }

    fn push_double(&mut self, number: f64) {
        self.bytes.push(FLOAT_64);
        self.bytes.extend(number.to_be_bytes());
        self.count += 1;
    }

    /// Adds all numbers of another list.
    pub(super) fn append(&mut self, other: &Self) {
        self.bytes.extend(&other.bytes);
        self.count += other.count;
    }

    /// The array.
    pub(super) fn into_array(self) -> Vec<u8> {
        let mut array = Vec::with_capacity(self.bytes.len() + 5);
        array.push(ARRAY_32);
        array.extend(self.count.to_be_bytes());
        array.extend(self.bytes);
        array
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_small_integers_or_doubles() {
        let mut packed = Packed::default();
        packed.push(5);
        packed.push(128);
        packed.push_signed(-1);
        let mut expected = vec![0xdd, 0, 0, 0, 3, 5, 0xcb];
        expected.extend(128_f64.to_be_bytes());
        expected.push(0xcb);
        expected.extend((-1_f64).to_be_bytes());
        assert_eq!(packed.into_array(), expected);
    }
}
