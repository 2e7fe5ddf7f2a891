//! Sliding log: every charge with its instant, so that no window of any position holds more than the limit.
//!
//! A charge made at `t` is in view until `t + window`, and a request is admitted if all that is in view and
//! its cost stay within the limit. Equal instants share an entry, which weighs what they cost together.
//! Exactness is paid for in memory: sixteen bytes for each entry in view.

mod log;

use log::Edit;
pub use log::{Log, LogChange};

use super::{Change, Op, StateRef, Step};
use crate::decision::{Decision, Outcome};
use crate::quota::Quota;
use crate::time::{Span, Timestamp};

/// The largest limit that may be allowed: 256 MiB of entries for one key.
pub(crate) const LIMIT_MAX: u64 = 1 << 24;

/// What is in view of a log.
struct View<'a> {
    log: &'a Log,
    /// The entry from which on all are in view.
    first: usize,
    used: u64,
}

pub(super) fn decide(quota: &Quota, state: StateRef<'_>, op: Op, now: Timestamp) -> Step {
    let fresh = Log::default();
    let log = match state {
        StateRef::Log(log) => log,
        StateRef::Fresh | StateRef::Cell(_) => &fresh,
    };
    let view = view(quota, log, now);
    let keep = |decision| Step { decision, change: Change::Keep, charged_at: None };
    match op {
        Op::Take(0) => keep(ask(quota, &view, 0, now)),
        Op::Peek(cost) => keep(ask(quota, &view, cost, now)),
        Op::Take(cost) => take(quota, &view, cost, now),
        Op::Give { at, amount } => moved_to(quota, &view, Edit::Remove { at, amount }, now),
        Op::Adjust(by) if by < 0 => moved_to(quota, &view, Edit::Lower(by.unsigned_abs()), now),
        Op::Adjust(by) => moved_to(quota, &view, add(quota, &view, by.unsigned_abs(), now), now),
        Op::Reset => Step { decision: at_rest(quota, 0, None, now), change: Change::Clear, charged_at: None },
    }
}

pub(super) fn expires(quota: &Quota, log: &Log) -> Timestamp {
    log.last().map_or(Timestamp::default(), |at| at.after(quota.span()))
}

fn view<'a>(quota: &Quota, log: &'a Log, now: Timestamp) -> View<'a> {
    let first = log.first_after(now, quota.span());
    View { log, first, used: log.used_from(first) }
}

/// Time that runs backwards counts as none: an entry is never before the last one.
fn add(quota: &Quota, view: &View<'_>, cost: u64, now: Timestamp) -> Edit {
    let at = view.log.last().map_or(now, |last| last.max(now));
    Edit::Add { at, cost: cost.min(quota.level_max().saturating_sub(view.used)) }
}

fn take(quota: &Quota, view: &View<'_>, cost: u64, now: Timestamp) -> Step {
    let decision = ask(quota, view, cost, now);
    let edit = add(quota, view, cost, now);
    let Edit::Add { at, .. } = edit else { return Step { decision, change: Change::Keep, charged_at: None } };
    if decision.outcome != Outcome::Allow {
        return Step { decision, change: Change::Keep, charged_at: None };
    }
    let next = view.log.at(view.first).unwrap_or(at).after(quota.span()).since(now);
    Step {
        decision: at_rest(quota, view.used + cost, Some((at, next)), now),
        change: Change::Log(LogChange { keep_from: view.first, edit }),
        charged_at: Some(at),
    }
}

fn ask(quota: &Quota, view: &View<'_>, cost: u64, now: Timestamp) -> Decision {
    let standing = standing(quota, view, now);
    if cost > quota.limit() || quota.limit() == 0 {
        return Decision { outcome: Outcome::Never, ..standing };
    }
    if view.used <= quota.limit() - cost {
        return standing;
    }
    let wait = until_it_fits(quota, view, cost, now);
    Decision { outcome: Outcome::Deny, retry_after: Some(wait), next_after: wait, ..standing }
}

/// Changes that are rare enough to be tried on a copy.
fn moved_to(quota: &Quota, held: &View<'_>, edit: Edit, now: Timestamp) -> Step {
    let change = LogChange { keep_from: held.first, edit };
    let mut log = held.log.clone();
    log.apply(change, usize::MAX);
    let view = view(quota, &log, now);
    let change = if view.used == 0 { Change::Clear } else { Change::Log(change) };
    Step { decision: standing(quota, &view, now), change, charged_at: None }
}

fn standing(quota: &Quota, view: &View<'_>, now: Timestamp) -> Decision {
    let remaining = quota.limit().saturating_sub(view.used);
    let last = view.log.last().filter(|_| view.used > 0);
    let next = || until_it_fits(quota, view, remaining.saturating_add(1).min(quota.limit()), now);
    at_rest(quota, view.used, last.map(|last| (last, next())), now)
}

/// What an asker is told: the last entry, and the wait until more is there.
fn at_rest(quota: &Quota, used: u64, last: Option<(Timestamp, Span)>, now: Timestamp) -> Decision {
    Decision {
        outcome: Outcome::Allow,
        limit: quota.limit(),
        remaining: quota.limit().saturating_sub(used),
        reset_after: last.map_or(Span::ZERO, |(at, _)| at.after(quota.span()).since(now)),
        retry_after: None,
        delay: Span::ZERO,
        next_after: last.map_or(Span::ZERO, |(_, next)| next),
    }
}

/// The wait until so many units fit, where they do not now.
fn until_it_fits(quota: &Quota, view: &View<'_>, cost: u64, now: Timestamp) -> Span {
    let room = quota.limit().saturating_sub(cost);
    let leaves = view.log.at_which_gone(view.first, view.used.saturating_sub(room));
    leaves.map_or(Span::ZERO, |at| at.after(quota.span()).since(now))
}
