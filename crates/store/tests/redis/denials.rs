//! Promise 17: what is known to be refused is answered without a call, and no longer than it is so.

use weir_core::{
    Answer, Batch, Decision, Op, Operation, Outcome, Receipt, Rule, Span, Store as _, Timestamp,
};
use weir_servers::Kind;
use weir_store::{ManualClock, RedisStore};

use crate::cases::{Beside, OWN, every_algorithm, key, rule};
use crate::{block_on, namespace};

const START: Timestamp = Timestamp::from_nanos(1_793_400_000_000_000_000);

/// Two nodes at one clock, and what the server is asked beside them.
struct World {
    nodes: [RedisStore; 2],
    clock: ManualClock,
    beside: Beside,
}

impl World {
    async fn new() -> Self {
        let (settings, _) = namespace(Kind::Redis);
        let clock = ManualClock::at(START);
        let node = async || RedisStore::with_clock(&settings, &OWN, clock.clone()).await.unwrap().0;
        let nodes = [node().await, node().await];
        Self { nodes, clock, beside: Beside::of(Kind::Redis.shared()).await }
    }

    /// A request to a node on its own, as most requests are.
    async fn ask(&self, node: usize, rule: Rule, op: Op) -> (Decision, Option<Receipt>) {
        match self.nodes[node].apply_one(Operation::new(key(rule.algorithm.as_str()), rule, op), None).await {
            Answer::Decided { decision, receipt, .. } => (decision, receipt),
            Answer::Local { .. } | Answer::Unavailable { .. } => panic!("a healthy store answers"),
        }
    }

    async fn take(&self, rule: Rule, cost: u64) -> Decision {
        self.ask(0, rule, Op::Take(cost)).await.0
    }

    /// The same request where it is never answered from what is known.
    async fn take_there(&self, rule: Rule, cost: u64) -> Decision {
        let operation = Operation::new(key(rule.algorithm.as_str()), rule, Op::Peek(cost));
        let answers = self.nodes[0].apply([[operation]].into_iter().collect::<Batch>()).await;
        let Answer::Decided { decision, .. } = answers[0] else { panic!("a healthy store answers") };
        decision
    }

    /// How many calls of scripts the server has had.
    async fn calls(&mut self) -> u64 {
        let info: String = self.beside.ask(&["INFO", "commandstats"]).await;
        let calls = |line: &str| line.strip_prefix("cmdstat_evalsha:calls=")?.split(',').next()?.parse().ok();
        info.lines().find_map(calls).unwrap_or_default()
    }
}

/// All algorithms but the log, whose state is too large to keep.
fn kept() -> impl Iterator<Item = Rule> {
    every_algorithm(10, Span::from_secs(100)).filter(|rule| !rule.keeps_log())
}

fn on_redis<F: Future<Output = ()>>(case: impl FnOnce() -> F) {
    if Kind::Redis.is_wanted() {
        block_on(case());
    }
}

#[test]
fn s07_what_hammers_a_full_limit_costs_one_call_a_second() {
    // On a server of its own, since its calls are counted.
    on_redis(|| async {
        let server = weir_servers::Server::start(Kind::Redis, &[]);
        let clock = ManualClock::at(START);
        let settings = crate::settings(&server.url(), "s07:");
        let node = RedisStore::with_clock(&settings, &OWN, clock.clone()).await.unwrap().0;
        let mut world = World { nodes: [node.clone(), node], clock, beside: Beside::of(&server).await };
        for rule in kept() {
            assert_eq!(world.take(rule, 10).await.outcome, Outcome::Allow);
            world.take(rule, 1).await;
            let before = world.calls().await;
            for _ in 0..99 {
                assert_eq!(world.take(rule, 1).await.outcome, Outcome::Deny);
            }
            assert_eq!(world.calls().await, before, "{}", rule.algorithm);
            world.clock.advance(Span::from_secs(1));
            world.take(rule, 1).await;
            assert_eq!(world.calls().await, before + 1, "{}", rule.algorithm);
        }
    });
}

