//! `Limiter::check` on the memory store: policies, keys, costs and verdicts from one end to the other.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod costs;
mod keys;
mod matching;
mod postures;
mod reload;
mod verdicts;

use std::sync::Arc;

use weir_core::{
    Cost, Descriptor, KeySecret, Layer, Limiter, PolicySet, Request, Span, Timestamp, Verdict, file,
};
use weir_store::{ManualClock, MemoryStore};

/// A limiter of a policy file, on a clock that a test moves.
struct Bench {
    limiter: Limiter<MemoryStore<ManualClock>>,
    clock: ManualClock,
}

const START: Timestamp = Timestamp::from_nanos(1_710_720_000_000_000_000);

/// The policies of a file whose domain is `shop`.
fn policies(text: &str) -> Arc<PolicySet> {
    let text = format!("domain: shop\n{text}");
    file::load("policy.yaml", text.as_bytes(), &file::Options::new(KeySecret::new([9; 16])))
        .unwrap_or_else(|e| panic!("{e}"))
        .policies
}

fn bench(text: &str) -> Bench {
    let clock = ManualClock::at(START);
    Bench { limiter: Limiter::new(policies(text), MemoryStore::with_clock(clock.clone())), clock }
}

fn request<'a>(attributes: &[(&'a str, &'a str)]) -> Request<'a> {
    Request { descriptor: attributes.iter().copied().collect::<Descriptor<'a>>(), ..Request::default() }
}

impl Bench {
    async fn ask(&self, request: &Request<'_>) -> Verdict {
        self.limiter.check(request).await.unwrap()
    }

    async fn check(&self, attributes: &[(&str, &str)]) -> Verdict {
        self.ask(&request(attributes)).await
    }

    async fn check_cost(&self, attributes: &[(&str, &str)], cost: Cost) -> Verdict {
        self.ask(&Request { cost, ..request(attributes) }).await
    }

    async fn check_at(&self, layer: Layer, attributes: &[(&str, &str)]) -> Verdict {
        self.ask(&Request { layer, ..request(attributes) }).await
    }

    /// How many of `count` such requests are admitted.
    async fn admitted(&self, count: usize, attributes: &[(&str, &str)]) -> usize {
        let mut admitted = 0;
        for _ in 0..count {
            admitted += usize::from(self.check(attributes).await.is_admitted());
        }
        admitted
    }
}

/// The names of the policies that a verdict speaks of.
fn names(verdict: &Verdict) -> Vec<&str> {
    verdict.judgements().map(|(policy, _)| &*policy.name).collect()
}

/// What is left under each policy of a verdict.
fn remaining(verdict: &Verdict) -> Vec<u64> {
    verdict.judgements().filter_map(|(_, judgement)| judgement.decision()).map(|d| d.remaining).collect()
}

fn secs(seconds: u64) -> Span {
    Span::from_secs(seconds)
}
