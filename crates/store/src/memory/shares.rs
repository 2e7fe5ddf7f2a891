//! Room reserved for the policies in force: half of all, in equal shares.

use std::sync::{PoisonError, RwLock};

use hashbrown::HashMap;
use weir_core::PolicyId;

/// Keys held, by policy.
pub(super) type ByPolicy = HashMap<PolicyId, usize>;

/// Who has a share.
#[derive(Debug, Default)]
pub(super) struct Shares(RwLock<Vec<PolicyId>>);

impl Shares {
    /// From now on room is reserved for these policies, and for no others.
    pub(super) fn reserve_for(&self, policies: impl IntoIterator<Item = PolicyId>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = policies.into_iter().collect();
    }

    /// How much of `cap` a new key of a policy must leave alone: what is reserved for the others and not used
    /// by them; nothing while it is within its own share.
    pub(super) fn owed_to_others(&self, policy: PolicyId, cap: usize, held: &ByPolicy) -> usize {
        let in_force = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let share = cap / 2 / in_force.len().max(1);
        let unused = |policy: &PolicyId| share.saturating_sub(held.get(policy).copied().unwrap_or(0));
        if in_force.contains(&policy) && unused(&policy) > 0 {
            return 0;
        }
        in_force.iter().filter(|other| **other != policy).map(unused).sum()
    }
}
