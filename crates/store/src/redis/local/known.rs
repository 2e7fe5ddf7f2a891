//! What the server last told about keys, as far as their use goes.

use hashbrown::HashMap;
use weir_core::{Algorithm, Decision, Key, Rule, Span, Timestamp};

/// So many keys are known at least, and twice as many at most, at about 64 bytes each: those that were told last.
const KEYS_MIN: usize = 1 << 17;

#[derive(Default)]
pub(super) struct Known {
    young: HashMap<Key, Told>,
    /// Those that were young before: dropped together, so that nothing needs to be sorted by age.
    old: HashMap<Key, Told>,
}

#[derive(Clone, Copy)]
struct Told {
    rule: Rule,
    used: u64,
    at: Timestamp,
    /// All is as good as unused after that.
    reset_after: Span,
}

impl Known {
    pub(super) fn learn(&mut self, key: Key, rule: Rule, decision: &Decision, at: Timestamp) {
        let used = decision.limit - decision.remaining;
        if self.young.len() >= KEYS_MIN && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, Told { rule, used, at, reset_after: decision.reset_after });
    }

    /// The units of a key that are used at most, if it was told of: a bucket leaks evenly, and of a window nothing is
    /// taken off before all of it is.
    pub(super) fn used(&self, key: Key, rule: Rule, now: Timestamp) -> Option<u64> {
        let told = self.young.get(&key).or_else(|| self.old.get(&key)).filter(|told| told.rule == rule)?;
        let left = told.reset_after.nanos().saturating_sub(now.since(told.at).nanos());
        if left == 0 {
            return Some(0);
        }
        if !matches!(rule.algorithm, Algorithm::TokenBucket | Algorithm::LeakyBucket) {
            return Some(told.used);
        }
        let used = u128::from(told.used) * u128::from(left);
        // Not more than before, so it fits.
        Some(u64::try_from(used.div_ceil(u128::from(told.reset_after.nanos()))).unwrap_or(told.used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::{Op, PolicyId, Precision, Quota, StateRef};

    const START: Timestamp = Timestamp::from_nanos(1_793_400_000_000_000_000);
    const SECOND: Span = Span::from_secs(1);

    fn told(algorithm: Algorithm) -> (Known, Rule) {
        let quota = Quota::settle_for(Precision::Double, algorithm, 10, Span::from_secs(10), None).unwrap();
        let rule = Rule::new(PolicyId(1), algorithm, quota);
        let mut known = Known::default();
        known.learn(Key(1), rule, &rule.decide(StateRef::Fresh, Op::Take(8), START).decision, START);
        (known, rule)
    }

    #[test]
    fn a_bucket_leaks_and_a_window_ends() {
        let (known, rule) = told(Algorithm::TokenBucket);
        let used = |seconds| known.used(Key(1), rule, START.after(Span::from_millis(seconds)));
        assert_eq!([used(0), used(1), used(3_000), used(8_000)], [8, 8, 5, 0].map(Some));
        let (known, rule) = told(Algorithm::FixedWindow);
        let used = |seconds| known.used(Key(1), rule, START.after(Span::from_millis(seconds)));
        assert_eq!([used(0), used(9_999), used(10_000)], [8, 8, 0].map(Some));
        assert_eq!(known.used(Key(2), rule, START), None);
    }

    #[test]
    fn promise_11_those_told_last_are_known() {
        let (mut known, rule) = told(Algorithm::TokenBucket);
        let decision = rule.decide(StateRef::Fresh, Op::Take(1), START).decision;
        for key in 0..3 * KEYS_MIN as u128 {
            known.learn(Key(key), rule, &decision, START.after(SECOND));
        }
        assert!(known.young.len() + known.old.len() <= 2 * KEYS_MIN);
        assert_eq!(known.used(Key(0), rule, START), None);
        assert_eq!(known.used(Key(2 * KEYS_MIN as u128), rule, START.after(SECOND)), Some(1));
    }
}
