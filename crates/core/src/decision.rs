//! What one policy answers to one request.

use crate::time::Span;
use crate::words::words;

words! {
    /// The kinds of answer, for one policy and for a whole request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Outcome {
        /// Admitted.
        Allow = "allow",
        /// Refused now; the same request is admitted later.
        Deny = "deny",
        /// Refused, and waiting is pointless: the cost is more than the quota can ever hold.
        Never = "never",
        /// Refused because the store could not answer and the policy is closed.
        Unavailable = "unavailable",
    }
}

/// The answer of one algorithm about one key, and where the allowance stands after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// [`Outcome::Allow`], [`Outcome::Deny`] or [`Outcome::Never`]; an algorithm is never unavailable.
    pub outcome: Outcome,
    /// The most units that fit at once: the burst of a bucket, the limit of a window.
    pub limit: u64,
    /// Whole units left, never more than `limit`.
    pub remaining: u64,
    /// The time until the allowance is full again if left alone.
    pub reset_after: Span,
    /// For a denial: the wait after which, with no other traffic, the same request is admitted; one tick
    /// earlier it is not. `None` where waiting is needless or pointless.
    pub retry_after: Option<Span>,
    /// The time until there is more than `remaining`: the next unit of a bucket, the end of a window; zero
    /// where the allowance is full.
    pub next_after: Span,
    /// For an admission by a leaky bucket: how long the request would wait in a queue that drains at the
    /// rate. Zero for all others.
    pub delay: Span,
}
