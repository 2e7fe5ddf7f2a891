//! Promise 14, `local`: each node counts at its share while the server is away, and brings it back without a burst.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use weir_core::{
    Algorithm, Answer, Batch, Op, Operation, Outcome, Posture, Rule, Span, Store as _, Timestamp,
};
use weir_servers::{Kind, Server};
use weir_store::{ManualClock, RedisSettings, RedisStore};

use crate::block_on;
use crate::cases::{OWN, admitted, key, rule};

/// More than the usual, so that a machine that is busy with others does not make a healthy store look sick.
const DEADLINE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(2);
/// Nothing leaks and no window ends while a test runs.
const LONG: Span = Span::from_secs(864_000_000);

fn settings<const N: usize>(server: &Server, prefix: &str) -> RedisSettings {
    let settings = RedisSettings::parse(&server.url()).unwrap().with_prefix(prefix).with_deadline(DEADLINE);
    settings.with_nodes(NonZeroU64::new(N as u64).unwrap())
}

async fn nodes<const N: usize>(server: &Server, prefix: &str) -> [RedisStore; N] {
    let mut nodes = Vec::new();
    for _ in 0..N {
        nodes.push(RedisStore::connect(&settings::<N>(server, prefix), &OWN).await.unwrap().0);
    }
    nodes.try_into().unwrap()
}

/// The same at the time of a clock.
async fn nodes_at<const N: usize>(server: &Server, prefix: &str, clock: &ManualClock) -> [RedisStore; N] {
    let mut nodes = Vec::new();
    for _ in 0..N {
        let settings = settings::<N>(server, prefix);
        nodes.push(RedisStore::with_clock(&settings, &OWN, clock.clone()).await.unwrap().0);
    }
    nodes.try_into().unwrap()
}

fn local(name: &str, rule: Rule, op: Op) -> Operation {
    Operation { posture: Posture::Local, ..Operation::new(key(name), rule, op) }
}

/// How many of so many requests the node admits, whoever decides.
async fn admits(node: &RedisStore, name: &str, rule: Rule, count: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..count {
        admitted += match node.apply_one(local(name, rule, Op::Take(1)), None).await {
            Answer::Decided { decision, .. } | Answer::Local { decision, .. } => {
                usize::from(decision.outcome == Outcome::Allow)
            }
            Answer::Unavailable { .. } => panic!("a local policy always has an answer"),
        };
    }
    admitted
}

/// Asks about another key until the server is known to be away.
async fn until_it_is_away(node: &RedisStore) {
    let other = rule(Algorithm::FixedWindow, 1_000, LONG);
    let start = Instant::now();
    while node.trouble().is_none() {
        node.apply_one(Operation::new(key("other"), other, Op::Peek(0)), None).await;
        assert!(start.elapsed() < PATIENCE);
    }
}

/// Asks for nothing: a node tries the server by itself.
async fn until_it_is_back(node: &RedisStore) {
    let start = Instant::now();
    while node.trouble().is_some() {
        assert!(start.elapsed() < PATIENCE, "the store is not asked again");
        tokio::task::yield_now().await;
    }
}

async fn used(node: &RedisStore, name: &str, rule: Rule) -> u64 {
    match node.apply_one(Operation::new(key(name), rule, Op::Peek(0)), None).await {
        Answer::Decided { decision, .. } => decision.limit - decision.remaining,
        answer => panic!("a healthy store answers: {answer:?}"),
    }
}

#[test]
fn r08_local_admits_a_share_of_what_was_left_and_brings_it_back_without_a_burst() {
    for kind in Kind::wanted() {
        for algorithm in Algorithm::ALL {
            let server = Server::start(kind, &[]);
            block_on(async {
                let rule = rule(algorithm, 30, LONG);
                let nodes = nodes::<3>(&server, "local:").await;
                assert_eq!(admits(&nodes[0], "k", rule, 12).await, 12);
                // The others have heard of it too.
                for node in &nodes {
                    node.apply_one(local("k", rule, Op::Peek(1)), None).await;
                }
                server.signal("STOP");
                for node in &nodes {
                    until_it_is_away(node).await;
                    // 18 are left, 6 for each; a share of a key that nobody asked for is 10.
                    assert_eq!(admits(node, "k", rule, 50).await, 6, "{algorithm}");
                    assert_eq!(admits(node, "fresh", rule, 50).await, 10, "{algorithm}");
                }
                server.signal("CONT");
                for node in &nodes {
                    until_it_is_back(node).await;
                }
                // Nobody asks, and it is brought all the same.
                let start = Instant::now();
                while [used(&nodes[0], "k", rule).await, used(&nodes[0], "fresh", rule).await] != [30, 30] {
                    assert!(start.elapsed() < PATIENCE, "{algorithm}: {}", used(&nodes[0], "k", rule).await);
                    tokio::task::yield_now().await;
                }
                assert_eq!(admitted(&nodes[1], "k", rule, 5).await, 0, "{algorithm}: no burst");
            });
        }
    }
}

