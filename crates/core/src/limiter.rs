//! The one path from a request to its verdict. Every door calls it; nothing on it is written twice.

use std::sync::Arc;

use crate::operation::Receipt;
use crate::policy::{Charges, PolicySet, UnknownDomain};
use crate::request::Request;
use crate::store::Store;
use crate::verdict::Verdict;

/// Policies and the store that counts for them.
#[derive(Debug)]
pub struct Limiter<S> {
    policies: Arc<PolicySet>,
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
        Self { policies, store, admits_unknown_domains: false }
    }

    /// Admits requests of unknown domains as if no policy matched them, instead of refusing to answer.
    #[must_use]
    pub fn admitting_unknown_domains(self) -> Self {
        Self { admits_unknown_domains: true, ..self }
    }

    /// The policies in force.
    pub fn policies(&self) -> &Arc<PolicySet> {
        &self.policies
    }

    /// Where the counting is done.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Decides one request: all or nothing over every policy that matches it.
    pub async fn check(&self, request: &Request<'_>) -> Result<Verdict, UnknownDomain> {
        let charges = self.charges(request)?;
        let answers = self.store.apply(Charges::batch([&charges])).await;
        Ok(Verdict::of(&self.policies, charges, answers.into_iter().next().unwrap_or_default()))
    }

    /// Decides requests that came together, in order and independently of each other, in one call.
    pub async fn check_all(&self, requests: &[Request<'_>]) -> Result<Vec<Verdict>, UnknownDomainAt> {
        let at = |(index, request)| self.charges(request).map_err(|reason| UnknownDomainAt { index, reason });
        let charges: Vec<Charges> = requests.iter().enumerate().map(at).collect::<Result<_, _>>()?;
        let answers = self.store.apply(Charges::batch(&charges)).await;
        let verdict = |(charges, answers)| Verdict::of(&self.policies, charges, answers);
        Ok(charges.into_iter().zip(answers).map(verdict).collect())
    }

    fn charges(&self, request: &Request<'_>) -> Result<Charges, UnknownDomain> {
        match self.policies.charges(request) {
            Err(_) if self.admits_unknown_domains => Ok(Charges::default()),
            charges => charges,
        }
    }

    /// Gives back what was charged, as far as it has not leaked away or expired since.
    pub async fn give_back(&self, receipts: impl IntoIterator<Item = Receipt>) {
        let group = |receipt: Receipt| [receipt.give_back()].into_iter().collect();
        self.store.apply(receipts.into_iter().map(group).collect()).await;
    }
}
