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
mod differential;
#[path = "../servers/mod.rs"]
mod servers;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use weir_store::RedisSettings;

use servers::{Kind, Server};

const KINDS: [Kind; 2] = [Kind::Redis, Kind::Valkey];

fn settings(server: &Server, prefix: &str) -> RedisSettings {
    RedisSettings::parse(&server.url()).unwrap().with_prefix(prefix)
}

/// Settings with a prefix that no other test has, and the prefix.
fn namespace(kind: Kind) -> (RedisSettings, String) {
    static NAMESPACES: AtomicU64 = AtomicU64::new(0);
    let number = NAMESPACES.fetch_add(1, Ordering::Relaxed);
    let prefix = format!("test-{number}:");
    (settings(kind.shared(), &prefix), prefix)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// `SplitMix64`: random numbers from a seed that is printed.
struct Random(u64);

impl Random {
    fn from_environment() -> Self {
        let seed = std::env::var("WEIR_SEED").ok().and_then(|text| text.parse().ok());
        let seed = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        println!("WEIR_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end.max(1)
    }
}
