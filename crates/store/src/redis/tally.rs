//! What happened to calls, counted over all lanes: for metrics, and for whoever asks why a node is degraded.

use std::sync::atomic::{AtomicU64, Ordering};

use ::redis::{ErrorKind, RedisError};

/// How often each thing happened since the store was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStats {
    /// Calls that were sent.
    pub calls: u64,
    /// Calls that failed, by kind; every kind is there.
    pub failed: Vec<(&'static str, u64)>,
    /// Requests that were given up at their deadline, on their way or in the queue.
    pub given_up: u64,
    /// Requests that were not asked for, since the breaker was open.
    pub refused: u64,
    /// Requests that were known to be refused by their policy, and answered without a call.
    pub known: u64,
    /// How often a breaker opened.
    pub opened: u64,
    /// Lanes: one, or one for each tag of a cluster.
    pub lanes: usize,
    /// Lanes whose breaker is open.
    pub open: usize,
    /// Calls that met a fault on purpose.
    pub faults: u64,
    /// Nodes that share the store: as it was said, or as the store counted them last.
    pub nodes: u64,
}

/// The counters.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) calls: AtomicU64,
    pub(super) given_up: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) known: AtomicU64,
    pub(super) opened: AtomicU64,
    pub(super) faults: AtomicU64,
    failed: [AtomicU64; KINDS.len()],
}

/// The kinds of failure: what the server, or the way to it, said.
const KINDS: [&str; 10] = [
    "timeout",
    "connection",
    "loading",
    "busy",
    "out_of_memory",
    "cannot_save",
    "read_only",
    "cluster",
    "denied",
    "other",
];

impl Tally {
    pub(super) fn failed(&self, error: &RedisError) {
        if let Some((_, count)) = KINDS.iter().zip(&self.failed).find(|(kind, _)| **kind == kind_of(error)) {
            add(count);
        }
    }

    pub(super) fn stats(&self, lanes: usize, open: usize) -> ServerStats {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        ServerStats {
            calls: read(&self.calls),
            failed: KINDS.into_iter().zip(self.failed.iter().map(read)).collect(),
            given_up: read(&self.given_up),
            refused: read(&self.refused),
            known: read(&self.known),
            opened: read(&self.opened),
            lanes,
            open,
            faults: read(&self.faults),
            nodes: 0,
        }
    }
}

pub(super) fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

fn kind_of(error: &RedisError) -> &'static str {
    match error.code() {
        _ if error.is_timeout() => "timeout",
        Some("LOADING") => "loading",
        Some("BUSY") => "busy",
        Some("OOM") => "out_of_memory",
        Some("MISCONF") => "cannot_save",
        Some("READONLY" | "MASTERDOWN" | "NOREPLICAS") => "read_only",
        Some("ASK" | "MOVED" | "TRYAGAIN" | "CLUSTERDOWN" | "CROSSSLOT") => "cluster",
        Some("NOPERM" | "NOAUTH" | "WRONGPASS") => "denied",
        Some(_) => "other",
        None => match error.kind() {
            ErrorKind::Io
            | ErrorKind::ClusterConnectionNotFound
            | ErrorKind::MasterNameNotFoundBySentinel => "connection",
            ErrorKind::AuthenticationFailed => "denied",
            _ => "other",
        },
    }
}
