//! One key at a time: what each algorithm promises, held by the store.

use weir_core::{Algorithm, Op, Outcome, Span, Timestamp};

use super::*;

pub(super) async fn t01_clock_steps_back<F: Fixture>() {
    for step in [secs(10), secs(86_400)] {
        let (rule, before) = (bucket(1, secs(1), 10), START.after(secs(100_000)));
        let f = F::at(before).await;
        assert_eq!(admitted(&f, rule, 10).await, 10);
        assert_denied(&take(&f, rule, 1).await, secs(1));
        let stepped = Timestamp::from_nanos(before.nanos() - step.nanos());
        f.set(stepped);
        assert_denied(&take(&f, rule, 1).await, secs(1));
        f.advance(secs(1));
        assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Allow);
        assert_denied(&take(&f, rule, 1).await, secs(1));
        f.advance(secs(3));
        assert_eq!(admitted(&f, rule, 4).await, 3);
    }
}

pub(super) async fn t01_a_window_never_goes_back<F: Fixture>() {
    let (f, rule) = (F::at(START.after(secs(600))).await, window(3, secs(60)));
    assert_eq!(admitted(&f, rule, 4).await, 3);
    f.set(START.after(secs(590)));
    assert_denied(&take(&f, rule, 1).await, secs(70));
    f.set(START.after(secs(660)));
    assert_eq!(admitted(&f, rule, 4).await, 3);
}

pub(super) async fn t05_a_cost_that_overflows_is_never_admitted<F: Fixture>() {
    for cost in [200_000_000, 1 << 32, i64::MAX as u64, u64::MAX] {
        let (f, rule) = (F::at(START).await, bucket(1, secs(86_400), 1));
        let refused = take(&f, rule, cost).await;
        assert_eq!((refused.outcome, refused.retry_after), (Outcome::Never, None));
        assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Allow);
        assert_denied(&take(&f, rule, 1).await, secs(86_400));
    }
}

pub(super) async fn t06_very_high_rates<F: Fixture>() {
    for algorithm in [Algorithm::TokenBucket, Algorithm::LeakyBucket] {
        very_high_rates::<F>(algorithm).await;
    }
}

async fn very_high_rates<F: Fixture>(algorithm: Algorithm) {
    let bucket = |limit, window, burst| rule(algorithm, limit, window, Some(burst));
    let (f, rule) = (F::at(START).await, bucket(2_000, secs(1), 1));
    for _ in 0..2_000 {
        assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Allow);
        assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Deny, "two at one instant");
        f.advance(Span::from_nanos(500_000));
    }
    // A unit takes a third of a microsecond more than 333: where that is the tick, a unit is lost to none.
    let burst = if F::TICK == Span::from_nanos(1) { 1 } else { 3 };
    let (f, rule) = (F::at(START).await, bucket(3_000, secs(1), burst));
    for _ in 0..3_000 {
        assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Allow);
        f.advance(Span::from_nanos(333_334));
    }
    let (f, rule) = (F::at(START).await, bucket(1_000_000_000, secs(1), 1_000_000_000));
    assert_eq!(take(&f, rule, 1_000_000_000).await.outcome, Outcome::Allow);
    assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Deny);
    f.advance(Span::from_nanos(1_000));
    assert_eq!(take(&f, rule, 1_000).await.outcome, Outcome::Allow);
    assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Deny);
    let (f, rule) = (F::at(START).await, bucket(1_000, secs(60), 1_000));
    for remaining in [999, 998, 997] {
        assert_eq!(take(&f, rule, 1).await.remaining, remaining);
    }
    let (f, rule) = (F::at(START).await, bucket(2_000_000_000, secs(1), 2));
    assert_eq!(admitted(&f, rule, 3).await, 2);
    f.advance(F::TICK);
    assert_eq!(admitted(&f, rule, 3).await, 2);
}

pub(super) async fn t08_windows_longer_than_a_32_bit_timer<F: Fixture>() {
    for days in [30, 365] {
        let length = secs(days * 86_400);
        // A multiple of the window, as the case has it.
        let start = Timestamp::from_nanos(START.nanos() - START.nanos() % length.nanos());
        let (f, rule) = (F::at(start).await, window(5, length));
        assert_eq!(admitted(&f, rule, 5).await, 5);
        f.advance(secs(1));
        assert_denied(&take(&f, rule, 1).await, secs(days * 86_400 - 1));
        f.set(start.after(secs(2_151_360)));
        assert_denied(&take(&f, rule, 1).await, secs(days * 86_400 - 2_151_360));
        f.set(start.after(length));
        assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Allow);
    }
}

