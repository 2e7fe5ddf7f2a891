//! The sliding log.

use super::*;

fn log(limit: u64, window: Span) -> Rule {
    rule(Algorithm::SlidingLog, limit, window, None)
}

pub(super) async fn t11_equal_instants_weigh_what_they_cost<F: Fixture>() {
    let (f, rule) = (F::at(START).await, log(5, secs(10)));
    assert_eq!(admitted(&f, rule, 20).await, 5);

    let take = async |cost| apply(&f, &[operation("new", rule, Op::Take(cost))]).await[0].0;
    let used = [take(3).await, take(3).await, take(2).await].map(|d| (d.outcome, d.limit - d.remaining));
    assert_eq!(used, [(Outcome::Allow, 3), (Outcome::Deny, 3), (Outcome::Allow, 5)]);
}

pub(super) async fn g08_a_zone_never_touches_a_length_of_time<F: Fixture>() {
    // 2026-10-25T00:58:00Z: two minutes before clocks in Berlin go back an hour.
    let f = F::at(Timestamp::from_nanos(1_792_889_880_000_000_000)).await;
    let rule = log(1, secs(300));
    assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Allow);
    f.advance(secs(299));
    assert_denied(&take(&f, rule, 1).await, secs(1));
    f.advance(secs(1));
    assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Allow);
}

pub(super) async fn a_log_of_ten_thousand_entries_keeps_its_word<F: Fixture>() {
    const LIMIT: u64 = 10_000;
    let (f, rule) = (F::at(START).await, log(LIMIT, secs(60)));
    for _ in 0..LIMIT {
        assert_eq!(take(&f, rule, 1).await.outcome, Outcome::Allow);
        f.advance(millis(1));
    }
    let denied = take(&f, rule, LIMIT / 2).await;
    assert_denied(&denied, Span::from_millis(60_000 - LIMIT + LIMIT / 2 - 1));
    f.advance(Span::from_nanos(denied.retry_after.unwrap().nanos() - F::TICK.nanos()));
    assert_denied(&take(&f, rule, LIMIT / 2).await, F::TICK);
    f.advance(F::TICK);
    assert_eq!(take(&f, rule, LIMIT / 2).await.remaining, 0);
}

pub(super) async fn a_correction_takes_the_latest_first<F: Fixture>() {
    let (f, rule) = (F::at(START).await, log(10, secs(10)));
    take(&f, rule, 4).await;
    f.advance(secs(5));
    take(&f, rule, 4).await;
    assert_eq!(one(&f, rule, Op::Adjust(-5)).await.remaining, 7);
    f.advance(secs(5));
    assert_eq!(take(&f, rule, 0).await.remaining, 10, "what was left is of the first charge");
    assert_eq!(f.keys_held().await, 1, "it may have expired, and goes in its time");
    take(&f, rule, 10).await;
    assert_eq!(one(&f, rule, Op::Adjust(i64::MIN)).await.remaining, 10);
    assert_eq!(f.keys_held().await, 0);
}
