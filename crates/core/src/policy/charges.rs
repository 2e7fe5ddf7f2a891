//! The group of charges that one request brings about.

use smallvec::SmallVec;

use crate::algorithm::Op;
use crate::key::Key;
use crate::operation::Operation;
use crate::policy::Posture;
use crate::recycled::{List, recycled};
use crate::rule::Rule;

/// One policy's demand on one partition key by one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The index of the policy in its set.
    pub policy: usize,
    /// The units asked for, in the policy's unit.
    pub cost: u64,
    /// Whether a refusal refuses the request. A shadow's does not.
    pub enforced: bool,
    /// The place of the policy among those of its set, the narrowest first.
    pub rank: u16,
    /// What the policy does without its store, at the layer where the request was met.
    pub posture: Posture,
    /// What is demanded.
    pub demand: Demand,
}

/// What a charge demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// That the store decides about this key.
    Ask {
        /// Whose allowance.
        key: Key,
        /// How it is counted.
        rule: Rule,
    },
    /// Nothing: the policy allows everything.
    Unlimited,
    /// A refusal: the request lacks an attribute of the key, and the policy denies such requests.
    Missing,
}

recycled!(Charge);

/// What one request is to be charged, policy by policy, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Charges {
    /// The request is exempt: nothing applies to it.
    pub exempt: bool,
    /// One charge for each policy that applies.
    pub charges: List<Charge>,
    /// The indices of policies that would apply but for a missing attribute.
    pub skipped: SmallVec<[usize; 2]>,
    /// Nothing is to be charged, only asked: a dry run, or a request that is refused anyhow.
    pub asks_only: bool,
}

impl Charges {
    /// Whether there is anything to ask the store.
    pub fn need_store(&self) -> bool {
        self.charges.iter().any(|charge| matches!(charge.demand, Demand::Ask { .. }))
    }

    /// The operations for the store, in the order of the charges that ask it.
    pub fn group(&self) -> impl Iterator<Item = Operation> {
        self.charges.iter().filter_map(|charge| self.operation(charge))
    }

    /// The operation of a request that one policy alone applies to, and asks the store.
    pub fn lone(&self) -> Option<Operation> {
        if let [charge] = &*self.charges { self.operation(charge) } else { None }
    }

    fn operation(&self, charge: &Charge) -> Option<Operation> {
        let Demand::Ask { key, rule } = charge.demand else { return None };
        let op = if self.asks_only { Op::Peek(charge.cost) } else { Op::Take(charge.cost) };
        let Charge { enforced, rank, posture, .. } = *charge;
        Some(Operation { key, rule, op, enforced, rank, posture })
    }
}
