//! A store that is far too small, against each key alone in an endless one: what it admits, that one admits.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use weir_core::Held;

use super::*;

/// A step of a history: which key of which policy, how long after the last one, and what.
type Step = (u64, u8, u64, Move);

#[derive(Clone, Debug)]
enum Move {
    Take(u64),
    GiveBack,
    Reset,
    Sweep,
}

fn histories() -> impl Strategy<Value = (usize, Vec<Algorithm>, Vec<Step>)> {
    let algorithms = prop::collection::vec(prop::sample::select(Algorithm::ALL.to_vec()), 3);
    let act = prop_oneof![
        20 => (1..4_u64).prop_map(Move::Take),
        3 => Just(Move::GiveBack),
        1 => Just(Move::Reset),
        1 => Just(Move::Sweep),
    ];
    let wait = prop_oneof![4 => Just(0_u64), 3 => 0..300_u64, 1 => 0..20_000_u64];
    // A partition is shared by keys that are the same modulo 4,096: few classes, so that many share one.
    let step = (0..40_u64, 0..3_u8, wait, act);
    (0..20_usize, algorithms, prop::collection::vec(step, 1..400))
}

/// Keys of two classes modulo 4,096.
fn crowded(i: u64, policy: u8) -> Key {
    Key(u128::from(i + 1) << 70 | u128::from(policy) << 50 | u128::from(i % 2))
}

#[test]
fn promise_11_a_store_that_is_too_small_is_never_more_permissive() {
    let seed = std::env::var("WEIR_SEED")
        .map_or_else(|_| RandomState::new().build_hasher().finish(), |s| s.parse().unwrap());
    println!("WEIR_SEED={seed}");
    let config = Config {
        cases: 2_000,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let holds = |(keys, algorithms, steps): (usize, Vec<Algorithm>, Vec<Step>)| {
        runtime.block_on(async {
            let small = Small::new(MemoryLimits { keys, log_entries: 64 });
            let mut alone: HashMap<(u64, u8), Option<Held>> = HashMap::new();
            let mut receipts: Vec<(u64, u8, Receipt, u64)> = Vec::new();
            for (i, policy, wait, act) in steps {
                small.clock.advance(Span::from_millis(wait));
                let now = weir_store::Clock::now(&small.clock);
                let rule = rule(policy.into(), algorithms[usize::from(policy)], 5, secs(10));
                let lone = alone.entry((i, policy)).or_default();
                match act {
                    Move::Take(cost) => {
                        let (decision, receipt) =
                            small.charge(crowded(i, policy), rule, Op::Take(cost)).await;
                        let step = rule.decide(Held::as_ref(lone.as_ref()), Op::Take(cost), now);
                        if decision.outcome == Outcome::Allow {
                            prop_assert_eq!(step.decision.outcome, Outcome::Allow, "more permissive");
                            step.change.apply_to(lone);
                            receipts.push((i, policy, receipt.unwrap(), cost));
                        }
                    }
                    Move::GiveBack => {
                        let Some((i, policy, receipt, amount)) = receipts.pop() else { continue };
                        let op = Op::Give { at: receipt.at, amount };
                        small.apply(&[receipt.give_back()]).await;
                        let rule = super::rule(policy.into(), algorithms[usize::from(policy)], 5, secs(10));
                        let lone = alone.entry((i, policy)).or_default();
                        rule.decide(Held::as_ref(lone.as_ref()), op, now).change.apply_to(lone);
                    }
                    Move::Reset => {
                        small.charge(crowded(i, policy), rule, Op::Reset).await;
                        *lone = None;
                        receipts.retain(|(other, of, ..)| (*other, *of) != (i, policy));
                    }
                    Move::Sweep => small.store.sweep(),
                }
                prop_assert!(small.store.stats().keys <= keys);
            }
            Ok(())
        })
    };
    if let Err(failure) = TestRunner::new(config).run(&histories(), holds) {
        panic!("with WEIR_SEED={seed}: {failure}");
    }
}
