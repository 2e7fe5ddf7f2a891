//! What waits to be sent.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use weir_core::{Answers, Batch, Timestamp};

use crate::redis::sender::{Sender, unavailable};

/// So many requests wait at most to be looked at, and so many after that; whoever comes then waits for room.
pub(super) const WAITING_MAX: usize = 2_048;
/// While nothing can be sent, it is seen to so often that nobody waits beyond a deadline.
const TICK: Duration = Duration::from_millis(1);

/// A request that waits, and who waits for its answer, until when.
pub(super) struct Waiting {
    pub(super) batch: Batch,
    pub(super) to: oneshot::Sender<Answers>,
    pub(super) deadline: Option<Timestamp>,
}

pub(super) struct Queue {
    coming: mpsc::Receiver<Waiting>,
    /// What was looked at, and could not be sent yet.
    held: VecDeque<Waiting>,
    sender: Arc<Sender>,
    /// When the requests of a call are chosen.
    now: Timestamp,
}

impl Queue {
    pub(super) fn of(coming: mpsc::Receiver<Waiting>, sender: Arc<Sender>) -> Self {
        Self { coming, held: VecDeque::new(), now: sender.now(), sender }
    }

    /// Sees to it that nobody waits beyond a deadline until this is ready.
    pub(super) async fn watched<T>(&mut self, ready: impl Future<Output = T>) -> T {
        tokio::pin!(ready);
        loop {
            match timeout(TICK, &mut ready).await {
                Ok(ready) => return ready,
                Err(_) => self.give_up_late(),
            }
        }
    }

    /// The next request that is to be sent; nothing when nobody will ask any more.
    pub(super) async fn next(&mut self) -> Option<Waiting> {
        loop {
            let first = match self.held.pop_front() {
                Some(first) => first,
                None => self.coming.recv().await?,
            };
            self.now = self.sender.now();
            if let Some(first) = self.wanted(first) {
                return Some(first);
            }
        }
    }

    /// The next one that waits already, if it has at most so many operations.
    pub(super) fn next_of(&mut self, operations: usize) -> Option<Waiting> {
        loop {
            let more = self.held.pop_front().or_else(|| self.coming.try_recv().ok())?;
            let Some(more) = self.wanted(more) else { continue };
            if more.batch.operations().len() <= operations {
                return Some(more);
            }
            self.held.push_front(more);
            return None;
        }
    }

    fn give_up_late(&mut self) {
        self.now = self.sender.now();
        while self.held.len() < WAITING_MAX
            && let Ok(more) = self.coming.try_recv()
        {
            self.held.push_back(more);
        }
        for waiting in std::mem::take(&mut self.held) {
            let wanted = self.wanted(waiting);
            self.held.extend(wanted);
        }
    }

    /// Gives up what is late; whoever went away is not charged.
    fn wanted(&self, waiting: Waiting) -> Option<Waiting> {
        if waiting.deadline.is_some_and(|deadline| deadline <= self.now) {
            self.sender.gave_up();
            let _gone = waiting.to.send(unavailable(waiting.batch.operations().len(), false));
            return None;
        }
        (!waiting.to.is_closed()).then_some(waiting)
    }
}
