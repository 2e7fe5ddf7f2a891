//! Promise 14: what a policy does while its store cannot answer.

use std::sync::Arc;

use weir_core::fields::{self, LegacyFields};
use weir_core::{Answer, Answers, Batch, Layer, Limiter, Outcome, Request, Store};

use weir_store::{ManualClock, MemoryStore};

use crate::policies;

/// A store that is down.
struct Down;

impl Store for Down {
    async fn apply(&self, batch: Batch) -> Answers {
        batch.operations().iter().map(|_| Answer::Unavailable { sent: false }).collect()
    }
}

#[tokio::test]
async fn each_policy_follows_its_own_posture() {
    for (postures, outcome) in [
        (["open", "open"], Outcome::Allow),
        (["open", "closed"], Outcome::Unavailable),
        (["closed", "open"], Outcome::Unavailable),
    ] {
        let text = format!(
            "policies:\n  - {{ name: a, quota: 1/minute, on_store_failure: {} }}\n  - {{ name: b, quota: 1/minute, on_store_failure: {} }}\n",
            postures[0], postures[1]
        );
        let limiter = Limiter::new(policies(&text), Down);
        let verdict = limiter.check(&Request::default()).await.unwrap();
        assert_eq!((verdict.outcome(), verdict.is_degraded()), (outcome, true), "{postures:?}");
        let names: Vec<_> =
            fields::of(&verdict, LegacyFields::On).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["Cache-Control"], "no quota is invented");
    }
}

#[tokio::test]
async fn each_layer_follows_its_own_posture() {
    let text =
        "defaults: { on_store_failure: { gateway: closed } }\npolicies:\n  - { name: a, quota: 1/minute }\n";
    let limiter = Limiter::new(policies(text), Down);
    for (layer, outcome) in Layer::ALL.into_iter().zip([Outcome::Allow, Outcome::Unavailable, Outcome::Allow])
    {
        let verdict = limiter.check(&Request { layer, ..Request::default() }).await.unwrap();
        assert_eq!((verdict.outcome(), verdict.is_degraded()), (outcome, true), "{layer}");
    }
}

#[tokio::test]
async fn a_shadow_never_blocks_not_even_closed() {
    let text = "policies:\n  - { name: s, quota: 1/minute, mode: shadow, on_store_failure: closed }\n";
    let verdict = Limiter::new(policies(text), Down).check(&Request::default()).await.unwrap();
    assert!(verdict.is_admitted() && !verdict.is_degraded());
    assert_eq!(verdict.would_block().count(), 0, "what a store did not say is no would-block");
}

/// A store of which the first key of each group answers and the rest do not.
struct Half(Arc<MemoryStore<ManualClock>>);

impl Store for Half {
    async fn apply(&self, batch: Batch) -> Answers {
        let mut answers = Answers::new();
        for group in batch.groups() {
            answers.push(self.0.apply_one(group[0], None).await);
            group[1..].iter().for_each(|_| answers.push(Answer::Unavailable { sent: false }));
        }
        answers
    }
}

#[tokio::test]
async fn promise_3_what_half_a_store_charged_for_a_refused_request_is_given_back() {
    let text = "policies:\n  - { name: a, quota: 9/hour }\n  - { name: b, quota: 9/hour, on_store_failure: closed }\n";
    let store = Arc::new(MemoryStore::with_clock(ManualClock::at(crate::START)));
    let limiter = Limiter::new(policies(text), Half(store.clone()));
    for _ in 0..20 {
        let verdict = limiter.check(&Request::default()).await.unwrap();
        assert_eq!((verdict.outcome(), verdict.charged()), (Outcome::Unavailable, 0));
        assert_eq!(verdict.into_receipts().count(), 0);
    }
    let all = limiter.check_all(&[Request::default(), Request::default()]).await.unwrap();
    assert!(all.iter().all(|verdict| verdict.outcome() == Outcome::Unavailable));
    let left = Limiter::new(policies("policies:\n  - { name: a, quota: 9/hour }\n"), store);
    let verdict = left.check(&Request::default()).await.unwrap();
    assert_eq!(crate::remaining(&verdict), [8]);
}

/// A store that must not be asked.
struct Untouchable;

impl Store for Untouchable {
    async fn apply(&self, batch: Batch) -> Answers {
        panic!("asked about {batch:?}")
    }
}

#[tokio::test]
async fn what_needs_no_store_does_not_ask_it() {
    let text = "exempt:\n  - { path: /healthz }\npolicies:\n  - { name: free, quota: unlimited, when: { tier: free } }\n  \
        - { name: p, key: [user], quota: 1/minute }\n";
    let limiter = Limiter::new(policies(text), Untouchable);
    let requests = [&[("path", "/healthz")][..], &[("tier", "free")], &[]].map(crate::request);
    for request in &requests {
        assert!(limiter.check(request).await.unwrap().is_admitted());
    }
    assert_eq!(limiter.check_all(&requests).await.unwrap().len(), 3);
}

/// A store that loses answers.
struct Forgetful;

impl Store for Forgetful {
    async fn apply(&self, _: Batch) -> Answers {
        Answers::new()
    }
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_no_answer_and_shifts_none() {
    let text = "policies:\n  - { name: p, key: [user], quota: 1/minute, on_store_failure: closed }\n";
    let limiter = Limiter::new(policies(text), Forgetful);
    let verdicts = limiter.check_all(&[crate::request(&[]), crate::request(&[("user", "u")])]).await.unwrap();
    let outcomes: Vec<_> = verdicts.iter().map(weir_core::Verdict::outcome).collect();
    assert_eq!(outcomes, [Outcome::Allow, Outcome::Unavailable]);
}
