//! Real servers for tests and benchmarks: started on free ports of loopback, in memory only, and gone when the
//! program ends, however it ends. Nothing here is part of Weir.

#![allow(
    clippy::print_stdout,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking, and says what it left out"
)]

mod cluster;
mod relay;
mod sentinels;
mod server;

pub use cluster::Cluster;
pub use relay::{Relay, Way};
pub use sentinels::Sentinels;
pub use server::{Kind, Server};

use std::time::{Duration, Instant};

/// How long servers have to find together.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs a test on two threads of its own: what clients do in the background goes on while the test waits.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().expect("a runtime").block_on(future)
}

/// Waits until it is so. Servers tell nobody when they are ready, so they are asked again and again.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "after {PATIENCE:?}, still not so: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
