//! Chaos, with real servers: whatever happens to the store, answers come in time and by their policy's posture, little
//! is asked of it, no more is admitted than `docs/failure.md` says, and it counts exactly again soon.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it measured"
)]

mod alone;
mod load;
mod together;

use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_servers::block_on;

/// Waits are measured, so one runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
