//! The one path from a request to its verdict. Every door calls it; nothing on it is written twice.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::operation::{Answer, Answers, Batch, Receipt};
use crate::policy::{Charges, PolicySet, UnknownDomain};
use crate::request::Request;
use crate::store::Store;
use crate::throttle::{Throttle, ThrottleError};
use crate::time::Span;
use crate::verdict::Verdict;

/// Policies and the store that counts for them.
#[derive(Debug)]
pub struct Limiter<S> {
    policies: ArcSwap<PolicySet>,
    store: S,
    admits_unknown_domains: bool,
}

/// One of several requests named an unknown domain; none of them was charged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("request {index}: {reason}")]
pub struct UnknownDomainAt {
    /// Which of the requests, counted from 0.
    pub index: usize,
    /// What is wrong with it.
    pub reason: UnknownDomain,
}

impl<S: Store> Limiter<S> {
    /// A limiter of these policies on this store.
    pub fn new(policies: Arc<PolicySet>, store: S) -> Self {
        store.in_force(&policies.rules());
        Self { policies: ArcSwap::new(policies), store, admits_unknown_domains: false }
    }

    /// Takes other policies from now on. What is being decided is decided by the old ones. Usage is kept
    /// where domain, name, key and algorithm stay, and for windows their length.
    pub fn replace(&self, policies: Arc<PolicySet>) {
        self.store.in_force(&policies.rules());
        self.policies.store(policies);
    }

    /// Admits requests of unknown domains as if no policy matched them, instead of refusing to answer.
    #[must_use]
    pub fn admitting_unknown_domains(self) -> Self {
        Self { admits_unknown_domains: true, ..self }
    }

    /// The policies in force.
    pub fn policies(&self) -> Arc<PolicySet> {
        self.policies.load_full()
    }

    /// Where the counting is done.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Decides one request: all or nothing over every policy that matches it.
    ///
    /// # Errors
    ///
    /// The request names a domain that has no policies here; nothing was charged.
    pub async fn check(&self, request: &Request<'_>) -> Result<Verdict, UnknownDomain> {
        let policies = self.policies();
        let charges = self.charges(&policies, request)?;
        let mut verdict = if let Some(operation) = charges.lone() {
            let answer = self.store.apply_one(operation, request.timeout).await;
            Verdict::of(policies, charges, &mut std::iter::once(answer))
        } else {
            let mut answers = self.ask(std::slice::from_ref(&charges), request.timeout).await;
            Verdict::of(policies, charges, &mut answers.drain())
        };
        let revoked = verdict.revoked();
        if !revoked.is_empty() {
            // Rare enough that its room is not carried along by every check.
            Box::pin(self.give_back(revoked)).await;
        }
        Ok(verdict)
    }

    /// Decides requests that came together, in order and independently of each other, in one call. The shortest of
    /// their timeouts is that of all.
    ///
    /// # Errors
    ///
    /// One of them names a domain that has no policies here; nothing was charged for any.
    pub async fn check_all(&self, requests: &[Request<'_>]) -> Result<Vec<Verdict>, UnknownDomainAt> {
        let policies = self.policies();
        let at = |(index, request)| {
            self.charges(&policies, request).map_err(|reason| UnknownDomainAt { index, reason })
        };
        let charges: Vec<Charges> = requests.iter().enumerate().map(at).collect::<Result<_, _>>()?;
        let shortest = requests.iter().filter_map(|request| request.timeout).min();
        let mut answers = self.ask(&charges, shortest).await;
        let mut answers = answers.drain();
        let verdict = |charges| Verdict::of(policies.clone(), charges, &mut answers);
        let mut verdicts: Vec<Verdict> = charges.into_iter().map(verdict).collect();
        self.give_back(verdicts.iter_mut().flat_map(Verdict::revoked)).await;
        Ok(verdicts)
    }

    /// Asks the store about those charges that need it: an answer for each that asks, in order.
    async fn ask(&self, charges: &[Charges], timeout: Option<Span>) -> Answers {
        let batch: Batch = charges.iter().filter(|c| c.need_store()).map(Charges::group).collect();
        if batch.is_empty() { Answers::new() } else { self.store.apply(batch.within(timeout)).await }
    }

    fn charges(&self, policies: &PolicySet, request: &Request<'_>) -> Result<Charges, UnknownDomain> {
        match policies.charges(request) {
            Err(_) if self.admits_unknown_domains => Ok(Charges::default()),
            charges => charges,
        }
    }

    /// Decides by limits that callers brought along, in order and independently of each other, in one call.
    pub async fn throttle(&self, throttles: &[Throttle<'_>]) -> Vec<Result<Answer, ThrottleError>> {
        let policies = self.policies();
        let operations: Vec<_> = throttles.iter().map(|throttle| policies.throttle(throttle)).collect();
        let batch: Batch = operations.iter().flatten().map(|operation| [*operation]).collect();
        let mut answers = if batch.is_empty() { Answers::new() } else { self.store.apply(batch).await };
        let mut answers = answers.drain();
        let mut answer = |_| answers.next().unwrap_or(Answer::Unavailable { sent: true });
        operations.into_iter().map(|operation| operation.map(&mut answer)).collect()
    }

    /// Gives back what was charged, as far as it has not leaked away or expired since. What the store cannot
    /// take back just now stays charged, and leaks or expires in its time.
    pub async fn give_back(&self, receipts: impl IntoIterator<Item = Receipt>) {
        let batch: Batch = receipts.into_iter().map(|receipt| [receipt.give_back()]).collect();
        if !batch.is_empty() {
            self.store.apply(batch).await;
        }
    }
}
