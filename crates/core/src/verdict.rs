//! The whole answer to a request: what each policy said, and which of them governs.

use std::cmp::Ordering;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::decision::{Decision, Outcome};
use crate::operation::{Answer, Receipt};
use crate::policy::{Charge, Charges, Demand, Policy, PolicySet, Posture};
use crate::recycled::{List, recycled};
use crate::time::Span;

/// The answer to one request.
#[derive(Debug)]
pub struct Verdict {
    policies: Arc<PolicySet>,
    outcome: Outcome,
    exempt: bool,
    judgements: List<Judgement>,
    governing: Option<usize>,
    skipped: SmallVec<[usize; 2]>,
}

/// What one policy said about the request: its decision, or why it needed none.
#[derive(Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The index of the policy in its set.
    pub policy: usize,
    /// The cost that was asked for, in the policy's unit.
    pub cost: u64,
    /// Whether a refusal refuses the request. A shadow's does not.
    pub enforced: bool,
    /// How it came to its answer.
    pub basis: Basis,
}

recycled!(Judgement);

/// What a policy's answer rests on.
#[derive(Debug, PartialEq, Eq)]
pub enum Basis {
    /// The store decided.
    Decided {
        /// What it decided.
        decision: Decision,
        /// Proof of the charge, where one was made.
        receipt: Option<Receipt>,
    },
    /// The policy allows everything.
    Unlimited,
    /// The request lacks an attribute of the key, and the policy refuses such requests.
    Missing,
    /// The store did not answer, and the node decided by its share of the quota.
    Local {
        /// What it decided.
        decision: Decision,
        /// The units that were counted.
        charged: u64,
    },
    /// The store did not answer, and the policy's posture decided.
    Degraded(Posture),
}

impl Judgement {
    /// The policy's answer.
    pub fn outcome(&self) -> Outcome {
        match &self.basis {
            Basis::Decided { decision, .. } | Basis::Local { decision, .. } => decision.outcome,
            Basis::Unlimited | Basis::Degraded(Posture::Open) => Outcome::Allow,
            Basis::Missing => Outcome::Never,
            // A local one that could not decide is closed: nobody counted.
            Basis::Degraded(Posture::Closed | Posture::Local) => Outcome::Unavailable,
        }
    }

    /// The decision of the store or of the node's share, where one was made.
    pub fn decision(&self) -> Option<&Decision> {
        match &self.basis {
            Basis::Decided { decision, .. } | Basis::Local { decision, .. } => Some(decision),
            _ => None,
        }
    }

    /// The units that were charged: the cost where the request was admitted, else 0.
    pub fn charged(&self) -> u64 {
        match &self.basis {
            Basis::Decided { receipt: Some(receipt), .. } => receipt.amount,
            Basis::Local { charged, .. } => *charged,
            _ => 0,
        }
    }

    /// Whether the store could not be asked.
    pub fn is_degraded(&self) -> bool {
        matches!(self.basis, Basis::Local { .. } | Basis::Degraded(_))
    }
}

impl Verdict {
    /// Joins the charges of a request with the store's answers to them, of which it takes its own. Where a
    /// store failed to give one, the policy follows its posture. Postures are settled here.
    pub fn of(
        policies: Arc<PolicySet>,
        mut charges: Charges,
        answers: &mut impl Iterator<Item = Answer>,
    ) -> Self {
        let mut basis_of = |posture: Posture, demand: Demand| match demand {
            Demand::Unlimited => Basis::Unlimited,
            Demand::Missing => Basis::Missing,
            Demand::Ask { .. } => match answers.next() {
                Some(Answer::Decided { decision, receipt, .. }) => Basis::Decided { decision, receipt },
                Some(Answer::Local { decision, charged }) => Basis::Local { decision, charged },
                Some(Answer::Unavailable { .. }) | None => Basis::Degraded(posture),
            },
        };
        let judgements: List<Judgement> = (charges.charges.drain())
            .map(|Charge { policy, cost, enforced, posture, demand, .. }| Judgement {
                policy,
                cost,
                enforced,
                basis: basis_of(posture, demand),
            })
            .collect();
        let governing = (judgements.iter().enumerate())
            .filter(|(_, judgement)| judgement.enforced)
            .min_by(|(_, a), (_, b)| precedence(a, b))
            .map(|(position, _)| position);
        let outcome = governing.and_then(|g| judgements.get(g)).map_or(Outcome::Allow, Judgement::outcome);
        let (exempt, skipped) = (charges.exempt, charges.skipped);
        Self { policies, outcome, exempt, judgements, governing, skipped }
    }

    /// The answer.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The policies that it was decided by, which may have been replaced since.
    pub fn policies(&self) -> &Arc<PolicySet> {
        &self.policies
    }

