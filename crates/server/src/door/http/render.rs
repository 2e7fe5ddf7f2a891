//! From a verdict to an HTTP response.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::{Serialize, Serializer};
use weir_core::fields::{self, LegacyFields};
use weir_core::{Judgement, Outcome, Policy, Span, Verdict};

use super::problem::PROBLEM_JSON;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// The problem types of draft-ietf-httpapi-ratelimit-headers-11, section 5.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
/// JSON numbers are doubles to many readers: from 2³³ ms on, about 99 days, nanoseconds do not survive.
const EXACT_NANOS_MAX: u64 = (1 << 33) * 1_000_000;

/// One verdict: its status, its fields, and the whole of it as JSON. A refusal is a problem document
/// (RFC 9457) with the same members beside the problem's own.
pub(super) fn verdict(verdict: &Verdict, legacy: LegacyFields) -> Response {
    let (status, problem) = match verdict.outcome() {
        Outcome::Allow => (StatusCode::OK, None),
        Outcome::Deny | Outcome::Never => {
            (StatusCode::TOO_MANY_REQUESTS, Some((QUOTA_EXCEEDED, "Quota exceeded")))
        }
        Outcome::Unavailable => {
            (StatusCode::SERVICE_UNAVAILABLE, Some((REDUCED_CAPACITY, "The limiter's store does not answer")))
        }
    };
    let problem = problem.map(|(r#type, title)| ProblemMembers {
        r#type,
        title,
        status: status.as_u16(),
        detail: detail(verdict),
        violated_policies: violated(verdict),
    });
    let content_type = if problem.is_some() { PROBLEM_JSON } else { JSON };
    let mut response = json(&Answer { problem, verdict: VerdictBody::of(verdict) });
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    add_fields(response.headers_mut(), fields::of(verdict, legacy));
    response
}

/// Verdicts of a batch, in order. The status is of the batch, not of any of them.
pub(super) fn verdicts(verdicts: &[Verdict]) -> Response {
    let mut response = json(&Verdicts { verdicts: verdicts.iter().map(VerdictBody::of).collect() });
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn json(body: &impl Serialize) -> Response {
    // Texts, numbers and lists of them always serialise.
    Response::new(Body::from(serde_json::to_vec(body).unwrap_or_default()))
}

fn add_fields(headers: &mut HeaderMap, fields: fields::Fields) {
    for (name, value) in fields {
        // Names are ours and values printable ASCII, so both always convert.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    problem: Option<ProblemMembers<'a>>,
    #[serde(flatten)]
    verdict: VerdictBody<'a>,
}

#[derive(Serialize)]
struct ProblemMembers<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    #[serde(rename = "violated-policies")]
    violated_policies: Vec<&'a str>,
}

#[derive(Serialize)]
struct Verdicts<'a> {
    verdicts: Vec<VerdictBody<'a>>,
}

#[derive(Serialize)]
struct VerdictBody<'a> {
    outcome: &'static str,
    policy: Option<&'a str>,
    #[serde(flatten)]
    standing: Standing,
    delay_ms: Millis,
    cost: u64,
    charged: u64,
    exempt: bool,
    degraded: bool,
    decisions: Vec<DecisionBody<'a>>,
    /// Policies that would apply but for a missing attribute: a misspelt one shows here.
    skipped: Vec<&'a str>,
}

#[derive(Serialize)]
struct DecisionBody<'a> {
    policy: &'a str,
    mode: &'static str,
    outcome: &'static str,
    #[serde(flatten)]
    standing: Standing,
    unit: &'a str,
    cost: u64,
    charged: u64,
    degraded: bool,
}

/// Where an allowance stands; all null where there is no figure to tell.
#[derive(Default, Serialize)]
struct Standing {
    limit: Option<u64>,
    remaining: Option<u64>,
    reset_after_ms: Option<Millis>,
    retry_after_ms: Option<Millis>,
}

/// Milliseconds, exact to the nanosecond where a double can be.
struct Millis(Span);

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nanos = self.0.nanos();
        if nanos.is_multiple_of(1_000_000) || nanos > EXACT_NANOS_MAX {
            serializer.serialize_u64(self.0.millis_ceil())
        } else {
            #[expect(clippy::cast_precision_loss, reason = "below 2³³ ms nothing is lost")]
            serializer.serialize_f64(nanos as f64 / 1e6)
        }
    }
}

impl Standing {
    fn of(judgement: &Judgement) -> Self {
        let Some(decision) = judgement.decision() else { return Self::default() };
        Self {
            limit: Some(decision.limit),
            remaining: Some(decision.remaining),
            reset_after_ms: Some(Millis(decision.reset_after)),
            retry_after_ms: decision.retry_after.map(Millis),
        }
    }
}

impl<'a> VerdictBody<'a> {
    fn of(verdict: &'a Verdict) -> Self {
        let governing = verdict.governing();
        Self {
            outcome: verdict.outcome().as_str(),
            policy: governing.map(|(policy, _)| &*policy.name),
            standing: governing.map(|(_, judgement)| Standing::of(judgement)).unwrap_or_default(),
            delay_ms: Millis(verdict.delay()),
            cost: governing.map_or(0, |(_, judgement)| judgement.cost),
            charged: verdict.charged(),
            exempt: verdict.is_exempt(),
            degraded: verdict.is_degraded(),
            decisions: verdict
                .judgements()
                .map(|(policy, judgement)| DecisionBody::of(policy, judgement))
                .collect(),
            skipped: verdict.skipped().map(|policy| &*policy.name).collect(),
        }
    }
}

impl<'a> DecisionBody<'a> {
    fn of(policy: &'a Policy, judgement: &Judgement) -> Self {
        Self {
            policy: &policy.name,
            mode: policy.mode.as_str(),
            outcome: judgement.outcome().as_str(),
            standing: Standing::of(judgement),
            unit: &policy.unit,
            cost: judgement.cost,
            charged: judgement.charged(),
            degraded: judgement.is_degraded(),
        }
    }
}

fn violated(verdict: &Verdict) -> Vec<&str> {
    let refusing = verdict.enforced().filter(|(_, judgement)| judgement.outcome() != Outcome::Allow);
    refusing.map(|(policy, _)| &*policy.name).collect()
}

/// One sentence for the person who reads the refusal.
fn detail(verdict: &Verdict) -> String {
    let Some((policy, judgement)) = verdict.governing() else { return String::new() };
    let (name, unit, cost) = (&policy.name, &policy.unit, judgement.cost);
    match (judgement.outcome(), judgement.decision()) {
        (Outcome::Deny, Some(decision)) => format!(
            "{name} has {} of {} {unit} left and this costs {cost}; retry in {} s",
            decision.remaining,
            decision.limit,
            decision.retry_after.map_or(0, fields::retry_after_secs)
        ),
        (Outcome::Never, Some(decision)) if decision.limit == 0 => {
            format!("{name} admits nothing: its limit is 0")
        }
        (Outcome::Never, Some(decision)) => {
            format!(
                "{name} never holds more than {} {unit} and this costs {cost}; waiting does not help",
                decision.limit
            )
        }
        (Outcome::Never, None) => format!("{name} refuses requests that lack an attribute of its key"),
        _ => format!("{name} refuses while its store does not answer"),
    }
}