/// Where use leaks away meanwhile, at the server and at each node.
#[test]
fn promise_1_a_bucket_that_is_full_all_the_time_keeps_its_bound_through_an_outage() {
    for kind in Kind::wanted() {
        let server = Server::start(kind, &[]);
        block_on(async {
            // One unit a second, 30 at once.
            let rule = rule(Algorithm::TokenBucket, 30, Span::from_secs(30));
            let clock = ManualClock::at(Timestamp::from_nanos(1_793_400_000_000_000_000));
            let nodes = nodes_at::<2>(&server, "full:", &clock).await;
            let mut all = 0;
            for node in &nodes {
                all += admits(node, "k", rule, 40).await;
            }
            assert_eq!(all, 30);
            server.signal("STOP");
            for node in &nodes {
                until_it_is_away(node).await;
            }
            for _ in 0..60 {
                clock.advance(Span::from_secs(1));
                for node in &nodes {
                    all += admits(node, "k", rule, 3).await;
                }
            }
            assert!((88..=90).contains(&all), "{all}: each has half of the rate, begun with a whole unit");
            server.signal("CONT");
            // Until the last node has brought what it counted, the server does not know of it.
            for node in &nodes {
                until_it_is_back(node).await;
                used(node, "k", rule).await;
            }
            for node in &nodes {
                all += admits(node, "k", rule, 40).await;
            }
            // A part of a unit that has leaked is not owed.
            assert!(all <= 92, "{all}: 30 at once and one a second in 60 s, and no burst after them");
        });
    }
}

#[test]
fn what_a_key_owes_is_paid_before_anything_is_decided_about_it() {
    for kind in Kind::wanted() {
        let server = Server::start(kind, &[]);
        block_on(async {
            let rule = rule(Algorithm::TokenBucket, 100, LONG);
            let [node] = nodes::<1>(&server, "owed:").await;
            server.signal("STOP");
            until_it_is_away(&node).await;
            assert_eq!(admits(&node, "k", rule, 90).await, 90);
            server.signal("CONT");
            // Whether here or there, each is counted once.
            let start = Instant::now();
            let mut admitted = 90;
            while node.trouble().is_some() {
                admitted += admits(&node, "k", rule, 1).await;
                assert!(start.elapsed() < PATIENCE);
            }
            admitted += admits(&node, "k", rule, 50).await;
            assert_eq!(admitted, 100);
        });
    }
}

#[test]
fn promise_14_a_request_that_a_closed_policy_refuses_is_not_counted_here() {
    for kind in Kind::wanted() {
        let server = Server::start(kind, &[]);
        block_on(async {
            let rule = rule(Algorithm::FixedWindow, 5, LONG);
            let [node] = nodes::<1>(&server, "closed:").await;
            server.signal("STOP");
            until_it_is_away(&node).await;
            let with = |posture: Posture, cost: u64| -> Batch {
                let other = Operation { posture, ..Operation::new(key("x"), rule, Op::Take(1)) };
                [[local("k", rule, Op::Take(cost)), other]].into_iter().collect()
            };
            for _ in 0..9 {
                let answers = node.apply(with(Posture::Closed, 1)).await;
                let [Answer::Local { decision, charged: 0 }, Answer::Unavailable { .. }] = &*answers else {
                    panic!("{answers:?}");
                };
                assert_eq!((decision.outcome, decision.remaining), (Outcome::Allow, 5));
            }
            let answers = node.apply(with(Posture::Open, 2)).await;
            let [Answer::Local { decision, charged: 2 }, Answer::Unavailable { .. }] = &*answers else {
                panic!("{answers:?}");
            };
            assert_eq!(decision.remaining, 3);
            // All or nothing among those that are decided here.
            let both = [[local("k", rule, Op::Take(3)), local("full", rule, Op::Take(5))]];
            assert_eq!(node.apply(both.into_iter().collect()).await.len(), 2);
            let both = [[local("k", rule, Op::Take(1)), local("half", rule, Op::Take(1))]];
            let answers = node.apply(both.into_iter().collect()).await;
            let [Answer::Local { decision: a, charged: 0 }, Answer::Local { decision: b, charged: 0 }] =
                &*answers
            else {
                panic!("{answers:?}");
            };
            assert_eq!((a.outcome, b.outcome, b.remaining), (Outcome::Deny, Outcome::Allow, 5));
        });
    }
}

#[test]
fn what_fits_the_quota_and_no_share_is_not_decided_here() {
    for kind in Kind::wanted() {
        let server = Server::start(kind, &[]);
        block_on(async {
            let rule = rule(Algorithm::TokenBucket, 30, LONG);
            let nodes = nodes::<3>(&server, "large:").await;
            server.signal("STOP");
            until_it_is_away(&nodes[0]).await;
            let ask = |cost| nodes[0].apply_one(local("k", rule, Op::Take(cost)), None);
            assert!(matches!(ask(11).await, Answer::Unavailable { .. }));
            let Answer::Local { decision, .. } = ask(31).await else { panic!() };
            assert_eq!(decision.outcome, Outcome::Never);
            let Answer::Local { decision, .. } = ask(10).await else { panic!() };
            assert_eq!((decision.outcome, decision.remaining), (Outcome::Allow, 0));
        });
    }
}
