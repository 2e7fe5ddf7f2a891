//! Which policies a request meets: `exempt`, `when`, `layers`, `mode`, `replaces`, `unlimited`.

use weir_core::Layer;

use crate::{bench, names};

#[tokio::test]
async fn exempt_requests_meet_no_policy_and_touch_no_store() {
    let b = bench(
        "exempt:\n  - { client.ip: [10.0.0.0/8] }\n  - { path: /healthz, method: GET }\n\
         policies:\n  - { name: all, quota: 0/minute }\n",
    );
    for exempt in [
        &[("client.ip", "10.1.2.3")][..],
        &[("client.ip", "::ffff:10.1.2.3")],
        &[("path", "//healthz?x"), ("method", "GET")],
    ] {
        let verdict = b.check(exempt).await;
        assert!(verdict.is_exempt() && verdict.is_admitted() && names(&verdict).is_empty(), "{exempt:?}");
    }
    for other in [
        &[("client.ip", "11.1.2.3")][..],
        &[("path", "/healthz"), ("method", "POST")],
        &[("path", "/healthz")],
    ] {
        assert!(!b.check(other).await.is_admitted(), "{other:?}");
    }
}

#[tokio::test]
async fn every_condition_of_a_policy_must_hold() {
    let b = bench(
        "policies:\n\
         \x20 - { name: exact, quota: 9/minute, when: { method: [POST, PUT], path: /login } }\n\
         \x20 - { name: below, quota: 9/minute, when: { path: /v1/** } }\n\
         \x20 - { name: prefix, quota: 9/minute, when: { agent: { prefix: curl } } }\n\
         \x20 - { name: regex, quota: 9/minute, when: { agent: { regex: \"^(wget|curl)/[0-9]+$\" } } }\n\
         \x20 - { name: not, quota: 9/minute, when: { tier: { not: [gold, silver] } } }\n\
         \x20 - { name: net, quota: 9/minute, when: { client.ip: [192.0.2.0/24, \"2001:db8::/32\"] } }\n",
    );
    for (attributes, expected) in [
        (&[("method", "POST"), ("path", "/login"), ("tier", "gold")][..], &["exact"][..]),
        (&[("method", "GET"), ("path", "/login"), ("tier", "gold")], &[]),
        (&[("path", "/v1/a/b"), ("tier", "silver")], &["below"]),
        (&[("path", "/v1/x/../../login"), ("method", "PUT"), ("tier", "gold")], &["exact"]),
        (&[("path", "/%76%31/a"), ("tier", "gold")], &["below"]),
        (&[("agent", "curl/8"), ("tier", "gold")], &["prefix", "regex"]),
        (&[("agent", "curl/8.1"), ("tier", "gold")], &["prefix"]),
        (&[("tier", "bronze")], &["not"]),
        (&[], &["not"]),
        (&[("client.ip", "192.0.2.7:443"), ("tier", "gold")], &["net"]),
        (&[("client.ip", "[2001:db8::7]:443"), ("tier", "gold")], &["net"]),
    ] {
        assert_eq!(names(&b.check(attributes).await), expected, "{attributes:?}");
    }
}

#[tokio::test]
async fn a_policy_belongs_to_the_layers_that_it_names() {
    let b = bench(
        "policies:\n  - { name: outside, quota: 9/minute, layers: [edge, gateway] }\n  - { name: any, quota: 9/minute }\n",
    );
    assert_eq!(names(&b.check_at(Layer::Edge, &[]).await), ["outside", "any"]);
    assert_eq!(names(&b.check_at(Layer::Service, &[]).await), ["any"]);
}

#[tokio::test]
async fn an_enforced_policy_replaces_others_and_a_shadow_does_not() {
    let b = bench(
        "policies:\n\
         \x20 - { name: base, quota: [1/minute, 9/hour] }\n\
         \x20 - { name: vip, quota: 100/minute, when: { tier: gold }, replaces: [base] }\n\
         \x20 - { name: trial, quota: 100/minute, when: { tier: new }, replaces: [base], mode: shadow }\n\
         \x20 - { name: idle, quota: 1/minute, mode: off, replaces: [base] }\n",
    );
    assert_eq!(names(&b.check(&[("tier", "gold")]).await), ["vip"]);
    assert_eq!(names(&b.check(&[("tier", "new")]).await), ["base.1m", "base.1h", "trial"]);
    assert_eq!(names(&b.check(&[]).await), ["base.1m", "base.1h"]);
}

#[tokio::test]
async fn a_policy_that_passes_a_request_by_replaces_nothing() {
    let b = bench(
        "policies:\n  - { name: base, key: [client.ip], quota: 2/minute }\n\
         \x20 - { name: vip, key: [header.x-api-key], quota: 100/minute, replaces: [base] }\n",
    );
    assert_eq!(names(&b.check(&[("client.ip", "192.0.2.1")]).await), ["base"]);
    assert_eq!(names(&b.check(&[("client.ip", "192.0.2.1"), ("header.x-api-key", "k")]).await), ["vip"]);
    let b = bench(
        "policies:\n  - { name: base, quota: 2/minute }\n\
         \x20 - { name: partners, key: [header.x-partner], quota: unlimited, replaces: [base] }\n",
    );
    assert_eq!(b.admitted(9, &[]).await, 2, "an unlimited policy needs its key as well");
    assert_eq!(b.admitted(9, &[("header.x-partner", "p")]).await, 9);
}

#[tokio::test]
async fn no_spelling_of_a_path_escapes_its_policy() {
    let b = bench(
        "policies:\n  - { name: p, quota: 9/minute, when: { path: [/v1/report:full, \"/caf%C3%A9\"] } }\n",
    );
    for path in [
        "/v1/report:full",
        "/v1/report%3Afull",
        "//v1/./report%3afull?x",
        "/café",
        "/caf%c3%a9",
        "/%63af%C3%A9",
    ] {
        assert_eq!(names(&b.check(&[("path", path)]).await), ["p"], "{path}");
    }
}

#[tokio::test]
async fn g06_unlimited_is_explicit_and_needs_no_store() {
    let b = bench(
        "policies:\n  - { name: base, quota: 1/minute, key: [user] }\n\
         \x20 - { name: ours, quota: unlimited, when: { user: us }, replaces: [base] }\n",
    );
    assert_eq!(b.admitted(50, &[("user", "us")]).await, 50);
    assert_eq!(b.limiter.store().stats().keys, 0);
    let verdict = b.check(&[("user", "us")]).await;
    assert_eq!(names(&verdict), ["ours"]);
    assert_eq!(b.admitted(5, &[("user", "them")]).await, 1);
}

#[tokio::test]
async fn unknown_domains_are_refused_unless_they_are_admitted() {
    let b = bench("policies:\n  - { name: all, quota: 0/minute }\n");
    let foreign = weir_core::Request { domain: Some("shpo"), ..weir_core::Request::default() };
    let error = b.limiter.check(&foreign).await.unwrap_err();
    assert_eq!(error.to_string(), "unknown domain `shpo`: the policies loaded here are for `shop`");
    let own = weir_core::Request { domain: Some("shop"), ..weir_core::Request::default() };
    assert_eq!(b.limiter.check_all(&[own, foreign.clone()]).await.unwrap_err().index, 1);
    let lenient = b.limiter.admitting_unknown_domains();
    assert!(lenient.check(&foreign).await.unwrap().is_admitted());
}
