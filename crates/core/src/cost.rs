//! What a request asks for, by unit.

use smallvec::SmallVec;

/// The unit of a bare number.
pub const UNITS: &str = "units";
/// The unit of which every request is one.
pub const REQUESTS: &str = "requests";

/// The units that a caller asks for. What it does not say, the policy decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    amounts: SmallVec<[(Box<str>, u64); 1]>,
    units: Option<u64>,
}

impl Cost {
    /// Nothing said: rules of the policy file, else 1.
    pub fn unsaid() -> Self {
        Self::default()
    }

    /// So many `units`; 0 asks every policy and charges none.
    pub fn units(amount: u64) -> Self {
        Self { units: Some(amount), ..Self::default() }
    }

    /// Adds an amount of a named unit; `requests` is always 1 and cannot be said.
    #[must_use]
    pub fn with(mut self, unit: &str, amount: u64) -> Self {
        match unit {
            UNITS => self.units = Some(amount),
            REQUESTS => {}
            _ => self.amounts.push((unit.into(), amount)),
        }
        self
    }

    /// Whether the caller only asks: a bare 0, and no other unit.
    pub(crate) fn only_asks(&self) -> bool {
        self.units == Some(0) && self.amounts.is_empty()
    }

    /// The amount said for `unit`.
    pub fn of(&self, unit: &str) -> Option<u64> {
        match unit {
            UNITS => self.units,
            REQUESTS => Some(1),
            _ => self.amounts.iter().find(|(name, _)| **name == *unit).map(|(_, amount)| *amount),
        }
    }
}
