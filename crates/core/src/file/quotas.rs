//! The quotas of a policy: what it allows, settled, with its burst and its own cost.

use std::num::NonZeroU64;

use super::report::{Complaint, Problem, complain};
use super::scalar::{self, QuotaText, Window};
use super::tree::Node;
use crate::algorithm::Algorithm;
use crate::operation::Rule;
use crate::policy::Allowance;
use crate::quota::{Quota, QuotaError};

/// A list of quotas stands for at most this many policies.
const QUOTAS_MAX: usize = 16;

/// One quota of a policy, settled.
pub(super) struct Allowed {
    /// What the policy's name ends with where it has several quotas: `.1s`.
    pub(super) suffix: String,
    pub(super) allowance: Allowance,
}

/// Which field a complaint is about.
enum Fault {
    Quota(Complaint),
    Burst(Complaint),
}

/// Settles the quotas of a policy node and reports what cannot be.
pub(super) fn read(policy: &Node, algorithm: Algorithm, problems: &mut Vec<Problem>) -> Vec<Allowed> {
    let Some(quota) = policy.field("quota") else { return Vec::new() };
    let burst = burst(policy, quota, problems);
    let several = quota.items().len() > 1;
    if let Some(node) = quota.items().get(QUOTAS_MAX) {
        problems.push(Problem::new(&node.span, format!("more than {QUOTAS_MAX} quotas in a list")));
        return Vec::new();
    }
    let mut allowed: Vec<Allowed> = Vec::new();
    for node in quota.items() {
        let Some(Ok(text)) = node.text().map(scalar::quota) else { continue };
        match settle(text, several, algorithm, burst) {
            Ok(one) if allowed.iter().any(|other| other.suffix == one.suffix) => problems.push(
                Problem::new(&node.span, "the list has another quota with this window")
                    .hint("the smaller of the two would always decide; keep that one"),
            ),
            Ok(one) => allowed.push(one),
            Err(Fault::Quota(complaint)) => problems.push(complaint.at(&node.span)),
            Err(Fault::Burst(complaint)) => {
                problems.push(complaint.at(&policy.field("burst").unwrap_or(node).span));
            }
        }
    }
    allowed
}

/// The burst, where there is one that can be; what cannot be is reported.
fn burst(policy: &Node, quota: &Node, problems: &mut Vec<Problem>) -> Option<NonZeroU64> {
    let node = policy.field("burst")?;
    let said = node.text().and_then(|text| scalar::count(text).ok())?;
    if quota.items().len() > 1 {
        let problem = Problem::new(&node.span, "one burst cannot serve several quotas");
        problems.push(problem.hint("write a policy of its own for the quota that has a burst"));
        return None;
    }
    let burst = NonZeroU64::new(said);
    if burst.is_none() {
        let problem = Problem::new(&node.span, "a burst of 0 would admit nothing");
        problems.push(problem.hint("leave it out for a burst of the limit"));
    }
    burst
}

fn settle(
    text: QuotaText,
    several: bool,
    algorithm: Algorithm,
    burst: Option<NonZeroU64>,
) -> Result<Allowed, Fault> {
    let (limit, window) = match text {
        QuotaText::Unlimited if several => {
            return complain("`unlimited` makes the rest of the list useless", "leave one of them out")
                .map_err(Fault::Quota);
        }
        QuotaText::Unlimited if burst.is_some() => {
            return complain("an unlimited quota has no burst", "leave it out").map_err(Fault::Burst);
        }
        QuotaText::Unlimited => {
            return Ok(Allowed { suffix: String::new(), allowance: Allowance::Unlimited });
        }
        QuotaText::Limited { limit, window: Window::Length(window) } => (limit, window),
        QuotaText::Limited { window: Window::Calendar { name, days }, .. } => {
            let message = match algorithm {
                Algorithm::FixedWindow => format!("calendar windows such as `{name}` are not supported"),
                Algorithm::TokenBucket | Algorithm::LeakyBucket | Algorithm::SlidingWindow => {
                    format!("`{name}` is a calendar window, and `{algorithm}` has none")
                }
            };
            return complain(message, format!("write days instead: `{days}`")).map_err(Fault::Quota);
        }
    };
    let quota = Quota::settle(algorithm, limit, window, burst).map_err(|error| {
        let complaint = |hint: &str| Complaint { message: error.to_string(), hint: hint.into() };
        match error {
            QuotaError::BurstUnused(_) => Fault::Burst(complaint("leave it out, or use a bucket")),
            QuotaError::BurstTooLarge(_) => Fault::Burst(complaint("lower it, or count in larger units")),
            QuotaError::TooSlow(_) if burst.is_some() => Fault::Burst(complaint("lower it")),
            QuotaError::TooSlow(_) => Fault::Quota(complaint("set a lower `burst`")),
            QuotaError::LimitTooLarge(_) => Fault::Quota(complaint("lower it, or count in larger units")),
            QuotaError::Window => Fault::Quota(complaint("choose another window")),
        }
    })?;
    // Names keep the short `m`, which is unclear only where it is written by hand.
    let suffix = if several { format!(".{window}").replace("min", "m") } else { String::new() };
    Ok(Allowed { suffix, allowance: Allowance::Limited(Rule { algorithm, quota }) })
}
