//! A node: the limiter that every door asks, and what it takes note of.

use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwapOption;
use weir_core::{
    Answer, Limiter, PolicySet, Request, Store, Throttle, ThrottleError, UnknownDomain, UnknownDomainAt,
    Verdict,
};

use crate::shutdown::Shutdown;
use crate::telemetry::{ReloadOutcome, Telemetry};

/// What the doors of a node share.
#[derive(Debug)]
pub struct Node<S> {
    limiter: Limiter<S>,
    telemetry: Telemetry,
    shutdown: Shutdown,
    /// What is wrong with the policies as they are written, while older ones are in force.
    refused: ArcSwapOption<String>,
}

impl<S: Store> Node<S> {
    /// A node that decides by this limiter until `shutdown` is asked for.
    pub fn new(limiter: Limiter<S>, telemetry: Telemetry, shutdown: Shutdown) -> Self {
        Self { limiter, telemetry, shutdown, refused: ArcSwapOption::empty() }
    }

    /// [`Limiter::check`], taken note of.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn check(&self, request: &Request<'_>) -> Result<Verdict, UnknownDomain> {
        let started = Instant::now();
        let verdict = self.limiter.check(request).await;
        if let Ok(verdict) = &verdict {
            self.telemetry.decided(verdict, request.layer, started.elapsed());
        }
        self.note_domain(request);
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
        for (verdict, request) in verdicts.iter().flatten().zip(requests) {
            self.telemetry.decided(verdict, request.layer, started.elapsed());
        }
        for request in requests {
            self.note_domain(request);
        }
        verdicts
    }

    /// [`Limiter::throttle`], taken note of. Each counts with the time that all of them took.
    pub async fn throttle(&self, throttles: &[Throttle<'_>]) -> Vec<Result<Answer, ThrottleError>> {
        let started = Instant::now();
        let answers = self.limiter.throttle(throttles).await;
        let took = started.elapsed();
        answers.iter().flatten().for_each(|answer| self.telemetry.throttled(answer, took));
        answers
    }

    /// Counts requests of unknown domains, refused or admitted: a misspelt domain has no limits.
    fn note_domain(&self, request: &Request<'_>) {
        if self.policies().unknown_domain(request).is_some() {
            self.telemetry.unknown_domain();
        }
    }

    /// The policies in force.
    pub fn policies(&self) -> Arc<PolicySet> {
        self.limiter.policies()
    }

    /// Takes other policies from now on. Counters and metrics of those that stay go on.
    pub fn replace(&self, policies: Arc<PolicySet>) {
        self.count_by(policies);
        self.refused.store(None);
        self.telemetry.reloaded(ReloadOutcome::Taken);
    }

    /// Takes the same policies, loaded with another secret: nothing of theirs was reloaded.
    pub(crate) fn count_by(&self, policies: Arc<PolicySet>) {
        self.telemetry.replace(policies.clone());
        self.limiter.replace(policies);
    }

    /// Takes note that the policies as they are written cannot be taken, and why.
    pub fn policies_are_refused(&self, why: String) {
        self.refused.store(Some(Arc::new(why)));
        self.telemetry.reloaded(ReloadOutcome::Refused);
    }

    /// Why the policies as they are written are not in force; `None` where they are.
    pub fn refused_policies(&self) -> Option<Arc<String>> {
        self.refused.load_full()
    }

    /// Why the store cannot answer now; `None` where it can.
    pub fn store_trouble(&self) -> Option<String> {
        self.limiter.store().trouble()
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
