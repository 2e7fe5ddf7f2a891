//! One server: named by its address, or found by asking Sentinels, again whenever it is lost.

use std::future::pending;

use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, Client, ErrorKind, RedisError};

use super::kept::Dial;
use super::sentinels::Sentinels;
use super::{CONNECT_TIMEOUT, response_timeout};
use crate::redis::settings::{RedisSettings, Shape};

/// The server that counts.
pub(super) struct Primary {
    at: At,
    config: AsyncConnectionConfig,
}

enum At {
    Address(Box<Client>),
    Sentinels(Box<Sentinels>),
}

impl Primary {
    pub(super) fn of(settings: &RedisSettings) -> Result<Self, RedisError> {
        let at = match settings.shape() {
            Shape::Sentinel(name) => At::Sentinels(Box::new(Sentinels::of(settings, name)?)),
            Shape::Server | Shape::Cluster => At::Address(Box::new(server(settings)?)),
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(response_timeout(settings)));
        Ok(Self { at, config })
    }
}

impl Dial for Primary {
    type Connection = MultiplexedConnection;

    async fn dial(&self) -> Result<MultiplexedConnection, RedisError> {
        let client = match &self.at {
            At::Address(client) => Client::clone(client),
            At::Sentinels(sentinels) => sentinels.primary().await?,
        };
        client.get_multiplexed_async_connection_with_config(&self.config).await
    }

    async fn moved(&self) {
        match &self.at {
            At::Address(_) => pending().await,
            At::Sentinels(sentinels) => sentinels.another().await,
        }
    }
}

fn server(settings: &RedisSettings) -> Result<Client, RedisError> {
    let nowhere = || RedisError::from((ErrorKind::InvalidClientConfig, "no server is named"));
    let connection = settings.connections().next().ok_or_else(nowhere)??;
    match settings.certificates() {
        Some(certificates) => Client::build_with_tls(connection, certificates.clone()),
        None => Client::open(connection),
    }
}
