//! Promise 4: what a request costs, by unit.

use weir_core::{Cost, Outcome, Request};

use crate::{bench, remaining, request, secs};

const FILE: &str = "\
costs:
  - { when: { path: /full }, cost: 40 }
  - { when: { path: /** }, cost: 2 }
  - { cost: 7, unit: tokens }
policies:
  - { name: units, quota: 100/minute }
  - { name: tokens, quota: 1000/minute, unit: tokens }
  - { name: requests, quota: 10/minute, unit: requests }
  - { name: bytes, quota: 1000/minute, unit: bytes }
  - { name: own, quota: 100/minute, cost: 5 }
";

#[tokio::test]
async fn the_policys_cost_comes_before_the_callers_and_that_before_the_first_rule() {
    let b = bench(FILE);
    for (path, cost, expected) in [
        ("/full", Cost::unsaid(), [60, 993, 9, 999, 95]),
        ("/other", Cost::unsaid(), [58, 986, 8, 998, 90]),
        ("/full", Cost::units(3), [55, 979, 7, 997, 85]),
        ("/full", Cost::units(0).with("tokens", 79).with("bytes", 97), [55, 900, 6, 900, 80]),
    ] {
        let verdict = b.check_cost(&[("path", path)], cost).await;
        assert_eq!(remaining(&verdict), expected, "{path}");
    }
    let without_path = bench(
        "costs:\n  - { when: { path: /full }, cost: 40 }\npolicies:\n  - { name: p, quota: 9/minute }\n",
    );
    assert_eq!(remaining(&without_path.check(&[]).await), [8], "unset is 1");
}

#[tokio::test]
async fn c03_a_dry_run_answers_for_the_real_cost_and_charges_nothing() {
    let b = bench("policies:\n  - { name: p, quota: 3/minute }\n");
    let dry = |units| Request { cost: Cost::units(units), dry_run: true, ..request(&[]) };
    for (units, outcome) in [(0, Outcome::Allow), (3, Outcome::Allow), (4, Outcome::Never)] {
        let verdict = b.ask(&dry(units)).await;
        assert_eq!((verdict.outcome(), remaining(&verdict)), (outcome, vec![3]));
        assert_eq!(verdict.charged(), 0);
    }
    assert_eq!(b.limiter.store().stats().keys, 0);
    b.check_cost(&[], Cost::units(2)).await;
    let verdict = b.ask(&dry(2)).await;
    assert_eq!((verdict.outcome(), verdict.retry_after()), (Outcome::Deny, Some(secs(20))));
    assert_eq!(remaining(&b.ask(&dry(1)).await), [1]);
}

#[tokio::test]
async fn what_was_charged_can_be_given_back_once_it_is_not_needed() {
    let b = bench(
        "policies:\n  - { name: a, quota: 10/minute }\n  - { name: b, quota: 20/minute, algorithm: fixed_window }\n",
    );
    let verdict = b.check_cost(&[], Cost::units(8)).await;
    assert_eq!(remaining(&verdict), [2, 12]);
    assert_eq!(verdict.charged(), 8);
    b.limiter.give_back(verdict.into_receipts()).await;
    assert_eq!(remaining(&b.check_cost(&[], Cost::units(0)).await), [10, 20]);
}
