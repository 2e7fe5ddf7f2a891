//! What a new set of policies does to the counters of an old one.

use super::{Allowance, Policy, PolicySet};
use crate::rule::{PolicyId, Rule};

/// What becomes of a policy's usage.
#[derive(Clone, Debug)]
pub enum Usage<'a> {
    /// Its usage is kept; the quota may have changed.
    Kept(&'a Policy),
    /// Its counters begin anew, since this changed: how it was, and how it is.
    Anew {
        /// The policy as it is now.
        policy: &'a Policy,
        /// What counters depend on: `domain`, `key`, `algorithm`, `window`; `None` for a new policy.
        because: Option<(&'static str, String, String)>,
    },
    /// It is there no longer, and its usage expires.
    Gone(&'a Policy),
}

impl PolicySet {
    /// What becomes of usage when this set takes the place of `old`: first its own policies in their order,
    /// then those that are gone. Both were read with the same secret. Policies that allow everything count
    /// nothing, and are left out.
    pub fn changes_from<'a>(&'a self, old: &'a Self) -> Vec<Usage<'a>> {
        let mine =
            self.counting().map(|policy| match old.counting().find(|before| before.name == policy.name) {
                Some(before) if before.policy_id() == policy.policy_id() => Usage::Kept(policy),
                before => Usage::Anew { policy, because: before.and_then(|b| self.reason(policy, old, b)) },
            });
        let is_gone = |before: &&Policy| self.policies().iter().all(|policy| policy.name != before.name);
        mine.chain(old.counting().filter(is_gone).map(Usage::Gone)).collect()
    }

    fn counting(&self) -> impl Iterator<Item = &Policy> {
        self.policies().iter().filter(|policy| policy.rule().is_some())
    }

    /// The first of those that a counter's identity is made of that differs.
    fn reason(&self, policy: &Policy, old: &Self, before: &Policy) -> Option<(&'static str, String, String)> {
        let of = |set: &Self, policy: &Policy| {
            let rule = policy.rule()?;
            let window = rule.algorithm.key_window(&rule.quota).map(|window| window.to_string());
            Some([
                ("domain", set.domain().to_owned()),
                ("key", set.key_text(policy)),
                ("algorithm", rule.algorithm.to_string()),
                ("window", window.unwrap_or_default()),
            ])
        };
        let (was, is) = (of(old, before)?, of(self, policy)?);
        was.into_iter().zip(is).find(|(was, is)| was != is).map(|((name, was), (_, is))| (name, was, is))
    }
}

impl Policy {
    /// How its keys are counted; `None` where it allows everything.
    pub fn rule(&self) -> Option<Rule> {
        match self.allowance {
            Allowance::Limited(rule) => Some(rule),
            Allowance::Unlimited => None,
        }
    }

    fn policy_id(&self) -> Option<PolicyId> {
        self.rule().map(|rule| rule.policy)
    }
}
