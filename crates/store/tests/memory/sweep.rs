//! Expired keys go by themselves.

use super::*;

#[tokio::test]
async fn m01_keys_fall_to_nothing_after_each_round_and_debts_are_kept() {
    const KEYS: usize = 1_000_000;
    let small = Small::new(MemoryLimits::default());
    let monthly = rule(1_000, Algorithm::FixedWindow, 10, secs(30 * 86_400));
    small.take("debtor", monthly, 10).await;
    for round in 0..3 {
        for i in 0..KEYS {
            small.take(&format!("{round}/{i}"), bucket(1 + i as u64 % 100), 1).await;
            small.clock.advance(Span::from_nanos(60_000_000_000 / KEYS as u64));
        }
        assert!(small.store.stats().keys <= KEYS + 1);
        small.clock.advance(secs(60));
        small.store.sweep();
        let stats = small.store.stats();
        assert_eq!(stats.keys, 1, "all but the debtor");
        assert_eq!(stats.expired + stats.evicted, (KEYS * (round + 1)) as u64);
        assert!(small.is_denied("debtor", monthly).await);
    }
}

#[tokio::test]
async fn a_sweep_keeps_what_still_counts_for_every_algorithm() {
    for algorithm in Algorithm::ALL {
        let small = Small::new(limits(100_000));
        let rule = rule(1, algorithm, 2, secs(10));
        let last = secs(5);
        small.flood("early", rule, 1_000).await;
        small.clock.advance(last);
        small.flood("late", rule, 1_000).await;
        for i in 0..1_000 {
            small.take(&format!("late/{i}"), rule, 1).await;
        }
        small.clock.advance(secs(4));
        small.store.sweep();
        for i in 0..1_000 {
            let left = small.take(&format!("late/{i}"), rule, 0).await.remaining;
            assert!(left < 2, "{algorithm}: {left}");
        }
        small.clock.advance(secs(20));
        small.store.sweep();
        assert_eq!(small.store.stats().keys, 0, "{algorithm}");
    }
}
