//! The Sentinels of a primary: which server it is, and when it is another.

use std::future::pending;
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use ::redis::{
    AsyncConnectionConfig, Client, ErrorKind, FromRedisValue as _, IntoConnectionInfo as _,
    RedisConnectionInfo, RedisError, TlsMode, Value, cmd,
};
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::{CONNECT_TIMEOUT, RESPONSE_TIMEOUT};
use crate::redis::settings::{RedisSettings, tcp};

/// One of them is asked so often whether the primary is still the same: the old one goes on counting for about eight
/// seconds after it was replaced, and tells nobody.
const LOOK: Duration = Duration::from_millis(500);

pub(super) struct Sentinels {
    client: Mutex<SentinelClient>,
    /// Each of them, to be asked.
    each: Vec<Client>,
    name: String,
    /// Where the primary was when it was looked for last.
    place: parking_lot::Mutex<Option<String>>,
}

impl Sentinels {
    pub(super) fn of(settings: &RedisSettings, name: &str) -> Result<Self, RedisError> {
        let each = settings.places().iter().map(|place| {
            let mut own = RedisConnectionInfo::default();
            if let Some(password) = settings.sentinel_password() {
                own = own.set_password(password);
            }
            let at = place.clone().into_connection_info()?.set_redis_settings(own).set_tcp_settings(tcp());
            match settings.certificates() {
                Some(certificates) => Client::build_with_tls(at, certificates.clone()),
                None => Client::open(at),
            }
        });
        Ok(Self {
            each: each.collect::<Result<_, RedisError>>()?,
            client: Mutex::new(client(settings, name)?),
            name: name.to_owned(),
            place: parking_lot::Mutex::default(),
        })
    }

    /// The primary as it is now.
    pub(super) async fn primary(&self) -> Result<Client, RedisError> {
        let client = self.client.lock().await.async_get_client().await?;
        *self.place.lock() = Some(client.get_connection_info().addr().to_string());
        Ok(client)
    }

    /// Waits until another server is the primary.
    pub(super) async fn another(&self) {
        // One that does not answer leaves the watch to the next.
        for sentinel in self.each.iter().cycle() {
            sleep(LOOK).await;
            if self.is_another_by(sentinel).await.is_ok() {
                return;
            }
        }
        pending::<()>().await;
    }

    /// Asks this one again and again, until it says so, or does not answer.
    async fn is_another_by(&self, sentinel: &Client) -> Result<(), RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT));
        let mut connection = sentinel.get_multiplexed_async_connection_with_config(&config).await?;
        while !self.says_another(&mut connection).await? {
            sleep(LOOK).await;
        }
        Ok(())
    }

    async fn says_another(&self, sentinel: &mut MultiplexedConnection) -> Result<bool, RedisError> {
        let mut question = cmd("SENTINEL");
        question.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.name);
        let said: Value = question.query_async(sentinel).await?;
        let said = Option::<(String, String)>::from_redis_value(said)?;
        let unknown =
            || RedisError::from((ErrorKind::MasterNameNotFoundBySentinel, "no primary by this name"));
        let (host, port) = said.ok_or_else(unknown)?;
        Ok(self.place.lock().as_ref().is_some_and(|known| *known != format!("{host}:{port}")))
    }
}

fn client(settings: &RedisSettings, name: &str) -> Result<SentinelClient, RedisError> {
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
