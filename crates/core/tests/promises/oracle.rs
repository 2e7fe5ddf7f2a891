//! Promise 1 by a second opinion: an oracle that keeps every charge, counts in exact fractions and takes its
//! time. `WEIR_ORACLE_STEPS` sets how many steps each algorithm takes with it.

use proptest::prelude::*;
use weir_core::{Algorithm, Op, Outcome, Rule, Timestamp};

use crate::exact::{drive, histories};
use crate::{hold, length};

/// A history has about so many steps.
const STEPS_A_HISTORY: u32 = 40;
const STEPS: u32 = 60_000;

/// What was charged to one key. Use is in units × window, so that nothing is rounded.
struct Oracle {
    rule: Rule,
    /// Instants and units.
    charges: Vec<(u64, u64)>,
    /// For a bucket: the level, and its instant.
    level: (u128, u64),
}

impl Oracle {
    fn window(&self) -> u64 {
        length(&self.rule.quota)
    }

    fn capacity(&self) -> u128 {
        u128::from(self.rule.quota.capacity()) * u128::from(self.window())
    }

    fn parts(&self, units: u64) -> u128 {
        u128::from(units) * u128::from(self.window())
    }

    fn leak(&self, nanos: u64) -> u128 {
        u128::from(self.rule.quota.limit()) * u128::from(nanos)
    }

    /// The use that counts at an instant, in units × window.
    fn used(&self, at: u64) -> u128 {
        let window = self.window();
        let sum = |counts: &dyn Fn(u64) -> bool| {
            self.charges.iter().filter(|(charged, _)| counts(*charged)).map(|(_, u)| self.parts(*u)).sum()
        };
        match self.rule.algorithm {
            Algorithm::TokenBucket | Algorithm::LeakyBucket => {
                self.level.0.saturating_sub(self.leak(at - self.level.1))
            }
            Algorithm::FixedWindow => sum(&|charged| charged / window == at / window),
            Algorithm::SlidingLog => sum(&|charged| at - charged < window),
            Algorithm::SlidingWindow => {
                let this: u128 = sum(&|charged| charged / window == at / window);
                let last: u128 = sum(&|charged| charged / window + 1 == at / window);
                // Whole, since each is so many times the window.
                this + last / u128::from(window) * u128::from(window - at % window)
            }
        }
    }

    fn outcome(&self, cost: u64, at: u64) -> Outcome {
        match self.parts(cost) {
            cost if cost > self.capacity() => Outcome::Never,
            cost if self.used(at) + cost <= self.capacity() => Outcome::Allow,
            _ => Outcome::Deny,
        }
    }

    fn charge(&mut self, cost: u64, at: u64) {
        self.level = (self.used(at) + self.parts(cost), at);
        self.charges.push((at, cost));
    }

    fn give(&mut self, charged: Timestamp, amount: u64, at: u64) {
        let left = self.parts(amount).saturating_sub(self.leak(at - charged.nanos()));
        if self.rule.algorithm.has_burst() {
            self.level = (self.used(at).saturating_sub(left), at);
        }
        let position = self.charges.iter().position(|charge| *charge == (charged.nanos(), amount)).unwrap();
        self.charges.remove(position);
    }

    fn check(&mut self, op: Op, at: u64, said: &weir_core::Decision) -> Result<(), TestCaseError> {
        match op {
            Op::Take(cost) | Op::Peek(cost) => {
                let outcome = self.outcome(cost, at);
                prop_assert_eq!(said.outcome, outcome);
                if let Some(wait) = said.retry_after {
                    prop_assert_eq!(self.outcome(cost, at + wait.nanos()), Outcome::Allow);
                    prop_assert_eq!(self.outcome(cost, at + wait.nanos() - 1), Outcome::Deny);
                }
                if outcome == Outcome::Allow && matches!(op, Op::Take(1..)) {
                    self.charge(cost, at);
                }
            }
            Op::Give { at: charged, amount } => self.give(charged, amount, at),
            Op::Adjust(_) | Op::Reset => {}
        }
        let left = (self.capacity() - self.used(at)) / u128::from(self.window());
        prop_assert_eq!(u128::from(said.remaining), left);
        let full = at + said.reset_after.nanos();
        prop_assert_eq!(self.used(full), 0);
        prop_assert!(full == at || self.used(full - 1) > 0, "full earlier than told");
        Ok(())
    }
}

#[test]
fn promise_1_every_algorithm_agrees_with_an_oracle_in_exact_fractions() {
    let steps = std::env::var("WEIR_ORACLE_STEPS").map_or(STEPS, |text| text.parse().unwrap());
    for algorithm in Algorithm::ALL {
        let done = std::cell::Cell::new(0_u64);
        hold(steps / STEPS_A_HISTORY, histories(algorithm), |history| {
            let mut oracle = Oracle { rule: history.0, charges: Vec::new(), level: (0, history.1) };
            drive(history, |key, op, step| {
                done.set(done.get() + 1);
                oracle.check(op, key.now.nanos(), &step.decision)
            })?;
            Ok(())
        });
        println!("{algorithm}: {} steps", done.get());
    }
}
