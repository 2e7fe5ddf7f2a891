//! The clocks that stores decide by: the system's, and one that is set by hand for tests and simulations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use weir_core::{Span, Timestamp};

/// Tells the time to a store.
pub trait Clock: Send + Sync {
    /// The present instant. Never before one that was told earlier.
    fn now(&self) -> Timestamp;
}

/// The monotonic clock of the system, anchored at the Unix epoch once, when it is made.
///
/// The wall clock is read that one time, to place windows where people expect them. Later steps of it (NTP,
/// virtual machines, a daylight-saving mistake) change no decision. Time that the machine spends suspended
/// does not pass.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    anchor: Timestamp,
    started: Instant,
}

impl SystemClock {
    /// A clock anchored at the wall clock's present time.
    pub fn new() -> Self {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let nanos = u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX);
        Self { anchor: Timestamp::from_nanos(nanos), started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let elapsed = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.anchor.after(Span::from_nanos(elapsed))
    }
}

/// A clock that stands still until it is moved. Clones share the same time.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn at(now: Timestamp) -> Self {
        Self(Arc::new(AtomicU64::new(now.nanos())))
    }

    /// Moves the time on.
    pub fn advance(&self, by: Span) {
        self.0.fetch_add(by.nanos(), Ordering::SeqCst);
    }

    /// Sets the time, also backwards, as no real clock of a store does: for tests of what would happen.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.nanos(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_is_anchored_at_the_epoch_and_never_runs_backwards() {
        const YEAR_2020: Timestamp = Timestamp::from_nanos(1_577_836_800_000_000_000);
        let clock = SystemClock::new();
        let readings: Vec<Timestamp> = (0..1_000).map(|_| clock.now()).collect();
        assert!(readings[0] > YEAR_2020);
        assert!(readings.is_sorted());
    }

    #[test]
    fn clones_of_a_manual_clock_share_its_time() {
        let clock = ManualClock::at(Timestamp::from_nanos(5));
        let twin = clock.clone();
        twin.advance(Span::from_nanos(2));
        assert_eq!(clock.now(), Timestamp::from_nanos(7));
    }
}
