//! Sliding window: the count of this window, and of the last one the share that is still in view.
//!
//! Use is estimated as `current + previous × (1 − elapsed)`, where `elapsed` is the share of the current
//! window that has passed, and compared as an exact fraction. State is both counts and the index of the
//! current window, which never goes back. What was used late in the last window goes out of view too soon,
//! so up to less than twice the limit can pass within a window's length around an edge; use that is spread
//! evenly is held to the limit, at times a little below it.

use super::{Change, Op, State, StateRef, Step, put_unless};
use crate::decision::{Decision, Outcome};
use crate::quota::Quota;
use crate::time::{Span, Timestamp};

/// Bits of each count. The other 46 of 128 hold the index for as long as [`Timestamp`] does.
const COUNT_BITS: u32 = 41;
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;
/// The largest limit: two of it fit a count, so that an adjustment may pass it.
pub(crate) const LIMIT_MAX: u64 = 1 << (COUNT_BITS - 1);

#[derive(Clone, Copy)]
struct Counts {
    index: u64,
    previous: u64,
    current: u64,
}

impl Counts {
    fn of(State([high, low]): &State) -> Self {
        let bits = u128::from(*high) << 64 | u128::from(*low);
        let count = |shift: u32| low_bits(bits >> shift) & COUNT_MAX;
        Self { index: low_bits(bits >> (2 * COUNT_BITS)), previous: count(COUNT_BITS), current: count(0) }
    }

    fn state(self) -> State {
        let counts = u128::from(self.previous) << COUNT_BITS | u128::from(self.current);
        let bits = u128::from(self.index) << (2 * COUNT_BITS) | counts;
        State([low_bits(bits >> 64), low_bits(bits)])
    }

    fn change(self) -> Change {
        put_unless(self.previous == 0 && self.current == 0, self.state())
    }

