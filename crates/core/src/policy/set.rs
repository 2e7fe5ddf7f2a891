//! All policies of a domain, and the pure step from a request to its charges.

use std::cmp::Reverse;

use smallvec::SmallVec;
use thiserror::Error;

use super::attributes::{Attributes, Values};
use super::charges::{Charge, Charges, Demand};
use super::costs::{CostRule, cost_in};
use super::when::When;
use super::{Allowance, KeyPart, Mode, OnMissing, Policy};
use crate::address;
use crate::key::{Key, KeyBuilder, KeySecret};
use crate::operation::Operation;
use crate::precision::Precision;
use crate::request::{Layer, Request, Value};
use crate::rule::Rule;
use crate::throttle::{Throttle, ThrottleError, Throttles};

/// A policy file, settled: everything that is known before a request comes.
#[derive(Debug)]
pub struct PolicySet {
    draft: Draft,
    throttles: Throttles,
}

/// What a policy set is made from.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) domain: Box<str>,
    pub(crate) attributes: Attributes,
    pub(crate) exempt: Vec<When>,
    pub(crate) costs: Vec<CostRule>,
    pub(crate) policies: Vec<Policy>,
}

/// A request named a domain that has no policies here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown domain `{asked}`: the policies loaded here are for `{known}`")]
pub struct UnknownDomain {
    /// The domain of the request.
    pub asked: Box<str>,
    /// The domain that is loaded.
    pub known: Box<str>,
}

impl PolicySet {
    pub(crate) fn new(mut draft: Draft, secret: &KeySecret, precision: Precision) -> Self {
        rank(&mut draft.policies);
        let throttles = Throttles::new(secret, &draft.domain, precision);
        Self { draft, throttles }
    }

    /// The domain that the policies are for.
    pub fn domain(&self) -> &str {
        &self.draft.domain
    }

    /// The domain that the request names, if it is another than that of these policies.
    pub fn unknown_domain<'a>(&self, request: &Request<'a>) -> Option<&'a str> {
        request.domain.filter(|domain| *domain != self.domain())
    }

    /// The policies, in the order of the file.
    pub fn policies(&self) -> &[Policy] {
        &self.draft.policies
    }

    /// The rules that keys are counted by; those of policies that are off count nothing.
    pub fn rules(&self) -> Vec<Rule> {
        self.policies().iter().filter(|policy| policy.mode != Mode::Off).filter_map(Policy::rule).collect()
    }

    /// The policy with this index, as charges and verdicts name it.
    pub fn policy(&self, index: usize) -> Option<&Policy> {
        self.draft.policies.get(index)
    }

    /// The attributes that policies use, each with the source where it is found if it is not given itself.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.draft.attributes.with_sources()
    }

    /// The key of a policy as people write it: `[tenant, header.x-api-key | client.ip]`.
    pub fn key_text(&self, policy: &Policy) -> String {
        let part = |part: &KeyPart| {
            part.iter().map(|id| self.draft.attributes.name(*id)).collect::<SmallVec<[&str; 2]>>().join(" | ")
        };
        format!("[{}]", policy.key.iter().map(part).collect::<Vec<_>>().join(", "))
    }

    /// What a caller's own limit asks of a store. No policy applies to it.
    ///
    /// # Errors
    ///
    /// It cannot be counted by.
    pub fn throttle(&self, throttle: &Throttle<'_>) -> Result<Operation, ThrottleError> {
        self.throttles.operation(throttle)
    }

    /// What the request is to be charged. Pure; nothing is asked of a store.
    ///
    /// # Errors
    ///
    /// The request names another domain.
    pub fn charges(&self, request: &Request<'_>) -> Result<Charges, UnknownDomain> {
        if let Some(asked) = self.unknown_domain(request) {
            return Err(UnknownDomain { asked: asked.into(), known: self.domain().into() });
        }
        let values = self.draft.attributes.resolve(&request.descriptor);
        if self.draft.exempt.iter().any(|when| when.matches(&values)) {
            return Ok(Charges { exempt: true, ..Charges::default() });
        }
        let mut charges = self.applying(request, &values);
        let is_refused = |charge: &Charge| charge.enforced && charge.demand == Demand::Missing;
        charges.asks_only = request.dry_run || charges.charges.iter().any(is_refused);
        Ok(charges)
    }

    /// The policies that match with their charges, less those that another one replaces. What is passed by
    /// for want of an attribute does not apply, so it replaces nothing; nor does a shadow: that would change
    /// what a client sees.
    fn applying(&self, request: &Request<'_>, values: &Values<'_>) -> Charges {
        let mut charges = Charges::default();
        let mut replaced: SmallVec<[usize; 4]> = SmallVec::new();
        let matches = |policy: &Policy| policy.is_met_at(request.layer) && policy.when.matches(values);
        for (index, policy) in self.policies().iter().enumerate().filter(|(_, policy)| matches(policy)) {
            let cost = cost_in(&policy.unit, policy.cost, &request.cost, &self.draft.costs, values);
            match policy.charge(index, cost, request.layer, values) {
                Some(charge) => {
                    if charge.enforced {
                        replaced.extend_from_slice(&policy.replaces);
                    }
                    charges.charges.push(charge);
                }
                None => charges.skipped.push(index),
            }
        }
        if !replaced.is_empty() {
            charges.charges.retain(|charge| !replaced.contains(&charge.policy));
            charges.skipped.retain(|index| !replaced.contains(index));
        }
        charges
    }
}

