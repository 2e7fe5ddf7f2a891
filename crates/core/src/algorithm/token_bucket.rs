//! Token bucket: a level of use that leaks at the rate and never passes the burst.
//!
//! State is the level used, in parts of a unit, and the tick of it; never a theoretical arrival time, so a
//! lowered quota or an adjustment may leave the level above the burst and it leaks back. In every interval
//! of length Δ at most `burst + rate × (Δ + one tick)` units are admitted. Seen from the other side it is the leaky
//! bucket as a meter (ITU-T I.371, the virtual scheduling algorithm's twin).

use super::{Change, Op, State, StateRef, Step, put_unless};
use crate::decision::{Decision, Outcome};
use crate::quota::Quota;
use crate::time::{Span, Timestamp};

/// The level at `tick`, in parts.
#[derive(Clone, Copy)]
pub(super) struct Level {
    pub(super) parts: u64,
    pub(super) tick: u64,
}

impl Level {
    fn of(state: &State) -> Self {
        let State([parts, tick]) = *state;
        Self { parts, tick }
    }

    /// The level at `tick` with what leaked until then taken off. Time that runs backwards counts as none,
    /// and the level is based on the earlier tick from then on.
    fn leaked_to(self, leak: u64, tick: u64) -> Self {
        let off = tick.saturating_sub(self.tick).saturating_mul(leak);
        Self { parts: self.parts.saturating_sub(off), tick }
    }

    /// The level now, with what has not leaked yet of a charge taken off.
    pub(super) fn less_what_is_left_of(self, amount: u64, at: Timestamp, now: Timestamp, grid: Grid) -> Self {
        let tick_at = |instant: Timestamp| instant.nanos() / grid.tick.nanos().max(1);
        let now = tick_at(now);
        let charge = Self { parts: amount.saturating_mul(grid.scale), tick: tick_at(at) };
        let (level, left) = (self.leaked_to(grid.leak, now), charge.leaked_to(grid.leak, now));
        Self { parts: level.parts.saturating_sub(left.parts), ..level }
    }

    fn change(self) -> Change {
        put_unless(self.parts == 0, State([self.parts, self.tick]))
    }
}

#[inline]
pub(super) fn decide(quota: &Quota, state: StateRef<'_>, op: Op, now: Timestamp) -> Step {
    let tick = quota.ticks_at(now);
    let stored = stored(quota, state, now);
    let level = stored.leaked_to(quota.leak(), tick);
    match op {
        Op::Take(0) => peek(quota, level, 0, now),
        Op::Take(cost) => take(quota, stored, level, cost, now),
        Op::Peek(cost) => peek(quota, level, cost, now),
        Op::Give { at, amount } => {
            moved_to(quota, stored.less_what_is_left_of(amount, at, now, quota.into()), now)
        }
        Op::Adjust(by) => {
            let size = parts(quota, by.unsigned_abs());
            let parts =
                if by < 0 { level.parts.saturating_sub(size) } else { level.parts.saturating_add(size) };
            moved_to(quota, Level { parts: parts.min(quota.level_max()), tick }, now)
        }
        Op::Reset => moved_to(quota, Level { parts: 0, tick }, now),
    }
}

/// The time until what is in the bucket has drained.
pub(super) fn to_drain(quota: &Quota, state: StateRef<'_>, now: Timestamp) -> Span {
    let level = stored(quota, state, now).leaked_to(quota.leak(), quota.ticks_at(now));
    standing(quota, level, now).reset_after
}

fn stored(quota: &Quota, state: StateRef<'_>, now: Timestamp) -> Level {
    match state {
        StateRef::Cell(state) => Level::of(state),
        StateRef::Fresh | StateRef::Log(_) => Level { parts: 0, tick: quota.ticks_at(now) },
    }
}

pub(super) fn expires(quota: &Quota, state: &State) -> Timestamp {
    let Level { parts, tick } = Level::of(state);
    let empty = tick.saturating_add(quota.ticks_to_leak(parts));
    Timestamp::from_nanos(empty.saturating_mul(quota.tick().nanos()))
}

/// What a level is counted in.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    /// Parts that make a unit.
    pub(super) scale: u64,
    /// The length of a tick.
    pub(super) tick: Span,
    /// Parts that flow off per tick.
    pub(super) leak: u64,
}

