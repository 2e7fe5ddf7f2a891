//! Fixed window: a counter for each window of the clock.
//!
//! Windows start at the epoch, or where a calendar says. State is the units used and the mark of their
//! window; a window that has begun is never left for an earlier one. Around an edge up to twice the limit can pass in less than a window's length: a full window at its
//! end and another at the next one's start. That is the price of one counter, and it is stated, not hidden.

use super::{Change, Op, State, StateRef, Step, put_unless};
use crate::calendar::Period;
use crate::decision::{Decision, Outcome};
use crate::quota::Quota;
use crate::time::{Span, Timestamp};

#[derive(Clone, Copy)]
struct Count {
    used: u64,
    period: Period,
}

impl Count {
    /// The count as it is seen at `now`: what was used in a window that is over is gone.
    fn at(now: Timestamp, quota: &Quota, state: StateRef<'_>) -> Self {
        match state {
            StateRef::Cell(&State([used, mark])) => Some(Self { used, period: quota.window().marked(mark) }),
            StateRef::Fresh | StateRef::Log(_) => None,
        }
        .filter(|count| now < count.period.end)
        .unwrap_or_else(|| Self { used: 0, period: quota.window().period_at(now) })
    }

    fn holds(self, at: Timestamp) -> bool {
        self.period.start <= at && at < self.period.end
    }

    fn change(self, quota: &Quota) -> Change {
        put_unless(self.used == 0, State([self.used, quota.window().mark(self.period)]))
    }
}

pub(super) fn decide(quota: &Quota, state: StateRef<'_>, op: Op, now: Timestamp) -> Step {
    let count = Count::at(now, quota, state);
    match op {
        Op::Take(0) => Step { decision: ask(quota, count, 0, now), change: Change::Keep, charged_at: None },
        Op::Peek(cost) => {
            Step { decision: ask(quota, count, cost, now), change: Change::Keep, charged_at: None }
        }
        Op::Take(cost) => take(quota, count, cost, now),
        Op::Give { at, amount } if count.holds(at) => {
            moved_to(quota, Count { used: count.used.saturating_sub(amount), ..count }, now)
        }
        // That window is over, and its use with it.
        Op::Give { .. } => {
            Step { decision: standing(quota, count, now), change: Change::Keep, charged_at: None }
        }
        Op::Adjust(by) => {
            let used = count.used.saturating_add_signed(by).min(quota.level_max());
            moved_to(quota, Count { used, ..count }, now)
        }
        Op::Reset => moved_to(quota, Count { used: 0, ..count }, now),
    }
}

pub(super) fn expires(quota: &Quota, state: &State) -> Timestamp {
    let State([_, mark]) = *state;
    quota.window().marked(mark).end
}

fn take(quota: &Quota, count: Count, cost: u64, now: Timestamp) -> Step {
    let decision = ask(quota, count, cost, now);
    if decision.outcome != Outcome::Allow {
        return Step { decision, change: Change::Keep, charged_at: None };
    }
    let charged = Count { used: count.used + cost, ..count };
    Step {
        decision: standing(quota, charged, now),
        change: charged.change(quota),
        // Inside the window that was charged, also where `now` lags behind it.
        charged_at: Some(now.max(count.period.start)),
    }
}

fn ask(quota: &Quota, count: Count, cost: u64, now: Timestamp) -> Decision {
    let at_rest = standing(quota, count, now);
    if cost > quota.limit() || quota.limit() == 0 {
        Decision { outcome: Outcome::Never, ..at_rest }
    } else if count.used <= quota.limit() - cost {
        at_rest
    } else {
        let wait = count.period.end.since(now);
        Decision { outcome: Outcome::Deny, retry_after: Some(wait), next_after: wait, ..at_rest }
    }
}

fn moved_to(quota: &Quota, count: Count, now: Timestamp) -> Step {
    Step { decision: standing(quota, count, now), change: count.change(quota), charged_at: None }
}

fn standing(quota: &Quota, count: Count, now: Timestamp) -> Decision {
    let wait = if count.used == 0 { Span::ZERO } else { count.period.end.since(now) };
    Decision {
        outcome: Outcome::Allow,
        limit: quota.limit(),
        remaining: quota.limit().saturating_sub(count.used),
        reset_after: wait,
        retry_after: None,
        delay: Span::ZERO,
        next_after: wait,
    }
}