    /// The counts as they are seen from the window with this index.
    fn moved_on_to(self, index: u64) -> Self {
        match index.saturating_sub(self.index) {
            0 => self,
            1 => Self { index, previous: self.current, current: 0 },
            _ => Self { index, previous: 0, current: 0 },
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "only the low half is wanted")]
const fn low_bits(bits: u128) -> u64 {
    bits as u64
}

/// The state that holds these counts.
pub(super) fn state(index: u64, previous: u64, current: u64) -> State {
    Counts { index, previous: previous.min(COUNT_MAX), current: current.min(COUNT_MAX) }.state()
}

pub(super) fn decide(quota: &Quota, state: StateRef<'_>, op: Op, now: Timestamp) -> Step {
    let index = quota.window_index(now);
    let counts = match state {
        StateRef::Cell(state) => Counts::of(state).moved_on_to(index),
        StateRef::Fresh | StateRef::Log(_) => Counts { index, previous: 0, current: 0 },
    };
    let keep = |decision| Step { decision, change: Change::Keep, charged_at: None };
    let moved_to = |counts: Counts| Step {
        decision: standing(quota, counts, now),
        change: counts.change(),
        charged_at: None,
    };
    match op {
        Op::Take(0) => keep(ask(quota, counts, 0, now)),
        Op::Peek(cost) => keep(ask(quota, counts, cost, now)),
        Op::Take(cost) => take(quota, counts, cost, now),
        Op::Give { at, amount } => match counts.index.checked_sub(quota.window_index(at)) {
            Some(0) => moved_to(Counts { current: counts.current.saturating_sub(amount), ..counts }),
            Some(1) => moved_to(Counts { previous: counts.previous.saturating_sub(amount), ..counts }),
            // That window is out of view, and its use with it.
            _ => keep(standing(quota, counts, now)),
        },
        Op::Adjust(by) => moved_to(adjusted(counts, by)),
        Op::Reset => moved_to(Counts { previous: 0, current: 0, ..counts }),
    }
}

pub(super) fn expires(quota: &Quota, state: &State) -> Timestamp {
    let counts = Counts::of(state);
    quota.window_start(out_of_view(counts))
}

/// The index of the first window from which nothing of the counts is seen.
fn out_of_view(counts: Counts) -> u64 {
    counts.index + if counts.current > 0 { 2 } else { 1 }
}

/// Corrects the counts, this window's first. Of the last window only a share is in view, so that lowering
/// its count lowers the estimate by that share.
fn adjusted(counts: Counts, by: i64) -> Counts {
    let size = by.unsigned_abs();
    if by >= 0 {
        return Counts { current: counts.current.saturating_add(size).min(COUNT_MAX), ..counts };
    }
    let rest = size.saturating_sub(counts.current);
    let (previous, current) = (counts.previous.saturating_sub(rest), counts.current.saturating_sub(size));
    Counts { previous, current, ..counts }
}

fn take(quota: &Quota, counts: Counts, cost: u64, now: Timestamp) -> Step {
    let decision = ask(quota, counts, cost, now);
    if decision.outcome != Outcome::Allow {
        return Step { decision, change: Change::Keep, charged_at: None };
    }
    let charged = Counts { current: counts.current + cost, ..counts };
    Step {
        decision: standing(quota, charged, now),
        change: charged.change(),
        // Inside the window that was charged, also where `now` lags behind it.
        charged_at: Some(now.max(quota.window_start(counts.index))),
    }
}

fn ask(quota: &Quota, counts: Counts, cost: u64, now: Timestamp) -> Decision {
    let at_rest = standing(quota, counts, now);
    if cost > quota.limit() || quota.limit() == 0 {
        return Decision { outcome: Outcome::Never, ..at_rest };
    }
    if estimate(quota, counts, now) + parts(quota, cost) <= parts(quota, quota.limit()) {
        return at_rest;
    }
    let wait = until_it_fits(quota, counts, cost, now);
    Decision { outcome: Outcome::Deny, retry_after: Some(wait), next_after: wait, ..at_rest }
}

fn standing(quota: &Quota, counts: Counts, now: Timestamp) -> Decision {
    let used = estimate(quota, counts, now);
    let remaining = low_bits(parts(quota, quota.limit()).saturating_sub(used) / parts(quota, 1));
    let is_full = used == 0;
    let next = if is_full { Span::ZERO } else { until_it_fits(quota, counts, remaining + 1, now) };
    Decision {
        outcome: Outcome::Allow,
        limit: quota.limit(),
        remaining,
        reset_after: if is_full { Span::ZERO } else { quota.window_start(out_of_view(counts)).since(now) },
        retry_after: None,
        delay: Span::ZERO,
        next_after: next,
    }
}

/// Units in parts: a unit is as many as the window has ticks.
fn parts(quota: &Quota, units: u64) -> u128 {
    u128::from(units) * u128::from(quota.scale())
}

/// The estimate of use, in parts.
fn estimate(quota: &Quota, counts: Counts, now: Timestamp) -> u128 {
    let elapsed = quota.ticks_in(now.since(quota.window_start(counts.index)));
    let in_view = quota.scale().saturating_sub(elapsed);
    parts(quota, counts.current) + u128::from(counts.previous) * u128::from(in_view)
}

/// The wait until so many units fit, where they do not now.
fn until_it_fits(quota: &Quota, counts: Counts, cost: u64, now: Timestamp) -> Span {
    let room = parts(quota, quota.limit().saturating_sub(cost));
    let (window, start) = (quota.scale(), quota.window_start(counts.index));
    // In this window the last one goes out of view; where that is not enough, in the next this one does.
    let (leaving, room, start) = match room.checked_sub(parts(quota, counts.current)) {
        Some(room) => (counts.previous, room, start),
        None => (counts.current, room, start.after(quota.span())),
    };
    let may_be_seen = low_bits((room / u128::from(leaving.max(1))).min(u128::from(window)));
    start.after(Span::from_nanos((window - may_be_seen) * quota.tick().nanos())).since(now)
}
