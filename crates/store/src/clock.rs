//! The clocks that stores decide by: the system's, and one that is set by hand for tests and simulations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
///
/// Between two readings of the system's clock the processor's cycle counter is read, which takes a third of
/// the time. It is taken to run a little slow, and every ten milliseconds the clock catches up: so it never
/// runs ahead, never goes back, and is behind by a few microseconds at most.
#[derive(Debug)]
pub struct SystemClock {
    anchor: Timestamp,
    started: Instant,
    counter: quanta::Clock,
    counted_from: u64,
    /// Nanoseconds that the counter has not counted.
    missed: AtomicU64,
    /// What the counter said when the clock last caught up.
    checked: AtomicU64,
    /// The counter was found to run ahead, and is left alone.
    is_unsound: AtomicBool,
    /// What was told last by a counter that ran ahead: time stands still until it is reached.
    told: AtomicU64,
}

/// How often the clock catches up, in nanoseconds.
const CHECK_AFTER: u64 = 10_000_000;
/// By one part in so many (2¹², 244 ppm) the counter is taken to be slower than it was measured.
const SLOWED_BY: u32 = 12;

impl SystemClock {
    /// A clock anchored at the wall clock's present time.
    pub fn new() -> Self {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let nanos = u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX);
        let counter = quanta::Clock::new();
        Self {
            anchor: Timestamp::from_nanos(nanos),
            started: Instant::now(),
            counted_from: counter.raw(),
            counter,
            missed: AtomicU64::new(0),
            checked: AtomicU64::new(0),
            is_unsound: AtomicBool::new(false),
            told: AtomicU64::new(0),
        }
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Catches up with the system's clock, on one thread. A counter that is far ahead, as after a move to
    /// another machine, is not asked again.
    #[cold]
    fn catch_up(&self, counted: u64, checked: u64) {
        if self.checked.compare_exchange(checked, counted, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        let elapsed = self.elapsed();
        // The counter is read after the clock: whatever holds this thread up in between is not counted twice,
        // only caught up with later.
        let missed = elapsed.saturating_sub(self.counted());
        let missed = missed.max(self.missed.fetch_max(missed, Ordering::Relaxed));
        // What was read before the clock can be ahead of it only if the counter is.
        if counted.saturating_add(missed) > elapsed.saturating_add(CHECK_AFTER) {
            self.told.fetch_max(counted.saturating_add(missed), Ordering::Relaxed);
            self.is_unsound.store(true, Ordering::Relaxed);
        }
    }

    fn counted(&self) -> u64 {
        let counted = self.counter.delta_as_nanos(self.counted_from, self.counter.raw());
        counted - (counted >> SLOWED_BY)
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Timestamp {
        C::now(self)
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let counted = self.counted();
        let checked = self.checked.load(Ordering::Relaxed);
        if counted.abs_diff(checked) >= CHECK_AFTER {
            self.catch_up(counted, checked);
        }
        let elapsed = if self.is_unsound.load(Ordering::Relaxed) {
            self.elapsed().max(self.told.load(Ordering::Relaxed))
        } else {
            counted.saturating_add(self.missed.load(Ordering::Relaxed))
        };
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
    fn the_system_clock_keeps_pace_with_the_systems_own() {
        let clock = SystemClock::new();
        let behind = || {
            let before = clock.elapsed();
            let told = clock.now().since(clock.anchor).nanos();
            (before.saturating_sub(told), told.saturating_sub(clock.elapsed()))
        };
        // A second of readings, many times the time after which it catches up.
        while clock.elapsed() < 1_000_000_000 {
            let (behind, ahead) = behind();
            assert!(behind < 50_000_000 && ahead < 1_000_000, "{behind} ns behind, {ahead} ns ahead");
        }
        assert!(clock.missed.load(Ordering::Relaxed) > 0 && !clock.is_unsound.load(Ordering::Relaxed));
    }

    #[test]
    fn clones_of_a_manual_clock_share_its_time() {
        let clock = ManualClock::at(Timestamp::from_nanos(5));
        let twin = clock.clone();
        twin.advance(Span::from_nanos(2));
        assert_eq!(clock.now(), Timestamp::from_nanos(7));
    }
}
