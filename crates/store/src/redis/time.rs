//! About the server's time, without asking it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use weir_core::Timestamp;

use crate::clock::{Clock, SystemClock};

/// The server's time as it was told last, and what has passed here since.
pub(super) struct ServerTime {
    system: SystemClock,
    /// How far the server was ahead of that, in nanoseconds.
    ahead: AtomicI64,
    /// Instead of the server's own time.
    clock: Option<Arc<dyn Clock>>,
}

impl ServerTime {
    pub(super) fn new(clock: Option<Arc<dyn Clock>>) -> Self {
        Self { system: SystemClock::new(), ahead: AtomicI64::new(0), clock }
    }

    /// The time that is told to the server, where it is not to use its own.
    pub(super) fn told_by_us(&self) -> Option<Timestamp> {
        self.clock.as_ref().map(Clock::now)
    }

    /// Takes note of what it said.
    pub(super) fn learn(&self, server: Timestamp) {
        let ahead = server.nanos().cast_signed().wrapping_sub(self.system.now().nanos().cast_signed());
        self.ahead.store(ahead, Ordering::Relaxed);
    }
}

impl Clock for ServerTime {
    fn now(&self) -> Timestamp {
        let ours = || self.system.now().nanos().saturating_add_signed(self.ahead.load(Ordering::Relaxed));
        self.told_by_us().unwrap_or_else(|| Timestamp::from_nanos(ours()))
    }
}
