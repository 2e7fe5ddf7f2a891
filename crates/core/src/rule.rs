//! How a key is counted, as small as a pointer.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::Deref;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::algorithm::{Algorithm, Held, Op, Portable, State, StateRef, Step};
use crate::quota::Quota;
use crate::time::{Span, Timestamp};

/// Which counters belong together: those of one policy, as long as its usage is kept through changes of it.
///
/// It follows from domain, name, key, algorithm and window, and from the secret, so no client can choose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PolicyId(pub u64);

/// All that a store needs to decide about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// Whose keys these are.
    pub policy: PolicyId,
    /// The arithmetic.
    pub algorithm: Algorithm,
    /// The allowance, settled for that algorithm.
    pub quota: Quota,
}

/// The terms by which a key is counted.
///
/// Equal terms are one rule. Rules are as many as there were distinct quotas of policies, and live as long as
/// the process, at about a hundred bytes each: so an operation, a receipt and a store's slot name theirs by
/// a pointer or by four bytes, and compare two in an instant.
#[derive(Clone, Copy)]
pub struct Rule(&'static Numbered);

#[derive(Debug)]
struct Numbered {
    id: RuleId,
    terms: Terms,
}

/// The number of a rule in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RuleId(NonZeroU32);

static RULES: boxcar::Vec<Rule> = boxcar::Vec::new();
static BY_TERMS: LazyLock<Mutex<HashMap<Terms, Rule>>> = LazyLock::new(Mutex::default);

impl Rule {
    /// The rule of these terms.
    pub fn new(policy: PolicyId, algorithm: Algorithm, quota: Quota) -> Self {
        let terms = Terms { policy, algorithm, quota };
        // Whoever panicked here left the map whole.
        let mut by_terms = BY_TERMS.lock().unwrap_or_else(PoisonError::into_inner);
        *by_terms.entry(terms).or_insert_with(|| Self::numbered(terms))
    }

    /// The rule of these terms, if it is known or there are fewer rules than `max`: for terms that are made up by
    /// callers, since no rule is ever given up.
    pub(crate) fn known_or_below(
        max: usize,
        policy: PolicyId,
        algorithm: Algorithm,
        quota: Quota,
    ) -> Option<Self> {
        let terms = Terms { policy, algorithm, quota };
        let mut by_terms = BY_TERMS.lock().unwrap_or_else(PoisonError::into_inner);
        if by_terms.len() < max {
            return Some(*by_terms.entry(terms).or_insert_with(|| Self::numbered(terms)));
        }
        by_terms.get(&terms).copied()
    }

    fn numbered(terms: Terms) -> Self {
        let rule = Self(Box::leak(Box::new(Numbered { id: RuleId::at(RULES.count()), terms })));
        RULES.push(rule);
        rule
    }

    /// Its number.
    pub const fn id(self) -> RuleId {
        self.0.id
    }

    /// Decides one operation; see [`Algorithm::decide`].
    #[inline]
    pub fn decide(self, state: StateRef<'_>, op: Op, now: Timestamp) -> Step {
        self.algorithm.decide(&self.quota, state, op, now)
    }

    /// How one of so many nodes counts on its own; see [`Quota::share`]. Nothing where that cannot be said.
    pub fn share(self, nodes: NonZeroU64) -> Option<Self> {
        let share = self.quota.share(self.algorithm, nodes).ok()?;
        Some(Self::new(self.policy, self.algorithm, share))
    }

    /// Whether a key's state is a log, of no fixed size.
    pub fn keeps_log(self) -> bool {
        self.algorithm == Algorithm::SlidingLog
    }

    /// What a state means under this rule; see [`Algorithm::held`].
    pub fn held(self, state: &Portable) -> Option<Held> {
        self.algorithm.held(&self.quota, state)
    }

    /// How long use is remembered; see [`Algorithm::memory`].
    pub fn memory(self) -> Span {
        self.algorithm.memory(&self.quota)
    }

    /// When `state` is as good as fresh; see [`Algorithm::expires`].
    pub fn expires(self, state: StateRef<'_>) -> Timestamp {
        self.algorithm.expires(&self.quota, state)
    }

    /// Whether states of the other rule mean something under this one, after [`Rule::rebase`].
    pub fn counts_like(self, other: Self) -> bool {
        self.policy == other.policy && self.algorithm == other.algorithm
    }

    /// What `state` means after a change of quota; see [`Algorithm::rebase`].
    pub fn rebase(self, state: &State, from: Self) -> State {
        self.algorithm.rebase(state, &from.quota, &self.quota)
    }
}

impl RuleId {
    /// The rule with this number.
    pub fn rule(self) -> Option<Rule> {
        RULES.get(self.0.get() as usize - 1).copied()
    }

    /// Four thousand million rules do not fit in memory, so the number always does.
    fn at(place: usize) -> Self {
        Self(u32::try_from(place + 1).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MAX))
    }
}

impl Deref for Rule {
    type Target = Terms;

    fn deref(&self) -> &Terms {
        &self.0.terms
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Rule {}

impl Hash for Rule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.terms.fmt(f)
    }
}
