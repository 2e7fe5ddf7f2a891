//! Every rule that a key was ever written by, numbered, so that a slot names its rule in four bytes.
//!
//! Rules are as many as there were distinct quotas; they are never forgotten, at about 100 bytes each.

use std::num::NonZeroU32;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hashbrown::{HashMap, HashSet};
use weir_core::{PolicyId, Rule};

/// The number of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RuleId(NonZeroU32);

/// A rule and the number of its policy.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) rule: Rule,
    pub(super) policy: usize,
}

/// Rules by number and numbers by rule.
#[derive(Debug, Default)]
pub(super) struct Rules {
    known: boxcar::Vec<Known>,
    index: RwLock<Index>,
}

#[derive(Debug, Default)]
struct Index {
    rules: HashMap<Rule, RuleId>,
    policies: HashMap<PolicyId, usize>,
    in_force: HashSet<usize>,
}

impl Rules {
    /// The rule with this number.
    pub(super) fn get(&self, RuleId(number): RuleId) -> Option<&Known> {
        self.known.get(number.get() as usize - 1)
    }

    /// The number of a rule, and that of its policy.
    pub(super) fn id(&self, rule: &Rule) -> Option<(RuleId, usize)> {
        let find = |index: &Index| {
            let id = *index.rules.get(rule)?;
            Some((id, *index.policies.get(&rule.policy)?))
        };
        if let Some(found) = find(&self.read()) {
            return Some(found);
        }
        let mut index = self.write();
        if let Some(found) = find(&index) {
            return Some(found);
        }
        let policy = index.number(rule.policy);
        let place = self.known.push(Known { rule: *rule, policy });
        // Four thousand million rules do not fit in memory, so the number always does.
        let id = RuleId(NonZeroU32::new(u32::try_from(place + 1).ok()?)?);
        index.rules.insert(*rule, id);
        Some((id, policy))
    }

    /// From now on room is reserved for the policies of these rules, and for no others.
    pub(super) fn reserve_for(&self, rules: &[Rule]) {
        let mut index = self.write();
        let in_force = rules.iter().map(|rule| index.number(rule.policy)).collect();
        index.in_force = in_force;
    }

    /// How much of `cap` a new key of a policy must leave alone: what is reserved for the other policies and
    /// not used by them. Half of the cap is reserved, in equal shares.
    pub(super) fn owed_to_others(&self, policy: usize, cap: usize, held: &[u32]) -> usize {
        let index = self.read();
        let share = cap / 2 / index.in_force.len().max(1);
        let held = |policy: usize| held.get(policy).map_or(0, |held| *held as usize);
        if index.in_force.contains(&policy) && held(policy) < share {
            return 0;
        }
        let others = index.in_force.iter().filter(|other| **other != policy);
        others.map(|other| share.saturating_sub(held(*other))).sum()
    }

    fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    fn number(&mut self, policy: PolicyId) -> usize {
        let next = self.policies.len();
        *self.policies.entry(policy).or_insert(next)
    }
}
