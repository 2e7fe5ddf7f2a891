//! governor: a generic cell rate algorithm over a `DashMap`, on its default clock (quanta).

use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::{Context as _, Result};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::Subject;
use crate::name::Name;
use crate::scenario::{Bucket, Scenario};

pub(crate) struct Governor(DefaultKeyedRateLimiter<String>);

impl Subject for Governor {
    fn new(scenario: Scenario) -> Result<Self> {
        let Bucket { limit, seconds, burst } = scenario.bucket();
        let interval = Duration::from_secs(seconds.into()) / limit;
        let quota = Quota::with_period(interval).context("the bucket is too fast for governor")?;
        let burst = NonZeroU32::new(burst).context("the bucket has no burst")?;
        Ok(Self(RateLimiter::dashmap(quota.allow_burst(burst))))
    }

    fn decider(&self, _threads: usize) -> impl FnMut(u32) -> Result<bool> {
        // It asks for a `&String`: one is written over and over, so that only a new key is allocated.
        let mut key = String::with_capacity(16);
        move |user| {
            key.clear();
            key.push_str(Name::user(user).as_str());
            Ok(self.0.check_key(&key).is_ok())
        }
    }
}
