//! The family of algorithms: each answers "how to count" as a pure function of state and time.
//!
//! A member is one file below `algorithm/`. It says what sixteen bytes of state mean to it, or keeps a log;
//! stores move them about without looking inside. To add one: write the file, add the variant, and follow the compiler.

mod fixed_window;
mod leaky_bucket;
mod portable;
mod sliding_log;
mod sliding_window;
mod token_bucket;

pub use portable::Portable;
pub use sliding_log::{Log, LogChange};

pub(crate) use sliding_log::LIMIT_MAX as SLIDING_LOG_LIMIT_MAX;
pub(crate) use sliding_window::LIMIT_MAX as SLIDING_WINDOW_LIMIT_MAX;

use crate::decision::Decision;
use crate::quota::Quota;
use crate::time::Timestamp;
use crate::window::Window;
use crate::words::words;

words! {
    /// How a policy counts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Algorithm {
        /// A level that rises by the cost and leaks at the rate; admits what fits under the burst.
        TokenBucket = "token_bucket",
        /// The token bucket seen from the other side, with the delay that a queue would impose.
        LeakyBucket = "leaky_bucket",
        /// A counter per window of the clock; admits what fits under the limit.
        FixedWindow = "fixed_window",
        /// This window's count and a share of the last one's; admits what fits under the limit.
        SlidingWindow = "sliding_window",
        /// Every charge with its instant; admits what fits under the limit in any window.
        SlidingLog = "sliding_log",
    }
}

/// Sixteen bytes that belong to one key. What they mean, only the algorithm knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(pub [u64; 2]);

/// What a store holds for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateRef<'a> {
    /// Nothing: the key was never charged, or has forgotten it.
    Fresh,
    /// A state of fixed size.
    Cell(&'a State),
    /// A log.
    Log(&'a Log),
}

/// The state of a key, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// A state of fixed size.
    Cell(State),
    /// A log.
    Log(Log),
}

impl Held {
    /// What [`Algorithm::decide`] is told of it.
    pub fn as_ref(held: Option<&Self>) -> StateRef<'_> {
        match held {
            None => StateRef::Fresh,
            Some(Self::Cell(state)) => StateRef::Cell(state),
            Some(Self::Log(log)) => StateRef::Log(log),
        }
    }
}

/// One thing to do to one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Charge this many units if they fit. 0 asks and changes nothing.
    Take(u64),
    /// Answer as `Take` would, and charge nothing.
    Peek(u64),
    /// Give back what a charge at `at` took, as far as it has not leaked away or expired since.
    Give {
        /// The instant of the charge.
        at: Timestamp,
        /// The units charged.
        amount: u64,
    },
    /// Correct what is used by so many units, up or down, without asking whether they fit. Never below
    /// nothing; it may pass the limit, and then leaks back.
    Adjust(i64),
    /// Forget all use.
    Reset,
}

impl Op {
    /// Whether there may be less use after it, so that what was refused before may fit.
    pub const fn undoes(self) -> bool {
        matches!(self, Self::Give { .. } | Self::Adjust(_) | Self::Reset)
    }
}

/// What the store has to do with the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    Keep,
    /// Hold this instead.
    Put(State),
    /// Change the log, or begin one.
    Log(LogChange),
    /// Hold nothing.
    Clear,
}

impl Change {
    /// Does to `held` what a store does to a key's state.
    pub fn apply_to(self, held: &mut Option<Held>) {
        match self {
            Self::Keep => {}
            Self::Put(state) => *held = Some(Held::Cell(state)),
            Self::Log(change) => {
                let mut log = match held.take() {
                    Some(Held::Log(log)) => log,
                    Some(Held::Cell(_)) | None => Log::default(),
                };
                log.apply(change, usize::MAX);
                *held = Some(Held::Log(log));
            }
            Self::Clear => *held = None,
        }
    }
}

/// The result of deciding one operation on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The answer.
    pub decision: Decision,
    /// What becomes of the state.
    pub change: Change,
    /// The instant to which the charge belongs, where one was made.
    pub charged_at: Option<Timestamp>,
}

impl Algorithm {
    /// Decides one operation on one key. Pure: the same arguments give the same step; the store applies the
    /// change. A step that denies never consumes, so its change may always be applied.
    #[inline]
    pub fn decide(self, quota: &Quota, state: StateRef<'_>, op: Op, now: Timestamp) -> Step {
        match self {
            Self::TokenBucket => token_bucket::decide(quota, state, op, now),
            Self::LeakyBucket => leaky_bucket::decide(quota, state, op, now),
            Self::FixedWindow => fixed_window::decide(quota, state, op, now),
            Self::SlidingWindow => sliding_window::decide(quota, state, op, now),
            Self::SlidingLog => sliding_log::decide(quota, state, op, now),
        }
    }

    /// The instant from which the state says no more than a fresh one would, and may be forgotten.
    pub fn expires(self, quota: &Quota, state: StateRef<'_>) -> Timestamp {
        match (self, state) {
            (Self::TokenBucket | Self::LeakyBucket, StateRef::Cell(state)) => {
                token_bucket::expires(quota, state)
            }
            (Self::FixedWindow, StateRef::Cell(state)) => fixed_window::expires(quota, state),
            (Self::SlidingWindow, StateRef::Cell(state)) => sliding_window::expires(quota, state),
            (Self::SlidingLog, StateRef::Log(log)) => sliding_log::expires(quota, log),
            // Nothing is held, or nothing of this algorithm's: its key is another.
            (_, StateRef::Fresh | StateRef::Cell(_) | StateRef::Log(_)) => Timestamp::default(),
        }
    }

    /// The state that means under `to` what `state` meant under `from`, for a key whose quota was changed.
    /// Rounds towards more use. What leaks from its instant on, leaks at the new rate.
    pub fn rebase(self, state: &State, from: &Quota, to: &Quota) -> State {
        match self {
            Self::TokenBucket | Self::LeakyBucket => token_bucket::rebase(state, from.into(), to),
            // The window is part of the key, so only the limit can have changed.
            Self::FixedWindow | Self::SlidingWindow | Self::SlidingLog => *state,
        }
    }

    /// Whether a policy may name a burst apart from its limit.
    pub const fn has_burst(self) -> bool {
        match self {
            Self::TokenBucket | Self::LeakyBucket => true,
            Self::FixedWindow | Self::SlidingWindow | Self::SlidingLog => false,
        }
    }

    /// The window as part of a key's identity; `None` where use survives a changed window.
    pub(crate) const fn key_window(self, quota: &Quota) -> Option<Window> {
        match self {
            Self::TokenBucket | Self::LeakyBucket => None,
            Self::FixedWindow | Self::SlidingWindow | Self::SlidingLog => Some(quota.window()),
        }
    }
}

/// The change that leaves `state` behind, or nothing where that is as good as fresh.
const fn put_unless(fresh: bool, state: State) -> Change {
    if fresh { Change::Clear } else { Change::Put(state) }
}