pub(super) async fn t09_what_passes_around_a_window_edge<F: Fixture>() {
    let (f, rule) = (F::at(START.after(millis(59_900))).await, window(60, secs(60)));
    assert_eq!(admitted(&f, rule, 60).await, 60);
    f.advance(millis(100));
    assert_eq!(admitted(&f, rule, 60).await, 60, "120 within 100 ms: the stated price of a fixed window");
    for second in 0..60 {
        assert_denied(&take(&f, rule, 1).await, secs(60 - second));
        f.advance(secs(1));
    }
    assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Allow);

    let sliding = super::rule(Algorithm::SlidingWindow, 60, secs(60), None);
    let f = F::at(START.after(millis(59_900))).await;
    assert_eq!(admitted(&f, sliding, 60).await, 60);
    f.set(START.after(secs(60)));
    assert_denied(&take(&f, sliding, 1).await, secs(1));
    f.advance(secs(1));
    assert_eq!(admitted(&f, sliding, 2).await, 1, "a sixtieth of the last window is out of view");

    let log = super::rule(Algorithm::SlidingLog, 60, secs(60), None);
    let f = F::at(START.after(millis(59_900))).await;
    assert_eq!(admitted(&f, log, 60).await, 60);
    f.set(START.after(secs(60)));
    for _ in 0..60 {
        assert_denied(&take(&f, log, 1).await, millis(59_900));
    }
    f.set(START.after(Span::from_nanos(119_900_000_000 - F::TICK.nanos())));
    assert_denied(&take(&f, log, 1).await, F::TICK);
    f.advance(F::TICK);
    assert_eq!(admitted(&f, log, 61).await, 60);

    let (f, rule) = (F::at(START).await, bucket(20, secs(1), 1_200));
    let mut total = admitted(&f, rule, 1_201).await;
    for second in 1..=60 {
        f.advance(secs(1));
        total += admitted(&f, rule, 21).await;
        assert_eq!(total, 1_200 + 20 * second, "burst and rate, never more");
    }
    assert_eq!(total, 2_400);
}

pub(super) async fn t13_a_leaky_bucket_leaks_all_the_time<F: Fixture>() {
    let leaky = |limit, window, burst| rule(Algorithm::LeakyBucket, limit, window, Some(burst));
    let (f, rule) = (F::at(START).await, leaky(10, secs(30), 10));
    let mut remaining = Vec::new();
    for _ in 0..=10 {
        remaining.push(take(&f, rule, 1).await.remaining);
        f.advance(secs(1));
    }
    assert_eq!(remaining, [9, 8, 7, 7, 6, 5, 5, 4, 3, 3, 2]);

    let (f, rule) = (F::at(START).await, leaky(3, secs(1), 3));
    let mut admitted_at = Vec::new();
    for hit in 0..100 {
        let decision = take(&f, rule, 1).await;
        assert!(decision.remaining <= 3);
        if decision.outcome == Outcome::Allow {
            admitted_at.push(hit);
        }
        f.advance(millis(100));
    }
    assert_eq!(admitted_at.len(), 32);
    assert_eq!(admitted_at[..7], [0, 1, 2, 4, 7, 10, 14], "in tenths of a second");
}

pub(super) async fn a_leaky_bucket_tells_the_delay_of_a_queue<F: Fixture>() {
    let (f, rule) = (F::at(START).await, rule(Algorithm::LeakyBucket, 2, secs(1), Some(5)));
    let mut delays = Vec::new();
    for _ in 0..5 {
        delays.push(take(&f, rule, 1).await.delay);
    }
    assert_eq!(delays, [0, 500, 1_000, 1_500, 2_000].map(millis), "one leaves every half second");
    assert_eq!(take(&f, rule, 1).await.delay, Span::ZERO, "what is refused does not wait");
    f.advance(millis(750));
    assert_eq!(take(&f, rule, 1).await.delay, millis(1_750));
    assert_eq!(take(&F::at(START).await, bucket(2, secs(1), 5), 3).await.delay, Span::ZERO);
}

pub(super) async fn t15_the_last_slot_is_admitted_and_the_next_is_not<F: Fixture>() {
    for rule in every_algorithm(5, secs(5)) {
        let f = F::at(START).await;
        for remaining in [4, 3, 2, 1, 0] {
            let decision = take(&f, rule, 1).await;
            assert_eq!((decision.outcome, decision.remaining), (Outcome::Allow, remaining));
        }
        let sixth = take(&f, rule, 1).await;
        assert_eq!((sixth.outcome, sixth.remaining), (Outcome::Deny, 0));
    }
    for rule in every_algorithm(1, secs(5)) {
        let f = F::at(START).await;
        assert_eq!(admitted(&f, rule, 2).await, 1);
    }
}

