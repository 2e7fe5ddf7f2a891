//! The one thing that a store must be able to do.

use crate::operation::{Answer, Answers, Batch, Operation};
use crate::rule::Rule;
use crate::time::Span;

/// Holds the state of keys, and decides and commits in one step.
///
/// There is no way to read first and write later: that is where other limiters race.
pub trait Store: Send + Sync {
    /// Decides the groups in order, each all or nothing, on the store's own clock, and commits what was
    /// decided. Answers come in the order of the groups and of their operations. A store that cannot answer
    /// says so for each operation that it concerns; it does not fail.
    fn apply(&self, batch: Batch) -> impl Future<Output = Answers> + Send;

    /// The same for one operation on its own, which is most of all traffic: a store may have a shorter way. `timeout` is
    /// [`Batch::timeout`].
    fn apply_one(&self, operation: Operation, timeout: Option<Span>) -> impl Future<Output = Answer> + Send {
        let batch: Batch = [[operation]].into_iter().collect();
        let answers = self.apply(batch.within(timeout));
        async { answers.await.pop().unwrap_or(Answer::Unavailable { sent: true }) }
    }

    /// Tells which rules are in force from now on, before it is asked by them. A store whose room is limited
    /// reserves some for each of their policies; others need not care.
    fn in_force(&self, _rules: &[Rule]) {}

    /// Why it cannot answer now, or not all of what it is asked: for people. Nothing where it can.
    fn trouble(&self) -> Option<String> {
        None
    }
}

impl<S: Store> Store for std::sync::Arc<S> {
    fn apply(&self, batch: Batch) -> impl Future<Output = Answers> + Send {
        S::apply(self, batch)
    }

    fn apply_one(&self, operation: Operation, timeout: Option<Span>) -> impl Future<Output = Answer> + Send {
        S::apply_one(self, operation, timeout)
    }

    fn in_force(&self, rules: &[Rule]) {
        S::in_force(self, rules);
    }

    fn trouble(&self) -> Option<String> {
        S::trouble(self)
    }
}
