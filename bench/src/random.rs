//! Random numbers that cost next to nothing: which key comes next must not be what is measured.

/// Marsaglia's xorshift with Vigna's multiplier (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    /// Another sequence for each seed.
    pub(crate) const fn new(seed: u64) -> Self {
        // Zero would stay zero.
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) const fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`.
    pub(crate) const fn below(&mut self, end: u32) -> u32 {
        // The product of two numbers of 32 bits, less its lower half, fits 32 bits.
        (((self.draw() >> 32) * end as u64) >> 32) as u32
    }
}
