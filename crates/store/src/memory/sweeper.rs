//! The one thread that lets expired keys go, also when nobody asks.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The time in which every key is looked at once.
const PASS: Duration = Duration::from_secs(10);

/// Ends its thread when it is dropped.
#[derive(Debug)]
pub(super) struct Sweeper(Arc<Stop>);

#[derive(Debug, Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

impl Sweeper {
    /// Calls `sweep_part` once for each of `parts`, again and again, spread over the time of a pass. It ends
    /// when told to, or when `sweep_part` says that there is nothing left to sweep.
    pub(super) fn start(parts: usize, sweep_part: impl Fn(usize) -> bool + Send + 'static) -> Self {
        let stop = Arc::new(Stop::default());
        let stopped = stop.clone();
        let pause = PASS / u32::try_from(parts).unwrap_or(u32::MAX);
        let run = move || {
            for part in (0..parts).cycle() {
                if stopped.comes_within(pause) || !sweep_part(part) {
                    return;
                }
            }
        };
        // Without a thread, keys still go when room is needed; a limiter that does not start is worse.
        let _ = thread::Builder::new().name("weir-sweep".into()).spawn(run);
        Self(stop)
    }
}

impl Stop {
    fn comes_within(&self, pause: Duration) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(asked, pause, |asked| !*asked);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        *self.0.asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn m01_one_thread_visits_every_part_in_turn_and_ends_with_its_store() {
        let (visited, visits) = mpsc::channel();
        let sweeper = Sweeper::start(64, move |part| visited.send(part).is_ok());
        let seen: Vec<usize> = visits.iter().take(3).collect();
        assert_eq!(seen, [0, 1, 2]);
        drop(sweeper);
        assert!(visits.iter().count() <= 1, "the thread has ended, or this would wait for ever");
    }
}
