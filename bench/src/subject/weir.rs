//! Weir: the step that counts, and the whole check around it. All use of its interface is in this file.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use anyhow::{Result, anyhow, bail};
use weir_core::{
    Allowance, Answer, Descriptor, KeyBuilder, KeySecret, Limiter, Op, Operation, Outcome, Policy, PolicySet,
    Request, Rule, Store, file,
};
use weir_store::{MemoryLimits, MemoryStore};

use super::Subject;
use crate::name::Name;
use crate::scenario::{Bucket, Scenario};

const SECRET: KeySecret = KeySecret::new([7; 16]);

/// What the policies are keyed by, in turn.
const ATTRIBUTES: [&str; 3] = ["user", "tenant", "device"];

/// What compares with a peer: a key from a string, one operation, the memory store.
pub(crate) struct StoreStep {
    store: MemoryStore,
    rule: Rule,
    key_start: KeyBuilder,
}

impl Subject for StoreStep {
    fn new(scenario: Scenario) -> Result<Self> {
        // The rule that a policy file settles, rather than one made here.
        let policies = policies(1, scenario.bucket())?;
        let Some(Policy { allowance: Allowance::Limited(rule), .. }) = policies.policy(0) else {
            bail!("the policy has no rule");
        };
        let key_start = KeyBuilder::new(&SECRET).part(b"bench").part(b"policy-0");
        Ok(Self { store: store(), rule: *rule, key_start })
    }

    fn decider(&self, _threads: usize) -> impl FnMut(u32) -> Result<bool> {
        move |user| {
            let key = self.key_start.part(Name::user(user).as_str().as_bytes()).key();
            let operation = Operation::new(key, self.rule, Op::Take(1));
            match at_once(self.store.apply_one(operation, None))? {
                Answer::Decided { decision, .. } => Ok(decision.outcome == Outcome::Allow),
                Answer::Local { .. } | Answer::Unavailable { .. } => {
                    bail!("the memory store gave no decision")
                }
            }
        }
    }
}

/// A store that holds all keys of the largest load. A cap is no hint: memory comes with the keys.
fn store() -> MemoryStore {
    MemoryStore::with_limits(MemoryLimits { keys: 100_000_000, ..MemoryLimits::default() })
}

/// What a user of the library calls: matching, keys, the store, the verdict. All policies match.
pub(crate) struct Check<const POLICIES: usize>(Limiter<MemoryStore>);

impl<const POLICIES: usize> Subject for Check<POLICIES> {
    fn new(scenario: Scenario) -> Result<Self> {
        Ok(Self(Limiter::new(policies(POLICIES, scenario.bucket())?, store())))
    }

    fn decider(&self, _threads: usize) -> impl FnMut(u32) -> Result<bool> {
        let [by_user, by_tenant, by_device] = ATTRIBUTES;
        move |number| {
            let (user, tenant, device) = (Name::user(number), Name::tenant(number), Name::device(number));
            let descriptor = Descriptor::new()
                .with(by_user, user.as_str())
                .with(by_tenant, tenant.as_str())
                .with(by_device, device.as_str());
            let request = Request { descriptor, ..Request::default() };
            Ok(at_once(self.0.check(&request))??.is_admitted())
        }
    }
}

fn policies(count: usize, bucket: Bucket) -> Result<Arc<PolicySet>> {
    let text = policy_file(count, bucket);
    let loaded = file::load("bench.yaml", text.as_bytes(), &file::Options::new(SECRET))
        .map_err(|report| anyhow!("{report}"))?;
    Ok(loaded.policies)
}

fn policy_file(count: usize, Bucket { limit, seconds, burst }: Bucket) -> String {
    let policy = |(number, attribute): (usize, &str)| {
        format!(
            "  - {{ name: policy-{number}, key: [{attribute}], quota: {limit}/{seconds}s, burst: {burst} }}\n"
        )
    };
    let policies: String = ATTRIBUTES.into_iter().cycle().take(count).enumerate().map(policy).collect();
    format!("domain: bench\npolicies:\n{policies}")
}

/// What a future gives without being waited for; the memory store's is always ready.
pub(crate) fn at_once<F: Future>(future: F) -> Result<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => bail!("the memory store made its caller wait"),
    }
}
