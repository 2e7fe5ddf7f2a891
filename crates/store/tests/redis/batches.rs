//! What waits at the same time goes out together, and every caller gets its own answers.

use std::sync::Arc;

use weir_core::{Algorithm, Decision};
use weir_core::{
    Answer, Batch, Key, Op, Operation, Outcome, PolicyId, Precision, Quota, Rule, Span, Store as _,
};
use weir_servers::{Kind, Server};
use weir_store::{OwnSecret, RedisStore};

use crate::cases::Beside;
use crate::{block_on, namespace, settings};

fn rule(policy: u64, limit: u64) -> Rule {
    let (algorithm, window) = (Algorithm::TokenBucket, Span::from_secs(86_400));
    let quota = Quota::settle_for(Precision::Double, algorithm, limit, window, None).unwrap();
    Rule::new(PolicyId(policy), algorithm, quota)
}

fn take(key: u128, rule: Rule) -> Operation {
    Operation::new(Key(key), rule, Op::Take(1))
}

fn decided(answer: &Answer) -> Decision {
    match answer {
        Answer::Decided { decision, .. } => *decision,
        Answer::Local { .. } | Answer::Unavailable { .. } => panic!("a healthy store answers"),
    }
}

async fn calls(beside: &mut Beside) -> u64 {
    let stats: String = beside.ask(&["INFO", "commandstats"]).await;
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls=")).unwrap_or("0,");
    line.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn what_waits_together_is_one_call_and_a_lone_request_waits_for_nobody() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    block_on(async {
        let server = Server::start(Kind::Redis, &[]);
        let mut beside = Beside::of(&server).await;
        let store =
            RedisStore::connect(&settings(&server.url(), "w:"), &OwnSecret::Drawn([7; 16])).await.unwrap().0;
        let store = Arc::new(store);
        for _ in 0..10 {
            decided(&store.apply_one(take(1, rule(1, 1_000_000)), None).await);
        }
        let alone = calls(&mut beside).await;
        assert_eq!(alone, 10, "each went out by itself");
        let ask = |i: u128| {
            let store = store.clone();
            tokio::spawn(
                async move { decided(&store.apply_one(take(i % 7, rule(1, 1_000_000)), None).await) },
            )
        };
        let asked: Vec<_> = (0..1_000).map(ask).collect();
        for answer in asked {
            assert_eq!(answer.await.unwrap().outcome, Outcome::Allow);
        }
        let together = calls(&mut beside).await - alone;
        assert!(together < 300, "{together} calls for 1,000 requests at once");
    });
}

#[test]
fn callers_who_go_away_disturb_nobody() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    block_on(async {
        let (settings, _) = namespace(Kind::Redis);
        let store = Arc::new(RedisStore::connect(&settings, &OwnSecret::Drawn([7; 16])).await.unwrap().0);
        let rule = rule(2, 1_000);
        let ask = |_| {
            let store = store.clone();
            tokio::spawn(async move { decided(&store.apply_one(take(1, rule), None).await).outcome })
        };
        let asked: Vec<_> = (0..400).map(ask).collect();
        let mut answered = 0;
        for (i, task) in asked.into_iter().enumerate() {
            if i % 2 == 0 {
                task.abort();
            } else {
                assert_eq!(task.await.unwrap(), Outcome::Allow);
                answered += 1;
            }
        }
        let left =
            decided(&store.apply_one(Operation { op: Op::Peek(0), ..take(1, rule) }, None).await).remaining;
        assert!((600..=1_000 - answered).contains(&left), "{left} are left after {answered} answers");
    });
}

#[test]
fn a_request_of_three_thousand_policies_is_one_call() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    block_on(async {
        let (settings, _) = namespace(Kind::Redis);
        let store = RedisStore::connect(&settings, &OwnSecret::Drawn([7; 16])).await.unwrap().0;
        let group = || (0..3_000_u64).map(|policy| take(policy.into(), rule(policy, 5)));
        let batch = || -> Batch { [group().collect::<Vec<_>>(), group().collect()].into_iter().collect() };
        for left in [[4, 3], [2, 1]] {
            let answers = store.apply(batch()).await;
            assert_eq!(answers.len(), 6_000);
            for (half, left) in answers.chunks(3_000).zip(left) {
                assert!(half.iter().all(|answer| decided(answer).remaining == left));
            }
        }
    });
}
