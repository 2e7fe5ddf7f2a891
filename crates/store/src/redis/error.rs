//! Why there is no store, for whoever set it up.

use ::redis::{ErrorKind, RedisError, ServerErrorKind};
use thiserror::Error;

use super::settings::RedisSettings;

/// Why there is no store.
#[derive(Debug, Error)]
pub enum RedisStoreError {
    /// The server is away, or not ready: that may pass by itself.
    #[error("{at}: {why}")]
    Away {
        /// Where it should be.
        at: String,
        /// What it, or the way to it, said.
        why: String,
    },
    /// It refuses us, is no such server, or its nodes count otherwise: somebody has to change something.
    #[error("{at}: {why}")]
    Refused {
        /// Where it is.
        at: String,
        /// What is wrong, and what to do.
        why: String,
    },
}

impl RedisStoreError {
    pub(super) fn refused(settings: &RedisSettings, why: impl Into<String>) -> Self {
        Self::Refused { at: settings.to_string(), why: why.into() }
    }

    pub(super) fn of(settings: &RedisSettings, error: &RedisError) -> Self {
        use ServerErrorKind::{BusyLoading, ClusterDown, CrossSlot, MasterDown, Moved, ReadOnly, TryAgain};
        let away = |why: String| Self::Away { at: settings.to_string(), why };
        let refused = |why: &str| Self::refused(settings, why);
        let said = error.to_string();
        match error.kind() {
            ErrorKind::Parse => refused("what answers there is no Redis or Valkey"),
            ErrorKind::AuthenticationFailed => refused(USER),
            ErrorKind::Server(Moved | CrossSlot) => {
                refused("it is a node of a cluster: write redis+cluster:// instead of redis://")
            }
            ErrorKind::MasterNameNotFoundBySentinel => refused("its Sentinels know no primary by this name"),
            _ if said.contains("cluster support disabled") => {
                refused("it stands alone: write redis:// instead of redis+cluster://")
            }
            ErrorKind::Server(BusyLoading | ClusterDown | MasterDown | ReadOnly | TryAgain)
            | ErrorKind::ClusterConnectionNotFound => away(said),
            ErrorKind::Extension if matches!(error.code(), Some("BUSY" | "OOM")) => away(said),
            ErrorKind::Io => of_the_way(&said).map_or_else(
                || away(format!("no server answers there: {said}")),
                |why| Self::refused(settings, why),
            ),
            _ => Self::refused(settings, said),
        }
    }
}

const USER: &str = "it refuses this user or password";

/// What of the way to a server does not change by itself.
fn of_the_way(said: &str) -> Option<String> {
    match said {
        said if said.contains("AuthenticationFailed") => Some(USER.into()),
        said if said.contains("invalid peer certificate") => Some(format!(
            "its certificate is not believed ({said}): give the certificate of the authority that signed it"
        )),
        said if said.contains("fatal alert") => Some(format!(
            "it refuses us over TLS ({said}): give the certificate and the key that it asks for"
        )),
        _ => None,
    }
}
