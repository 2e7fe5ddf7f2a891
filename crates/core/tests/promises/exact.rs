//! Promises 1, 4, 5 and 6 for every algorithm: the bound in every interval, costs, giving back, and a retry
//! that keeps its word to the tick.

use proptest::prelude::*;
use weir_core::{Algorithm, Change, Decision, Held, Op, Outcome, Rule, Span, Step, Timestamp};

use crate::{coarse_rules, hold, length, rules, rules_in_doubles};

/// What a history does next, after waiting some share of a window.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    Take(u64),
    Peek(u64),
    /// Gives back the charge that was made so many charges ago.
    GiveBack(usize),
}

pub(crate) fn histories(algorithm: Algorithm) -> impl Strategy<Value = (Rule, u64, Vec<(u64, Move)>)> {
    let step = prop_oneof![
        6 => (0..12_u64).prop_map(Move::Take),
        1 => (0..70_u64).prop_map(Move::Take),
        1 => (0..70_u64).prop_map(Move::Peek),
        2 => (0..6_usize).prop_map(Move::GiveBack),
    ];
    // Waits in thousandths of a window: mostly none or little, sometimes more than a whole one.
    let wait = prop_oneof![3 => Just(0_u64), 4 => 0..200_u64, 1 => 0..2_500_u64];
    (rules(algorithm), 0..1_u64 << 60, prop::collection::vec((wait, step), 1..80))
}

/// One key under one rule, as a store would hold it.
pub(crate) struct Key {
    pub(crate) rule: Rule,
    state: Option<Held>,
    pub(crate) now: Timestamp,
}

impl Key {
    fn step(&self, op: Op, now: Timestamp) -> Step {
        self.rule.decide(Held::as_ref(self.state.as_ref()), op, now)
    }

    /// The same key at another time.
    fn at(&self, now: Timestamp) -> Self {
        Self { state: self.state.clone(), now, ..*self }
    }

    fn apply(&mut self, op: Op) -> Step {
        let step = self.step(op, self.now);
        step.change.apply_to(&mut self.state);
        step
    }
}

/// Charges by instant, in units × window so that nothing is rounded, less what was given back.
pub(crate) type Admitted = Vec<(u64, u128)>;

/// Drives a history and hands every step to `see`. Returns what was admitted, net of what was given back.
pub(crate) fn drive(
    (rule, start, moves): (Rule, u64, Vec<(u64, Move)>),
    mut see: impl FnMut(&Key, Op, &Step) -> Result<(), TestCaseError>,
) -> Result<Admitted, TestCaseError> {
    let mut key = Key { rule, state: None, now: Timestamp::from_nanos(start) };
    let window = u128::from(length(&rule.quota));
    let mut admitted: Admitted = Vec::new();
    // Charges that can still be given back: their place in `admitted`, their instant and amount.
    let mut open: Vec<(usize, Timestamp, u64)> = Vec::new();
    for (wait, step) in moves {
        key.now = key.now.after(Span::from_nanos(length(&rule.quota) / 1_000 * wait));
        let (op, charge) = match step {
            Move::Take(cost) => (Op::Take(cost), admitted.len()),
            Move::Peek(cost) => (Op::Peek(cost), admitted.len()),
            Move::GiveBack(ago) if ago < open.len() => {
                let (charge, at, amount) = open.remove(open.len() - 1 - ago);
                (Op::Give { at, amount }, charge)
            }
            Move::GiveBack(_) => continue,
        };
        let before = key.at(key.now);
        let step = key.apply(op);
        see(&before, op, &step)?;
        if let (Op::Take(cost), Some(at)) = (op, step.charged_at) {
            admitted.push((at.nanos(), u128::from(cost) * window));
            open.push((charge, at, cost));
        }
        if let Op::Give { at, amount } = op {
            let given = gain(&before, &step);
            prop_assert!(given <= amount, "gave back {given} of {amount}");
            admitted[charge].1 -= returned(&before, at, amount);
        }
    }
    Ok(admitted)
}

/// How much `remaining` rose by a step.
fn gain(before: &Key, step: &Step) -> u64 {
    step.decision.remaining - before.step(Op::Peek(0), before.now).decision.remaining
}

