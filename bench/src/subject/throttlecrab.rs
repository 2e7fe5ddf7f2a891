//! throttlecrab: a generic cell rate algorithm in one hash map that belongs to one caller at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use anyhow::Result;
use throttlecrab::{PeriodicStore, RateLimiter};

use super::Subject;
use crate::name::Name;
use crate::scenario::{Bucket, Scenario};

type Limiter = RateLimiter<PeriodicStore>;

pub(crate) struct Throttlecrab {
    limiter: Mutex<Limiter>,
    bucket: Bucket,
}

/// The library leaves sharing to its user. One thread keeps the limiter for all of its decisions, several
/// lock it for each.
enum Held<'a> {
    Alone(MutexGuard<'a, Limiter>),
    Shared(&'a Mutex<Limiter>),
}

impl Subject for Throttlecrab {
    fn new(scenario: Scenario) -> Result<Self> {
        let limiter = Mutex::new(RateLimiter::new(PeriodicStore::new()));
        Ok(Self { limiter, bucket: scenario.bucket() })
    }

    fn decider(&self, threads: usize) -> impl FnMut(u32) -> Result<bool> {
        let mut held =
            if threads == 1 { Held::Alone(lock(&self.limiter)) } else { Held::Shared(&self.limiter) };
        let bucket = self.bucket;
        move |user| {
            let (name, now) = (Name::user(user), SystemTime::now());
            match &mut held {
                Held::Alone(limiter) => decide(limiter, name.as_str(), bucket, now),
                Held::Shared(limiter) => decide(&mut lock(limiter), name.as_str(), bucket, now),
            }
        }
    }
}

fn decide(limiter: &mut Limiter, key: &str, bucket: Bucket, now: SystemTime) -> Result<bool> {
    let Bucket { limit, seconds, burst } = bucket;
    let (is_admitted, _) = limiter.rate_limit(key, burst.into(), limit.into(), seconds.into(), 1, now)?;
    Ok(is_admitted)
}

fn lock(limiter: &Mutex<Limiter>) -> MutexGuard<'_, Limiter> {
    limiter.lock().unwrap_or_else(PoisonError::into_inner)
}
