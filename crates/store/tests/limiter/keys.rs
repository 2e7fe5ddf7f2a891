//! Promises 8 and 9: whose allowance it is, and what happens where the key lacks an attribute.

use std::sync::Arc;

use weir_core::{KeySecret, Limiter, Outcome, file};
use weir_store::MemoryStore;

use crate::{Bench, bench, request};

async fn both_admitted(b: &Bench, first: &[(&str, &str)], second: &[(&str, &str)]) {
    assert!(b.check(first).await.is_admitted(), "{first:?}");
    assert!(b.check(second).await.is_admitted(), "{second:?} shares the bucket of {first:?}");
    assert!(!b.check(first).await.is_admitted(), "one of each is the limit");
}

#[tokio::test]
async fn k01_composite_keys_cannot_be_imitated() {
    for separator in [":", "_", "/", "|", "=", ",", "\0", "\n", "%3A"] {
        let b = bench("policies:\n  - { name: p, key: [tenant, user], quota: 1/minute }\n");
        let (joined, rest) = (format!("a{separator}b"), format!("b{separator}c"));
        both_admitted(&b, &[("tenant", &joined), ("user", "c")], &[("tenant", "a"), ("user", &rest)]).await;
    }
    let b = bench("policies:\n  - { name: p, key: [a, b, c], on_missing: shared, quota: 1/minute }\n");
    both_admitted(&b, &[("a", "x"), ("b", "y")], &[("a", "x"), ("b", "y"), ("c", "-")]).await;
    for shared in [10, 64] {
        let b = bench("policies:\n  - { name: p, key: [user], quota: 1/minute }\n");
        let prefix = "x".repeat(shared);
        both_admitted(&b, &[("user", &format!("{prefix}1"))], &[("user", &format!("{prefix}2"))]).await;
    }
}

#[tokio::test]
async fn k01_a_user_called_like_an_address_is_not_that_address() {
    let b = bench("policies:\n  - { name: p, key: [user | client.ip], quota: 1/minute }\n");
    both_admitted(
        &b,
        &[("user", "203.0.113.7"), ("client.ip", "198.51.100.1")],
        &[("client.ip", "203.0.113.7")],
    )
    .await;
}

#[tokio::test]
async fn k01_the_same_text_by_another_choice_is_another_key() {
    let b = bench("policies:\n  - { name: p, key: [user | tenant], quota: 1/minute }\n");
    both_admitted(&b, &[("user", "x")], &[("tenant", "x")]).await;
}

#[tokio::test]
async fn k01_two_domains_share_no_counter() {
    let store = Arc::new(MemoryStore::new());
    let limiter = |domain: &str| {
        let text = format!("domain: {domain}\npolicies:\n  - {{ name: p, key: [user], quota: 1/minute }}\n");
        let loaded = file::load("p", text.as_bytes(), &file::Options::new(KeySecret::new([9; 16]))).unwrap();
        Limiter::new(loaded.policies, store.clone())
    };
    let request = request(&[("user", "u")]);
    for domain in ["one", "two"] {
        assert!(limiter(domain).check(&request).await.unwrap().is_admitted(), "{domain}");
        assert!(!limiter(domain).check(&request).await.unwrap().is_admitted(), "{domain}");
    }
}

#[tokio::test]
async fn k01_two_policies_share_no_counter() {
    let b = bench(
        "policies:\n  - { name: a, key: [user], quota: 1/minute, when: { x: a } }\n\
         \x20 - { name: b, key: [user], quota: 1/minute, when: { x: b } }\n",
    );
    both_admitted(&b, &[("user", "u"), ("x", "a")], &[("user", "u"), ("x", "b")]).await;
}

#[tokio::test]
async fn a_key_attribute_that_is_absent_empty_or_blank_is_missing() {
    for (on_missing, admitted, skips) in [("skip", 9, true), ("shared", 2, false), ("deny", 0, false)] {
        let b = bench(&format!(
            "policies:\n  - {{ name: p, key: [header.x-api-key], on_missing: {on_missing}, quota: 2/minute }}\n"
        ));
        let mut total = 0;
        for missing in [&[][..], &[("header.x-api-key", "")], &[("header.x-api-key", "  ")]] {
            total += b.admitted(3, missing).await;
            assert_eq!((b.check(missing).await.skipped().count() == 1), skips);
        }
        assert_eq!(total, admitted, "{on_missing}");
        assert_eq!(b.admitted(3, &[("header.x-api-key", "k")]).await, 2);
    }
}

