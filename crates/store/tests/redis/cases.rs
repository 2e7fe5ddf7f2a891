//! Faults of other limiters on Redis, and what is wrong with a server.

use std::collections::HashSet;
use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use weir_core::{
    Algorithm, Answer, Batch, Decision, Key, KeyBuilder, KeySecret, Op, Operation, Outcome, PolicyId,
    Precision, Quota, Rule, Span, Store as _, Timestamp,
};
use weir_servers::{Cluster, Kind, Server};
use weir_store::{ManualClock, OwnSecret, RedisStore, RedisStoreError};

use crate::{block_on, is_counter, namespace, settings};

pub(crate) const OWN: OwnSecret = OwnSecret::Drawn([7; 16]);

pub(crate) fn rule(algorithm: Algorithm, limit: u64, window: Span) -> Rule {
    Rule::new(
        PolicyId(1),
        algorithm,
        Quota::settle_for(Precision::Double, algorithm, limit, window, None).unwrap(),
    )
}

pub(crate) fn every_algorithm(limit: u64, window: Span) -> impl Iterator<Item = Rule> {
    Algorithm::ALL.into_iter().map(move |algorithm| rule(algorithm, limit, window))
}

pub(crate) fn key(name: &str) -> Key {
    KeyBuilder::new(&KeySecret::new([7; 16])).part(name.as_bytes()).key()
}

pub(crate) async fn ask(store: &RedisStore, name: &str, rule: Rule, op: Op) -> Answer {
    store.apply_one(Operation::new(key(name), rule, op), None).await
}

async fn take(store: &RedisStore, name: &str, rule: Rule, cost: u64) -> Decision {
    match ask(store, name, rule, Op::Take(cost)).await {
        Answer::Decided { decision, .. } => decision,
        Answer::Local { .. } | Answer::Unavailable { .. } => panic!("a healthy store answers"),
    }
}

pub(crate) async fn admitted(store: &RedisStore, name: &str, rule: Rule, count: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..count {
        admitted += usize::from(take(store, name, rule, 1).await.outcome == Outcome::Allow);
    }
    admitted
}

async fn connection(server: &Server) -> MultiplexedConnection {
    redis::Client::open(server.url()).unwrap().get_multiplexed_async_connection().await.unwrap()
}

/// What a test asks a server beside the store.
pub(crate) struct Beside(MultiplexedConnection);

impl Beside {
    pub(crate) async fn of(server: &Server) -> Self {
        Self(connection(server).await)
    }

    pub(crate) async fn ask<T: redis::FromRedisValue>(&mut self, words: &[&str]) -> T {
        let mut command = redis::Cmd::new();
        command.arg(words);
        command.query_async(&mut self.0).await.unwrap()
    }

    /// The names of counters under a prefix, with the milliseconds that they still live.
    async fn lives(&mut self, prefix: &str) -> Vec<(String, i64)> {
        let names: Vec<String> = self.ask(&["KEYS", &format!("{prefix}*")]).await;
        let mut lives = Vec::new();
        for name in names.into_iter().filter(|name| is_counter(name)) {
            let life = self.ask(&["PTTL", &name]).await;
            lives.push((name, life));
        }
        lives
    }
}

/// A store under a prefix of its own on the shared server of a kind.
async fn store(kind: Kind) -> (RedisStore, String, Beside) {
    let (settings, prefix) = namespace(kind);
    let (store, _) = RedisStore::connect(&settings, &OWN).await.unwrap();
    (store, prefix, Beside::of(kind.shared()).await)
}

/// Runs a case on each kind of server.
fn on_each<F: Future<Output = ()>>(case: impl Fn(Kind) -> F) {
    for kind in Kind::wanted() {
        block_on(case(kind));
    }
}

