//! The policies in force: how they count now, and the room that is reserved for them.

use std::sync::{Arc, PoisonError, RwLock};

use hashbrown::HashMap;
use weir_core::{PolicyId, Rule};

/// Keys held, by policy.
pub(super) type ByPolicy = HashMap<PolicyId, usize>;

/// The rules of the policies in force.
#[derive(Debug, Default)]
pub(super) struct InForce(HashMap<PolicyId, Rule>);

/// What is in force now.
#[derive(Debug, Default)]
pub(super) struct Shares(RwLock<Arc<InForce>>);

impl Shares {
    /// From now on room is reserved for these policies, and for no others.
    pub(super) fn reserve_for(&self, rules: &[Rule]) {
        let in_force = InForce(rules.iter().map(|rule| (rule.policy, *rule)).collect());
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(in_force);
    }

    pub(super) fn in_force(&self) -> Arc<InForce> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl InForce {
    /// The rule by which a policy's keys are counted now, if another than `rule`: a quota that was changed.
    pub(super) fn instead_of(&self, rule: Rule) -> Option<Rule> {
        self.0.get(&rule.policy).copied().filter(|now| *now != rule && now.counts_like(rule))
    }

    /// How much of `cap` a new key of a policy must leave alone: what is reserved for the others and not used
    /// by them; nothing while it is within its own share. Half of the cap is reserved, in equal shares.
    pub(super) fn owed_to_others(&self, policy: PolicyId, cap: usize, held: &ByPolicy) -> usize {
        let share = cap / 2 / self.0.len().max(1);
        let unused = |policy: &PolicyId| share.saturating_sub(held.get(policy).copied().unwrap_or(0));
        if self.0.contains_key(&policy) && unused(&policy) > 0 {
            return 0;
        }
        self.0.keys().filter(|other| **other != policy).map(unused).sum()
    }
}