#[tokio::test]
async fn a_refusal_for_a_missing_attribute_charges_nobody() {
    let b = bench(
        "policies:\n  - { name: all, quota: 5/minute }\n  - { name: p, key: [user], on_missing: deny, quota: 5/minute }\n",
    );
    let verdict = b.check(&[]).await;
    assert_eq!((verdict.outcome(), verdict.retry_after()), (Outcome::Never, None));
    assert_eq!(verdict.into_receipts().count(), 0);
    assert_eq!(b.limiter.store().stats().keys, 0);
    assert_eq!(b.admitted(9, &[("user", "u")]).await, 5);
}

#[tokio::test]
async fn a_key_may_name_a_second_choice() {
    let b = bench("policies:\n  - { name: p, key: [header.x-api-key | client.ip], quota: 2/minute }\n");
    assert_eq!(b.admitted(3, &[("client.ip", "192.0.2.1")]).await, 2);
    assert_eq!(b.admitted(3, &[("client.ip", "192.0.2.2")]).await, 2);
    assert_eq!(b.admitted(3, &[("client.ip", "192.0.2.2"), ("header.x-api-key", "k")]).await, 2);
    // Of a name given twice the first value counts.
    assert_eq!(b.admitted(1, &[("header.x-api-key", "k"), ("header.x-api-key", "other")]).await, 0);
}

#[tokio::test]
async fn one_client_has_one_key_however_its_address_is_spelt() {
    let b = bench("policies:\n  - { name: p, key: [client.ip], quota: 3/minute }\n");
    let mut admitted = 0;
    for port in 52_241..52_251 {
        admitted += b.admitted(1, &[("client.ip", &format!("203.0.113.9:{port}"))]).await;
    }
    admitted += b.admitted(1, &[("client.ip", "::ffff:203.0.113.9")]).await;
    assert_eq!(admitted, 3);
    let mut admitted = 0;
    for host in 1..=9 {
        admitted += b.admitted(1, &[("client.ip", &format!("2001:db8:1:1::{host}"))]).await;
    }
    assert_eq!(admitted, 3, "one /64 is one client");
    assert_eq!(b.admitted(1, &[("client.ip", "2001:db8:1:2::1")]).await, 1);
}

#[tokio::test]
async fn an_address_from_a_header_is_an_address() {
    for attributes in ["client.ip: header.x-real-ip", "peer: client.ip"] {
        let (name, source) = attributes.split_once(": ").unwrap();
        let b = bench(&format!(
            "attributes: {{ {attributes} }}\npolicies:\n  - {{ name: p, key: [{name}], quota: 3/minute }}\n"
        ));
        let mut admitted = 0;
        for port in 1..=9 {
            admitted += b.admitted(1, &[(source, &format!("198.51.100.7:{port}"))]).await;
        }
        assert_eq!(admitted, 3, "{attributes}");
    }
}

#[tokio::test]
async fn names_of_headers_are_the_same_in_capitals() {
    let b = bench("policies:\n  - { name: p, key: [header.x-api-key], on_missing: deny, quota: 1/minute }\n");
    assert_eq!(b.admitted(1, &[("header.X-API-Key", "k")]).await, 1);
    assert_eq!(b.admitted(1, &[("header.x-api-key", "k")]).await, 0);
}

#[tokio::test]
async fn an_attribute_is_found_at_its_source_unless_it_is_given() {
    let b = bench(
        "attributes: { tenant: header.x-tenant }\npolicies:\n  - { name: p, key: [tenant], quota: 1/minute }\n",
    );
    assert!(b.check(&[("header.x-tenant", "acme")]).await.is_admitted());
    assert!(!b.check(&[("tenant", "acme")]).await.is_admitted());
    assert!(b.check(&[("tenant", "hooli"), ("header.x-tenant", "acme")]).await.is_admitted());
}
