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
    /// The same of this policy and the next, in one group.
    TakeBoth(u64),
    GiveBack,
    Reset,
    Sweep,
}

fn histories() -> impl Strategy<Value = (usize, Vec<Algorithm>, Vec<Step>)> {
    let algorithms = prop::collection::vec(prop::sample::select(Algorithm::ALL.to_vec()), 3);
    let act = prop_oneof![
        15 => (1..4_u64).prop_map(Move::Take),
        15 => (1..4_u64).prop_map(Move::TakeBoth),
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

/// The store under test, and each key alone.
struct Model {
    small: Small,
    algorithms: Vec<Algorithm>,
    alone: HashMap<(u64, u8), Option<Held>>,
    receipts: Vec<(u64, u8, Receipt)>,
}

impl Model {
    fn now(&self) -> Timestamp {
        weir_store::Clock::now(&self.small.clock)
    }

    fn rule(&self, policy: u8) -> Rule {
        rule(policy.into(), self.algorithms[usize::from(policy)], 5, secs(10))
    }

    /// Charges one key of each of these policies, all or nothing. What the store admits, each alone admits.
    async fn take(&mut self, i: u64, policies: &[u8], cost: u64) -> Result<(), TestCaseError> {
        let operation = |policy: &u8| Operation::new(crowded(i, *policy), self.rule(*policy), Op::Take(cost));
        let group: Vec<Operation> = policies.iter().map(operation).collect();
        let answers = self.small.apply(&group).await;
        let now = self.now();
        for ((policy, operation), (_, receipt)) in policies.iter().zip(group).zip(answers) {
            let Some(receipt) = receipt else { continue };
            let lone = self.alone.entry((i, *policy)).or_default();
            let step = operation.rule.decide(Held::as_ref(lone.as_ref()), operation.op, now);
            prop_assert_eq!(step.decision.outcome, Outcome::Allow, "more permissive than alone");
            step.change.apply_to(lone);
            self.receipts.push((i, *policy, receipt));
        }
        Ok(())
    }

    async fn give_back(&mut self) {
        let Some((i, policy, receipt)) = self.receipts.pop() else { return };
        let op = Op::Give { at: receipt.at, amount: receipt.amount };
        self.small.apply(&[receipt.give_back()]).await;
        let (rule, now) = (self.rule(policy), self.now());
        let lone = self.alone.entry((i, policy)).or_default();
        rule.decide(Held::as_ref(lone.as_ref()), op, now).change.apply_to(lone);
    }

    async fn reset(&mut self, i: u64, policy: u8) {
        self.small.charge(crowded(i, policy), self.rule(policy), Op::Reset).await;
        self.alone.remove(&(i, policy));
        self.receipts.retain(|(other, of, _)| (*other, *of) != (i, policy));
    }
}

async fn holds((keys, algorithms, steps): (usize, Vec<Algorithm>, Vec<Step>)) -> Result<(), TestCaseError> {
    let small = Small::new(MemoryLimits { keys, log_entries: 64 });
    let mut model = Model { small, algorithms, alone: HashMap::new(), receipts: Vec::new() };
    for (i, policy, wait, act) in steps {
        model.small.clock.advance(Span::from_millis(wait));
        match act {
            Move::Take(cost) => model.take(i, &[policy], cost).await?,
            Move::TakeBoth(cost) => model.take(i, &[policy, (policy + 1) % 3], cost).await?,
            Move::GiveBack => model.give_back().await,
            Move::Reset => model.reset(i, policy).await,
            Move::Sweep => model.small.store.sweep(),
        }
        prop_assert!(model.small.store.stats().keys <= keys);
    }
    Ok(())
}

#[test]
fn promise_11_a_store_that_is_too_small_is_never_more_permissive() {
    let seed = match std::env::var("WEIR_SEED") {
        Ok(text) => text.parse().expect("WEIR_SEED is a whole number"),
        Err(_) => RandomState::new().build_hasher().finish(),
    };
    println!("WEIR_SEED={seed}");
    let config = Config {
        cases: 3_000,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    if let Err(failure) =
        TestRunner::new(config).run(&histories(), |history| runtime.block_on(holds(history)))
    {
        panic!("with WEIR_SEED={seed}: {failure}");
    }
}
