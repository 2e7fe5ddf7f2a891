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
mod micros;
mod packed;
mod reply;
mod script;
mod secret;
mod sender;
mod settings;
mod value;

pub use secret::OwnSecret;
pub use settings::{RedisSettings, RedisUrlError};

use std::sync::Arc;

use ::redis::{ErrorKind, RedisError};
use thiserror::Error;
use weir_core::{Answers, Batch, KeySecret, Store};

use crate::clock::Clock;
use batcher::Batcher;
use link::Link;
use secret::Agreed;
use sender::{Sender, SharedSecret};

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
    /// The nodes of this store count under another secret.
    #[error("{at}: {why}")]
    Secret {
        /// Which store.
        at: String,
        /// What is different, and what to do.
        why: &'static str,
    },
}

/// Counts on a Redis or Valkey, together with all nodes that have the same secret and prefix. Clones share one
/// connection.
#[derive(Clone, Debug)]
pub struct RedisStore(Batcher);

impl RedisStore {
    /// Connects, and agrees with the other nodes on the secret that keys are hashed with: the one that policies
    /// are to be loaded with comes back. Time is the server's own.
    ///
    /// # Errors
    ///
    /// The server cannot be reached or refuses us, or the nodes of this store count under another secret.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn connect(
        settings: &RedisSettings,
        secret: &OwnSecret,
    ) -> Result<(Self, KeySecret), RedisStoreError> {
        Self::with(settings, secret, None).await
    }

    /// The same at the time of a clock of the caller's, for tests and simulations.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn with_clock(
        settings: &RedisSettings,
        secret: &OwnSecret,
        clock: impl Clock + 'static,
    ) -> Result<(Self, KeySecret), RedisStoreError> {
        Self::with(settings, secret, Some(Arc::new(clock))).await
    }

    async fn with(
        settings: &RedisSettings,
        own: &OwnSecret,
        clock: Option<Arc<dyn Clock>>,
    ) -> Result<(Self, KeySecret), RedisStoreError> {
        let at = || settings.to_string();
        let unreachable = |error: RedisError| RedisStoreError::Unreachable { at: at(), why: why(&error) };
        let link = Link::to(settings).await.map_err(unreachable)?;
        let name = format!("{}secret", settings.prefix()).into_bytes();
        let refused = |why| RedisStoreError::Secret { at: at(), why };
        let (secret, text) = match secret::agree(&link, &name, own).await.map_err(unreachable)? {
            Agreed::On(secret, text) => (secret, text),
            Agreed::Differently => {
                return Err(refused("its nodes count under another key secret: give this one the same"));
            }
            Agreed::OnOneNotGiven => {
                return Err(refused("its nodes were given a key secret: give it to this one too"));
            }
            Agreed::OnNothingOfOurs => {
                return Err(refused(
                    "its key secret is nothing that Weir wrote: give another prefix, or delete it",
                ));
            }
        };
        let shared = SharedSecret { name, text, fingerprint: secret::fingerprint(&secret) };
        Ok((Self(Batcher::start(Sender::new(link, settings, shared, clock))), secret))
    }
}

/// What keeps us from a server, for whoever set it up.
fn why(error: &RedisError) -> String {
    match error.kind() {
        ErrorKind::Parse => "what answers there is no Redis or Valkey".into(),
        ErrorKind::AuthenticationFailed => "it refuses this user or password".into(),
        ErrorKind::Io => format!("no server answers there: {error}"),
        _ => error.to_string(),
    }
}

impl Store for RedisStore {
    async fn apply(&self, batch: Batch) -> Answers {
        self.0.apply(batch).await
    }
}
