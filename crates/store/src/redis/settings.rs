//! Where a Redis is, and how its keys are named: as a URL says it, settled.

use std::fmt;

use ::redis::io::tcp::TcpSettings;
use ::redis::{ConnectionInfo, IntoConnectionInfo as _};
use thiserror::Error;

/// The settings of a [`super::RedisStore`]. Its `Debug` and `Display` never show a password.
#[derive(Clone, Debug)]
pub struct RedisSettings {
    connection: ConnectionInfo,
    prefix: String,
}

/// A URL that names no Redis: what is wrong with it.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct RedisUrlError(String);

impl RedisSettings {
    /// What the names of all keys begin with, unless it is said otherwise.
    pub const PREFIX: &str = "weir:";

    /// Settles `redis://[user[:password]@]host[:port][/database]`.
    ///
    /// # Errors
    ///
    /// It is no such URL. The message never shows a password.
    pub fn parse(url: &str) -> Result<Self, RedisUrlError> {
        if !url.starts_with("redis://") {
            return Err(RedisUrlError("a Redis is named by redis://host:port/database".into()));
        }
        let connection = url.into_connection_info().map_err(|error| {
            let why = error.detail().unwrap_or("it names no server");
            RedisUrlError(format!("{why}; write redis://host:port/database, the database a number"))
        })?;
        // Without it a call waits for the one before it to be acknowledged.
        let connection = connection.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        Ok(Self { connection, prefix: Self::PREFIX.to_owned() })
    }

    /// Names all keys with this at the beginning. Two deployments that share a server and a secret have one each.
    #[must_use]
    pub fn with_prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// Whether there is a password.
    pub fn has_password(&self) -> bool {
        self.connection.redis_settings().password().is_some()
    }

    /// The same with this password.
    #[must_use]
    pub fn with_password(self, password: &str) -> Self {
        let redis = self.connection.redis_settings().clone().set_password(password);
        Self { connection: self.connection.set_redis_settings(redis), ..self }
    }

    pub(super) fn connection(&self) -> ConnectionInfo {
        self.connection.clone()
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }
}

/// Where it is, without what is secret about it.
impl fmt::Display for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "redis://{}/{}", self.connection.addr(), self.connection.redis_settings().db())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let settings = RedisSettings::parse("redis://someone:hunter2@127.0.0.1:7000/3").unwrap();
        assert_eq!(settings.to_string(), "redis://127.0.0.1:7000/3");
        assert!(!format!("{settings:?}").contains("hunter2"));
        for wrong in
            ["redis://:hunter2@/x y", "redis://someone:hunter2@host:port", "http://:hunter2@host", "hunter2"]
        {
            let error = RedisSettings::parse(wrong).unwrap_err().to_string();
            assert!(!error.contains("hunter2") && error.contains("redis://host"), "{error}");
        }
    }
}