impl From<&Quota> for Grid {
    fn from(quota: &Quota) -> Self {
        Self { scale: quota.scale(), tick: quota.tick(), leak: quota.leak() }
    }
}

pub(super) fn rebase(state: &State, from: Grid, to: &Quota) -> State {
    if (from.scale, from.tick) == (to.scale(), to.tick()) {
        return *state;
    }
    let Level { parts, tick } = Level::of(state);
    let at = tick.saturating_mul(from.tick.nanos());
    State([rescaled(parts, from.scale.max(1), to), at.div_ceil(to.tick().nanos())])
}

/// Parts of one quota as parts of another. What is left of a unit is rounded up: by less than a part, or to a
/// whole unit where the store's numbers cannot hold the product.
fn rescaled(parts: u64, from: u64, to: &Quota) -> u64 {
    let (units, rest) = (parts / from, parts % from);
    let product = u128::from(rest) * u128::from(to.scale());
    let rest = if product <= to.precision().wide_max() {
        u64::try_from(product.div_ceil(u128::from(from))).unwrap_or(to.scale())
    } else {
        to.scale()
    };
    units.saturating_mul(to.scale()).saturating_add(rest).min(to.level_max())
}

#[inline]
fn take(quota: &Quota, stored: Level, level: Level, cost: u64, now: Timestamp) -> Step {
    match shortfall(quota, level, cost) {
        Some(0) => {
            let charged = Level { parts: level.parts + cost * quota.scale(), tick: level.tick };
            let decision = standing(quota, charged, now);
            Step { decision, change: charged.change(), charged_at: Some(now) }
        }
        short => {
            // Without this a level stamped by a clock that ran ahead would stay frozen until it is reached.
            let backwards = stored.tick > level.tick;
            let change = if backwards { level.change() } else { Change::Keep };
            Step { decision: refusal(quota, level, short, now), change, charged_at: None }
        }
    }
}

#[inline]
fn peek(quota: &Quota, level: Level, cost: u64, now: Timestamp) -> Step {
    let decision = match shortfall(quota, level, cost) {
        Some(0) => standing(quota, level, now),
        short => refusal(quota, level, short, now),
    };
    Step { decision, change: Change::Keep, charged_at: None }
}

/// How many parts are too many for `cost` to fit; `None` where it can never fit.
fn shortfall(quota: &Quota, level: Level, cost: u64) -> Option<u64> {
    if cost > quota.capacity() || quota.capacity() == 0 {
        return None;
    }
    let room = (quota.capacity() - cost) * quota.scale();
    Some(level.parts.saturating_sub(room))
}

fn moved_to(quota: &Quota, level: Level, now: Timestamp) -> Step {
    Step { decision: standing(quota, level, now), change: level.change(), charged_at: None }
}

#[inline]
fn refusal(quota: &Quota, level: Level, short: Option<u64>, now: Timestamp) -> Decision {
    let at_rest = standing(quota, level, now);
    match short {
        None => Decision { outcome: Outcome::Never, ..at_rest },
        Some(short) => {
            let wait = quota.span_to(quota.ticks_to_leak(short), now);
            Decision { outcome: Outcome::Deny, retry_after: Some(wait), next_after: wait, ..at_rest }
        }
    }
}

#[inline]
fn standing(quota: &Quota, level: Level, now: Timestamp) -> Decision {
    let room = (quota.capacity() * quota.scale()).saturating_sub(level.parts);
    let remaining = room / quota.scale();
    let to_empty = quota.ticks_to_leak(level.parts);
    // Parts over the last whole unit of use: when they have leaked, one more unit is there.
    let over = level.parts - (quota.capacity() - remaining).saturating_sub(1) * quota.scale();
    Decision {
        outcome: Outcome::Allow,
        limit: quota.capacity(),
        remaining,
        reset_after: if level.parts == 0 { Span::ZERO } else { quota.span_to(to_empty, now) },
        retry_after: None,
        delay: Span::ZERO,
        next_after: if level.parts == 0 { Span::ZERO } else { quota.span_to(quota.ticks_to_leak(over), now) },
    }
}

fn parts(quota: &Quota, units: u64) -> u64 {
    units.saturating_mul(quota.scale()).min(quota.level_max())
}
