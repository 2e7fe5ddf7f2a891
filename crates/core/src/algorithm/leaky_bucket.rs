//! Leaky bucket: the token bucket seen from the other side, which also tells how long a queue would hold
//! the request.
//!
//! Work pours in, up to the burst, and drains at the rate. As a meter it admits just what a token bucket of
//! the same figures admits, so the arithmetic is that one's. What is added is the delay: a request that goes
//! on after it leaves as if from a queue that drains at the rate, and what lies behind sees a steady flow.

use super::{Op, StateRef, Step, token_bucket};
use crate::decision::{Decision, Outcome};
use crate::quota::Quota;
use crate::time::Timestamp;

pub(super) fn decide(quota: &Quota, state: StateRef<'_>, op: Op, now: Timestamp) -> Step {
    let step = token_bucket::decide(quota, state, op, now);
    match op {
        Op::Take(_) | Op::Peek(_) if step.decision.outcome == Outcome::Allow => {
            let delay = token_bucket::to_drain(quota, state, now);
            Step { decision: Decision { delay, ..step.decision }, ..step }
        }
        _ => step,
    }
}
