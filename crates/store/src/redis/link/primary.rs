//! One server: named by its address, or found by asking Sentinels, again whenever it is lost.

use std::sync::Arc;

use ::redis::aio::MultiplexedConnection;
use ::redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use ::redis::{AsyncConnectionConfig, Client, Cmd, ErrorKind, RedisError, ServerErrorKind, TlsMode, Value};
use tokio::sync::Mutex;

use super::{CONNECT_TIMEOUT, RESPONSE_TIMEOUT};
use crate::redis::settings::{RedisSettings, Shape, tcp};

/// A connection to the server that counts now.
pub(in super::super) struct Primary {
    at: At,
    /// Whoever finds none makes one, and the others wait for it.
    open: Mutex<Option<Arc<MultiplexedConnection>>>,
}

enum At {
    Address(Box<Client>),
    Sentinels(Box<Mutex<SentinelClient>>),
}

impl Primary {
    pub(super) async fn to(settings: &RedisSettings) -> Result<Self, RedisError> {
        let at = match settings.shape() {
            Shape::Sentinel(name) => At::Sentinels(Box::new(Mutex::new(sentinels(settings, name)?))),
            Shape::Server | Shape::Cluster => At::Address(Box::new(server(settings)?)),
        };
        let primary = Self { at, open: Mutex::new(None) };
        primary.connection().await?;
        Ok(primary)
    }

    pub(super) async fn query(&self, command: &Cmd) -> Result<Value, RedisError> {
        let connection = self.connection().await?;
        let reply = command.query_async(&mut MultiplexedConnection::clone(&connection)).await;
        if reply.as_ref().is_err_and(is_lost) {
            let mut open = self.open.lock().await;
            // Another call may have made a new one meanwhile.
            if open.as_ref().is_some_and(|open| Arc::ptr_eq(open, &connection)) {
                *open = None;
            }
        }
        reply
    }

    async fn connection(&self) -> Result<Arc<MultiplexedConnection>, RedisError> {
        let mut open = self.open.lock().await;
        if let Some(connection) = &*open {
            return Ok(connection.clone());
        }
        let client = match &self.at {
            At::Address(client) => Client::clone(client),
            At::Sentinels(sentinels) => sentinels.lock().await.async_get_client().await?,
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT));
        let connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        let connection = Arc::new(connection);
        *open = Some(connection.clone());
        Ok(connection)
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

/// Whether the connection is good for nothing any more. One that does not answer in time may lead to a server
/// that another has taken over from.
fn is_lost(error: &RedisError) -> bool {
    use ServerErrorKind::{MasterDown, ReadOnly};
    error.is_unrecoverable_error()
        || error.is_timeout()
        || matches!(error.kind(), ErrorKind::Server(MasterDown | ReadOnly))
}
