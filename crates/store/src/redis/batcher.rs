//! What waits at the same time goes out as one call: hot keys are read and written once for many requests,
//! and no request waits for company.
//!
//! Whoever holds a request answers it in time, the queue before it is sent and its call after that: so a request costs
//! no timer of its own, and is given up or sent, never both.

mod callers;
mod queue;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::timeout;
use weir_core::{Answers, Batch};

use super::sender::{Sender, unavailable};
use callers::Callers;
use queue::{Queue, WAITING_MAX, Waiting};

/// So many operations go out in one call, if no request alone has more. A call that decides more keeps the
/// server from others for too long.
const OPERATIONS_MAX: usize = 128;
/// So many calls are on their way at once: one is decided while the next is put together.
const IN_FLIGHT_MAX: usize = 2;

/// The queue before a store.
#[derive(Clone)]
pub(super) struct Batcher {
    queue: mpsc::Sender<Waiting>,
    sender: Arc<Sender>,
}

impl Batcher {
    /// Why the store is not asked, while it is not.
    pub(super) fn trouble(&self) -> Option<String> {
        self.sender.trouble()
    }

    /// Starts sending; ends when the last clone is gone and the queue is empty.
    pub(super) fn start(sender: Sender) -> Self {
        let (queue, coming) = mpsc::channel(WAITING_MAX);
        let sender = Arc::new(sender);
        tokio::spawn(run(sender.clone(), Queue::of(coming, sender.clone())));
        Self { queue, sender }
    }

    /// Puts a batch in the queue, unless nothing would come of it. What is not answered in time is given up; if it was
    /// not sent before, it is not sent. A caller who goes away takes nothing back: what was sent is decided.
    pub(super) async fn ask(&self, batch: Batch, patience: Option<Duration>) -> Asked {
        let count = batch.operations().len();
        if self.sender.refuses_at_once() {
            return Asked { count, answers: None };
        }
        let (to, answers) = oneshot::channel();
        let deadline = patience.map(|patience| self.sender.after(patience));
        let is_queued = match (self.queue.try_send(Waiting { batch, to, deadline }), patience) {
            (Ok(()), _) => true,
            (Err(TrySendError::Closed(_)), _) => false,
            (Err(TrySendError::Full(waiting)), None) => self.queue.send(waiting).await.is_ok(),
            (Err(TrySendError::Full(waiting)), Some(patience)) => {
                let queued = timeout(patience, self.queue.send(waiting)).await;
                if queued.is_err() {
                    self.sender.gave_up();
                }
                matches!(queued, Ok(Ok(())))
            }
        };
        Asked { count, answers: is_queued.then_some(answers) }
    }
}

/// A batch in the queue.
pub(super) struct Asked {
    count: usize,
    answers: Option<oneshot::Receiver<Answers>>,
}

impl Asked {
    /// The answers, in order.
    pub(super) async fn answers(self) -> Answers {
        let Some(answers) = self.answers else { return unavailable(self.count, false) };
        answers.await.unwrap_or_else(|_| unavailable(self.count, true))
    }
}

async fn run(sender: Arc<Sender>, mut queue: Queue) {
    let in_flight = Arc::new(Semaphore::new(IN_FLIGHT_MAX));
    loop {
        let Ok(permit) = queue.watched(in_flight.clone().acquire_owned()).await else { return };
        let Some(Waiting { mut batch, to, deadline }) = queue.next().await else { return };
        let mut callers = Callers::of(batch.operations().len(), to, deadline);
        while let Some(more) = queue.next_of(OPERATIONS_MAX.saturating_sub(batch.operations().len())) {
            callers.push(more.batch.operations().len(), more.to, more.deadline);
            more.batch.groups().for_each(|group| batch.push(group.iter().copied()));
        }
        tokio::spawn(send(sender.clone(), batch, callers, permit));
    }
}

async fn send(sender: Arc<Sender>, batch: Batch, mut callers: Callers, permit: OwnedSemaphorePermit) {
    let answers = callers.watched(&sender, sender.clone().send(batch)).await;
    drop(permit);
    callers.hand_out(answers);
}