pub(super) async fn c01_a_cost_above_capacity_is_never_and_changes_nothing<F: Fixture>() {
    for rule in every_algorithm(3, secs(2)) {
        let f = F::at(START).await;
        let refused = take(&f, rule, 4).await;
        assert_eq!((refused.outcome, refused.retry_after), (Outcome::Never, None));
        assert_eq!(f.keys_held().await, 0);
        let admitted = take(&f, rule, 1).await;
        assert_eq!((admitted.outcome, admitted.remaining), (Outcome::Allow, 2));
    }
}

pub(super) async fn c03_a_cost_of_zero_asks_and_leaves_no_trace<F: Fixture>() {
    for rule in every_algorithm(3, secs(60)) {
        let f = F::at(START).await;
        let fresh = take(&f, rule, 0).await;
        assert_eq!((fresh.outcome, fresh.remaining), (Outcome::Allow, 3));
        assert_eq!(f.keys_held().await, 0);
        assert_eq!(admitted(&f, rule, 3).await, 3);
        let full = take(&f, rule, 0).await;
        assert_eq!((full.outcome, full.remaining), (Outcome::Allow, 0), "3 + 0 is within 3");
        one(&f, rule, Op::Adjust(1)).await;
        assert_eq!(take(&f, rule, 0).await.outcome, Outcome::Deny, "4 + 0 is not");
    }
}

pub(super) async fn h01_retry_after_is_enough_and_no_more<F: Fixture>() {
    let (f, rule) = (F::at(START).await, bucket(2, secs(3), 1));
    assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Allow);
    f.advance(millis(200));
    let denied = take(&f, rule, 1).await;
    assert_denied(&denied, millis(1_300));
    assert_eq!(weir_core::fields::retry_after_secs(denied.retry_after.unwrap()), 2);
    f.set(START.after(millis(2_200)));
    assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Allow);
    for rule in every_algorithm(3, secs(7)) {
        let f = F::at(START.after(millis(1_234))).await;
        assert_eq!(admitted(&f, rule, 3).await, 3);
        let wait = take(&f, rule, 1).await.retry_after.unwrap();
        f.advance(Span::from_nanos(wait.nanos() - rule.quota.tick().nanos()));
        assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Deny, "one tick early");
        f.advance(rule.quota.tick());
        assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Allow);
    }
}

pub(super) async fn h03_use_above_a_lowered_limit<F: Fixture>() {
    for algorithm in Algorithm::ALL {
        let at = |limit| rule(algorithm, limit, secs(1_000), None);
        let f = F::at(START).await;
        assert_eq!(admitted(&f, at(100), 50).await, 50);
        let lowered = take(&f, at(10), 1).await;
        assert_eq!((lowered.outcome, lowered.remaining), (Outcome::Deny, 0));
        let raised = one(&f, at(200), Op::Peek(0)).await;
        assert_eq!(raised.remaining, 150);
        assert_eq!(take(&f, at(200), 1).await.remaining, 149);
    }
    // What leaks while a quota is in force leaks at its rate: 10 of 1000 s are 2 of 200 units, 51 are left.
    let at = |limit| rule(Algorithm::TokenBucket, limit, secs(1_000), None);
    let f = F::at(START).await;
    assert_eq!(admitted(&f, at(200), 53).await, 53);
    f.advance(secs(10));
    assert_eq!(one(&f, at(200), Op::Peek(0)).await.remaining, 149);
    assert_eq!(take(&f, at(200), 1).await.remaining, 148);
    f.advance(secs(100));
    assert_denied(&take(&f, at(10), 1).await, secs(4_200));
}

pub(super) async fn g06_a_limit_of_zero_admits_nothing_ever<F: Fixture>() {
    for rule in every_algorithm(0, secs(60)) {
        let f = F::at(START).await;
        for cost in [1, 1, 1, 0] {
            let decision = take(&f, rule, cost).await;
            assert_eq!((decision.outcome, decision.retry_after), (Outcome::Never, None));
        }
        assert_eq!(f.keys_held().await, 0);
    }
}

pub(super) async fn g06_five_a_second_is_five_every_second<F: Fixture>() {
    for rule in [bucket(5, secs(1), 5), window(5, secs(1))] {
        let f = F::at(START).await;
        let mut total = 0;
        for _ in 0..60 {
            total += admitted(&f, rule, 5).await;
            f.advance(secs(1));
        }
        assert_eq!(total, 300);
    }
}

/// Takes `cost` units and returns the proof.
async fn charge(f: &impl Fixture, rule: Rule, cost: u64) -> Receipt {
    let (_, receipt) = apply(f, &[operation("k", rule, Op::Take(cost))]).await.remove(0);
    receipt.expect("the charge was made")
}

