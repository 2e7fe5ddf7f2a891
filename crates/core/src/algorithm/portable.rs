//! States as a store outside of this process keeps them: numbers that mean the same to every node, whatever
//! rules it knows.

use super::token_bucket::{self, Grid, Level};
use super::{Algorithm, Held, Log, State, sliding_window};
use crate::calendar::Period;
use crate::quota::Quota;
use crate::time::{Span, Timestamp};

/// The state of a key, in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Portable {
    /// A bucket's level.
    Level {
        /// What is used.
        parts: u64,
        /// The tick of it.
        tick: u64,
        /// Parts that make a unit.
        scale: u64,
        /// The length of a tick.
        tick_length: Span,
        /// Parts that flow off per tick.
        leak: u64,
    },
    /// A fixed window's count.
    Count {
        /// The units used.
        used: u64,
        /// When the window began.
        start: Timestamp,
        /// When it ends.
        end: Timestamp,
    },
    /// A sliding window's counts.
    Counts {
        /// The units used in the window with this index.
        current: u64,
        /// Windows since the epoch.
        index: u64,
        /// The units used in the window before.
        previous: u64,
    },
    /// A log: the running total before its first entry, and after each.
    Log {
        /// What was used before the first entry.
        before: u64,
        /// Instants, in order, with the running total.
        entries: Vec<(Timestamp, u64)>,
    },
}

impl Portable {
    /// Takes off what has not leaked yet of a charge, by the quota that the level stands under, whichever that
    /// is. Of other states nothing: their units mean the same under every quota.
    pub fn give_back(&mut self, at: Timestamp, amount: u64, now: Timestamp) {
        if let Self::Level { parts, tick, scale, tick_length, leak } = self {
            let grid = Grid { scale: *scale, tick: *tick_length, leak: *leak };
            let level = Level { parts: *parts, tick: *tick };
            let level = level.less_what_is_left_of(amount, at, now, grid);
            (*parts, *tick) = (level.parts, level.tick);
        }
    }
}

impl Algorithm {
    /// What a state means by this algorithm under `quota`, which may be another than it was written under;
    /// nothing where it is another algorithm's.
    pub fn held(self, quota: &Quota, state: &Portable) -> Option<Held> {
        match (self, state) {
            (
                Self::TokenBucket | Self::LeakyBucket,
                &Portable::Level { parts, tick, scale, tick_length, leak },
            ) => {
                let from = Grid { scale, tick: tick_length, leak };
                Some(Held::Cell(token_bucket::rebase(&State([parts, tick]), from, quota)))
            }
            (Self::FixedWindow, &Portable::Count { used, start, end }) => {
                Some(Held::Cell(State([used, quota.window().mark(Period { start, end })])))
            }
            (Self::SlidingWindow, &Portable::Counts { current, index, previous }) => {
                Some(Held::Cell(sliding_window::state(index, previous, current)))
            }
            (Self::SlidingLog, Portable::Log { before, entries }) => {
                Some(Held::Log(Log::of(*before, entries)))
            }
            _ => None,
        }
    }

    /// How long use is remembered at most, where it was not adjusted beyond the allowance: the time that a
    /// full bucket takes to drain, or a window.
    pub fn memory(self, quota: &Quota) -> Span {
        if self.has_burst() {
            let ticks = quota.ticks_to_leak(quota.capacity() * quota.scale());
            Span::from_nanos(ticks.saturating_mul(quota.tick().nanos()))
        } else {
            quota.span()
        }
    }
}
