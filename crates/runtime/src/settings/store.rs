//! Where the counting is done, as typed and settled.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use weir_core::Precision;
use weir_store::RedisSettings;

use super::fault::faults;
use super::{RawSettings, SettingsError, millis, password, refuse};

/// Where the counting is done.
#[derive(Clone, Debug)]
pub enum StoreSetting {
    /// In the memory of this process.
    Memory,
    /// On Redis or Valkey, together with all nodes that have the same settings.
    Redis(Box<RedisSettings>),
}

impl StoreSetting {
    /// The arithmetic of the store that a `--store` names.
    ///
    /// # Errors
    ///
    /// It names none.
    pub fn precision(text: &str) -> Result<Precision, SettingsError> {
        match text {
            "memory:" => Ok(Precision::Integer),
            _ if RedisSettings::is_meant(text) => Ok(Precision::Double),
            _ => Err(refuse("store", hidden(text), STORES)),
        }
    }
}

const STORES: &str = "a store is `memory:`, or a server such as `redis://localhost:6379`";

impl RawSettings {
    pub(super) fn store(&self) -> Result<StoreSetting, SettingsError> {
        let deadline = deadline(&self.store_deadline)?;
        let (nodes, name) = (nodes(&self.nodes)?, self.node_name.as_deref().map(node_name).transpose()?);
        let faults = self.fault.as_deref().map(faults).transpose()?;
        if StoreSetting::precision(&self.store)? == Precision::Integer {
            if faults.is_some() {
                let why = "a store in memory has no calls that could go wrong; give --store redis://…";
                return Err(refuse("fault", self.fault.as_deref().unwrap_or_default(), why));
            }
            return Ok(StoreSetting::Memory);
        }
        let refused = |why: String| refuse("store", hidden(&self.store), why);
        let mut redis = RedisSettings::parse(&self.store).map_err(|error| refused(error.to_string()))?;
        if let Some(password) = password("store", "WEIR_STORE_PASSWORD", self.store_password.as_ref())? {
            redis = redis.with_password(&password);
        }
        let sentinels =
            password("store", "WEIR_STORE_SENTINEL_PASSWORD", self.store_sentinel_password.as_ref())?;
        if let Some(password) = sentinels {
            redis = redis.with_sentinel_password(&password);
        }
        let authority = file("store-ca", self.store_ca.as_ref())?;
        let own = match (
            file("store-cert", self.store_cert.as_ref())?,
            file("store-key", self.store_key.as_ref())?,
        ) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => {
                return Err(refuse("store-cert", "", "its key is missing: give --store-key too"));
            }
            (None, Some(_)) => {
                return Err(refuse("store-key", "", "its certificate is missing: give --store-cert too"));
            }
        };
        if authority.is_some() || own.is_some() {
            redis = redis.with_certificates(authority, own).map_err(|error| refused(error.to_string()))?;
        }
        if self.store_prefix.is_empty() || self.store_prefix.contains(['{', '}', '*', '?', '[']) {
            let why = "a prefix has at least one character, and none of { } * ? [";
            return Err(refuse("store-prefix", &self.store_prefix, why));
        }
        let mut redis = redis
            .with_prefix(&self.store_prefix)
            .with_deadline(deadline)
            .with_faults(faults.unwrap_or_default());
        if let Some(nodes) = nodes {
            redis = redis.with_nodes(nodes);
        }
        if let Some(name) = name {
            redis = redis.with_node_name(name);
        }
        Ok(StoreSetting::Redis(Box::new(redis)))
    }
}

/// How many nodes there are; nothing where they are to be counted.
fn nodes(text: &str) -> Result<Option<NonZeroU64>, SettingsError> {
    let problem =
        "how many nodes there are is a whole number from 1 to 1000000, or `auto`: the store counts them";
    match text {
        "auto" => Ok(None),
        text => match text.parse().ok().filter(|nodes: &NonZeroU64| nodes.get() <= 1_000_000) {
            Some(nodes) => Ok(Some(nodes)),
            None => Err(refuse("nodes", text, problem)),
        },
    }
}

fn node_name(text: &str) -> Result<&str, SettingsError> {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if (1..=64).contains(&text.len()) && text.bytes().all(is_good) {
        return Ok(text);
    }
    Err(refuse("node-name", text, "a name has 1 to 64 characters: letters, digits, `.`, `_` and `-`"))
}

/// A millisecond to ten seconds: with less no server answers, and for longer nobody waits.
fn deadline(text: &str) -> Result<Duration, SettingsError> {
    let problem = "a deadline from 1ms to 10s is expected";
    millis(text, 1, 10_000).ok_or_else(|| refuse("store-deadline", text, problem))
}

/// The URL without what stands before an `@`: there may be a password in it.
fn hidden(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, place))) => format!("{scheme}://…@{place}"),
        (None, Some((_, place))) => format!("…@{place}"),
        _ => url.to_owned(),
    }
}

/// What is in a file that a setting names.
fn file(flag: &'static str, path: Option<&PathBuf>) -> Result<Option<Vec<u8>>, SettingsError> {
    let read = |path: &PathBuf| {
        std::fs::read(path).map_err(|error| refuse(flag, path.display().to_string(), error.to_string()))
    };
    path.map(read).transpose()
}
