//! The store on Redis and Valkey, on real servers: what the contract does not ask of every store.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking, and says what it left out"
)]

mod batches;
mod cases;
mod denials;
mod differential;
mod local;
mod nodes;
mod refusals;
mod sick;
mod tls;
mod topologies;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use weir_servers::{Kind, block_on};
use weir_store::RedisSettings;

/// Tests of what is decided are given time, on machines that are busy with others.
const DEADLINE: Duration = Duration::from_secs(10);

fn settings(url: &str, prefix: &str) -> RedisSettings {
    RedisSettings::parse(url).unwrap().with_prefix(prefix).with_deadline(DEADLINE)
}

/// A prefix that no other test has.
fn prefix() -> String {
    static PREFIXES: AtomicU64 = AtomicU64::new(0);
    format!("test-{}:", PREFIXES.fetch_add(1, Ordering::Relaxed))
}

/// Settings for the shared server with a prefix of their own, and the prefix.
fn namespace(kind: Kind) -> (RedisSettings, String) {
    let prefix = prefix();
    (settings(&kind.shared().url(), &prefix), prefix)
}

/// Whether a name is that of a counter: the store keeps its secret and its nodes beside them.
fn is_counter(name: &str) -> bool {
    name.rsplit([':', '}']).next().is_some_and(|key| key.len() == 32)
}

/// Random numbers from a seed that is printed.
struct Random(TestRng);

impl Random {
    fn from_environment() -> Self {
        let seed: Option<u64> = std::env::var("WEIR_SEED").ok().and_then(|text| text.parse().ok());
        let seed = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        println!("WEIR_SEED={seed}");
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end.max(1)
    }
}
