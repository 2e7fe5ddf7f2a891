//! Limits that a caller brings along, where a policy would say them otherwise: a key, a burst and a rate.

use std::num::NonZeroU64;

use thiserror::Error;

use crate::algorithm::{Algorithm, Op};
use crate::key::{KeyBuilder, KeySecret};
use crate::operation::Operation;
use crate::precision::Precision;
use crate::quota::{Quota, QuotaError};
use crate::rule::Rule;
use crate::time::Span;

/// So many different rules there may be before callers can bring no new ones: each takes about a hundred bytes for as
/// long as the process lives, and callers could make up more and more of them.
const RULES_MAX: usize = 1 << 16;

/// A caller's own bucket, and what is taken from it.
#[derive(Clone, Copy, Debug)]
pub struct Throttle<'a> {
    /// Whose bucket it is. One key is one bucket, whatever the other figures were before.
    pub key: &'a [u8],
    /// The most units at once, from 1.
    pub burst: u64,
    /// So many units come back in each period, from 1.
    pub count: u64,
    /// From [`crate::WINDOW_MIN`] to [`crate::WINDOW_MAX`].
    pub period: Span,
    /// The units asked for; 0 only looks.
    pub quantity: u64,
}

/// What a caller brought along cannot be counted by.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ThrottleError {
    /// The burst, the count or the period is 0.
    #[error("burst, count and period are at least 1")]
    Zero,
    /// The figures are out of range for the store.
    #[error(transparent)]
    Quota(#[from] QuotaError),
    /// There are as many different limits as this process keeps.
    #[error("too many different limits: this node takes at most {RULES_MAX}")]
    TooMany,
}

/// What such buckets are named and counted by.
#[derive(Debug)]
pub(crate) struct Throttles {
    start: KeyBuilder,
    precision: Precision,
}

impl Throttles {
    /// Their keys are apart from those of all policies: no policy has a name of no length.
    pub(crate) fn new(secret: &KeySecret, domain: &str, precision: Precision) -> Self {
        let start = KeyBuilder::new(secret).part(domain.as_bytes()).part(b"").part(b"throttle");
        Self { start, precision }
    }

    pub(crate) fn operation(&self, throttle: &Throttle<'_>) -> Result<Operation, ThrottleError> {
        let Throttle { key, burst, count, period, quantity } = *throttle;
        let burst = NonZeroU64::new(burst).filter(|_| count > 0 && period > Span::ZERO);
        let Some(burst) = burst else { return Err(ThrottleError::Zero) };
        let bucket = Algorithm::TokenBucket;
        let quota = Quota::settle_for(self.precision, bucket, count, period, Some(burst))?;
        let rule = Rule::known_or_below(RULES_MAX, self.start.policy_id(), bucket, quota);
        let rule = rule.ok_or(ThrottleError::TooMany)?;
        let op = if quantity == 0 { Op::Peek(0) } else { Op::Take(quantity) };
        Ok(Operation::new(self.start.part(key).key(), rule, op))
    }
}
