//! Fixed windows as the calendar has them.

use weir_core::{Calendar, CalendarUnit, Window};

use super::*;

fn calendar(limit: u64, unit: CalendarUnit, zone: &str, anchor: Option<&str>) -> Rule {
    let window = Window::Calendar(Calendar::new(unit, zone, anchor).unwrap());
    let quota = Quota::settle(Algorithm::FixedWindow, limit, window, None).unwrap();
    Rule::new(PolicyId(1), Algorithm::FixedWindow, quota)
}

/// Uses up a quota and expects it back after so many seconds, and no earlier.
async fn lasts<F: Fixture>(at: u64, rule: Rule, seconds: u64) {
    let f = F::at(Timestamp::from_nanos(at * 1_000_000_000)).await;
    assert_eq!(admitted(&f, rule, 4).await, 3);
    assert_denied(&take(&f, rule, 1).await, secs(seconds));
    assert_eq!(one(&f, rule, Op::Peek(1)).await.reset_after, secs(seconds));
    f.advance(Span::from_nanos(secs(seconds).nanos() - F::TICK.nanos()));
    assert_denied(&take(&f, rule, 1).await, F::TICK);
    f.advance(F::TICK);
    assert_eq!(admitted(&f, rule, 4).await, 3);
}

pub(super) async fn g08_a_day_ends_at_the_zones_midnight<F: Fixture>() {
    let new_york = calendar(3, CalendarUnit::Day, "America/New_York", None);
    // Midnights of 2026-11-01, when the clocks go back, and of 2026-03-08, when they go forward.
    lasts::<F>(1_793_505_600, new_york, 90_000).await;
    lasts::<F>(1_772_946_000, new_york, 82_800).await;
    // A plain window of a day knows nothing of it.
    lasts::<F>(1_793_491_200, window(3, secs(86_400)), 86_400).await;
}

pub(super) async fn a_month_is_counted_from_its_anchor<F: Fixture>() {
    let billed = calendar(3, CalendarUnit::Month, "America/Sao_Paulo", Some("2026-01-31"));
    // 2026-02-28T00:00 in Sao Paulo, until 2026-03-31T00:00 there.
    lasts::<F>(1_772_247_600, billed, 31 * 86_400).await;
    // 2026-01-31, until 2026-02-28.
    lasts::<F>(1_769_828_400, billed, 28 * 86_400).await;
    let week = calendar(3, CalendarUnit::Week, "UTC", None);
    // A Sunday, one hour before midnight.
    lasts::<F>(1_795_993_200, week, 3_600).await;
}

pub(super) async fn a_calendar_window_that_has_begun_is_not_left_again<F: Fixture>() {
    let day = calendar(3, CalendarUnit::Day, "America/New_York", None);
    let midnight = Timestamp::from_nanos(1_793_505_600_000_000_000);
    let f = F::at(midnight).await;
    assert_eq!(admitted(&f, day, 4).await, 3);
    f.set(Timestamp::from_nanos(midnight.nanos() - 1_000_000_000));
    assert_denied(&take(&f, day, 1).await, secs(90_001));
    let receipt = {
        f.set(midnight.after(secs(90_000)));
        apply(&f, &[operation("k", day, Op::Take(2))]).await.remove(0).1.unwrap()
    };
    f.advance(secs(86_399));
    assert_eq!(apply(&f, &[receipt.give_back()]).await[0].0.remaining, 3);
    assert_eq!(f.keys_held().await, 0);
}
