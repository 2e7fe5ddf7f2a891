//! What several targets need: policies that are known to be good, a clock that stands, a way to wait.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use weir_core::file::{self, Loaded, Options, Report};
use weir_core::{Charges, KeySecret, PolicySet, Request, Timestamp};
use weir_store::{ManualClock, MemoryLimits, MemoryStore};

/// How messages call the policy file.
pub(crate) const NAME: &str = "policy.yaml";

/// Enough for the requests of one input, and quickly made for each of them.
const LIMITS: MemoryLimits = MemoryLimits { keys: 16_384, log_entries: 65_536 };

/// An instant like any other. Time stands still during a check, so nothing leaks and nothing expires.
const NOW: Timestamp = Timestamp::from_nanos(1_710_720_000_000_000_000);

thread_local! {
    /// Made once a thread: a run decides about millions of inputs.
    static RUNTIME: Runtime =
        Builder::new_current_thread().enable_time().build().expect("a runtime without threads or sockets");
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    RUNTIME.with(|runtime| runtime.block_on(future))
}

pub(crate) fn load(bytes: &[u8]) -> Result<Loaded, Report> {
    file::load(NAME, bytes, &Options::new(KeySecret::new([9; 16])))
}

/// The policies of a file that a target brings with it.
pub(crate) fn policies(text: &str) -> Arc<PolicySet> {
    match load(text.as_bytes()) {
        Ok(loaded) => loaded.policies,
        Err(report) => panic!("{report}"),
    }
}

/// What a request with these attributes is to be charged.
pub(crate) fn charges(policies: &PolicySet, attributes: &[(&str, &str)]) -> Charges {
    let request = Request { descriptor: attributes.iter().copied().collect(), ..Request::default() };
    policies.charges(&request).expect("no domain is named")
}

/// An empty store.
pub(crate) fn store() -> Arc<MemoryStore<ManualClock>> {
    Arc::new(MemoryStore::with(ManualClock::at(NOW), LIMITS))
}

/// What is charged in it: keys with a place of their own, and what others share.
pub(crate) fn keys_held(store: &MemoryStore<ManualClock>) -> usize {
    let stats = store.stats();
    stats.keys + stats.partitions
}