/// How much of a charge may come back by promise 5, in units × window.
fn returned(key: &Key, at: Timestamp, amount: u64) -> u128 {
    let quota = &key.rule.quota;
    let charged = u128::from(amount) * u128::from(length(quota));
    let window = |t: Timestamp| t.nanos() / length(quota);
    match key.rule.algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket => {
            charged.saturating_sub(u128::from(quota.limit()) * u128::from(key.now.since(at).nanos()))
        }
        Algorithm::FixedWindow if window(at) == window(key.now) => charged,
        Algorithm::SlidingWindow if window(at) + 1 >= window(key.now) => charged,
        Algorithm::SlidingLog if key.now.since(at).nanos() < length(quota) => charged,
        Algorithm::FixedWindow | Algorithm::SlidingWindow | Algorithm::SlidingLog => 0,
    }
}

#[test]
fn promise_1_the_bound_holds_in_every_interval() {
    for algorithm in Algorithm::ALL {
        hold(1_500, histories(algorithm), |history| {
            let quota = history.0.quota;
            let admitted = drive(history, |_, _, _| Ok(()))?;
            let (limit, window) = (u128::from(quota.limit()), u128::from(length(&quota)));
            let index = |at: u64| u128::from(at) / window;
            for (i, (from, _)) in admitted.iter().enumerate() {
                let mut sum = 0;
                for (to, charged) in &admitted[i..] {
                    sum += charged;
                    let length = u128::from(to - from);
                    match algorithm {
                        Algorithm::TokenBucket | Algorithm::LeakyBucket => {
                            let bound = u128::from(quota.capacity()) * window + limit * length;
                            prop_assert!(sum <= bound, "{sum} within {length} ns");
                        }
                        Algorithm::FixedWindow => {
                            let windows = index(*to) - index(*from) + 1;
                            prop_assert!(sum <= limit * windows * window, "{sum} over {windows} windows");
                            prop_assert!(length >= window || sum <= 2 * limit * window);
                        }
                        Algorithm::SlidingWindow => {
                            let windows = index(*to) - index(*from) + 1;
                            prop_assert!(sum <= limit * windows * window, "{sum} over {windows} windows");
                            prop_assert!(length >= window || sum < 2 * limit * window);
                        }
                        Algorithm::SlidingLog => prop_assert!(length >= window || sum <= limit * window),
                    }
                }
            }
            Ok(())
        });
    }
}

#[test]
fn promise_1_the_bound_holds_at_coarse_ticks_with_one_tick_more() {
    let asks = prop::collection::vec((0..3_000_000_000_u64, 1..9_000_000_000_u64), 1..60);
    hold(500, (coarse_rules(), 1_u64 << 60..1 << 61, asks), |(rule, start, asks)| {
        let quota = rule.quota;
        let (limit, window) = (u128::from(quota.limit()), u128::from(length(&quota)));
        let mut key = Key { rule, state: None, now: Timestamp::from_nanos(start) };
        let mut admitted: Vec<(u64, u128)> = Vec::new();
        for (wait, cost) in asks {
            key.now = key.now.after(Span::from_nanos(wait));
            if key.apply(Op::Take(cost)).charged_at.is_some() {
                admitted.push((key.now.nanos(), u128::from(cost) * window));
            }
        }
        for (i, (from, _)) in admitted.iter().enumerate() {
            let mut sum = 0;
            for (to, charged) in &admitted[i..] {
                sum += charged;
                let length = u128::from(to - from + quota.tick().nanos());
                prop_assert!(sum <= u128::from(quota.capacity()) * window + limit * length);
            }
        }
        Ok(())
    });
}

#[test]
fn promise_4_asking_changes_nothing_and_never_means_never() {
    for algorithm in Algorithm::ALL {
        hold(500, histories(algorithm), |history| {
            drive(history, |key, op, step| {
                if let Op::Take(0) | Op::Peek(_) = op {
                    prop_assert_eq!(step.change, Change::Keep);
                    prop_assert_eq!(step.charged_at, None);
                }
                if let Op::Take(cost) | Op::Peek(cost) = op {
                    let fits = cost <= key.rule.quota.capacity();
                    prop_assert_eq!(step.decision.outcome == Outcome::Never, !fits);
                    prop_assert_eq!(
                        step.decision.retry_after.is_some(),
                        step.decision.outcome == Outcome::Deny
                    );
                }
                if step.decision.outcome != Outcome::Allow {
                    prop_assert_eq!(step.change, Change::Keep, "a refusal consumes nothing");
                }
                Ok(())
            })?;
            Ok(())
        });
    }
}

