//! No quota that settles, no cost, no instant and no order of them makes the arithmetic panic or lie.

use std::num::NonZeroU64;

use proptest::prelude::*;
use weir_core::QuotaError as E;
use weir_core::{Algorithm, Held, Op, Quota, Span, Timestamp};

use crate::{hold, rule};

fn any_op() -> impl Strategy<Value = Op> {
    let number = || prop_oneof![0..10_u64, any::<u64>(), Just(u64::MAX)];
    prop_oneof![
        4 => number().prop_map(Op::Take),
        1 => number().prop_map(Op::Peek),
        1 => (number(), number()).prop_map(|(at, amount)| Op::Give { at: Timestamp::from_nanos(at), amount }),
        1 => any::<i64>().prop_map(Op::Adjust),
        1 => Just(Op::Reset),
    ]
}

fn any_quota() -> impl Strategy<Value = (Algorithm, u64, u64, Option<u64>)> {
    let number = || prop_oneof![0..10_u64, 0..1_u64 << 40, any::<u64>()];
    (prop::sample::select(Algorithm::ALL.to_vec()), number(), number(), prop::option::of(number()))
}

#[test]
fn nothing_overflows_and_remaining_stays_in_range() {
    let history = prop::collection::vec((any::<u64>(), any_op(), any_quota()), 1..40);
    hold(5_000, (any_quota(), history), |(first, history)| {
        let settle = |(algorithm, limit, window, burst): (Algorithm, u64, u64, Option<u64>)| {
            let window = Span::from_nanos(window);
            Quota::settle(algorithm, limit, window, burst.and_then(NonZeroU64::new))
                .ok()
                .map(|quota| rule(algorithm, quota))
        };
        let Some(mut rule) = settle(first) else { return Ok(()) };
        let mut state: Option<Held> = None;
        for (now, op, quota) in history {
            // Where the algorithm stays, the quota may change under way.
            if let Some(changed) = settle(quota).filter(|changed| changed.algorithm == rule.algorithm) {
                if let Some(Held::Cell(state)) = &mut state {
                    *state = changed.rebase(state, rule);
                }
                rule = changed;
            }
            let now = Timestamp::from_nanos(now);
            let step = rule.decide(Held::as_ref(state.as_ref()), op, now);
            prop_assert!(step.decision.remaining <= step.decision.limit);
            prop_assert_eq!(step.decision.limit, rule.quota.capacity());
            step.change.apply_to(&mut state);
            rule.expires(Held::as_ref(state.as_ref()));
        }
        Ok(())
    });
}

#[test]
fn what_a_refusal_calls_the_highest_is_accepted() {
    hold(5_000, any_quota(), |(algorithm, limit, window, burst)| {
        let (window, burst) = (Span::from_nanos(window), burst.and_then(NonZeroU64::new));
        match Quota::settle(algorithm, limit, window, burst) {
            Err(E::BurstTooLarge(highest) | E::TooSlow(highest)) if burst.is_some() && highest > 0 => {
                let again = Quota::settle(algorithm, limit, window, NonZeroU64::new(highest));
                prop_assert!(again.is_ok(), "{again:?}");
            }
            Err(E::LimitTooLarge(highest)) => {
                let again = Quota::settle(algorithm, highest, window, burst);
                prop_assert!(again.is_ok(), "{again:?}");
            }
            _ => {}
        }
        Ok(())
    });
}
