//! A store that was not there when its node started: it is looked for until it is found.

use std::fmt;
use std::future::pending;
use std::time::Duration;

use tokio::task::JoinHandle;
use weir_core::KeySecret;

use super::reach::{Reached, reach};
use super::{OwnSecret, RedisSettings, RedisStore};

/// Between two attempts, each of which may take a second: so limits are in force within two of the store's coming.
const PAUSE: Duration = Duration::from_millis(500);

/// A [`RedisStore`] that answers nothing yet. Dropped, it never will.
pub struct Awaited {
    store: RedisStore,
    own: KeySecret,
    looking: JoinHandle<Reached>,
    reached: Option<Reached>,
}

impl Awaited {
    pub(super) fn start(store: RedisStore, settings: RedisSettings, own: OwnSecret) -> Self {
        let secret = own.secret();
        let looking = tokio::spawn(look(store.clone(), settings, own));
        Self { store, own: secret, looking, reached: None }
    }

    /// Waits until the store is there and this node agrees with the others on the secret that keys are hashed with.
    /// It is another than the node's own where that was drawn and the others had one: policies are to be loaded with
    /// it before the store is opened. To be cancelled and called again at will.
    pub async fn agreed(&mut self) -> KeySecret {
        if self.reached.is_none() {
            match (&mut self.looking).await {
                Ok(reached) => self.reached = Some(reached),
                Err(_) => return pending().await,
            }
        }
        self.reached.as_ref().map_or_else(|| self.own.clone(), |reached| reached.secret.clone())
    }

    /// Has the store decide from now on, if it is there: what was counted by this node alone goes there, unless it was
    /// counted under another secret.
    pub fn open(mut self) {
        if let Some(reached) = self.reached.take() {
            self.store.open(reached, &self.own);
        }
    }
}

impl fmt::Debug for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Awaited").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.looking.abort();
    }
}

async fn look(store: RedisStore, settings: RedisSettings, own: OwnSecret) -> Reached {
    loop {
        tokio::time::sleep(PAUSE).await;
        match reach(&settings, &own).await {
            Ok(reached) => return reached,
            Err(error) => store.is_away(&error),
        }
    }
}
