//! Promise 14: what a policy does while its store cannot answer.

use weir_core::fields::{self, LegacyFields};
use weir_core::{Answer, Batch, BatchAnswer, GroupAnswer, Limiter, Outcome, Request, Store};

use crate::policies;

/// A store that is down.
struct Down;

impl Store for Down {
    async fn apply(&self, batch: Batch) -> BatchAnswer {
        let answer = |group: &weir_core::Group| -> GroupAnswer {
            group.iter().map(|_| Answer::Unavailable { sent: false }).collect()
        };
        batch.iter().map(answer).collect()
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
async fn a_shadow_never_blocks_not_even_closed() {
    let text = "policies:\n  - { name: s, quota: 1/minute, mode: shadow, on_store_failure: closed }\n";
    let verdict = Limiter::new(policies(text), Down).check(&Request::default()).await.unwrap();
    assert!(verdict.is_admitted() && !verdict.is_degraded());
    assert_eq!(verdict.would_block().count(), 0, "what a store did not say is no would-block");
}
