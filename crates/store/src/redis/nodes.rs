//! How many nodes share a store: each tells the others, by the store, that it is there, and under which name.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use ::redis::{FromRedisValue as _, RedisError, cmd};
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use super::error::RedisStoreError;
use super::link::Link;
use super::lot::lot;
use super::settings::RedisSettings;

/// A node that was not heard of for so long is no longer counted, and its name is free.
const LIFE: Duration = Duration::from_secs(6);
/// A node is heard of so often: two beats may be lost.
const BEAT: Duration = Duration::from_secs(2);
/// A node that takes a name looks so often whether it became free.
const LOOK: Duration = Duration::from_millis(250);
const SCRIPT: &str = include_str!("script/nodes.lua");

/// How many nodes there are.
#[derive(Debug)]
pub(super) struct Nodes {
    /// Somebody said so.
    told: Option<NonZeroU64>,
    seen: Mutex<Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    count: NonZeroU64,
    at: Instant,
}

impl Nodes {
    pub(super) fn new(told: Option<NonZeroU64>) -> Self {
        Self { told, seen: Mutex::new(Seen { count: NonZeroU64::MIN, at: Instant::now() }) }
    }

    pub(super) fn count(&self) -> NonZeroU64 {
        self.told.unwrap_or_else(|| self.seen.lock().count)
    }

    /// Takes note of how many were counted. More count at once; fewer only when they are so few for as long as a node
    /// is remembered, since a store that has just forgotten all of them counts them one by one.
    pub(super) fn learn(&self, count: NonZeroU64, now: Instant) {
        let mut seen = self.seen.lock();
        if count >= seen.count || now.duration_since(seen.at) > LIFE {
            *seen = Seen { count, at: now };
        }
    }
}

/// This node among those of a store.
#[derive(Clone)]
pub(super) struct Membership {
    link: Link,
    keys: [Vec<u8>; 2],
    name: String,
    /// No other process has the same.
    holder: String,
}

/// What the store says of a name.
enum Name {
    /// It is ours, and there are so many nodes.
    Ours(NonZeroU64),
    /// Another node has it, for so much longer unless it is heard of again.
    Held(Duration),
}

impl Membership {
    /// A node among those whose keys begin with `prefix`, with the name that the settings give it, or one that is
    /// drawn.
    pub(super) fn of(link: Link, prefix: &str, settings: &RedisSettings) -> Self {
        let holder = format!("{:016x}", lot());
        let name = settings.node_name().map_or_else(|| holder.clone(), ToOwned::to_owned);
        let keys = ["nodes", "holders"].map(|key| format!("{prefix}{key}").into_bytes());
        Self { link, keys, name, holder }
    }

    /// Enters. A name that another node has is waited for as long as that node may be one that was killed.
    pub(super) async fn enter(&self, settings: &RedisSettings) -> Result<NonZeroU64, RedisStoreError> {
        let mut left = Duration::MAX;
        loop {
            match self.tell(LIFE).await.map_err(|error| RedisStoreError::of(settings, &error))? {
                Name::Ours(count) => return Ok(count),
                Name::Held(more) if more < left => left = more,
                // It was heard of meanwhile.
                Name::Held(_) => {
                    let why = format!(
                        "another of its nodes is named `{}`: give this one another name, or stop that one",
                        self.name
                    );
                    return Err(RedisStoreError::refused(settings, why));
                }
            }
            sleep(LOOK).await;
        }
    }

    /// Tells again and again that this node is there, and takes note of how many there are.
    async fn beat(self, nodes: Arc<Nodes>) {
        let mut is_twice = false;
        loop {
            sleep(BEAT).await;
            // A store that does not answer is told of elsewhere.
            let Ok(said) = self.tell(LIFE).await else { continue };
            let was_twice = std::mem::replace(&mut is_twice, matches!(said, Name::Held(_)));
            match said {
                Name::Ours(count) => nodes.learn(count, Instant::now()),
                Name::Held(_) if was_twice => {}
                Name::Held(_) => tracing::error!(
                    name = self.name,
                    "another node has taken this one's name: stop one of them, or give it another --node-name"
                ),
            }
        }
    }

    async fn tell(&self, life: Duration) -> Result<Name, RedisError> {
        let mut call = cmd("EVAL");
        call.arg(SCRIPT).arg(self.keys.len()).arg(&self.keys);
        call.arg(&self.name).arg(&self.holder).arg(life.as_millis().to_string());
        let (count, left) = <(u64, u64)>::from_redis_value(self.link.query(&call).await?)?;
        let held = Name::Held(Duration::from_millis(left));
        Ok(NonZeroU64::new(count).map_or(held, Name::Ours))
    }
}

/// Beats until it is dropped.
pub(super) struct Heartbeat {
    membership: Membership,
    beating: AbortHandle,
}

impl Heartbeat {
    pub(super) fn start(membership: Membership, nodes: Arc<Nodes>) -> Self {
        let beating = tokio::spawn(membership.clone().beat(nodes)).abort_handle();
        Self { membership, beating }
    }

    /// Leaves, so that the others do not count this node any more.
    pub(super) async fn leave(&self) {
        self.beating.abort();
        // Where that fails, the store forgets this node by itself.
        let _left = self.membership.tell(Duration::ZERO).await;
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.beating.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_nodes_count_at_once_and_fewer_when_they_stay_few() {
        let nodes = Nodes::new(None);
        let start = Instant::now();
        let count = |count: u64, millis: u64| {
            nodes.learn(NonZeroU64::new(count).unwrap(), start + Duration::from_millis(millis));
            nodes.count().get()
        };
        assert_eq!(nodes.count().get(), 1);
        assert_eq!(count(3, 0), 3);
        assert_eq!(count(3, 2_000), 3);
        // All were forgotten, and come back one by one.
        assert_eq!([count(1, 4_000), count(2, 6_000), count(3, 8_000)], [3, 3, 3]);
        // One has left.
        assert_eq!([count(2, 10_000), count(2, 14_000), count(2, 14_001)], [3, 3, 2]);
        assert_eq!(Nodes::new(NonZeroU64::new(7)).count().get(), 7);
    }
}