#[test]
fn promise_5_a_charge_given_back_at_once_leaves_no_trace() {
    for algorithm in Algorithm::ALL {
        hold(500, histories(algorithm), |history| {
            drive(history, |key, op, step| {
                if let (Op::Take(amount), Some(at)) = (op, step.charged_at) {
                    let mut twin = key.at(key.now);
                    let before = twin.step(Op::Peek(0), twin.now).decision;
                    twin.apply(op);
                    let after = twin.apply(Op::Give { at, amount }).decision;
                    prop_assert_eq!(after, Decision { delay: after.delay, ..before });
                }
                Ok(())
            })?;
            Ok(())
        });
    }
}

#[test]
fn promise_6_a_retry_keeps_its_word_at_coarse_ticks_too() {
    let asks = prop::collection::vec((0..3_000_000_000_u64, 1..200_u64), 1..40);
    hold(500, (coarse_rules(), 1_u64 << 60..1 << 61, asks), |(rule, start, asks)| {
        let tick = rule.quota.tick();
        let mut key = Key { rule, state: None, now: Timestamp::from_nanos(start) };
        key.apply(Op::Adjust(rule.quota.capacity().cast_signed()));
        for (wait, cost) in asks {
            key.now = key.now.after(Span::from_nanos(wait));
            if let Some(wait) = key.apply(Op::Take(cost)).decision.retry_after {
                let then = key.now.after(wait);
                prop_assert_eq!(then.nanos() % tick.nanos(), 0, "room comes as a tick begins");
                let early = Timestamp::from_nanos(then.nanos() - 1);
                prop_assert_eq!(key.step(Op::Take(cost), then).decision.outcome, Outcome::Allow);
                prop_assert_eq!(key.step(Op::Take(cost), early).decision.outcome, Outcome::Deny);
            }
        }
        Ok(())
    });
}

#[test]
fn promise_6_a_retry_keeps_its_word_to_the_tick_in_doubles() {
    // Of the limit and of the window, in thousandths.
    let asks = prop::collection::vec((0..400_u64, 0..900_u64), 1..40);
    for algorithm in Algorithm::ALL {
        hold(
            300,
            (rules_in_doubles(algorithm), 1_u64 << 60..1 << 61, asks.clone()),
            |(rule, start, asks)| {
                let (tick, limit, window) =
                    (rule.quota.tick().nanos(), rule.quota.limit(), length(&rule.quota));
                let at = |nanos: u64| Timestamp::from_nanos(nanos / 1_000 * 1_000);
                let mut key = Key { rule, state: None, now: at(start) };
                for (wait, cost) in asks {
                    key.now = at(key.now.nanos() + window / 1_000 * wait);
                    let cost = limit * cost / 1_000 + 1;
                    if let Some(wait) = key.apply(Op::Take(cost)).decision.retry_after {
                        let then = key.now.after(wait);
                        let early = Timestamp::from_nanos(then.nanos() - tick);
                        prop_assert_eq!(key.step(Op::Take(cost), then).decision.outcome, Outcome::Allow);
                        prop_assert_eq!(key.step(Op::Take(cost), early).decision.outcome, Outcome::Deny);
                    }
                }
                Ok(())
            },
        );
    }
}

#[test]
fn promise_6_a_retry_succeeds_to_the_tick_and_remaining_stays_in_range() {
    for algorithm in Algorithm::ALL {
        hold(1_500, histories(algorithm), |history| {
            let tick = history.0.quota.tick();
            drive(history, |key, op, step| {
                let Decision { limit, remaining, reset_after, retry_after, next_after, .. } = step.decision;
                prop_assert!(remaining <= limit);
                prop_assert_eq!(reset_after == Span::ZERO, remaining == limit && next_after == Span::ZERO);
                if let (Op::Take(cost), Some(wait)) = (op, retry_after) {
                    let then = key.now.after(wait);
                    let early = Timestamp::from_nanos(then.nanos() - tick.nanos());
                    prop_assert_eq!(key.step(Op::Take(cost), then).decision.outcome, Outcome::Allow);
                    prop_assert_eq!(key.step(Op::Take(cost), early).decision.outcome, Outcome::Deny);
                    prop_assert!(next_after <= wait, "t is never later than Retry-After");
                }
                let full = key.at(key.now.after(reset_after));
                if matches!(op, Op::Peek(_)) {
                    prop_assert_eq!(full.step(Op::Peek(0), full.now).decision.remaining, limit);
                }
                Ok(())
            })?;
            Ok(())
        });
    }
}
