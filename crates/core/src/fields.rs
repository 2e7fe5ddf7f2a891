//! The response fields that tell a client its quota.
//!
//! `RateLimit` and `RateLimit-Policy` follow draft-ietf-httpapi-ratelimit-headers-11, section 3, in the
//! syntax of Structured Fields (RFC 9651); `Retry-After` follows RFC 9110, section 10.2.3.

use std::fmt::Write as _;

use smallvec::SmallVec;

use crate::policy::{Allowance, Policy};
use crate::time::Span;
use crate::verdict::{Judgement, Verdict};

/// Structured Fields integers have fifteen digits at most (RFC 9651, section 3.3.1).
const INTEGER_MAX: u64 = 999_999_999_999_999;
/// More members than this help nobody; the governing policy comes first.
const MEMBERS_MAX: usize = 16;

/// Whether the older `X-RateLimit-*` fields are sent as well. They have no standard; the reset here is in
/// seconds from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LegacyFields {
    /// Not sent.
    #[default]
    Off,
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset` of the governing policy.
    On,
}

/// Field names and values, in the order in which they are sent.
pub type Fields = SmallVec<[(&'static str, String); 8]>;

/// Everything that a response says about quotas. Shadow policies and exempt requests say nothing, and
/// nothing is invented for a policy whose store did not answer.
pub fn of(verdict: &Verdict, legacy: LegacyFields) -> Fields {
    let mut fields = Fields::new();
    // A verdict is about this moment; a cache must not answer with it later (RFC 6585, section 4).
    fields.push(("Cache-Control", "no-store".into()));
    let retry = verdict.retry_after().map(retry_after_secs);
    if let Some(seconds) = retry {
        fields.push(("Retry-After", seconds.to_string()));
    }
    let told: SmallVec<[(&Policy, &Judgement); 4]> = told(verdict);
    if told.is_empty() {
        return fields;
    }
    fields.push(("RateLimit-Policy", list(&told, |out, policy, _| policy_parameters(out, policy))));
    fields.push(("RateLimit", list(&told, |out, _, judgement| standing_parameters(out, judgement, retry))));
    fields.push(("X-RateLimit-Cost", verdict.charged().to_string()));
    if legacy == LegacyFields::On
        && let Some((_, judgement)) = told.first()
        && let Some(decision) = judgement.decision()
    {
        let reset = retry.unwrap_or(0).max(decision.next_after.secs_ceil());
        fields.push(("X-RateLimit-Limit", decision.limit.to_string()));
        fields.push(("X-RateLimit-Remaining", decision.remaining.to_string()));
        fields.push(("X-RateLimit-Reset", reset.to_string()));
    }
    fields
}

/// A wait in whole seconds that keeps its word: rounded up, and at least 1.
pub fn retry_after_secs(wait: Span) -> u64 {
    wait.secs_ceil().max(1)
}

/// The judgements that the fields speak of, the governing one first.
fn told(verdict: &Verdict) -> SmallVec<[(&Policy, &Judgement); 4]> {
    let governing = verdict.governing();
    let others = verdict
        .enforced()
        .filter(|(policy, _)| governing.is_none_or(|(governing, _)| !std::ptr::eq(*policy, governing)));
    governing.into_iter().chain(others).filter(|(_, j)| j.decision().is_some()).take(MEMBERS_MAX).collect()
}

fn list(
    told: &[(&Policy, &Judgement)],
    mut parameters: impl FnMut(&mut String, &Policy, &Judgement),
) -> String {
    let mut out = String::new();
    for (policy, judgement) in told {
        let separator = if out.is_empty() { "" } else { ", " };
        // Policy names are checked at load: nothing in them needs escaping. Writing to a String cannot fail.
        let _ = write!(out, "{separator}\"{}\"", policy.name);
        parameters(&mut out, policy, judgement);
    }
    out
}

fn policy_parameters(out: &mut String, policy: &Policy) {
    let Allowance::Limited(rule) = policy.allowance else { return };
    let _ = write!(out, ";q={}", rule.quota.limit().min(INTEGER_MAX));
    if &*policy.unit == "bytes" {
        out.push_str(";qu=\"content-bytes\"");
    }
    // The draft's window is whole seconds, at least 1; others cannot be stated and are left out, and so are
    // those of a calendar, which have no one length.
    if let Some(seconds) = rule.quota.window().length().and_then(Span::whole_secs) {
        let _ = write!(out, ";w={}", seconds.min(INTEGER_MAX));
    }
    if rule.quota.capacity() != rule.quota.limit() {
        let _ = write!(out, ";burst={}", rule.quota.capacity().min(INTEGER_MAX));
    }
}

fn standing_parameters(out: &mut String, judgement: &Judgement, retry: Option<u64>) {
    let Some(decision) = judgement.decision() else { return };
    let _ = write!(out, ";r={}", decision.remaining.min(INTEGER_MAX));
    // A full allowance gains nothing, so it has no such time.
    if decision.next_after > Span::ZERO {
        let seconds = decision.next_after.secs_ceil().min(retry.unwrap_or(u64::MAX)).min(INTEGER_MAX);
        let _ = write!(out, ";t={seconds}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h01_a_wait_is_at_least_a_second_and_rounded_up() {
        for (millis, seconds) in [(0, 1), (1, 1), (400, 1), (1_000, 1), (1_001, 2)] {
            assert_eq!(retry_after_secs(Span::from_millis(millis)), seconds);
        }
    }
}