#[test]
fn t03_nodes_whose_clocks_differ_count_alike() {
    // The nodes' own clocks are not asked: a minute apart they would admit eight.
    on_each(|kind| async move {
        let (settings, _) = namespace(kind);
        let (a, secret) = RedisStore::connect(&settings, &OWN).await.unwrap();
        let (b, same) = RedisStore::connect(&settings, &OwnSecret::Drawn([8; 16])).await.unwrap();
        assert!(secret == same, "the first node's secret is everybody's");
        for rule in every_algorithm(4, Span::from_secs(2_000)) {
            let name = rule.algorithm.as_str();
            let mut count = admitted(&a, name, rule, 5).await;
            count += admitted(&b, name, rule, 1).await;
            count += admitted(&a, name, rule, 5).await;
            assert_eq!(count, 4);
            let retries =
                [take(&a, name, rule, 1).await.retry_after, take(&b, name, rule, 1).await.retry_after];
            let [Some(first), Some(second)] = retries else { panic!("both are refused") };
            assert!(first.nanos().abs_diff(second.nanos()) < 5_000_000_000, "{retries:?}");
        }
    });
}

#[test]
fn r01_every_key_expires() {
    on_each(|kind| async move {
        let (store, prefix, mut beside) = store(kind).await;
        let window = 3_600_000;
        for rule in every_algorithm(100, Span::from_millis(window)) {
            let name = rule.algorithm.as_str();
            for cost in [33, 0, 33, 1] {
                take(&store, name, rule, cost).await;
            }
            ask(&store, name, rule, Op::Adjust(-1)).await;
            take(&store, &format!("{name} fresh"), rule, 0).await;
        }
        let lives = beside.lives(&prefix).await;
        assert_eq!(lives.len(), Algorithm::ALL.len(), "a question leaves no key");
        for (name, life) in lives {
            assert!((1..=2 * window.cast_signed() + 1_000).contains(&life), "{name} lives {life} ms");
        }
    });
}

#[test]
fn r01_a_key_that_lost_its_expiry_gets_one() {
    on_each(|kind| async move {
        for rule in every_algorithm(3, Span::from_secs(60)) {
            let (store, prefix, mut beside) = store(kind).await;
            assert_eq!(admitted(&store, "k", rule, 3).await, 3);
            let [(name, _)] = &beside.lives(&prefix).await[..] else { panic!("one key") };
            let _: i64 = beside.ask(&["PERSIST", name]).await;
            assert_eq!(take(&store, "k", rule, 1).await.outcome, Outcome::Deny);
            let life: i64 = beside.ask(&["PTTL", name]).await;
            assert!((1..=121_000).contains(&life), "{} lives {life} ms", rule.algorithm);
        }
    });
}

#[test]
fn r01_use_never_pushes_the_expiry_out() {
    on_each(|kind| async move {
        let (settings, prefix) = namespace(kind);
        let clock = ManualClock::at(Timestamp::from_nanos(1_793_400_000_000_000_000));
        let (store, _) = RedisStore::with_clock(&settings, &OWN, clock.clone()).await.unwrap();
        let mut beside = Beside::of(kind.shared()).await;
        let rule = rule(Algorithm::FixedWindow, 1_000, Span::from_secs(60));
        take(&store, "k", rule, 1).await;
        let [(name, _)] = &beside.lives(&prefix).await[..] else { panic!("one key") };
        let _: i64 = beside.ask(&["PEXPIRE", name, "50000"]).await;
        for _ in 0..10 {
            clock.advance(Span::from_secs(1));
            take(&store, "k", rule, 1).await;
        }
        let life: i64 = beside.ask(&["PTTL", name]).await;
        assert!(life <= 50_000, "in the same window it was renewed to {life} ms");
    });
}

#[test]
fn r01_a_key_lives_as_long_as_it_is_needed() {
    on_each(|kind| async move {
        let (store, prefix, mut beside) = store(kind).await;
        let rule = rule(Algorithm::TokenBucket, 10, Span::from_secs(1));
        take(&store, "k", rule, 1).await;
        ask(&store, "k", rule, Op::Adjust(100_000)).await;
        let [(_, life)] = &beside.lives(&prefix).await[..] else { panic!("one key") };
        assert!((9_990_000..=10_001_000).contains(life), "a debt of 10,000 s lives {life} ms");
    });
}

