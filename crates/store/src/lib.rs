//! Where Weir counts. This crate alone knows about atomicity and the clock of the operating system; it knows
//! nothing of HTTP, and of policies only the rules that operations carry.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use weir_core::{Descriptor, KeySecret, Limiter, Request, file};
//! use weir_store::MemoryStore;
//!
//! let policies = "
//! domain: shop
//! policies:
//!   - { name: per-user, key: [user], quota: 2/minute }
//! ";
//! let loaded = file::load("policy.yaml", policies.as_bytes(), &file::Options::new(KeySecret::new([7; 16])))?;
//! let limiter = Limiter::new(loaded.policies, MemoryStore::new());
//!
//! let request = Request { descriptor: Descriptor::new().with("user", "ada"), ..Request::default() };
//! assert!(limiter.check(&request).await?.is_admitted());
//! assert!(limiter.check(&request).await?.is_admitted());
//! let verdict = limiter.check(&request).await?;
//! assert!(!verdict.is_admitted());
//! assert!(verdict.retry_after().is_some());
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(example())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every store passes the contract suite in `tests/contract/main.rs`; to enrol one takes a line there.

mod any;
mod clock;
mod memory;
mod redis;

pub use any::AnyStore;
pub use clock::{Clock, ManualClock, SystemClock};
pub use memory::{MemoryLimits, MemoryStats, MemoryStore};
pub use redis::{
    Awaited, Fault, FaultKind, OwnSecret, RedisSettings, RedisStore, RedisStoreError, RedisUrlError,
    ServerStats,
};