    /// Whether the request may go on.
    pub fn is_admitted(&self) -> bool {
        self.outcome == Outcome::Allow
    }

    /// Whether the request is exempt from every policy.
    pub fn is_exempt(&self) -> bool {
        self.exempt
    }

    /// Whether any enforced policy had to decide without its store.
    pub fn is_degraded(&self) -> bool {
        self.enforced().any(|(_, judgement)| judgement.is_degraded())
    }

    /// What each policy said, in the order of the file, shadows among them.
    pub fn judgements(&self) -> impl Iterator<Item = (&Policy, &Judgement)> {
        self.judgements.iter().filter_map(|j| self.policies.policy(j.policy).map(|policy| (policy, j)))
    }

    /// What the policies said that decide: all that a client may see.
    pub fn enforced(&self) -> impl Iterator<Item = (&Policy, &Judgement)> {
        self.judgements().filter(|(_, judgement)| judgement.enforced)
    }

    /// The policy that governs: an unavailable one first, then `never`, then the longest denial, then the
    /// smallest share left; ties go by the order of the file. `None` where no enforced policy applies.
    pub fn governing(&self) -> Option<(&Policy, &Judgement)> {
        let judgement = self.judgements.get(self.governing?)?;
        Some((self.policies.policy(judgement.policy)?, judgement))
    }

    /// The wait after which, with no other traffic, the request is admitted: the longest of all denials.
    /// `None` where waiting is pointless or needless.
    pub fn retry_after(&self) -> Option<Span> {
        self.governing()?.1.decision()?.retry_after
    }

    /// How long an admitted request would wait in the queues of its leaky buckets: the longest of them.
    pub fn delay(&self) -> Span {
        let delays = self.enforced().filter_map(|(_, judgement)| judgement.decision()).map(|d| d.delay);
        if self.is_admitted() { delays.max().unwrap_or_default() } else { Span::ZERO }
    }

    /// The units that the governing policy charged; 0 where nothing was.
    pub fn charged(&self) -> u64 {
        self.governing().map_or(0, |(_, judgement)| judgement.charged())
    }

    /// Proofs of all charges, for [`crate::Limiter::give_back`].
    pub fn into_receipts(mut self) -> impl Iterator<Item = Receipt> {
        self.take_receipts().into_iter()
    }

    /// Takes out the proofs of what was charged although the request is refused, as happens when one part of
    /// a store answers and another does not: it is to be given back.
    pub(crate) fn revoked(&mut self) -> Vec<Receipt> {
        if self.is_admitted() { Vec::new() } else { self.take_receipts() }
    }

    fn take_receipts(&mut self) -> Vec<Receipt> {
        let take = |judgement: &mut Judgement| match &mut judgement.basis {
            Basis::Decided { receipt, .. } => receipt.take(),
            _ => None,
        };
        self.judgements.iter_mut().filter_map(take).collect()
    }

    /// The policies that would have applied but for a missing attribute.
    pub fn skipped(&self) -> impl Iterator<Item = &Policy> {
        self.skipped.iter().filter_map(|&index| self.policies.policy(index))
    }

    /// The indices of those policies.
    pub fn skipped_indices(&self) -> &[usize] {
        &self.skipped
    }

    /// The indices of shadow policies that would have refused this request, which was admitted.
    pub fn would_block(&self) -> impl Iterator<Item = usize> {
        let refusing = |j: &&Judgement| matches!(j.outcome(), Outcome::Deny | Outcome::Never);
        let shadows = self.judgements.iter().filter(|judgement| !judgement.enforced);
        shadows.filter(refusing).filter(|_| self.is_admitted()).map(|judgement| judgement.policy)
    }
}

/// Orders judgements by who governs; the governing one comes first.
fn precedence(a: &Judgement, b: &Judgement) -> Ordering {
    let rank = |judgement: &Judgement| match judgement.outcome() {
        Outcome::Unavailable => 0,
        Outcome::Never => 1,
        Outcome::Deny => 2,
        Outcome::Allow => 3,
    };
    let by_figures = || match (a.decision(), b.decision()) {
        (Some(a), Some(b)) if a.outcome == Outcome::Allow => smaller_share(a, b),
        (Some(a), Some(b)) => b.retry_after.cmp(&a.retry_after),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    };
    rank(a).cmp(&rank(b)).then_with(by_figures)
}

/// Compares `remaining ÷ limit` by cross-multiplication.
fn smaller_share(a: &Decision, b: &Decision) -> Ordering {
    let share = |x: &Decision, y: &Decision| u128::from(x.remaining) * u128::from(y.limit);
    share(a, b).cmp(&share(b, a))
}
