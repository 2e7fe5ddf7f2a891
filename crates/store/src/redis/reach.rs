//! The way to the servers, and what the nodes of a store agree on there.

use std::num::NonZeroU64;

use weir_core::KeySecret;

use super::error::RedisStoreError;
use super::link::Link;
use super::nodes::Membership;
use super::secret::{self, Agreed, OwnSecret};
use super::sender::SharedSecret;
use super::settings::{RedisSettings, Shape};
use super::tags;

/// A store that answers, and how its nodes count.
#[derive(Clone)]
pub(super) struct Reached {
    pub(super) link: Link,
    /// Of each lane, what the names of its keys begin with, and the secret as it is kept there.
    pub(super) lanes: Vec<(String, SharedSecret)>,
    pub(super) secret: KeySecret,
    pub(super) membership: Membership,
    /// How many nodes there are, with this one.
    pub(super) nodes: NonZeroU64,
}

/// How many lanes a store of this shape has.
pub(super) fn lanes(settings: &RedisSettings) -> usize {
    match settings.shape() {
        Shape::Cluster => tags::tags().len(),
        Shape::Server | Shape::Sentinel(_) => 1,
    }
}

pub(super) async fn reach(settings: &RedisSettings, own: &OwnSecret) -> Result<Reached, RedisStoreError> {
    let failed = |error| RedisStoreError::of(settings, &error);
    let link = Link::to(settings).await.map_err(failed)?;
    let prefix = settings.prefix();
    let prefixes: Vec<String> = match settings.shape() {
        Shape::Cluster => tags::tags().iter().map(|tag| format!("{prefix}{{{tag}}}")).collect(),
        Shape::Server | Shape::Sentinel(_) => {
            link.must_stand_alone(prefix).await.map_err(failed)?;
            vec![prefix.to_owned()]
        }
    };
    let name = |prefix: &String| format!("{prefix}secret").into_bytes();
    let names: Vec<Vec<u8>> = prefixes.iter().map(name).collect();
    let why = match secret::agree(&link, &names, own).await.map_err(failed)? {
        Agreed::On(secret, text) => {
            let fingerprint = secret::fingerprint(&secret);
            let shared = |name| SharedSecret { name, text: text.clone(), fingerprint: fingerprint.clone() };
            let first = prefixes.first().map_or(prefix, String::as_str);
            let membership = Membership::of(link.clone(), first, settings);
            let nodes = membership.enter(settings).await?;
            let lanes = prefixes.into_iter().zip(names.into_iter().map(shared)).collect();
            return Ok(Reached { link, lanes, secret, membership, nodes });
        }
        Agreed::Differently => "its nodes count under another key secret: give this one the same",
        Agreed::OnOneNotGiven => "its nodes were given a key secret: give it to this one too",
        Agreed::OnNothingOfOurs => {
            "its key secret is nothing that Weir wrote: give another prefix, or delete it"
        }
    };
    Err(RedisStoreError::refused(settings, why))
}