pub(super) async fn giving_back_returns_what_has_not_leaked<F: Fixture>() {
    let (f, rule) = (F::at(START).await, bucket(1, secs(1), 10));
    let receipt = charge(&f, rule, 10).await;
    assert_eq!((receipt.amount, receipt.at), (10, START));
    f.advance(secs(4));
    let late = charge(&f, rule, 4).await;
    // Four of the ten have leaked away and were used again; six are left to give back.
    assert_eq!(apply(&f, &[receipt.give_back()]).await[0].0.remaining, 6);
    f.advance(secs(10));
    assert_eq!(admitted(&f, rule, 10).await, 10);
    assert_eq!(apply(&f, &[late.give_back()]).await[0].0.remaining, 0, "all of it has leaked");
}

pub(super) async fn giving_back_to_another_window_returns_nothing<F: Fixture>() {
    let (f, rule) = (F::at(START).await, window(10, secs(60)));
    let receipt = charge(&f, rule, 4).await;
    assert_eq!(apply(&f, &[receipt.give_back()]).await[0].0.remaining, 10);
    let receipt = charge(&f, rule, 4).await;
    f.advance(secs(60));
    assert_eq!(admitted(&f, rule, 6).await, 6);
    assert_eq!(apply(&f, &[receipt.give_back()]).await[0].0.remaining, 4);
}

pub(super) async fn giving_back_after_a_change_of_quota_forgives_no_debt<F: Fixture>() {
    let (fast, slow) = (bucket(100, secs(1), 100), bucket(100, secs(3_600), 100));
    let f = F::at(START).await;
    let receipt = charge(&f, fast, 40).await;
    charge(&f, fast, 60).await;
    assert_denied(&take(&f, slow, 1).await, secs(36));
    f.advance(secs(1));
    // By the receipt's own rule a hundred would have leaked by now; by the one in force next to nothing has.
    apply(&f, &[receipt.give_back()]).await;
    assert_eq!(one(&f, slow, Op::Peek(0)).await.remaining, 40);
    assert_eq!(admitted(&f, slow, 41).await, 40);
}

pub(super) async fn a_lowered_quota_keeps_its_debt_through_a_sweep<F: Fixture>() {
    let (fast, slow) = (bucket(100, secs(1), 100), bucket(100, secs(3_600), 100));
    let f = F::at(START).await;
    charge(&f, fast, 100).await;
    assert_denied(&take(&f, slow, 1).await, secs(36));
    f.advance(secs(2));
    for i in 0..5_000 {
        apply(&f, &[operation(&format!("flood/{i}"), slow, Op::Take(1))]).await;
    }
    assert_denied(&take(&f, slow, 1).await, secs(34));
}

pub(super) async fn adjusting_may_pass_the_limit_and_leaks_back<F: Fixture>() {
    for rule in every_algorithm(10, secs(10)) {
        let f = F::at(START).await;
        let over = one(&f, rule, Op::Adjust(15)).await;
        assert_eq!((over.limit, over.remaining), (10, 0));
        assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Deny);
        f.advance(over.reset_after);
        assert_eq!(admitted(&f, rule, 11).await, 10);
        assert_eq!(one(&f, rule, Op::Adjust(i64::MIN)).await.remaining, 10);
        assert_eq!(one(&f, rule, Op::Adjust(i64::MAX)).await.remaining, 0);
    }
}

pub(super) async fn a_reset_forgets_all_use<F: Fixture>() {
    for rule in every_algorithm(3, secs(60)) {
        let f = F::at(START).await;
        assert_eq!(admitted(&f, rule, 4).await, 3);
        assert_eq!(one(&f, rule, Op::Reset).await.remaining, 3);
        assert_eq!(f.keys_held().await, 0);
        assert_eq!(admitted(&f, rule, 4).await, 3);
    }
}

pub(super) async fn expired_keys_go_when_room_is_needed<F: Fixture>() {
    const KEYS: usize = 2_000;
    for rule in every_algorithm(3, secs(1)) {
        let f = F::at(START).await;
        apply(&f, &[operation("debtor", rule, Op::Adjust(1_000_000))]).await;
        for round in 0..20 {
            for i in 0..KEYS {
                apply(&f, &[operation(&format!("{round}/{i}"), rule, Op::Take(1))]).await;
            }
            f.advance(secs(2));
            if rule.algorithm.has_burst() {
                let debtor = apply(&f, &[operation("debtor", rule, Op::Take(1))]).await[0].0;
                assert_eq!(debtor.outcome, Outcome::Deny, "a debt is not forgiven");
            }
        }
        assert!(f.keys_held().await < 4 * KEYS, "{} keys of 20 rounds are still held", f.keys_held().await);
    }
}
