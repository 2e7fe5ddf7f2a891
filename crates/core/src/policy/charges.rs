//! The group of charges that one request brings about.

use smallvec::SmallVec;

use crate::operation::{Batch, Group, Operation};

/// One policy's demand on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// To be decided by the store.
    Ask(Operation),
    /// The policy allows everything.
    Unlimited,
    /// The policy refuses requests that lack an attribute of its key.
    Missing,
}

/// What one request is to be charged, policy by policy, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Charges {
    /// The request is exempt: nothing applies to it.
    pub exempt: bool,
    /// For each policy that applies, its index, the cost in its unit, and the charge.
    pub entries: SmallVec<[(usize, u64, Charge); 2]>,
    /// Policies that would apply but for a missing attribute.
    pub skipped: SmallVec<[usize; 2]>,
}

impl Charges {
    /// The operations for the store.
    pub fn group(&self) -> Group {
        let operation = |(_, _, charge): &(usize, u64, Charge)| match charge {
            Charge::Ask(operation) => Some(*operation),
            Charge::Unlimited | Charge::Missing => None,
        };
        self.entries.iter().filter_map(operation).collect()
    }

    /// The operations of several requests.
    pub fn batch<'a>(charges: impl IntoIterator<Item = &'a Self>) -> Batch {
        charges.into_iter().map(Self::group).collect()
    }
}
