//! The circuit breaker of a lane: a store that is sick is not asked, and asked again by one call at a time until it
//! is well.
//!
//! It opens after [`IN_A_ROW`] calls that failed one after the other, so that a store that is gone costs few
//! deadlines; or when half of the last [`LOOKED_AT`] failed, so that one that answers now and then does not keep
//! every second request waiting. It stays open for [`FIRST_WAIT`], and after each probe that fails for twice as
//! long, up to [`LONGEST_WAIT`]: so limits are in force again within two seconds of the store's return, and a sick
//! store is asked at most ten times a second. A part of each wait is drawn by lot, so that nodes do not come all at
//! once.

use parking_lot::Mutex;
use weir_core::{Span, Timestamp};

/// So many failures one after the other open it.
const IN_A_ROW: u32 = 5;
/// So many calls are looked at.
const LOOKED_AT: u32 = 32;
const FIRST_WAIT: Span = Span::from_millis(100);
const LONGEST_WAIT: Span = Span::from_millis(1_000);

/// A probe that has not ended by then never will: deadlines are shorter.
const PROBE_LOST: Span = Span::from_secs(15);

#[derive(Debug)]
pub(super) struct Breaker(Mutex<Calls>);

#[derive(Debug)]
struct Calls {
    /// A bit for each of the last calls, the last one lowest: whether it failed.
    failed: u32,
    open: Option<Open>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    /// How long this time.
    wait: Span,
    /// The next probe is due then.
    until: Timestamp,
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum May {
    /// As usual.
    Call,
    /// This one, to see whether the store is well again.
    Probe,
    /// Not now.
    Not,
}

/// What a call has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Opened,
    Closed,
}

impl Breaker {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Calls { failed: 0, open: None }))
    }

    /// Whether it is open.
    pub(super) fn is_open(&self) -> bool {
        self.0.lock().open.is_some()
    }

    /// Whether nothing would come of a call now.
    pub(super) fn refuses(&self, now: Timestamp) -> bool {
        self.0.lock().open.is_some_and(|open| now < open.until)
    }

    /// Whether a call may be made. Whoever may tells how it ended, by [`Breaker::note`].
    pub(super) fn may_call(&self, now: Timestamp) -> May {
        match &mut self.0.lock().open {
            None => May::Call,
            Some(open) if now < open.until => May::Not,
            Some(open) => {
                open.until = now.after(PROBE_LOST);
                May::Probe
            }
        }
    }

    /// Takes note of how a call ended. `lot` is drawn anew for each.
    pub(super) fn note(&self, may: May, failed: bool, now: Timestamp, lot: u64) -> Option<Turn> {
        let mut calls = self.0.lock();
        calls.failed = calls.failed << 1 | u32::from(failed);
        match (calls.open, may) {
            // What began before it opened says nothing of how it is now.
            (Some(_), May::Call | May::Not) => None,
            (Some(_), May::Probe) if !failed => {
                *calls = Calls { failed: 0, open: None };
                Some(Turn::Closed)
            }
            (Some(open), May::Probe) => {
                let wait = Span::from_nanos(open.wait.nanos() * 2).min(LONGEST_WAIT);
                calls.open = Some(Open::for_a(wait, now, lot));
                None
            }
            (None, _) => {
                let in_a_row = calls.failed.trailing_ones() >= IN_A_ROW;
                let is_sick = failed && (in_a_row || calls.failed.count_ones() >= LOOKED_AT / 2);
                calls.open = is_sick.then(|| Open::for_a(FIRST_WAIT, now, lot));
                is_sick.then_some(Turn::Opened)
            }
        }
    }
}

impl Open {
    /// Up to a quarter of the wait is left off by lot.
    fn for_a(wait: Span, now: Timestamp, lot: u64) -> Self {
        let off = lot % (wait.nanos() / 4);
        Self { wait, until: now.after(Span::from_nanos(wait.nanos() - off)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_nanos(1 << 60);

    fn call(breaker: &Breaker, failed: bool, now: Timestamp) -> Option<Turn> {
        breaker.note(breaker.may_call(now), failed, now, 0)
    }

    #[test]
    fn it_opens_after_five_failures_in_a_row_and_is_tried_by_one() {
        let breaker = Breaker::new();
        for failed in [true, true, true, true, false, true, true, true, true] {
            assert_eq!(call(&breaker, failed, START), None);
        }
        assert!(!breaker.refuses(START));
        assert_eq!(call(&breaker, true, START), Some(Turn::Opened));
        assert!(breaker.refuses(START));
        let mut now = START;
        for millis in [100, 200, 400, 800, 1_000, 1_000] {
            assert_eq!(breaker.may_call(now.after(Span::from_nanos(millis * 1_000_000 - 1))), May::Not);
            now = now.after(Span::from_millis(millis));
            assert!(!breaker.refuses(now));
            assert_eq!(breaker.may_call(now), May::Probe);
            assert_eq!(breaker.may_call(now), May::Not, "one at a time");
            assert!(breaker.refuses(now));
            assert_eq!(breaker.note(May::Call, false, now, 0), None, "a call from before");
            assert_eq!(breaker.note(May::Probe, true, now, 0), None);
        }
        now = now.after(LONGEST_WAIT);
        assert_eq!(breaker.may_call(now), May::Probe);
        now = now.after(PROBE_LOST);
        assert_eq!(breaker.may_call(now), May::Probe, "one whose end was never told");
        assert_eq!(breaker.note(May::Probe, false, now, 0), Some(Turn::Closed));
        assert_eq!(breaker.may_call(now), May::Call);
        for _ in 1..IN_A_ROW {
            assert_eq!(call(&breaker, true, now), None, "what was before is forgotten");
        }
        assert_eq!(call(&breaker, true, now), Some(Turn::Opened));
        assert_eq!(breaker.may_call(now.after(FIRST_WAIT)), May::Probe, "and it begins with the short wait");
    }

    #[test]
    fn it_opens_when_half_of_the_calls_fail() {
        let breaker = Breaker::new();
        let turns: Vec<bool> = (0..40).map(|i| call(&breaker, i % 2 == 0, START).is_some()).collect();
        assert_eq!(turns.iter().position(|opened| *opened), Some(30), "the sixteenth failure of 32 calls");
        let seldom = Breaker::new();
        assert!((0..1_000).all(|i| call(&seldom, i % 3 == 0, START).is_none()), "a third is borne");
    }

    #[test]
    fn a_wait_is_shortened_by_lot_and_never_by_more_than_a_quarter() {
        for lot in [0, 1, 24_999_999, 25_000_000, u64::MAX] {
            let Open { until, .. } = Open::for_a(FIRST_WAIT, START, lot);
            let wait = until.since(START).nanos();
            assert!((75_000_001..=100_000_000).contains(&wait), "{wait}");
        }
    }
}
