//! Who waits for the answers of a call.

use tokio::sync::oneshot;
use tokio::time::timeout;
use weir_core::{Answers, Timestamp};

use crate::redis::sender::{Sender, unavailable};

/// In the order of the call's operations.
pub(super) struct Callers(Vec<Caller>);

/// Whose the next so many answers are.
struct Caller {
    count: usize,
    /// Nothing where it was given up.
    to: Option<oneshot::Sender<Answers>>,
    deadline: Option<Timestamp>,
}

impl Callers {
    pub(super) fn of(count: usize, to: oneshot::Sender<Answers>, deadline: Option<Timestamp>) -> Self {
        let mut callers = Self(Vec::new());
        callers.push(count, to, deadline);
        callers
    }

    pub(super) fn push(&mut self, count: usize, to: oneshot::Sender<Answers>, deadline: Option<Timestamp>) {
        self.0.push(Caller { count, to: Some(to), deadline });
    }

    /// Gives up whoever has waited long enough, until the answers are there.
    pub(super) async fn watched(
        &mut self,
        sender: &Sender,
        answers: impl Future<Output = Answers>,
    ) -> Answers {
        tokio::pin!(answers);
        while let Some(next) = self.0.iter().filter_map(Caller::due).min() {
            match timeout(sender.until(next), &mut answers).await {
                Ok(answers) => return answers,
                Err(_) => self.give_up_late(sender),
            }
        }
        answers.await
    }

    fn give_up_late(&mut self, sender: &Sender) {
        let now = sender.now();
        for caller in self.0.iter_mut().filter(|caller| caller.due().is_some_and(|due| due <= now)) {
            sender.gave_up();
            if let Some(to) = caller.to.take() {
                // It was sent.
                let _gone = to.send(unavailable(caller.count, true));
            }
        }
    }

    pub(super) fn hand_out(self, mut answers: Answers) {
        let mut answers = answers.drain();
        for Caller { count, to, .. } in self.0 {
            let mut own = Answers::new();
            answers.by_ref().take(count).for_each(|answer| own.push(answer));
            // Where nobody listens any more, what was decided stays decided.
            let _gone = to.map(|to| to.send(own));
        }
    }
}

impl Caller {
    /// When it is given up.
    fn due(&self) -> Option<Timestamp> {
        self.deadline.filter(|_| self.to.is_some())
    }
}
