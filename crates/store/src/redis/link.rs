//! The way to the server: one connection, which comes back by itself, and the script on it.

use std::time::Duration;

use ::redis::aio::{ConnectionManager, ConnectionManagerConfig};
use ::redis::{Client, Cmd, ErrorKind, RedisError, ServerErrorKind, Value, cmd};

use super::script;
use super::settings::RedisSettings;

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long an answer may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection that is shared by all calls. Clones share it.
#[derive(Clone)]
pub(super) struct Link(ConnectionManager);

impl Link {
    pub(super) async fn to(settings: &RedisSettings) -> Result<Self, RedisError> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_number_of_retries(1);
        let client = Client::open(settings.connection())?;
        Ok(Self(ConnectionManager::new_with_config(client, config).await?))
    }

    /// Calls the script by its name, and by its text where the server does not know it.
    pub(super) async fn eval(
        &self,
        keys: &[Vec<u8>],
        numbers: &[u8],
        fingerprint: &str,
    ) -> Result<Value, RedisError> {
        let with = |mut call: Cmd, script: &str| {
            call.arg(script).arg(keys.len());
            call.arg(keys).arg(numbers).arg(fingerprint);
            call
        };
        let mut link = self.0.clone();
        match with(cmd("EVALSHA"), &script::SHA).query_async(&mut link).await {
            Err(error) if is_no_script(&error) => {
                with(cmd("EVAL"), script::TEXT).query_async(&mut link).await
            }
            reply => reply,
        }
    }

    /// Asks anything else of the server.
    pub(super) async fn query(&self, command: &Cmd) -> Result<Value, RedisError> {
        command.query_async(&mut self.0.clone()).await
    }
}

fn is_no_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

/// Whether the server may have run a call that ended so. What it refuses it has not begun; a general error may
/// come from the middle of the script.
pub(super) fn may_have_run(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Server(kind) => kind == ServerErrorKind::ResponseError,
        ErrorKind::Extension | ErrorKind::AuthenticationFailed => false,
        _ => true,
    }
}
