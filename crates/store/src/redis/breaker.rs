//! The circuit breaker of a lane: a store that is sick is not asked, and tried by one call at a time until it is well.
//!
//! It opens after [`IN_A_ROW`] calls that failed one after the other, so that a store that is gone costs few
//! deadlines; or when half of the last [`LOOKED_AT`] failed, so that one that answers now and then does not keep
//! every second request waiting. The store is tried after [`FIRST_WAIT`], and after each probe that fails when twice as
//! long has passed, up to [`LONGEST_WAIT`]: so limits are in force again within two seconds of the store's return, and
//! a sick store is asked at most ten times a second. A part of each wait is drawn by lot, so that nodes do not come all
//! at once.

use std::time::Duration;

use parking_lot::Mutex;

/// So many failures one after the other open it.
const IN_A_ROW: u32 = 5;
/// So many calls are looked at.
const LOOKED_AT: u32 = 32;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<Calls>);

#[derive(Debug, Default)]
struct Calls {
    /// A bit for each of the last calls, the last one lowest: whether it failed.
    failed: u32,
    /// While it is open: how long is waited for the next probe.
    open: Option<Duration>,
}

impl Breaker {
    /// Whether the store is not to be asked.
    pub(super) fn is_open(&self) -> bool {
        self.0.lock().open.is_some()
    }

    /// Takes note of how a call ended. Whether that opened it: the store is to be tried then until it is closed.
    pub(super) fn note(&self, failed: bool) -> bool {
        let mut calls = self.0.lock();
        if calls.open.is_some() {
            // What began before it opened says nothing of how it is now.
            return false;
        }
        calls.failed = calls.failed << 1 | u32::from(failed);
        let in_a_row = calls.failed.trailing_ones() >= IN_A_ROW;
        let is_sick = failed && (in_a_row || calls.failed.count_ones() >= LOOKED_AT / 2);
        calls.open = is_sick.then_some(FIRST_WAIT);
        is_sick
    }

    /// How long to wait before the store is tried; nothing while it is closed. Up to a quarter is left off by `lot`.
    pub(super) fn wait(&self, lot: u64) -> Option<Duration> {
        let wait = self.0.lock().open?;
        let quarter = u64::try_from(wait.as_nanos() / 4).unwrap_or(u64::MAX);
        Some(wait.saturating_sub(Duration::from_nanos(lot % quarter)))
    }

    /// Takes note of how a probe ended: one that went well closes it.
    pub(super) fn probed(&self, failed: bool) {
        let mut calls = self.0.lock();
        match calls.open {
            Some(wait) if failed => calls.open = Some((wait * 2).min(LONGEST_WAIT)),
            _ => *calls = Calls::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_after_five_failures_in_a_row_and_is_tried_by_one() {
        let breaker = Breaker::default();
        for failed in [true, true, true, true, false, true, true, true, true] {
            assert!(!breaker.note(failed));
        }
        assert!(!breaker.is_open());
        assert!(breaker.note(true));
        assert!(breaker.is_open());
        for millis in [100, 200, 400, 800, 1_000, 1_000] {
            assert_eq!(breaker.wait(0), Some(Duration::from_millis(millis)));
            assert!(!breaker.note(false) && !breaker.note(true), "calls from before");
            breaker.probed(true);
            assert!(breaker.is_open());
        }
        breaker.probed(false);
        assert!(!breaker.is_open());
        assert_eq!(breaker.wait(0), None);
        for _ in 1..IN_A_ROW {
            assert!(!breaker.note(true), "what was before is forgotten");
        }
        assert!(breaker.note(true));
        assert_eq!(breaker.wait(0), Some(FIRST_WAIT), "and it begins with the short wait");
    }

    #[test]
    fn it_opens_when_half_of_the_calls_fail() {
        let breaker = Breaker::default();
        let opened = (0..40).position(|i| breaker.note(i % 2 == 0));
        assert_eq!(opened, Some(30), "the sixteenth failure of 32 calls");
        let seldom = Breaker::default();
        assert!((0..1_000).all(|i| !seldom.note(i % 3 == 0)), "a third is borne");
    }

    #[test]
    fn a_wait_is_shortened_by_lot_and_never_by_more_than_a_quarter() {
        let breaker = Breaker::default();
        (0..IN_A_ROW).for_each(|_| _ = breaker.note(true));
        for lot in [0, 1, 24_999_999, 25_000_000, u64::MAX] {
            let wait = breaker.wait(lot).unwrap().as_nanos();
            assert!((75_000_001..=100_000_000).contains(&wait), "{wait}");
        }
    }
}
