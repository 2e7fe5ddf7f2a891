//! Brings to the server, once it is back, what was counted here and nobody asks for.

use std::sync::{Arc, Weak};

use tokio::task::AbortHandle;
use weir_core::{Batch, Op, Operation};

use super::batcher::Batcher;
use super::local::Local;
use super::tags::lane;

/// So many keys go out in one call.
const AT_ONCE: usize = 64;

/// Runs until it is dropped.
pub(super) struct HandOver(AbortHandle);

impl HandOver {
    pub(super) fn start(lanes: &Arc<[Batcher]>, local: Arc<Local>) -> Self {
        Self(tokio::spawn(run(Arc::downgrade(lanes), local)).abort_handle())
    }
}

impl Drop for HandOver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn run(lanes: Weak<[Batcher]>, local: Arc<Local>) {
    loop {
        local.returned.notified().await;
        let Some(lanes) = lanes.upgrade() else { return };
        let mut by_lane: Vec<Vec<Operation>> = lanes.iter().map(|_| Vec::new()).collect();
        for (key, rule) in local.owing() {
            if let Some(keys) = by_lane.get_mut(lane(key, lanes.len())) {
                // Whatever names a key pays what it owes.
                keys.push(Operation::new(key, rule, Op::Peek(0)));
            }
        }
        for (lane, keys) in lanes.iter().zip(by_lane) {
            for keys in keys.chunks(AT_ONCE) {
                let batch: Batch = keys.iter().map(|operation| [*operation]).collect();
                lane.ask(batch, None).await.answers().await;
            }
        }
    }
}
