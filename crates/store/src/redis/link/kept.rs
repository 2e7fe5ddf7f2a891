//! A connection that is made anew whenever it is lost, in the background: who asks meanwhile is not kept waiting
//! for it, and there is never more than one and the one in the making.

use std::sync::Arc;
use std::time::Duration;

use ::redis::RedisError;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::redis::lot::lot;

/// Between two attempts, doubled after each that fails, with up to as much again by lot: nodes that have lost the
/// same server do not come back all at once.
const FIRST_PAUSE: Duration = Duration::from_millis(25);
const LONGEST_PAUSE: Duration = Duration::from_millis(400);

/// How a connection is made.
pub(super) trait Dial: Send + Sync + 'static {
    type Connection: Clone + Send + 'static;

    fn dial(&self) -> impl Future<Output = Result<Self::Connection, RedisError>> + Send;

    /// Waits until the connection made last leads to the wrong place, as far as somebody else tells.
    fn moved(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

/// A connection that is kept.
pub(super) struct Kept<D: Dial> {
    shared: Arc<Shared<D>>,
    keeper: AbortHandle,
}

struct Shared<D: Dial> {
    dial: D,
    current: Mutex<D::Connection>,
    lost: Notify,
}

impl<D: Dial> Kept<D> {
    /// Makes the first one.
    pub(super) async fn new(dial: D) -> Result<Self, RedisError> {
        let current = Mutex::new(dial.dial().await?);
        let shared = Arc::new(Shared { dial, current, lost: Notify::new() });
        let keeper = tokio::spawn(keep(shared.clone())).abort_handle();
        Ok(Self { shared, keeper })
    }

    /// The one that was made last.
    pub(super) fn get(&self) -> D::Connection {
        self.shared.current.lock().clone()
    }

    /// Another is to be made: this one is good for nothing any more, or leads to the wrong place.
    pub(super) fn is_lost(&self) {
        self.shared.lost.notify_one();
    }
}

async fn keep<D: Dial>(shared: Arc<Shared<D>>) {
    loop {
        tokio::select! {
            () = shared.lost.notified() => {}
            () = shared.dial.moved() => {}
        }
        let mut pause = FIRST_PAUSE;
        loop {
            if let Ok(connection) = shared.dial.dial().await {
                *shared.current.lock() = connection;
                // A server that takes connections and drops them is not asked for them all the time.
                tokio::time::sleep(LONGEST_PAUSE).await;
                break;
            }
            tokio::time::sleep(pause + share(pause, lot())).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// A part of it, by lot.
fn share(pause: Duration, lot: u64) -> Duration {
    Duration::from_micros(lot % u64::try_from(pause.as_micros()).unwrap_or(u64::MAX).max(1))
}

impl<D: Dial> Drop for Kept<D> {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}
