//! The way to the servers, which comes back by itself, and the script on it.

mod cluster;
mod kept;
mod primary;
mod sentinels;

use std::sync::Arc;
use std::time::Duration;

use ::redis::{Cmd, ErrorKind, RedisError, ServerErrorKind, Value, cmd};

use super::script;
use super::settings::{RedisSettings, Shape};
use cluster::Cluster;
use kept::Kept;
use primary::Primary;

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long an answer may take to anything but a decision, and at least to that: decisions have a deadline.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// What was sent to the wrong server, or at the wrong moment, is sent again after these. A server that was just
/// promoted, or a slot on its way, needs a moment.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(5), Duration::from_millis(20)];

/// The connections that are shared by all calls. Clones share them.
#[derive(Clone)]
pub(super) struct Link(Servers);

#[derive(Clone)]
enum Servers {
    Primary(Arc<Kept<Primary>>),
    Cluster(Arc<Kept<Cluster>>),
}

impl Link {
    pub(super) async fn to(settings: &RedisSettings) -> Result<Self, RedisError> {
        if settings.is_tls() {
            // One that the program chose before stays.
            let _chosen = rustls::crypto::ring::default_provider().install_default();
        }
        Ok(Self(match settings.shape() {
            Shape::Cluster => Servers::Cluster(Arc::new(Kept::new(Cluster::of(settings)?).await?)),
            Shape::Server | Shape::Sentinel(_) => {
                Servers::Primary(Arc::new(Kept::new(Primary::of(settings)?).await?))
            }
        }))
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
        match self.query(&with(cmd("EVALSHA"), &script::SHA)).await {
            Err(error) if is_no_script(&error) => self.query(&with(cmd("EVAL"), script::TEXT)).await,
            reply => reply,
        }
    }

    /// Asks for two names, which a node of a cluster refuses: they are in different slots.
    pub(super) async fn must_stand_alone(&self, prefix: &str) -> Result<(), RedisError> {
        let names = [format!("{prefix}secret"), format!("{prefix}secret?")];
        self.query_once(cmd("EXISTS").arg(&names)).await.map(drop)
    }

    /// Asks anything of the server that has the keys. What a server sent elsewhere or put off, having done
    /// nothing, is asked again; what may have been done never is.
    pub(super) async fn query(&self, command: &Cmd) -> Result<Value, RedisError> {
        let mut reply = self.query_once(command).await;
        for pause in PAUSES {
            if !reply.as_ref().is_err_and(is_to_be_asked_again) {
                break;
            }
            tokio::time::sleep(pause).await;
            reply = self.query_once(command).await;
        }
        reply
    }

    async fn query_once(&self, command: &Cmd) -> Result<Value, RedisError> {
        match &self.0 {
            Servers::Primary(primary) => {
                let reply = command.query_async(&mut primary.get()).await;
                if reply.as_ref().is_err_and(is_lost) {
                    primary.is_lost();
                }
                reply
            }
            // It makes lost connections anew by itself.
            Servers::Cluster(cluster) => cluster::query(cluster.get(), command).await,
        }
    }

    /// Has the connections made anew: nothing comes back on these, and another server may have taken over.
    pub(super) fn is_silent(&self) {
        match &self.0 {
            Servers::Primary(primary) => primary.is_lost(),
            Servers::Cluster(cluster) => cluster.is_lost(),
        }
    }
}

fn response_timeout(settings: &RedisSettings) -> Duration {
    RESPONSE_TIMEOUT.max(settings.deadline().unwrap_or_default())
}

/// Whether a connection is good for nothing any more, or leads to a replica.
fn is_lost(error: &RedisError) -> bool {
    use ServerErrorKind::{MasterDown, ReadOnly};
    error.is_unrecoverable_error() || matches!(error.kind(), ErrorKind::Server(MasterDown | ReadOnly))
}

fn is_no_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

/// The slot or the primary is elsewhere, or between two places.
fn is_to_be_asked_again(error: &RedisError) -> bool {
    use ServerErrorKind::{Ask, ClusterDown, MasterDown, Moved, ReadOnly, TryAgain};
    match error.kind() {
        ErrorKind::Server(kind) => {
            matches!(kind, Moved | Ask | TryAgain | ClusterDown | MasterDown | ReadOnly)
        }
        kind => kind == ErrorKind::ClusterConnectionNotFound,
    }
}

/// Whether the server may have run a call that ended so. What it refuses it has not begun; a general error may
/// come from the middle of the script.
pub(super) fn may_have_run(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Server(kind) => kind == ServerErrorKind::ResponseError,
        // Memory that is full, a disk that is, and replicas that are gone are met by the first write of a script, and
        // none that has written is stopped for them.
        ErrorKind::Extension => !matches!(error.code(), Some("BUSY" | "OOM" | "MISCONF" | "NOREPLICAS")),
        ErrorKind::AuthenticationFailed
        | ErrorKind::ClusterConnectionNotFound
        | ErrorKind::MasterNameNotFoundBySentinel => false,
        _ => true,
    }
}
