//! The story of the example: units of work, a ceiling behind them, and answers that say what things cost.

use weir_core::Span;
use weir_core::fields::LegacyFields;

use super::*;

const EXAMPLE: &str = include_str!("../../../../examples/credit-bureau/policy.yaml");

fn report(tenant: &str, path: &str) -> String {
    format!(r#"{{"attributes":{{"tenant":"{tenant}","path":"{path}"}}}}"#)
}

#[tokio::test]
async fn a_tenant_gets_two_full_reports_and_twenty_plain_ones_and_then_waits() {
    let door = Door::with(EXAMPLE, LegacyFields::Off);
    for left in [60, 20] {
        let full = door.check(report("acme", "/v1/report/full")).await;
        assert_eq!(full.status, 200);
        assert_eq!((&full.body["policy"], &full.body["remaining"]), (&"per-tenant".into(), &left.into()));
        assert_eq!(full.header("x-ratelimit-cost"), "40");
    }
    let third = door.check(report("acme", "/v1/report/full")).await;
    assert_eq!((third.status.as_u16(), third.header("retry-after")), (429, "12"), "20 units are wanting");
    assert_eq!(
        (&third.body["remaining"], &third.body["charged"], &third.body["cost"]),
        (&20.into(), &0.into(), &40.into())
    );
    for left in (0..20).rev() {
        let plain = door.check(report("acme", "/v1/report/7")).await;
        assert_eq!((plain.status.as_u16(), plain.header("x-ratelimit-cost")), (200, "1"));
        assert_eq!(plain.body["remaining"], left, "the refused one consumed nothing");
    }
    let refused = door.check(report("acme", "/v1/report/7")).await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (429, "1"));
    assert_eq!(refused.body["retry_after_ms"], 600);
    door.clock.advance(Span::from_nanos(599_999_999));
    assert_eq!(door.check(report("acme", "/v1/report/7")).await.status, 429, "one tick early");
    door.clock.advance(Span::from_nanos(1));
    assert_eq!(door.check(report("acme", "/v1/report/7")).await.status, 200);
    assert_eq!(
        door.check(report("hooli", "/v1/report/full")).await.status,
        200,
        "another tenant is not concerned"
    );
}

#[tokio::test]
async fn the_bureaus_ceiling_stands_behind_all_tenants() {
    let door = Door::with(EXAMPLE, LegacyFields::Off);
    let mut served = 0;
    let mut last = None;
    for tenant in 0..10 {
        for _ in 0..2 {
            let reply = door.check(report(&format!("t{tenant}"), "/v1/report/full")).await;
            served += u32::from(reply.status == 200);
            last = Some(reply);
        }
    }
    assert_eq!(served, 15, "600 units at once, forty each");
    let refused = last.unwrap();
    assert_eq!(refused.body["policy"], "bureau-ceiling");
    assert_eq!(refused.body["violated-policies"], serde_json::json!(["bureau-ceiling"]));
    let per_tenant = &refused.body["decisions"][0];
    assert_eq!((&per_tenant["policy"], &per_tenant["remaining"]), (&"per-tenant".into(), &100.into()));
    assert_eq!(refused.header("retry-after"), "1", "2400 a minute bring forty in a second");
}

#[tokio::test]
async fn what_happened_can_be_read_from_the_metrics() {
    let door = Door::with(EXAMPLE, LegacyFields::Off);
    for _ in 0..3 {
        door.check(report("acme", "/v1/report/full")).await;
    }
    door.check(r#"{"attributes":{"path":"/healthz"}}"#).await;
    door.check(r#"{"attributes":{"path":"/v1/report/7"},"layer":"edge"}"#).await;
    door.check("{").await;
    let decisions = |policy: &str, layer: &str, outcome: &str, mode: &str| {
        door.metric(&format!(
            "weir_decisions_total{{policy=\"{policy}\",layer=\"{layer}\",outcome=\"{outcome}\",mode=\"{mode}\"}}"
        ))
    };
    assert_eq!(decisions("per-tenant", "service", "allow", "enforce"), "2");
    assert_eq!(decisions("per-tenant", "service", "deny", "enforce"), "1");
    assert_eq!(decisions("bureau-ceiling", "edge", "allow", "enforce"), "1");
    assert_eq!(decisions("requests-per-tenant.1s", "service", "allow", "shadow"), "3");
    assert_eq!(
        door.metric("weir_charged_total{policy=\"per-tenant\",unit=\"units\"}"),
        "80",
        "refused ones not counted"
    );
    assert_eq!(door.metric("weir_missing_attributes_total{policy=\"per-tenant\"}"), "1");
    assert_eq!(door.metric("weir_would_block_total{policy=\"requests-per-tenant.1s\"}"), "0");
    assert_eq!(door.metric("weir_exempt_total"), "1");
    assert_eq!(door.metric("weir_bad_requests_total"), "1");
    assert_eq!(door.metric("weir_decision_seconds_count"), "5");
    assert_eq!(door.metric("weir_keys_held"), door.store.stats().keys.to_string());
}

#[tokio::test]
async fn g06_unlimited_policies_are_counted() {
    let door =
        Door::with("domain: shop\npolicies:\n  - { name: free, quota: unlimited }\n", LegacyFields::Off);
    let reply = door.check("{}").await;
    assert_eq!((reply.status.as_u16(), &reply.body["decisions"][0]["limit"]), (200, &Value::Null));
    let series = "weir_decisions_total{policy=\"free\",layer=\"service\",outcome=\"allow\",mode=\"enforce\"}";
    assert_eq!(door.metric(series), "1");
}
