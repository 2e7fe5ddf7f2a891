//! A node: the limiter that every door asks, and what it takes note of.

use std::sync::Arc;
use std::time::Instant;

use weir_core::{Limiter, PolicySet, Request, Store, UnknownDomain, UnknownDomainAt, Verdict};

use crate::shutdown::Shutdown;
use crate::telemetry::Telemetry;

/// What the doors of a node share.
#[derive(Debug)]
pub struct Node<S> {
    limiter: Limiter<S>,
    telemetry: Telemetry,
    shutdown: Shutdown,
}

impl<S: Store> Node<S> {
    /// A node that decides by this limiter until `shutdown` is asked for.
    pub fn new(limiter: Limiter<S>, telemetry: Telemetry, shutdown: Shutdown) -> Self {
        Self { limiter, telemetry, shutdown }
    }

    /// [`Limiter::check`], taken note of.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn check(&self, request: &Request<'_>) -> Result<Verdict, UnknownDomain> {
        let started = Instant::now();
        let verdict = self.limiter.check(request).await;
        match &verdict {
            Ok(verdict) => self.telemetry.decided(verdict, request.layer, started.elapsed()),
            Err(_) => self.telemetry.unknown_domain(),
        }
        verdict
    }

    /// [`Limiter::check_all`], taken note of. Each request counts with the time that all of them took.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn check_all(&self, requests: &[Request<'_>]) -> Result<Vec<Verdict>, UnknownDomainAt> {
        let started = Instant::now();
        let verdicts = self.limiter.check_all(requests).await;
        match &verdicts {
            Ok(verdicts) => {
                for (verdict, request) in verdicts.iter().zip(requests) {
                    self.telemetry.decided(verdict, request.layer, started.elapsed());
                }
            }
            Err(_) => self.telemetry.unknown_domain(),
        }
        verdicts
    }

    /// The policies in force.
    pub fn policies(&self) -> &Arc<PolicySet> {
        self.limiter.policies()
    }

    /// The metrics.
    pub fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }

    /// Whether the node takes requests: not once its stop is asked for.
    pub fn is_ready(&self) -> bool {
        !self.shutdown.is_asked()
    }
}
