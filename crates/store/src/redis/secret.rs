//! The secret with which keys are hashed, shared by all nodes of a store: with two, they would count apart.
//!
//! Under `<prefix>secret` the store keeps the fingerprint of the secret in use, and the secret itself where no
//! node was given one. Every call carries the fingerprint, so that a change is noticed by the next decision.

use ::redis::{FromRedisValue as _, RedisError, Value, cmd};
use tokio::task::JoinSet;
use weir_core::{KeyBuilder, KeySecret, PolicyId};

use super::link::Link;

/// The secret that a node brings along.
#[derive(Clone, Debug)]
pub enum OwnSecret {
    /// It was given to all nodes, and is never written to the store.
    Given(KeySecret),
    /// It was drawn at random. The first node's is written to the store, and all others take that.
    Drawn([u8; 16]),
}

impl OwnSecret {
    /// The secret that the node brought. One that shares its store with none counts by it.
    pub fn secret(&self) -> KeySecret {
        match self {
            Self::Given(secret) => secret.clone(),
            Self::Drawn(bytes) => KeySecret::new(*bytes),
        }
    }
}

/// What the store has to say of the secret.
#[derive(Clone, Debug)]
pub(super) enum Agreed {
    /// This one is in use, and kept in these words.
    On(KeySecret, String),
    /// Another one is.
    Differently,
    /// One is in use that the nodes were given, and this one was not.
    OnOneNotGiven,
    /// What is kept there is not ours.
    OnNothingOfOurs,
}

/// Sixteen hexadecimal digits that tell secrets apart and say nothing about them.
pub(super) fn fingerprint(secret: &KeySecret) -> String {
    let PolicyId(mark) = KeyBuilder::new(secret).part(b"weir fingerprint").policy_id();
    format!("{mark:016x}")
}

/// Agrees with the other nodes of a store: the first to come decides. The secret is kept under each of these
/// names; the first of them leads.
pub(super) async fn agree(link: &Link, names: &[Vec<u8>], own: &OwnSecret) -> Result<Agreed, RedisError> {
    let secret = own.secret();
    let mark = fingerprint(&secret);
    let text = match own {
        OwnSecret::Given(_) => format!("{mark} given"),
        OwnSecret::Drawn(bytes) => format!("{mark} drawn {:032x}", u128::from_be_bytes(*bytes)),
    };
    let Some((first, others)) = names.split_first() else { return Ok(Agreed::On(secret, text)) };
    let agreed = agree_at(link.clone(), first.clone(), own.clone(), secret, text).await?;
    let Agreed::On(secret, text) = &agreed else { return Ok(agreed) };
    let mut copies = JoinSet::new();
    for name in others {
        copies.spawn(agree_at(link.clone(), name.clone(), own.clone(), secret.clone(), text.clone()));
    }
    while let Some(copy) = copies.join_next().await {
        match copy.unwrap_or(Ok(Agreed::OnNothingOfOurs))? {
            Agreed::On(theirs, _) if theirs == *secret => {}
            Agreed::On(..) => return Ok(Agreed::Differently),
            refused => return Ok(refused),
        }
    }
    Ok(agreed)
}

async fn agree_at(
    link: Link,
    name: Vec<u8>,
    own: OwnSecret,
    secret: KeySecret,
    text: String,
) -> Result<Agreed, RedisError> {
    keep(&link, &name, &text).await?;
    let kept = Option::<Vec<u8>>::from_redis_value(link.query(cmd("GET").arg(name)).await?)?;
    let kept = kept.map_or(text, |kept| String::from_utf8_lossy(&kept).into_owned());
    Ok(read(kept, &own, secret))
}

/// Writes down the secret in use, unless there is one. Returns whether there was none.
pub(super) async fn keep(link: &Link, name: &[u8], text: &str) -> Result<bool, RedisError> {
    link.query(cmd("SET").arg(name).arg(text).arg("NX")).await.map(|said| said != Value::Nil)
}

fn read(kept: String, own: &OwnSecret, secret: KeySecret) -> Agreed {
    let words: Vec<&str> = kept.split(' ').collect();
    match words[..] {
        [mark, "given"] | [mark, "drawn", _] if mark == fingerprint(&secret) => Agreed::On(secret, kept),
        [_, "drawn", digits] => match (u128::from_str_radix(digits, 16), own) {
            (Ok(bits), OwnSecret::Drawn(_)) => Agreed::On(KeySecret::new(bits.to_be_bytes()), kept),
            (Ok(_), OwnSecret::Given(_)) => Agreed::Differently,
            (Err(_), _) => Agreed::OnNothingOfOurs,
        },
        [_, "given"] => match own {
            OwnSecret::Given(_) => Agreed::Differently,
            OwnSecret::Drawn(_) => Agreed::OnOneNotGiven,
        },
        _ => Agreed::OnNothingOfOurs,
    }
}
