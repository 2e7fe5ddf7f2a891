//! One server: named by its address, or found by asking Sentinels, again whenever it is lost.

use ::redis::aio::MultiplexedConnection;
use ::redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use ::redis::{AsyncConnectionConfig, Client, ErrorKind, RedisError, TlsMode};
use tokio::sync::Mutex;

use super::kept::Dial;
use super::{CONNECT_TIMEOUT, response_timeout};
use crate::redis::settings::{RedisSettings, Shape, tcp};

/// The server that counts.
pub(super) struct Primary {
    at: At,
    config: AsyncConnectionConfig,
}

enum At {
    Address(Box<Client>),
    Sentinels(Box<Mutex<SentinelClient>>),
}

impl Primary {
    pub(super) fn of(settings: &RedisSettings) -> Result<Self, RedisError> {
        let at = match settings.shape() {
            Shape::Sentinel(name) => At::Sentinels(Box::new(Mutex::new(sentinels(settings, name)?))),
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
            At::Sentinels(sentinels) => sentinels.lock().await.async_get_client().await?,
        };
        client.get_multiplexed_async_connection_with_config(&self.config).await
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

fn sentinels(settings: &RedisSettings, name: &str) -> Result<SentinelClient, RedisError> {
    let places = settings.places().to_vec();
    let own = settings.own();
    let mut builder = SentinelClientBuilder::new(places, name, SentinelServerType::Master)?
        .set_client_to_redis_db(own.db())
        .set_client_to_redis_tcp_settings(tcp());
    if let Some(user) = own.username() {
        builder = builder.set_client_to_redis_username(user);
    }
    if let Some(password) = own.password() {
        builder = builder.set_client_to_redis_password(password);
    }
    if let Some(password) = settings.sentinel_password() {
        builder = builder.set_client_to_sentinel_password(password);
    }
    if settings.is_tls() {
        builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
    }
    if let Some(certificates) = settings.certificates() {
        builder = builder
            .set_client_to_redis_certificates(certificates.clone())
            .set_client_to_sentinel_certificates(certificates.clone());
    }
    builder.build()
}
