//! What is asked of a store: operations on keys, in groups that are all or nothing, in batches that are owned.

use smallvec::SmallVec;

use crate::algorithm::{Op, StateRef, Step};
use crate::decision::{Decision, Outcome};
use crate::key::Key;
use crate::policy::Posture;
use crate::recycled::{List, recycled};
use crate::rule::Rule;
use crate::time::{Span, Timestamp};

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
    /// Where one call cannot decide a whole group, lower ranks are charged first: what a narrow policy refuses
    /// is then never taken from a wide one.
    pub rank: u16,
    /// What becomes of it while the store cannot answer.
    pub posture: Posture,
}

impl Operation {
    /// An enforced operation of the first rank, of an open policy.
    pub const fn new(key: Key, rule: Rule, op: Op) -> Self {
        Self { key, rule, op, enforced: true, rank: 0, posture: Posture::Open }
    }
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
        Operation::new(self.key, self.rule, Op::Give { at: self.at, amount: self.amount })
    }
}

/// Groups of operations, one group a request, decided in order as if they had come one by one. Owned, so that
/// a caller who goes away in the middle leaves nothing dangling.
///
/// The operations of a group are each on a key of its own, of a policy of its own: they are all decided on
/// what was held before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    operations: List<Operation>,
    /// Where each group ends.
    ends: SmallVec<[usize; 2]>,
    timeout: Option<Span>,
}

impl Batch {
    /// No groups yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a group.
    pub fn push(&mut self, group: impl IntoIterator<Item = Operation>) {
        group.into_iter().for_each(|operation| self.operations.push(operation));
        self.ends.push(self.operations.len());
    }

    /// The groups, in order.
    pub fn groups(&self) -> impl Iterator<Item = &[Operation]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).filter_map(|(start, end)| self.operations.get(start..*end))
    }

    /// The operations of all groups, in order.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The groups, to be changed in place as they are decided.
    pub fn groups_mut(&mut self) -> impl Iterator<Item = &mut [Operation]> {
        let mut rest = &mut *self.operations;
        let mut start = 0;
        self.ends.iter().map_while(move |end| {
            let (group, others) = std::mem::take(&mut rest).split_at_mut_checked(end - start)?;
            (rest, start) = (others, *end);
            Some(group)
        })
    }

    /// How long its caller waits for the answers, if it said so.
    pub const fn timeout(&self) -> Option<Span> {
        self.timeout
    }

    /// The same for a caller who waits for so long.
    #[must_use]
    pub fn within(self, timeout: Option<Span>) -> Self {
        Self { timeout, ..self }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

impl<G: IntoIterator<Item = Operation>> FromIterator<G> for Batch {
    fn from_iter<I: IntoIterator<Item = G>>(groups: I) -> Self {
        let mut batch = Self::new();
        groups.into_iter().for_each(|group| batch.push(group));
        batch
    }
}

recycled!(Operation);

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
    /// The store did not answer, and the node decided by its share of the quota.
    Local {
        /// What it decided.
        decision: Decision,
        /// The units that were counted. There is no receipt: the store may not have them yet.
        charged: u64,
    },
    /// The store did not answer.
    Unavailable {
        /// Whether the charge may have been made all the same; such a charge is never sent again.
        sent: bool,
    },
}

recycled!(Answer);

/// What came back for a batch: an answer for each operation, in order.
pub type Answers = List<Answer>;

/// The steps of one group.
pub type Steps = SmallVec<[Step; 12]>;

/// A store may be asked to forget use at any moment, and it may be given back: a cached denial is good for
/// no longer than this.
const CACHEABLE_MAX: Span = Span::from_secs(1);

/// Decides a group, all or nothing: if every enforced operation is admitted, all that are admitted are
/// charged; otherwise nothing is. Pure: `states` yields what is held for each operation, and the caller
/// applies the changes of the steps, one for each operation, before anyone else sees those keys.
pub fn decide_group<'s>(
    group: &[Operation],
    states: impl Fn(usize) -> StateRef<'s>,
    now: Timestamp,
    steps: &mut Steps,
) {
    steps.extend(group.iter().enumerate().map(|(i, o)| o.rule.decide(states(i), o.op, now)));
    let fits = |step: &Step| step.decision.outcome == Outcome::Allow;
    if group.iter().zip(&*steps).all(|(operation, step)| !operation.enforced || fits(step)) {
        return;
    }
    // What would have passed is asked again without charging, so that it reports what is still there.
    for (i, (operation, step)) in group.iter().zip(steps).enumerate() {
        if let Op::Take(cost) = operation.op
            && fits(step)
        {
            *step = operation.rule.decide(states(i), Op::Peek(cost), now);
        }
    }
}

impl Operation {
    /// The answer that a step gives, once its change is applied to the state of `key`.
    #[inline]
    pub fn answer(&self, step: &Step, key: Key) -> Answer {
        let receipt = match (self.op, step.charged_at) {
            (Op::Take(amount), Some(at)) => Some(Receipt { key, rule: self.rule, at, amount }),
            _ => None,
        };
        let cacheable_for = step.decision.retry_after.map(|wait| wait.min(CACHEABLE_MAX));
        Answer::Decided { decision: step.decision, receipt, cacheable_for }
    }
}
