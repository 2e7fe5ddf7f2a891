//! limitador: limits with conditions and variables in CEL, counted in fixed windows in memory.

use std::collections::HashMap;

use anyhow::{Result, anyhow};
use limitador::RateLimiter;
use limitador::limit::{Context, Expression, Limit, Namespace};

use super::Subject;
use crate::name::Name;
use crate::scenario::{Bucket, Scenario};

const NAMESPACE: &str = "bench";
const VARIABLE: &str = "user";

pub(crate) struct Limitador {
    limiter: RateLimiter,
    namespace: Namespace,
}

impl Subject for Limitador {
    fn new(scenario: Scenario) -> Result<Self> {
        // It has no buckets: a window that admits the burst decides the same in every scenario.
        let Bucket { seconds, burst, .. } = scenario.bucket();
        let variable = Expression::parse(VARIABLE).map_err(|error| anyhow!("{error}"))?;
        let limit = Limit::new(NAMESPACE, burst.into(), seconds.into(), [], [variable]);
        // Its table is a cache that must be told its size; with less room it would forget counters.
        let limiter = RateLimiter::new(u64::from(scenario.keys()) * 2 + 1_000);
        limiter.add_limit(limit);
        Ok(Self { limiter, namespace: Namespace::from(NAMESPACE) })
    }

    fn decider(&self, _threads: usize) -> impl FnMut(u32) -> Result<bool> {
        move |user| {
            let values = HashMap::from([(VARIABLE.to_owned(), Name::user(user).as_str().to_owned())]);
            let context = Context::from(values);
            let checked = self.limiter.check_rate_limited_and_update(&self.namespace, &context, 1);
            Ok(!checked.map_err(|error| anyhow!("{error}"))?.limited)
        }
    }
}
