//! The quotas of a policy: what it allows, settled, with its burst and its calendar.

use std::num::NonZeroU64;

use super::Options;
use super::report::{Complaint, Problem, complain};
use super::scalar::{self, QuotaText, WindowText};
use super::tree::Node;
use crate::algorithm::Algorithm;
use crate::calendar::{Calendar, CalendarError, CalendarUnit};
use crate::quota::{Quota, QuotaError};
use crate::time::Span;
use crate::window::Window;

/// A list of quotas stands for at most this many policies.
const QUOTAS_MAX: usize = 16;

/// One quota of a policy, settled.
pub(super) struct Allowed {
    /// What the policy's name ends with where it has several quotas: `.1s`.
    pub(super) suffix: String,
    /// `None` allows everything.
    pub(super) quota: Option<Quota>,
}

/// What a policy says of its quotas elsewhere.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) algorithm: Algorithm,
    /// The zone of calendar windows, which may be the file's default.
    pub(super) time_zone: Option<&'a str>,
    pub(super) options: &'a Options,
}

/// Which field a complaint is about.
enum Fault {
    Quota(Complaint),
    Burst(Complaint),
    Anchor(Complaint),
}

/// Settles the quotas of a policy node and reports what cannot be.
pub(super) fn read(policy: &Node, terms: Terms<'_>, problems: &mut Vec<Problem>) -> Vec<Allowed> {
    let Some(quota) = policy.field("quota") else { return Vec::new() };
    let burst = burst(policy, quota, problems);
    let anchor = policy.field("anchor").and_then(Node::text);
    let several = quota.items().len() > 1;
    if let Some(node) = quota.items().get(QUOTAS_MAX) {
        problems.push(Problem::new(&node.span, format!("more than {QUOTAS_MAX} quotas in a list")));
        return Vec::new();
    }
    let mut allowed: Vec<Allowed> = Vec::new();
    for node in quota.items() {
        let Some(Ok(text)) = node.text().map(scalar::quota) else { continue };
        match settle(text, several, terms, anchor, burst) {
            Ok(one) if allowed.iter().any(|other| other.suffix == one.suffix) => problems.push(
                Problem::new(&node.span, "the list has another quota with this window")
                    .hint("the smaller of the two would always decide; keep that one"),
            ),
            Ok(one) => allowed.push(one),
            Err(Fault::Quota(complaint)) => problems.push(complaint.at(&node.span)),
            Err(Fault::Burst(complaint)) => {
                problems.push(complaint.at(&policy.field("burst").unwrap_or(node).span));
            }
            Err(Fault::Anchor(complaint)) => {
                problems.push(complaint.at(&policy.field("anchor").unwrap_or(node).span));
            }
        }
    }
    check_calendar_fields(policy, &allowed, problems);
    allowed
}

/// A zone or an anchor that places no window is a misunderstanding.
fn check_calendar_fields(policy: &Node, allowed: &[Allowed], problems: &mut Vec<Problem>) {
    let has_calendar =
        |allowed: &Allowed| allowed.quota.is_some_and(|quota| quota.window().length().is_none());
    if allowed.is_empty() || allowed.iter().any(has_calendar) {
        return;
    }
    for node in ["time_zone", "anchor"].into_iter().filter_map(|name| policy.field(name)) {
        let problem = Problem::new(&node.span, "there is no calendar window here for it to place");
        problems.push(problem.hint(
            "it goes with `algorithm: fixed_window` and a quota per `day`, `week`, `month` or `year`; lengths \
             of time are the same in every zone",
        ));
    }
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
    terms: Terms<'_>,
    anchor: Option<&str>,
    burst: Option<NonZeroU64>,
) -> Result<Allowed, Fault> {
    let (limit, written) = match text {
        QuotaText::Unlimited if several => {
            return complain("`unlimited` makes the rest of the list useless", "leave one of them out")
                .map_err(Fault::Quota);
        }
        QuotaText::Unlimited if burst.is_some() => {
            return complain("an unlimited quota has no burst", "leave it out").map_err(Fault::Burst);
        }
        QuotaText::Unlimited => return Ok(Allowed { suffix: String::new(), quota: None }),
        QuotaText::Limited { limit, window } => (limit, window),
    };
    if terms.algorithm == Algorithm::SlidingLog && limit > terms.options.log_limit_max {
        let message = format!("out of range: a log keeps {} units at most", terms.options.log_limit_max);
        let hint = "use `sliding_window`, or raise `--log-limit-max`, at 16 bytes a unit and key";
        return complain(message, hint).map_err(Fault::Quota);
    }
    let window = window(written, terms, anchor)?;
    let quota = Quota::settle_for(terms.options.precision, terms.algorithm, limit, window, burst)
        .map_err(|error| fault(&error, written, burst.is_some()))?;
    let suffix = match window {
        _ if !several => String::new(),
        // Names keep the short `m`, which is unclear only where it is written by hand.
        Window::Length(length) => format!(".{length}").replace("min", "m"),
        Window::Calendar(calendar) => format!(".{}", calendar.unit()),
    };
    Ok(Allowed { suffix, quota: Some(quota) })
}

/// A day is a calendar's where a zone counts it, and else as long as 24 hours.
fn window(written: WindowText, terms: Terms<'_>, anchor: Option<&str>) -> Result<Window, Fault> {
    let is_fixed = terms.algorithm == Algorithm::FixedWindow;
    match (written, terms.time_zone) {
        (WindowText::Length(length), _) => Ok(length.into()),
        (WindowText::Calendar(CalendarUnit::Day), None) => Ok(A_DAY.into()),
        (WindowText::Calendar(CalendarUnit::Day), _) if !is_fixed => Ok(A_DAY.into()),
        (WindowText::Calendar(unit), zone) => match Calendar::new(unit, zone.unwrap_or("UTC"), anchor) {
            Ok(calendar) => Ok(Window::Calendar(calendar)),
            Err(error @ CalendarError::AnchoredDay) => {
                complain(error.to_string(), "leave it out, or write a policy of its own for the day")
                    .map_err(Fault::Anchor)
            }
            // What is no zone or date was reported where it is written.
            Err(CalendarError::Zone(_) | CalendarError::Anchor(_)) => {
                Ok(Calendar::new(unit, "UTC", None).map_or(A_DAY.into(), Window::Calendar))
            }
        },
    }
}

const A_DAY: Span = Span::from_secs(86_400);

fn fault(error: &QuotaError, window: WindowText, has_burst: bool) -> Fault {
    let complaint = |hint: &str| Complaint { message: error.to_string(), hint: hint.into() };
    match error {
        QuotaError::Calendar(_) => {
            let days = window.in_days();
            Fault::Quota(complaint(&format!("write days instead, such as `{days}`, or use `fixed_window`")))
        }
        QuotaError::BurstUnused(_) => Fault::Burst(complaint("leave it out, or use a bucket")),
        QuotaError::BurstTooLarge(_) => Fault::Burst(complaint("lower it, or count in larger units")),
        QuotaError::TooSlow(_) if has_burst => Fault::Burst(complaint("lower it")),
        QuotaError::TooSlow(_) => Fault::Quota(complaint("set a lower `burst`")),
        QuotaError::LimitTooLarge(_) => Fault::Quota(complaint("lower it, or count in larger units")),
        QuotaError::Window | QuotaError::TooFine => Fault::Quota(complaint("choose another window")),
    }
}
