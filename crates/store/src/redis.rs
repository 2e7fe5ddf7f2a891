//! A store on Redis or Valkey: any number of nodes count together, exactly, in one round trip.
//!
//! ```text
//! apply ── batcher ──▶ what waits together ── call ──▶ keys and numbers ── link ──▶ the script, on the server
//!                                           ◀─ reply ── states as they were, and the time ◀──┘
//!                                              └─ weir-core works out the figures
//! ```
//!
//! The script decides and writes in one step, at the server's time. Its arithmetic is that of `weir-core` in
//! doubles; quotas are settled for [`weir_core::Precision::Double`].

mod batcher;
mod call;
mod link;
mod packed;
mod reply;
mod script;
mod sender;
mod settings;
mod value;

pub use settings::{RedisSettings, RedisUrlError};

use std::sync::Arc;

use thiserror::Error;
use weir_core::{Answers, Batch, Store};

use crate::clock::Clock;
use batcher::Batcher;
use link::Link;
use sender::Sender;

/// Why there is no store.
#[derive(Debug, Error)]
pub enum RedisStoreError {
    /// The server cannot be reached, or refuses us.
    #[error("{at}: {why}")]
    Unreachable {
        /// Where it should be.
        at: String,
        /// What it, or the way to it, said.
        why: String,
    },
}

/// Counts on a Redis or Valkey, together with all nodes that have the same secret and prefix. Clones share one
/// connection.
#[derive(Clone, Debug)]
pub struct RedisStore(Batcher);

impl RedisStore {
    /// Connects. Time is the server's own.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, or refuses us.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn connect(settings: &RedisSettings) -> Result<Self, RedisStoreError> {
        Self::with(settings, None).await
    }

    /// The same at the time of a clock of the caller's, for tests and simulations.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn with_clock(
        settings: &RedisSettings,
        clock: impl Clock + 'static,
    ) -> Result<Self, RedisStoreError> {
        Self::with(settings, Some(Arc::new(clock))).await
    }

    async fn with(settings: &RedisSettings, clock: Option<Arc<dyn Clock>>) -> Result<Self, RedisStoreError> {
        let unreachable = |error: ::redis::RedisError| RedisStoreError::Unreachable {
            at: settings.to_string(),
            why: error.to_string(),
        };
        let link = Link::to(settings).await.map_err(unreachable)?;
        link.query(&::redis::cmd("PING")).await.map_err(unreachable)?;
        Ok(Self(Batcher::start(Sender::new(link, settings, clock))))
    }
}

impl Store for RedisStore {
    async fn apply(&self, batch: Batch) -> Answers {
        self.0.apply(batch).await
    }
}
