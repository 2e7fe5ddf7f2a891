//! The form of answers: status, fields and JSON.

use serde_json::json;
use sfv::{ListEntry, Parser};
use weir_core::Span;
use weir_core::fields::LegacyFields;

use super::*;

const PER_TENANT: &str =
    "policies:\n  - { name: per-tenant, key: [tenant], quota: 100/minute, burst: 200 }\n";
const ACME: &str = r#"{"domain":"shop","attributes":{"tenant":"acme"},"cost":200}"#;

#[tokio::test]
async fn a_refusal_has_the_agreed_shape() {
    let door = Door::new(PER_TENANT);
    door.check(ACME).await;
    let refused = door.check(r#"{"attributes":{"tenant":"acme"}}"#).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("content-type"), "application/problem+json");
    assert_eq!(refused.header("cache-control"), "no-store");
    assert_eq!(
        refused.body,
        json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Quota exceeded",
            "status": 429,
            "detail": "per-tenant has 0 of 200 units left and this costs 1; retry in 1 s",
            "violated-policies": ["per-tenant"],
            "outcome": "deny", "policy": "per-tenant", "limit": 200, "remaining": 0,
            "reset_after_ms": 120_000, "retry_after_ms": 600, "delay_ms": 0,
            "cost": 1, "charged": 0, "exempt": false, "degraded": false,
            "decisions": [{
                "policy": "per-tenant", "mode": "enforce", "outcome": "deny", "limit": 200, "remaining": 0,
                "reset_after_ms": 120_000, "retry_after_ms": 600, "unit": "units", "cost": 1, "charged": 0,
                "degraded": false,
            }],
            "skipped": [],
        })
    );
}

#[tokio::test]
async fn an_admission_has_no_problem_and_no_retry() {
    let door = Door::new(PER_TENANT);
    let reply = door.check(ACME).await;
    assert_eq!((reply.status.as_u16(), reply.header("content-type")), (200, "application/json"));
    assert_eq!((&reply.body["outcome"], &reply.body["charged"]), (&json!("allow"), &json!(200)));
    assert_eq!((&reply.body["retry_after_ms"], &reply.body["type"]), (&Value::Null, &Value::Null));
    assert!(!reply.headers.contains_key("retry-after"));
    let unmatched =
        Door::new("policies:\n  - { name: p, quota: 1/minute, when: { x: y } }\n").check("{}").await;
    assert_eq!((unmatched.status.as_u16(), &unmatched.body["policy"]), (200, &Value::Null));
    assert!(!unmatched.headers.contains_key("ratelimit"));
}

