//! What is asked of a store: operations on keys, in groups that are all or nothing, in batches that are owned.

use smallvec::SmallVec;

use crate::algorithm::{Algorithm, Change, Op, State, StateRef, Step};
use crate::decision::{Decision, Outcome};
use crate::key::Key;
use crate::quota::Quota;
use crate::time::{Span, Timestamp};

/// Which counters belong together: those of one policy, as long as its usage is kept through changes of it.
///
/// It follows from domain, name, key, algorithm and window, and from the secret, so no client can choose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PolicyId(pub u64);

/// How a key is counted: all that a store needs to decide about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Whose keys these are.
    pub policy: PolicyId,
    /// The arithmetic.
    pub algorithm: Algorithm,
    /// The allowance, settled for that algorithm.
    pub quota: Quota,
}

impl Rule {
    /// Decides one operation; see [`Algorithm::decide`].
    pub fn decide(&self, state: StateRef<'_>, op: Op, now: Timestamp) -> Step {
        self.algorithm.decide(&self.quota, state, op, now)
    }

    /// Whether states of the other rule mean something under this one, after [`Rule::rebase`].
    pub fn counts_like(&self, other: &Self) -> bool {
        self.policy == other.policy && self.algorithm == other.algorithm
    }

    /// Whether a key's state is a log, of no fixed size.
    pub fn keeps_log(&self) -> bool {
        self.algorithm == Algorithm::SlidingLog
    }

    /// When `state` is as good as fresh; see [`Algorithm::expires`].
    pub fn expires(&self, state: StateRef<'_>) -> Timestamp {
        self.algorithm.expires(&self.quota, state)
    }

    /// What `state` means after a change of quota; see [`Algorithm::rebase`].
    pub fn rebase(&self, state: &State, from: &Self) -> State {
        self.algorithm.rebase(state, &from.quota, &self.quota)
    }
}

/// One operation on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Whose allowance.
    pub key: Key,
    /// How it is counted.
    pub rule: Rule,
    /// What to do.
    pub op: Op,
    /// Whether a denial here refuses the whole group. A shadow's does not.
    pub enforced: bool,
}

/// Proof of a charge, and the only way to give it back.
///
/// It cannot be copied, since a store does not remember what was given back: a second time would take away
/// what others have used since.
#[derive(Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The key that was charged.
    pub key: Key,
    /// How it was counted.
    pub rule: Rule,
    /// The instant that the charge belongs to, on the store's clock; its window is the one around it.
    pub at: Timestamp,
    /// The units that were taken.
    pub amount: u64,
}

impl Receipt {
    /// The operation that gives the charge back, as far as it has not leaked away or expired.
    pub const fn give_back(self) -> Operation {
        let op = Op::Give { at: self.at, amount: self.amount };
        Operation { key: self.key, rule: self.rule, op, enforced: true }
    }
}

/// The operations of one request, each on a key of its own: they are all decided on what was held before.
pub type Group = SmallVec<[Operation; 2]>;

/// Groups, decided in order as if they had come one by one. Owned, so that a caller who goes away in the
/// middle leaves nothing dangling.
pub type Batch = SmallVec<[Group; 1]>;

/// What came back for one operation.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The store decided.
    Decided {
        /// The decision, as it stands after the whole group was settled.
        decision: Decision,
        /// Proof of the charge, where one was made.
        receipt: Option<Receipt>,
        /// For a denial: how long costs no smaller may be refused without asking again. At most one second,
        /// since use may be given back meanwhile.
        cacheable_for: Option<Span>,
    },
    /// The store did not answer.
    Unavailable {
        /// Whether the charge may have been made all the same; such a charge is never sent again.
        sent: bool,
    },
}

/// What came back for one group, one answer an operation.
pub type GroupAnswer = SmallVec<[Answer; 2]>;

/// What came back for a batch, one answer a group.
pub type BatchAnswer = SmallVec<[GroupAnswer; 1]>;

/// One answer and what the store has to do for it.
pub type Settled = SmallVec<[(Answer, Change); 2]>;

/// A store may be asked to forget use at any moment, and it may be given back: a cached denial is good for
/// no longer than this.
const CACHEABLE_MAX: Span = Span::from_secs(1);

/// Decides a group, all or nothing: if every enforced operation is admitted, all that are admitted are
/// charged; otherwise nothing is. Pure: `states` yields what is held for each operation, and the caller
/// applies the changes before anyone else sees those keys.
pub fn decide_group<'s>(
    group: &[Operation],
    states: impl Fn(usize) -> StateRef<'s>,
    now: Timestamp,
) -> Settled {
    let decide = |i: usize, op| group.get(i).map(|o| o.rule.decide(states(i), op, now));
    let mut steps: SmallVec<[Step; 2]> =
        group.iter().enumerate().filter_map(|(i, operation)| decide(i, operation.op)).collect();
    let fits = |step: &Step| step.decision.outcome == Outcome::Allow;
    let is_admitted = group.iter().zip(&steps).all(|(operation, step)| !operation.enforced || fits(step));
    if !is_admitted {
        // What would have passed is asked again without charging, so that it reports what is still there.
        for (i, step) in steps.iter_mut().enumerate().filter(|(_, step)| fits(step)) {
            if let Some(&Operation { op: Op::Take(cost), .. }) = group.get(i)
                && let Some(uncharged) = decide(i, Op::Peek(cost))
            {
                *step = uncharged;
            }
        }
    }
    group.iter().zip(steps).map(|(operation, step)| operation.answer(step)).collect()
}

impl Operation {
    fn answer(&self, step: Step) -> (Answer, Change) {
        let receipt = match (self.op, step.charged_at) {
            (Op::Take(amount), Some(at)) => Some(Receipt { key: self.key, rule: self.rule, at, amount }),
            _ => None,
        };
        let cacheable_for = step.decision.retry_after.map(|wait| wait.min(CACHEABLE_MAX));
        (Answer::Decided { decision: step.decision, receipt, cacheable_for }, step.change)
    }
}
