//! Promise 11 on the memory store: bounded, and no debt is forgiven.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a property test prints its seed")]

mod bounds;
mod model;
mod overflow;
mod sweep;

use weir_core::{
    Algorithm, Answer, Batch, Decision, Key, KeyBuilder, KeySecret, Op, Operation, Outcome, PolicyId, Quota,
    Receipt, Rule, Span, Store as _, Timestamp,
};
use weir_store::{ManualClock, MemoryLimits, MemoryStore};

const START: Timestamp = Timestamp::from_nanos(1_710_720_000_000_000_000);

/// A store of few keys, on a clock that a test moves.
struct Small {
    store: MemoryStore<ManualClock>,
    clock: ManualClock,
}

const fn limits(keys: usize) -> MemoryLimits {
    MemoryLimits { keys, log_entries: 1_000_000 }
}

const fn secs(seconds: u64) -> Span {
    Span::from_secs(seconds)
}

fn rule(policy: u64, algorithm: Algorithm, limit: u64, window: Span) -> Rule {
    let quota = Quota::settle(algorithm, limit, window, None).unwrap();
    Rule::new(PolicyId(policy), algorithm, quota)
}

/// Ten in a minute, all at once if wanted.
fn bucket(policy: u64) -> Rule {
    rule(policy, Algorithm::TokenBucket, 10, secs(60))
}

fn key(name: &str) -> Key {
    KeyBuilder::new(&KeySecret::new([7; 16])).part(name.as_bytes()).key()
}

impl Small {
    fn new(limits: MemoryLimits) -> Self {
        let clock = ManualClock::at(START);
        Self { store: MemoryStore::with(clock.clone(), limits), clock }
    }

    async fn apply(&self, group: &[Operation]) -> Vec<(Decision, Option<Receipt>)> {
        let batch: Batch = [group.iter().copied()].into_iter().collect();
        let decided = |answer| match answer {
            Answer::Decided { decision, receipt, .. } => (decision, receipt),
            Answer::Local { .. } | Answer::Unavailable { .. } => panic!("memory answers"),
        };
        self.store.apply(batch).await.drain().map(decided).collect()
    }

    async fn charge(&self, key: Key, rule: Rule, op: Op) -> (Decision, Option<Receipt>) {
        self.apply(&[Operation::new(key, rule, op)]).await.remove(0)
    }

    async fn take(&self, name: &str, rule: Rule, cost: u64) -> Decision {
        self.charge(key(name), rule, Op::Take(cost)).await.0
    }

    /// Takes one unit of each of so many keys that nobody else uses.
    async fn flood(&self, from: &str, rule: Rule, keys: usize) {
        for i in 0..keys {
            self.take(&format!("{from}/{i}"), rule, 1).await;
        }
    }

    async fn is_denied(&self, name: &str, rule: Rule) -> bool {
        self.take(name, rule, 1).await.outcome == Outcome::Deny
    }
}