#[tokio::test]
async fn c01_never_has_no_retry_after() {
    let door = Door::new(PER_TENANT);
    let reply = door.check(r#"{"attributes":{"tenant":"acme"},"cost":201}"#).await;
    assert_eq!((reply.status.as_u16(), &reply.body["outcome"]), (429, &json!("never")));
    assert!(!reply.headers.contains_key("retry-after"));
    assert_eq!(
        reply.body["detail"],
        "per-tenant never holds more than 200 units and this costs 201; waiting does not help"
    );
    assert_eq!(door.store.stats().keys, 0);
}

#[tokio::test]
async fn c03_a_cost_of_zero_asks() {
    let door = Door::new("policies:\n  - { name: p, quota: 3/minute }\n");
    let ask = || door.check(r#"{"cost":0}"#);
    assert_eq!((ask().await.status.as_u16(), &ask().await.body["remaining"]), (200, &json!(3)));
    assert_eq!(door.store.stats().keys, 0, "asking creates no key");
    for left in [2, 1, 0] {
        assert_eq!(door.check("{}").await.body["remaining"], left, "unset is 1");
    }
    assert_eq!((ask().await.status.as_u16(), &ask().await.body["remaining"]), (200, &json!(0)));
    assert_eq!(door.check(r#"{"cost":3,"dry_run":true}"#).await.status, 429);
    assert_eq!(door.check(r#"{"cost":{"units":0}}"#).await.status, 200);

    let door = Door::new(
        "policies:\n  - { name: p, quota: 3/minute }\n  - { name: r, quota: 3/minute, unit: requests }\n",
    );
    let asked = door.check(r#"{"cost":0}"#).await;
    assert_eq!(
        (asked.body["decisions"][1]["charged"].as_u64(), door.store.stats().keys),
        (Some(0), 0),
        "of any unit"
    );
}

#[tokio::test]
async fn h01_waits_are_rounded_up_and_exact_in_json() {
    let door = Door::new("policies:\n  - { name: p, quota: 2/3s, burst: 1 }\n");
    door.check("{}").await;
    door.clock.advance(Span::from_nanos(200_000_001));
    let refused = door.check("{}").await;
    assert_eq!(
        (refused.header("retry-after"), &refused.body["retry_after_ms"]),
        ("2", &json!(1_299.999_999))
    );
    door.clock.advance(Span::from_millis(1_000));
    assert_eq!(door.check("{}").await.header("retry-after"), "1");
}

#[tokio::test]
async fn the_fields_are_structured_fields() {
    let door = Door::new(
        "policies:\n  - { name: \"per.tenant-1\", quota: 100/minute, burst: 9 }\n  - { name: big, quota: 4000000000000000000/second }\n",
    );
    let reply = door.check("{}").await;
    for field in ["ratelimit-policy", "ratelimit"] {
        let list: sfv::List = Parser::new(reply.header(field)).parse().unwrap();
        assert_eq!(list.len(), 2);
        for entry in list {
            let ListEntry::Item(item) = entry else { panic!("an item is expected") };
            assert!(item.bare_item.as_string().is_some(), "policies are named by strings");
            let key = if field == "ratelimit" { "r" } else { "q" };
            assert!(
                item.params.iter().any(|(name, value)| name.as_str() == key && value.as_integer().is_some())
            );
        }
    }
}

#[tokio::test]
async fn the_older_fields_are_sent_when_asked_for() {
    let policies = "domain: shop\npolicies:\n  - { name: p, quota: 10/minute, algorithm: fixed_window }\n";
    let reply = Door::with(policies, LegacyFields::On).check(r#"{"cost":4}"#).await;
    let header = |name| reply.header(name);
    assert_eq!(
        [header("x-ratelimit-limit"), header("x-ratelimit-remaining"), header("x-ratelimit-reset")],
        ["10", "6", "60"]
    );
    let reply = Door::with(policies, LegacyFields::Off).check(r#"{"cost":4}"#).await;
    assert!(!reply.headers.contains_key("x-ratelimit-limit"));
}

#[tokio::test]
async fn k01_values_of_any_bytes_are_keys_of_their_own() {
    let door = Door::new("policies:\n  - { name: p, key: [tenant, user], quota: 1/minute }\n");
    for (tenant, user) in [
        ("a:b", "c"),
        ("a", "b:c"),
        ("a\\u0000b", "c"),
        ("a", "b\\u0000c"),
        ("a\\r\\nb", "c"),
        ("a", "b\\r\\nc"),
    ] {
        let body = format!(r#"{{"attributes":{{"tenant":"{tenant}","user":"{user}"}}}}"#);
        assert_eq!(door.check(body.clone()).await.status, 200, "{body}");
        assert_eq!(door.check(body).await.status, 429);
    }
}

#[tokio::test]
async fn a_batch_answers_each_check_in_order() {
    let door = Door::new("policies:\n  - { name: p, key: [user], quota: 2/minute }\n");
    let batch = r#"{"checks":[{"attributes":{"user":"a"}},{"attributes":{"user":"a"},"cost":2},{"attributes":{"user":"b"}},{}]}"#;
    let reply = door.post("/v1/check/batch", batch).await;
    assert_eq!((reply.status.as_u16(), reply.header("cache-control")), (200, "no-store"));
    let outcomes: Vec<_> = reply.body["verdicts"].as_array().unwrap().iter().map(|v| &v["outcome"]).collect();
    assert_eq!(outcomes, ["allow", "deny", "allow", "allow"]);
    assert_eq!(door.post("/v1/check/batch", r#"{"checks":[]}"#).await.body, json!({ "verdicts": [] }));
}

#[tokio::test]
async fn layers_are_heard() {
    let door = Door::new("policies:\n  - { name: p, quota: 0/minute, layers: [edge] }\n");
    assert_eq!(door.check(r#"{"layer":"edge"}"#).await.status, 429);
    assert_eq!(door.check("{}").await.status, 200, "the layer is service if unsaid");
}

#[tokio::test]
async fn the_delay_of_a_leaky_bucket_is_told() {
    let leaky = "policies:\n  - { name: p, quota: 2/second, burst: 3, algorithm: leaky_bucket }\n";
    let behind = Door::new(&format!("{leaky}  - {{ name: q, quota: 2/minute }}\n"));
    behind.check(r#"{"cost":2}"#).await;
    let refused = behind.check("{}").await;
    assert_eq!(
        (&refused.body["policy"], &refused.body["delay_ms"]),
        (&json!("q"), &json!(0)),
        "it does not go on"
    );
    let door = Door::new(leaky);
    for delay in [0, 500, 1_000] {
        assert_eq!(door.check("{}").await.body["delay_ms"], delay);
    }
    let refused = door.check("{}").await;
    assert_eq!((refused.status.as_u16(), &refused.body["delay_ms"]), (429, &json!(0)));
}
