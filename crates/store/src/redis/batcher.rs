//! What waits at the same time goes out as one call: hot keys are read and written once for many requests,
//! and no request waits for company.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{Instant, timeout_at};
use weir_core::{Answers, Batch};

use super::sender::{Sender, unavailable};

/// So many operations go out in one call, if no request alone has more. A call that decides more keeps the
/// server from others for too long.
const OPERATIONS_MAX: usize = 128;
/// So many calls are on their way at once: one is decided while the next is put together.
const IN_FLIGHT_MAX: usize = 2;
/// So many requests wait at most; whoever comes then waits for room.
const WAITING_MAX: usize = 4_096;

/// A request that waits, and who waits for its answer.
struct Waiting {
    batch: Batch,
    to: oneshot::Sender<Answers>,
    /// Of one who waits for so long and no longer.
    fate: Option<Arc<Fate>>,
}

/// What became of a request in the queue: it is taken out to be sent, or given up, and never both.
#[derive(Default)]
struct Fate(AtomicBool);

impl Fate {
    /// Settles it, unless it was settled before.
    fn settle(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

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
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let sender = Arc::new(sender);
        tokio::spawn(run(sender.clone(), waiting));
        Self { queue, sender }
    }

    /// The answers to a batch, in order, if they come in time. A caller who goes away takes nothing back: what was
    /// sent is decided.
    pub(super) async fn apply(&self, batch: Batch, deadline: Instant) -> Result<Answers, GivenUp> {
        let fate = Arc::<Fate>::default();
        match timeout_at(deadline, self.put(batch, Some(fate.clone()))).await {
            Ok(asked) => asked.answers_by(deadline, &fate).await,
            Err(_) => Err(GivenUp { sent: false }),
        }
    }

    /// Puts a batch in the queue, unless nothing would come of it; whoever does waits for the answers.
    pub(super) async fn ask(&self, batch: Batch) -> Asked {
        self.put(batch, None).await
    }

    async fn put(&self, batch: Batch, fate: Option<Arc<Fate>>) -> Asked {
        let count = batch.operations().len();
        if self.sender.refuses_at_once() {
            return Asked { count, answers: None };
        }
        let (to, answers) = oneshot::channel();
        let is_queued = self.queue.send(Waiting { batch, to, fate }).await.is_ok();
        Asked { count, answers: is_queued.then_some(answers) }
    }
}

/// No answer came in time.
#[derive(Debug)]
pub(super) struct GivenUp {
    /// Whether the request may have been sent.
    pub(super) sent: bool,
}

impl Waiting {
    /// Whether its caller is still there; it is going to be sent then.
    fn is_wanted(&self) -> bool {
        self.fate.as_ref().is_none_or(|fate| fate.settle()) && !self.to.is_closed()
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

    /// The answers, in order, if they come in time. What is given up before it was sent is not sent.
    async fn answers_by(self, deadline: Instant, fate: &Fate) -> Result<Answers, GivenUp> {
        let Some(answers) = self.answers else { return Ok(unavailable(self.count, false)) };
        match timeout_at(deadline, answers).await {
            Ok(answers) => Ok(answers.unwrap_or_else(|_| unavailable(self.count, true))),
            Err(_) => Err(GivenUp { sent: !fate.settle() }),
        }
    }
}

async fn run(sender: Arc<Sender>, mut waiting: mpsc::Receiver<Waiting>) {
    let in_flight = Arc::new(Semaphore::new(IN_FLIGHT_MAX));
    let mut next = None;
    loop {
        let Ok(permit) = in_flight.clone().acquire_owned().await else { return };
        let first = match next.take() {
            Some(left_over) => Some(left_over),
            None => waiting.recv().await,
        };
        let Some(first) = first else { return };
        if !first.is_wanted() {
            // Whoever gave up is not charged.
            continue;
        }
        let mut batch = first.batch;
        let mut callers = vec![Caller { count: batch.operations().len(), to: first.to }];
        while let Ok(more) = waiting.try_recv() {
            let count = more.batch.operations().len();
            if batch.operations().len() + count > OPERATIONS_MAX {
                next = Some(more);
                break;
            }
            if !more.is_wanted() {
                continue;
            }
            more.batch.groups().for_each(|group| batch.push(group.iter().copied()));
            callers.push(Caller { count, to: more.to });
        }
        let sender = sender.clone();
        tokio::spawn(async move {
            let mut answers = sender.send(batch).await;
            drop(permit);
            hand_out(&mut answers, callers);
        });
    }
}

/// Whose the next so many answers are.
struct Caller {
    count: usize,
    to: oneshot::Sender<Answers>,
}

fn hand_out(answers: &mut Answers, callers: Vec<Caller>) {
    let mut answers = answers.drain();
    for Caller { count, to } in callers {
        let mut own = Answers::new();
        answers.by_ref().take(count).for_each(|answer| own.push(answer));
        // Nobody listens any more: what was decided stays decided.
        let _gone = to.send(own);
    }
}