#[test]
fn r04_a_lost_script_is_loaded_again() {
    on_each(|kind| async move {
        let (store, _, mut beside) = store(kind).await;
        for rule in every_algorithm(5, Span::from_secs(600)) {
            let name = rule.algorithm.as_str();
            assert_eq!(admitted(&store, name, rule, 3).await, 3);
            let _: String = beside.ask(&["SCRIPT", "FLUSH"]).await;
            assert_eq!(admitted(&store, name, rule, 3).await, 2);
        }
        let rule = rule(Algorithm::TokenBucket, 50, Span::from_secs(600));
        let store = Arc::new(store);
        let asking = |_| {
            let store = store.clone();
            tokio::spawn(async move { take(&store, "at once", rule, 1).await.outcome })
        };
        let asked: Vec<_> = (0..200).map(asking).collect();
        let _: String = beside.ask(&["SCRIPT", "FLUSH"]).await;
        let mut admitted = 0;
        for outcome in asked {
            admitted += usize::from(outcome.await.unwrap() == Outcome::Allow);
        }
        assert_eq!(admitted, 50);
    });
}

#[test]
fn r06_braces_and_nothing_in_values_are_keys_like_others() {
    on_each(|kind| async move {
        let cluster = Cluster::shared(kind);
        let on_a_cluster = settings(&cluster.url(), &crate::prefix());
        for (place, prefix) in [namespace(kind), (on_a_cluster.clone(), on_a_cluster.prefix().to_owned())] {
            let (store, _) = RedisStore::connect(&place, &OWN).await.unwrap();
            let names = ["plain", "a{b}c", "}x", "{}", "", "{a}{b}", "weir:", "*"];
            for rule in every_algorithm(2, Span::from_secs(600)) {
                for name in names {
                    let name = format!("{}{name}", rule.algorithm);
                    assert_eq!(admitted(&store, &name, rule, 3).await, 2, "{name}");
                }
            }
            let mut held = cluster.names(&format!("{prefix}*")).concat();
            held.extend(kind.shared().query::<Vec<String>>(redis::cmd("KEYS").arg(format!("{prefix}*"))));
            let counters: HashSet<String> = held.into_iter().filter(|name| is_counter(name)).collect();
            assert_eq!(counters.len(), names.len() * Algorithm::ALL.len());
            // On a cluster a tag of ours stands before the hash.
            let is_ours = |name: &String| {
                let rest = name.strip_prefix(&prefix).unwrap();
                let hash = rest.strip_prefix('{').map_or(rest, |rest| rest.split_once('}').unwrap().1);
                hash.len() == 32 && hash.chars().all(|digit| digit.is_ascii_hexdigit())
            };
            assert!(counters.iter().all(is_ours), "no value reaches a name: {counters:?}");
        }
    });
}

