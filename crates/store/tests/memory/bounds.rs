//! What the caps hold, and whom they favour.

use super::*;

#[tokio::test]
async fn promise_11_a_flood_forgives_no_debt_and_passes_no_cap() {
    for algorithm in Algorithm::ALL {
        let small = Small::new(limits(2_000));
        let rule = rule(1, algorithm, 10, secs(60));
        small.take("debtor", rule, 10).await;
        small.flood("flood", rule, 20_000).await;
        assert!(small.is_denied("debtor", rule).await, "{algorithm}");
        let stats = small.store.stats();
        assert!(stats.keys <= 2_000 && stats.partitions <= 4_096, "{stats:?}");
        assert!(stats.overflowed >= 15_000, "{stats:?}");
    }
}

#[tokio::test]
async fn promise_11_each_policy_in_force_keeps_its_share() {
    let (attacked, others) = (bucket(1), [bucket(2), bucket(3)]);
    let small = Small::new(limits(3_072));
    small.store.in_force(&[attacked, others[0], others[1]]);
    small.flood("flood", attacked, 10_000).await;
    assert!(small.store.stats().keys <= 2_048, "what is reserved for others is left alone");
    for other in others {
        for i in 0..300 {
            let name = format!("{}/{i}", other.policy.0);
            assert_eq!(small.take(&name, other, 10).await.outcome, Outcome::Allow, "a place of its own");
        }
    }
    assert!(small.store.stats().keys <= 3_072);
    // A policy that is no longer in force has no claim.
    small.store.in_force(&[attacked]);
    small.flood("more", attacked, 10_000).await;
    assert_eq!(small.store.stats().keys, 3_072);
}

#[tokio::test]
async fn promise_11_only_what_has_expired_makes_room() {
    let small = Small::new(limits(1_000));
    small.take("debtor", bucket(1), 10).await;
    small.flood("first", bucket(1), 5_000).await;
    // A unit is back after 6 seconds, and with it the keys are as good as fresh.
    small.clock.advance(secs(7));
    small.flood("second", bucket(1), 800).await;
    let stats = small.store.stats();
    assert!(stats.keys <= 1_000 && stats.evicted > 500, "{stats:?}");
    assert!(small.take("debtor", bucket(1), 2).await.outcome == Outcome::Deny, "one unit is back, not two");
}

#[tokio::test]
async fn promise_12_a_sweep_forgives_no_debt_under_a_quota_that_was_lowered() {
    let small = Small::new(limits(10_000));
    let slower = rule(1, Algorithm::TokenBucket, 10, secs(86_400));
    small.take("debtor", bucket(1), 10).await;
    small.store.in_force(&[slower]);
    small.clock.advance(secs(61));
    small.store.sweep();
    assert!(small.take("debtor", slower, 10).await.outcome == Outcome::Deny);
    small.clock.advance(secs(86_400));
    small.store.sweep();
    assert_eq!(small.store.stats().keys, 0);
}

#[tokio::test]
async fn promise_11_what_has_expired_makes_room_also_where_room_is_owed_to_others() {
    let small = Small::new(limits(4_096));
    small.store.in_force(&[bucket(1), bucket(2)]);
    small.flood("first", bucket(1), 10_000).await;
    small.clock.advance(secs(3_600));
    let before = small.store.stats();
    small.flood("second", bucket(1), 1_000).await;
    let after = small.store.stats();
    assert!(after.overflowed - before.overflowed < 100, "{before:?} {after:?}");
}

#[tokio::test]
async fn keys_that_begin_with_their_partitions_log_stay_within_the_cap_of_entries() {
    let small = Small::new(MemoryLimits { keys: 200, log_entries: 2_000 });
    let log = rule(1, Algorithm::SlidingLog, 9_999, secs(60));
    small.flood("filler", rule(2, Algorithm::FixedWindow, 5, secs(10)), 400).await;
    let class = |i: u64| Key(u128::from(i + 1) << 70 | 7);
    for _ in 0..1_000 {
        small.charge(class(0), log, Op::Take(1)).await;
        small.clock.advance(Span::from_nanos(1));
    }
    small.clock.advance(secs(11));
    small.store.sweep();
    for i in 1..200 {
        let decision = small.charge(class(i), log, Op::Take(1)).await.0;
        assert_eq!(decision.remaining, 8_998, "it begins where its partition stands");
    }
    let stats = small.store.stats();
    assert!(stats.keys >= 199 && stats.log_entries <= 2_000 + 4 * 200, "{stats:?}");
}

#[tokio::test]
async fn logs_have_a_cap_of_their_own_and_never_hold_less_than_was_charged() {
    let small = Small::new(MemoryLimits { keys: 1_000, log_entries: 4_000 });
    let log = rule(1, Algorithm::SlidingLog, 100, secs(60));
    for round in 0..100 {
        for i in 0..200 {
            let decision = small.take(&format!("log/{i}"), log, 1).await;
            assert_eq!((decision.outcome, decision.remaining), (Outcome::Allow, 99 - round));
        }
        small.clock.advance(Span::from_millis(100));
        assert!(small.store.stats().log_entries <= 4_000, "{:?}", small.store.stats());
    }
    for i in 0..200 {
        assert!(small.is_denied(&format!("log/{i}"), log).await);
    }
    assert!(small.store.stats().merged > 0, "and it is told");
    small.clock.advance(secs(60));
    small.store.sweep();
    assert_eq!((small.store.stats().keys, small.store.stats().log_entries), (0, 0));
}

#[tokio::test]
async fn one_log_may_use_all_the_room_of_logs() {
    let small = Small::new(MemoryLimits { log_entries: 20_000, ..MemoryLimits::default() });
    let log = rule(1, Algorithm::SlidingLog, 10_000, secs(60));
    for _ in 0..10_000 {
        small.take("log", log, 1).await;
        small.clock.advance(Span::from_nanos(1));
    }
    assert_eq!(small.store.stats().merged, 0);
    small.clock.advance(Span::from_nanos(60_000_000_000 - 10_000));
    assert_eq!(small.take("log", log, 0).await.remaining, 1, "exact to the tick");
}

#[tokio::test]
async fn a_store_of_the_smallest_size_still_limits() {
    for keys in [0, 1, 2] {
        let small = Small::new(limits(keys));
        for i in 0..100 {
            small.take(&format!("{i}"), bucket(1), 10).await;
        }
        assert!(small.store.stats().keys <= keys);
        assert!(small.is_denied("5", bucket(1)).await);
    }
}
