//! Promises 3, 13 and 18: one verdict from many policies, and which of them governs.

use weir_core::fields::{self, LegacyFields};
use weir_core::{Cost, Outcome, Verdict};

use crate::{bench, remaining, secs};

fn governing(verdict: &Verdict) -> &str {
    verdict.governing().map_or("-", |(policy, _)| &policy.name)
}

fn field(verdict: &Verdict, name: &str) -> Option<String> {
    fields::of(verdict, LegacyFields::On).into_iter().find(|(n, _)| *n == name).map(|(_, value)| value)
}

#[tokio::test]
async fn c05_when_the_second_policy_denies_the_first_is_not_charged() {
    let b = bench(
        "policies:\n  - { name: per-user, key: [user], quota: 1/hour, algorithm: fixed_window }\n\
         \x20 - { name: global, quota: 10/minute, algorithm: fixed_window }\n",
    );
    b.clock.advance(secs(10));
    assert_eq!(b.admitted(20, &[("user", "A")]).await, 1);
    for user in ["B", "C", "D", "E", "F", "G", "H", "I", "J"] {
        assert!(b.check(&[("user", user)]).await.is_admitted(), "{user}");
    }
    let refused = b.check(&[("user", "K")]).await;
    assert_eq!((governing(&refused), refused.retry_after()), ("global", Some(secs(50))));
    assert_eq!(remaining(&refused), [1, 0]);
    b.clock.advance(secs(50));
    assert!(b.check(&[("user", "K")]).await.is_admitted());
}

#[tokio::test]
async fn never_governs_then_the_longest_denial_then_the_smallest_share() {
    let b = bench(
        "policies:\n  - { name: minute, quota: 10/minute, algorithm: fixed_window }\n\
         \x20 - { name: hour, quota: 20/hour, algorithm: fixed_window }\n\
         \x20 - { name: day, quota: 15/day, algorithm: fixed_window }\n",
    );
    assert_eq!(governing(&b.check_cost(&[], Cost::units(1)).await), "minute", "9/10 < 19/20, 14/15");
    assert_eq!(governing(&b.check_cost(&[], Cost::units(9)).await), "minute", "0/10 is the least");
    b.clock.advance(secs(60));
    let refused = b.check_cost(&[], Cost::units(8)).await;
    assert_eq!((governing(&refused), refused.outcome()), ("day", Outcome::Deny));
    let refused = b.check_cost(&[], Cost::units(10)).await;
    assert_eq!(remaining(&refused), [10, 10, 5], "only the day is short of ten");
    b.check_cost(&[], Cost::units(5)).await;
    let refused = b.check_cost(&[], Cost::units(6)).await;
    assert_eq!(refused.judgements().filter(|(_, j)| j.outcome() == Outcome::Deny).count(), 3);
    assert_eq!((governing(&refused), refused.retry_after()), ("day", Some(secs(86_400 - 60))));
    assert_eq!(governing(&b.check_cost(&[], Cost::units(11)).await), "minute", "11 can never fit 10");
    let two = bench("policies:\n  - { name: a, quota: 5/minute }\n  - { name: b, quota: 5/minute }\n");
    assert_eq!(governing(&two.check(&[]).await), "a", "ties go by the order of the file");
}

#[tokio::test]
async fn promise_13_a_shadow_changes_nothing_that_a_client_sees() {
    let alone =
        bench("policies:\n  - { name: s, quota: 10/minute, algorithm: fixed_window, mode: shadow }\n");
    let mut would_block = 0;
    for _ in 0..25 {
        let verdict = alone.check(&[]).await;
        assert!(verdict.is_admitted());
        assert_eq!(field(&verdict, "RateLimit"), None);
        would_block += verdict.would_block().count();
    }
    assert_eq!(would_block, 15);

    let both = bench(
        "policies:\n  - { name: e, quota: 100/minute, algorithm: fixed_window }\n\
         \x20 - { name: s, quota: 10/minute, algorithm: fixed_window, mode: shadow }\n",
    );
    let mut would_block = 0;
    for i in 1..=20 {
        let verdict = both.check(&[]).await;
        assert_eq!((governing(&verdict), verdict.is_admitted()), ("e", true));
        assert_eq!(field(&verdict, "RateLimit"), Some(format!("\"e\";r={};t=60", 100 - i)));
        would_block += verdict.would_block().count();
    }
    assert_eq!(would_block, 10);
}

#[tokio::test]
async fn the_fields_describe_every_enforced_policy_the_governing_one_first() {
    let b = bench(
        "policies:\n  - { name: hourly, quota: 5000/hour, algorithm: fixed_window }\n\
         \x20 - { name: burst, quota: 20/second, burst: 40 }\n  - { name: odd, quota: 3/1500ms, unit: bytes }\n",
    );
    let verdict = b.check_cost(&[], Cost::units(30)).await;
    assert_eq!(
        field(&verdict, "RateLimit-Policy").unwrap(),
        r#""burst";q=20;w=1;burst=40, "hourly";q=5000;w=3600, "odd";q=3;qu="content-bytes""#
    );
    assert_eq!(
        field(&verdict, "RateLimit").unwrap(),
        r#""burst";r=10;t=1, "hourly";r=4970;t=3600, "odd";r=2;t=1"#
    );
    assert_eq!(field(&verdict, "X-RateLimit-Cost").unwrap(), "30");
    assert_eq!(field(&verdict, "Retry-After"), None);
    let refused = b.check_cost(&[], Cost::units(31)).await;
    // 21 units are wanting; at 20 a second that is 1.05 s, and whole seconds are rounded up.
    assert_eq!(field(&refused, "Retry-After").unwrap(), "2");
    assert_eq!(
        field(&refused, "RateLimit").unwrap(),
        r#""burst";r=10;t=2, "hourly";r=4970;t=2, "odd";r=2;t=1"#
    );
    assert_eq!(field(&refused, "X-RateLimit-Cost").unwrap(), "0", "nothing was charged");
    assert_eq!(field(&refused, "X-RateLimit-Limit").unwrap(), "40");
    assert_eq!(field(&refused, "X-RateLimit-Remaining").unwrap(), "10");
    assert_eq!(field(&refused, "X-RateLimit-Reset").unwrap(), "2");
    assert_eq!(field(&refused, "Cache-Control").unwrap(), "no-store");
}

#[tokio::test]
async fn a_batch_gives_the_verdicts_of_its_requests_one_by_one() {
    let b = bench("policies:\n  - { name: p, key: [user], quota: 2/minute }\n");
    let of = |user| crate::request(&[("user", user)]);
    let verdicts = b.limiter.check_all(&[of("a"), of("a"), of("b"), of("a")]).await.unwrap();
    let seen: Vec<_> =
        verdicts.iter().map(|verdict| (verdict.is_admitted(), remaining(verdict)[0])).collect();
    assert_eq!(seen, [(true, 1), (true, 0), (true, 1), (false, 0)]);
}
