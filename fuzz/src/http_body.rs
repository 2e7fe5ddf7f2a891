//! Bodies of the HTTP door: each gets an answer that is JSON, never a 500, and what is refused costs nothing.

use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;
use weir_core::fields::LegacyFields;
use weir_core::{Limiter, PolicySet};
use weir_runtime::{Node, Shutdown, Telemetry};
use weir_server::door::http::{self, HttpSettings};

use crate::support;

/// Small, so that inputs pass it.
const BODY_MAX: usize = 8_192;

/// What `ceiling` admits at once, of all requests together.
const CEILING: u64 = 600;

/// One policy of each kind that a body can meet in a different way.
static POLICIES: LazyLock<Arc<PolicySet>> =
    LazyLock::new(|| support::policies(include_str!("http_body.yaml")));

/// What came back, and what it left behind.
struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Value,
    keys_held: usize,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Takes the input as the body of a check, and of a batch of checks.
pub fn check(input: &[u8]) {
    let single = post("/v1/check", input);
    is_an_answer(&single, input, &[200, 400, 404, 413, 429]);
    a_check_is_answered(&single, input);
    let batch = post("/v1/check/batch", input);
    is_an_answer(&batch, input, &[200, 400, 404, 413]);
    if batch.status == 200 {
        a_batch_is_answered(&batch, input);
    }
    is_the_same_in_a_batch(&single, input);
}

/// Every input meets a node on which nothing was charged yet.
fn post(path: &str, body: &[u8]) -> Reply {
    let policies: &Arc<PolicySet> = &POLICIES;
    let store = support::store();
    let gauge = store.clone();
    let telemetry = Telemetry::new(policies, move || Some(gauge.stats()), || None);
    let node = Node::new(Limiter::new(policies.clone(), store.clone()), telemetry, Shutdown::new());
    let settings = HttpSettings { body_max: BODY_MAX, legacy_fields: LegacyFields::On };
    let router = http::router(Arc::new(node), settings);
    let request = Request::post(path).header("content-type", "application/json");
    let request = request.body(Body::from(body.to_vec())).expect("a path and a type that are good");
    let (parts, bytes) = support::block_on(async {
        let (parts, body) = router.oneshot(request).await.expect("a router always answers").into_parts();
        (parts, body.collect().await.expect("a body from memory").to_bytes())
    });
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{error} in {bytes:?}"));
    Reply {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body,
        keys_held: support::keys_held(&store),
    }
}

/// What the page of the door says of all answers.
fn is_an_answer(reply: &Reply, input: &[u8], statuses: &[u16]) {
    let (status, body) = (reply.status, &reply.body);
    assert!(statuses.contains(&status), "{status}: {body}");
    assert!(body.is_object(), "{body}");
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(status == 413, input.len() > BODY_MAX, "{status} for {} bytes", input.len());
    if status == 200 {
        return assert_eq!(reply.header("content-type"), Some("application/json"));
    }
    assert_eq!(reply.header("content-type"), Some("application/problem+json"));
    assert_eq!(body["status"], status, "{body}");
    for member in ["type", "title", "detail"] {
        assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{member} in {body}");
    }
    assert_eq!(reply.keys_held, 0, "a refusal charged something: {body}");
}

fn a_check_is_answered(reply: &Reply, input: &[u8]) {
    let body = &reply.body;
    if !is_understood(reply) {
        return assert_eq!(body.get("outcome"), None, "{body}");
    }
    let asked: Value = serde_json::from_slice(input).expect("what is understood is JSON");
    assert!(asked.is_object(), "{asked} was understood");
    assert!(asked["dry_run"] != true || reply.keys_held == 0, "a dry run charged something");
    // Nothing was charged before, so that a refusal is not a matter of time.
    let expected = if reply.status == 200 { "allow" } else { "never" };
    assert_eq!(body["outcome"], expected, "{body}");
    assert_eq!(reply.header("retry-after"), None, "waiting does not help: {body}");
    charges_all_or_nothing(body);
}

fn a_batch_is_answered(reply: &Reply, input: &[u8]) {
    let asked: Value = serde_json::from_slice(input).expect("what is understood is JSON");
    let verdicts = list(&reply.body["verdicts"]);
    assert_eq!(verdicts.len(), list(&asked["checks"]).len(), "a verdict for each check");
    let mut taken = 0;
    for verdict in verdicts {
        let outcome = verdict["outcome"].as_str().unwrap_or_default();
        assert!(["allow", "deny", "never"].contains(&outcome), "{verdict}");
        assert_eq!(verdict["retry_after_ms"].is_null(), outcome != "deny", "{verdict}");
        charges_all_or_nothing(verdict);
        let decisions = list(&verdict["decisions"]).iter();
        let ceiling = decisions.filter(|decision| decision["policy"] == "ceiling");
        taken += ceiling.filter_map(|decision| decision["charged"].as_u64()).sum::<u64>();
    }
    assert!(taken <= CEILING, "{taken} units passed a ceiling of {CEILING}");
}

/// An admitted request is charged its cost by whoever admitted it; of a refused one nobody takes anything.
fn charges_all_or_nothing(verdict: &Value) {
    let is_admitted = verdict["outcome"] == "allow";
    for part in list(&verdict["decisions"]).iter().chain([verdict]) {
        let charged = part["charged"].as_u64().unwrap_or_else(|| panic!("no charge in {part}"));
        assert!(charged == 0 || (is_admitted && part["cost"] == charged), "{part} in {verdict}");
        assert!(part["remaining"].as_u64() <= part["limit"].as_u64(), "{part}");
    }
}

/// A check that is the only one of a batch gets the answer that it gets alone.
fn is_the_same_in_a_batch(single: &Reply, input: &[u8]) {
    let wrapped = [&b"{\"checks\":["[..], input, b"]}"].concat();
    let is_whole = is_understood(single) || single.status == 404;
    if !is_whole || wrapped.len() > BODY_MAX {
        return;
    }
    let batch = post("/v1/check/batch", &wrapped);
    if single.status == 404 {
        assert_eq!((batch.status, &batch.body["detail"]), (404, &single.body["detail"]));
        return assert_eq!(batch.body["field"], "checks[0].domain");
    }
    assert_eq!(batch.status, 200, "{}", batch.body);
    let mut expected = single.body.clone();
    if let Some(members) = expected.as_object_mut() {
        for problem in ["type", "title", "status", "detail", "violated-policies"] {
            members.remove(problem);
        }
    }
    assert_eq!(list(&batch.body["verdicts"]), [expected]);
    assert_eq!(batch.keys_held, single.keys_held);
}

/// Whether the body was a check, and was decided.
fn is_understood(reply: &Reply) -> bool {
    matches!(reply.status, 200 | 429)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or_else(|| panic!("{value} is no list"), Vec::as_slice)
}
