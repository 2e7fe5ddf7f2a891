//! Faults on purpose, so that a team can rehearse what its policies do when the store is sick.

use std::fmt;
use std::future::{Future, pending};
use std::io;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use ::redis::RedisError;
use tokio::time::sleep;

use super::lot::lot;
use super::tally::add;

/// A fault of some of the calls that decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happens to them.
    pub kind: FaultKind,
    /// To so many of a hundred, drawn by lot for each call.
    pub percent: u8,
}

/// What happens to a call on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It goes out later.
    Delay(Duration),
    /// It does not go out: the connection is as if it were lost.
    Fail,
    /// It goes out and is decided, and its answer is lost.
    Drop,
}

/// As it is written in settings.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FaultKind::Delay(delay) => write!(f, "delay {}ms {}%", delay.as_millis(), self.percent),
            FaultKind::Fail => write!(f, "fail {}%", self.percent),
            FaultKind::Drop => write!(f, "drop {}%", self.percent),
        }
    }
}

/// The faults of a store: none unless it was told to have some.
#[derive(Debug)]
pub(super) struct Faults(pub(super) Vec<Fault>);

impl Faults {
    /// Makes a call, with whatever falls to its lot, and counts that.
    pub(super) async fn around<T>(
        &self,
        met: &AtomicU64,
        call: impl Future<Output = Result<T, RedisError>>,
    ) -> Result<T, RedisError> {
        for fault in self.0.iter().filter(|fault| lot() % 100 < u64::from(fault.percent)) {
            add(met);
            match fault.kind {
                FaultKind::Delay(delay) => sleep(delay).await,
                FaultKind::Fail => return Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
                FaultKind::Drop => {
                    let _lost = call.await;
                    return pending().await;
                }
            }
        }
        call.await
    }
}