#[test]
fn t15_a_known_denial_tells_what_the_server_would_and_ends_with_it() {
    on_redis(|| async {
        let world = World::new().await;
        for rule in kept() {
            assert_eq!(world.take(rule, 10).await.outcome, Outcome::Allow);
            let first = world.take(rule, 1).await;
            for millis in [1, 10, 300, 600] {
                world.clock.advance(Span::from_millis(millis));
                assert_eq!(world.take(rule, 1).await, world.take_there(rule, 1).await, "{}", rule.algorithm);
            }
            let wait = first.retry_after.unwrap().nanos() - 911_000_000;
            world.clock.advance(Span::from_nanos(wait - 1_000));
            assert_eq!(world.take(rule, 1).await.outcome, Outcome::Deny, "a tick before");
            world.clock.advance(Span::from_nanos(1_000));
            assert_eq!(world.take(rule, 1).await.outcome, Outcome::Allow, "Retry-After keeps its word");
        }
    });
}

#[test]
fn promise_17_a_denial_holds_for_no_smaller_cost_and_no_other_quota() {
    on_redis(|| async {
        let world = World::new().await;
        for rule in kept() {
            assert_eq!(world.take(rule, 7).await.outcome, Outcome::Allow);
            assert_eq!(world.take(rule, 5).await.outcome, Outcome::Deny);
            assert_eq!(world.take(rule, 5).await.remaining, 3);
            world.ask(1, rule, Op::Adjust(-7)).await;
            assert_eq!(
                world.take(rule, 5).await.outcome,
                Outcome::Deny,
                "known, and not yet that it is over"
            );
            assert_eq!(world.take(rule, 4).await.outcome, Outcome::Allow, "a smaller one is asked");
            assert_eq!(world.take(rule, 7).await.outcome, Outcome::Deny);
            let raised = crate::cases::rule(rule.algorithm, 12, Span::from_secs(100));
            assert_eq!(world.take(raised, 8).await.outcome, Outcome::Allow, "{}", rule.algorithm);
            assert_eq!(world.take(raised, 1).await.outcome, Outcome::Deny);
        }
    });
}

#[test]
fn promise_17_what_undoes_a_denial_undoes_it_at_once_here_and_within_a_second_elsewhere() {
    on_redis(|| async {
        let world = World::new().await;
        for rule in kept() {
            let (_, receipt) = world.ask(0, rule, Op::Take(10)).await;
            let denied_everywhere = async || {
                for node in [0, 1, 0, 1] {
                    assert_eq!(world.ask(node, rule, Op::Take(1)).await.0.outcome, Outcome::Deny);
                }
            };
            let undone = [receipt.unwrap().give_back().op, Op::Adjust(-10), Op::Reset];
            for undo in undone {
                denied_everywhere().await;
                world.ask(0, rule, undo).await;
                let here = world.ask(0, rule, Op::Peek(1)).await.0;
                assert_eq!(here.outcome, Outcome::Allow, "{} {undo:?}", rule.algorithm);
                world.clock.advance(Span::from_millis(1));
                let elsewhere = world.ask(1, rule, Op::Peek(1)).await.0;
                assert_eq!(elsewhere.outcome, Outcome::Deny, "the other node does not know yet");
                world.clock.advance(Span::from_secs(1));
                assert_eq!(world.ask(1, rule, Op::Peek(1)).await.0.outcome, Outcome::Allow);
                world.ask(0, rule, Op::Adjust(10)).await;
            }
        }
    });
}

#[test]
fn promise_17_a_policy_change_undoes_it_at_once() {
    on_redis(|| async {
        let world = World::new().await;
        let rule = rule(weir_core::Algorithm::TokenBucket, 10, Span::from_secs(100));
        world.take(rule, 10).await;
        assert_eq!(world.take(rule, 1).await.outcome, Outcome::Deny);
        world.ask(1, rule, Op::Reset).await;
        assert_eq!(world.take(rule, 1).await.outcome, Outcome::Deny, "not known yet");
        world.nodes[0].in_force(&[rule]);
        assert_eq!(world.take(rule, 1).await.outcome, Outcome::Allow);
    });
}
