//! How finely a store counts: the arithmetic that a quota is settled for.

/// The arithmetic of a store. A quota is exact in the one that it was settled for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Integers of 64 bits, and time from a nanosecond on: what there is in memory.
    #[default]
    Integer,
    /// Doubles, which are whole up to 2⁵³, and time from a microsecond on: what a script on Redis has.
    Double,
}

impl Precision {
    /// The finest tick, in nanoseconds.
    pub(crate) const fn tick_min(self) -> u64 {
        match self {
            Self::Integer => 1,
            Self::Double => 1_000,
        }
    }

    /// Products of units and parts stay below this, so that the sum of two of them is held as well.
    pub(crate) const fn product_max(self) -> u64 {
        match self {
            Self::Integer => 1 << 62,
            Self::Double => 1 << 52,
        }
    }

    /// The same for intermediate results, which integers can hold in twice as many bits.
    pub(crate) const fn wide_max(self) -> u128 {
        match self {
            Self::Integer => 1 << 126,
            Self::Double => 1 << 52,
        }
    }

    /// The most that a state can say is used: what goes beyond it is cut off.
    pub(crate) const fn level_max(self) -> u64 {
        match self {
            Self::Integer => u64::MAX,
            Self::Double => (1 << 53) - 1,
        }
    }
}