#[test]
fn what_is_not_ours_is_left_alone_and_counted_nowhere() {
    on_each(|kind| async move {
        let (store, prefix, mut beside) = store(kind).await;
        for rule in every_algorithm(3, Span::from_secs(60)) {
            let good = format!("{} good", rule.algorithm);
            let Key(bits) = key(rule.algorithm.as_str());
            let name = format!("{prefix}{bits:032x}");
            let older_layout = format!("W\u{1}\0\0{}", "x".repeat(48));
            let log_cut_off = format!("W\u{4}\u{1}\0{}", "x".repeat(40));
            let cut_off = format!("W\u{1}\u{1}\0{}", "x".repeat(40));
            for wrong in [
                &["SET", &name, "100"][..],
                &["SET", &name, &older_layout],
                &["SET", &name, &cut_off],
                &["SET", &name, &log_cut_off],
                &["SET", &name, ""],
                &["HSET", &name, "tokens", "5"],
                &["RPUSH", &name, "5"],
            ] {
                let _: redis::Value = beside.ask(&["DEL", &name]).await;
                let _: redis::Value = beside.ask(wrong).await;
                let op = |key, cost| Operation::new(key, rule, Op::Take(cost));
                let shadow = Operation { enforced: false, ..op(Key(bits), 1) };
                let with_good = |other| vec![op(key(&good), 1), other];
                let groups = [with_good(op(Key(bits), 1)), with_good(shadow), vec![op(key(&good), 0)]];
                let answers = store.apply(groups.into_iter().collect::<Batch>()).await;
                let (rest, refused) = answers.split_last().unwrap();
                let is_left_alone = |answer: &Answer| matches!(answer, Answer::Unavailable { sent: false });
                assert!(refused.len() == 4 && refused.iter().all(is_left_alone), "{wrong:?}: {answers:?}");
                let Answer::Decided { decision, .. } = rest else {
                    panic!("the next group is not concerned")
                };
                assert_eq!(decision.remaining, 3, "{wrong:?}: the whole group is left alone");
                let kept: String = beside.ask(&["TYPE", &name]).await;
                assert_ne!(kept, "none", "it is nobody's to delete");
            }
        }
    });
}

#[test]
fn a_lost_secret_is_written_again_and_a_changed_one_counts_nothing() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    block_on(async {
        let server = Server::start(Kind::Redis, &[]);
        let mut beside = Beside::of(&server).await;
        let rule = rule(Algorithm::FixedWindow, 5, Span::from_secs(86_400));
        let (store, secret) = RedisStore::connect(&settings(&server.url(), "a:"), &OWN).await.unwrap();
        assert!(secret == OWN.secret());
        assert_eq!(admitted(&store, "k", rule, 3).await, 3);
        let kept: String = beside.ask(&["GET", "a:secret"]).await;

        let _: String = beside.ask(&["FLUSHALL"]).await;
        assert_eq!(admitted(&store, "k", rule, 3).await, 3, "all use is lost with it");
        let again: String = beside.ask(&["GET", "a:secret"]).await;
        assert_eq!(kept, again);

        let _: String = beside.ask(&["SET", "a:secret", "0123456789abcdef given"]).await;
        let refused = ask(&store, "k", rule, Op::Take(1)).await;
        assert!(matches!(refused, Answer::Unavailable { sent: false }), "{refused:?}");
        let _: String = beside.ask(&["SET", "a:secret", &kept]).await;
        assert_eq!(admitted(&store, "k", rule, 3).await, 2, "nothing was counted meanwhile");
    });
}

#[test]
fn nodes_agree_on_one_secret_or_do_not_start() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    block_on(async {
        let given = |text: &str| OwnSecret::Given(KeySecret::from_text(text).unwrap());
        let (first, _) = namespace(Kind::Redis);
        assert!(RedisStore::connect(&first, &given("sixteen letters!")).await.is_ok());
        assert!(RedisStore::connect(&first, &given("sixteen letters!")).await.is_ok());
        let said = |error: RedisStoreError| error.to_string();
        let other = RedisStore::connect(&first, &given("sixteen letters?")).await.map_err(said).unwrap_err();
        assert!(other.contains("another key secret"), "{other}");
        let drawn = RedisStore::connect(&first, &OWN).await.map_err(said).unwrap_err();
        assert!(drawn.contains("were given"), "{drawn}");
        let (foreign, prefix) = namespace(Kind::Redis);
        let mut beside = Beside::of(Kind::Redis.shared()).await;
        let _: String = beside.ask(&["SET", &format!("{prefix}secret"), "something else"]).await;
        let refused = RedisStore::connect(&foreign, &OWN).await.map_err(said).unwrap_err();
        assert!(refused.contains("nothing that Weir wrote"), "{refused}");
    });
}