/// Numbers the policies from the narrowest to the widest: more key attributes first, then the smaller limit, then
/// the name. Beyond 65,535 they share a number, and their order in a group decides.
fn rank(policies: &mut [Policy]) {
    let limit = |policy: &Policy| match policy.allowance {
        Allowance::Limited(rule) => rule.quota.limit(),
        Allowance::Unlimited => u64::MAX,
    };
    let width = |policy: &Policy| (Reverse(policy.key.len()), limit(policy));
    let mut sorted: Vec<&mut Policy> = policies.iter_mut().collect();
    sorted.sort_by(|a, b| width(a).cmp(&width(b)).then_with(|| a.name.cmp(&b.name)));
    sorted.into_iter().enumerate().for_each(|(i, policy)| policy.rank = u16::try_from(i).unwrap_or(u16::MAX));
}

impl Policy {
    /// The charge for a matching request; `None` where the policy passes it by for want of an attribute.
    fn charge(&self, policy: usize, cost: u64, layer: Layer, values: &Values<'_>) -> Option<Charge> {
        let demand = match (self.allowance, self.partition(values)) {
            (Allowance::Unlimited, Some(_)) => Demand::Unlimited,
            (Allowance::Limited(rule), Some(key)) => Demand::Ask { key, rule },
            (_, None) if self.on_missing == OnMissing::Deny => Demand::Missing,
            (_, None) => return None,
        };
        let (enforced, rank, posture) = (self.is_enforced(), self.rank, self.postures.at(layer));
        Some(Charge { policy, cost, enforced, rank, posture, demand })
    }

    fn partition(&self, values: &Values<'_>) -> Option<Key> {
        let add = |key: KeyBuilder, part: &KeyPart| {
            let found = part.iter().zip(0_u8..).find_map(|(id, tag)| values.get(*id).map(|v| (tag, v)));
            match found {
                Some((tag, value)) => Some(add_value(key, tag, value)),
                None if self.on_missing == OnMissing::Shared => Some(key.part(b"-")),
                None => None,
            }
        };
        self.key.iter().try_fold(self.key_start, add).map(|key| key.key())
    }
}

/// The tag says which choice of the key part it was, and what kind of value, so that a user called like an
/// address is not that address.
fn add_value(key: KeyBuilder, tag: u8, value: &Value<'_>) -> KeyBuilder {
    let kind = |what: u8| u16::from_le_bytes([what, tag]);
    match value {
        Value::Text(text) => key.tagged(kind(b't'), text.as_bytes()),
        Value::Address(full) => match address::group(*full) {
            std::net::IpAddr::V4(v4) => key.tagged(kind(b'4'), &v4.octets()),
            std::net::IpAddr::V6(v6) => key.tagged(kind(b'6'), &v6.octets()),
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::file;
    use crate::key::KeySecret;

    #[test]
    fn promise_3_the_narrowest_comes_first() {
        let text = "
domain: d
policies:
  - { name: everyone, quota: 5/minute }
  - { name: big, key: [tenant], quota: 100/minute }
  - { name: twin, key: [tenant], quota: 10/minute }
  - { name: small, key: [user], quota: 10/minute }
  - { name: free, key: [user], quota: unlimited }
  - { name: endpoint, key: [user, path], quota: 1000/minute }
";
        let options = file::Options::new(KeySecret::new([7; 16]));
        let set = file::load("policy.yaml", text.as_bytes(), &options).unwrap().policies;
        let mut policies: Vec<_> = set.policies().iter().collect();
        policies.sort_by_key(|policy| policy.rank);
        let names: Vec<&str> = policies.iter().map(|policy| &*policy.name).collect();
        assert_eq!(names, ["endpoint", "small", "twin", "big", "free", "everyone"]);
    }
}
