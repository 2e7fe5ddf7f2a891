//! A store that is sick: answers come in time, little is asked of it, and it counts again soon after it is well.

use std::time::{Duration, Instant};

use redis::cmd;
use weir_core::{Algorithm, Answer, Batch, Op, Operation, Outcome, Rule, Span, Store as _};
use weir_servers::{Kind, Server};
use weir_store::{RedisSettings, RedisStore};

use crate::block_on;
use crate::cases::{OWN, admitted, ask, key, rule};

/// More than the usual, so that a machine that is busy with others does not make a healthy store look sick.
const DEADLINE: Duration = Duration::from_millis(100);
/// What such a machine may add.
const ALLOWED: Duration = Duration::from_millis(100);
/// A store is asked again at least so often.
const PATIENCE: Duration = Duration::from_secs(2);

async fn store(server: &Server) -> RedisStore {
    let settings = RedisSettings::parse(&server.url()).unwrap().with_prefix("sick:").with_deadline(DEADLINE);
    RedisStore::connect(&settings, &OWN).await.unwrap().0
}

fn ten() -> Rule {
    rule(Algorithm::FixedWindow, 10, Span::from_secs(864_000_000))
}

/// How long the store took to say that it does not know.
async fn refused(store: &RedisStore) -> Duration {
    let started = Instant::now();
    let answer = ask(store, "k", ten(), Op::Take(1)).await;
    assert!(matches!(answer, Answer::Unavailable { .. }), "{answer:?}");
    started.elapsed()
}

/// Asks without a charge until the store answers, and returns how long that took.
async fn until_it_answers(store: &RedisStore) -> Duration {
    let started = Instant::now();
    while let Answer::Unavailable { .. } = ask(store, "k", ten(), Op::Peek(1)).await {
        assert!(started.elapsed() < 10 * PATIENCE, "it never answered");
        tokio::task::yield_now().await;
    }
    started.elapsed()
}

#[test]
fn r07_a_store_that_hangs_is_not_waited_for() {
    for kind in Kind::wanted() {
        let server = Server::start(kind, &[]);
        block_on(async {
            let store = store(&server).await;
            assert_eq!(admitted(&store, "k", ten(), 4).await, 4);
            server.signal("STOP");
            let mut waits = Vec::new();
            for _ in 0..100 {
                waits.push(refused(&store).await);
            }
            let slow = waits.iter().filter(|wait| **wait > DEADLINE / 2).count();
            assert!(slow <= 12, "after a few failures nobody waits for it: {waits:?}");
            assert!(waits.iter().all(|wait| *wait < DEADLINE + ALLOWED), "{waits:?}");
            let (trouble, stats) = (store.trouble().unwrap(), store.stats());
            assert!(trouble.contains("timed out"), "{trouble}");
            assert_eq!((stats.opened, stats.open, stats.lanes), (1, 1, 1));
            let timeouts = stats.failed.iter().find(|(kind, _)| *kind == "timeout").unwrap().1;
            assert!((5..=stats.calls).contains(&timeouts), "{stats:?}");
            // One that ends at its deadline may count as a call that failed instead.
            assert!(
                stats.given_up + timeouts >= 5 && stats.given_up + timeouts + stats.refused >= 100,
                "{stats:?}"
            );
            server.signal("CONT");
            let away = until_it_answers(&store).await;
            assert!(away < PATIENCE, "{away:?}");
            assert_eq!((store.trouble(), store.stats().open), (None, 0));
            // The calls that were not answered may have charged: one unit each, five before it was left alone, and
            // those that tried it since.
            let left = admitted(&store, "k", ten(), 10).await;
            assert!(left <= 6, "{left}: what it kept is kept");
            let text: String = server.query(cmd("INFO").arg("clients"));
            let line = text.lines().find_map(|line| line.strip_prefix("connected_clients:")).unwrap();
            let clients: u32 = line.parse().unwrap();
            assert!(clients <= 4, "{clients} connections: one of ours, one in the making, and the test's");
        });
    }
}

#[test]
fn r07_a_store_that_is_gone_is_refused_at_once_and_counts_again_when_it_is_back() {
    for kind in Kind::wanted() {
        let server = Server::start(kind, &[]);
        block_on(async {
            let store = store(&server).await;
            assert_eq!(admitted(&store, "k", ten(), 10).await, 10);
            let port = server.port;
            server.signal("KILL");
            for _ in 0..100 {
                let wait = refused(&store).await;
                assert!(wait < ALLOWED, "{wait:?}");
            }
            drop(server);
            let server = Server::start_at(kind, port, &[]);
            let away = until_it_answers(&store).await;
            assert!(away < PATIENCE, "{away:?}");
            // It kept nothing, and is told the secret again; from then on it counts as before.
            assert_eq!(admitted(&store, "k", ten(), 11).await, 10);
            let secret: Option<String> = server.query(cmd("GET").arg("sick:secret"));
            assert!(secret.is_some());
        });
    }
}

#[test]
fn who_gave_up_is_not_charged_later() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let server = Server::start(Kind::Redis, &[]);
    block_on(async {
        let store = store(&server).await;
        let thousand = rule(Algorithm::FixedWindow, 1_000, Span::from_secs(864_000_000));
        assert_eq!(admitted(&store, "k", thousand, 1).await, 1);
        server.signal("STOP");
        let asked: Vec<_> = (0..900)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move { ask(&store, "k", thousand, Op::Take(1)).await })
            })
            .collect();
        for answer in asked {
            assert!(matches!(answer.await.unwrap(), Answer::Unavailable { .. }));
        }
        server.signal("CONT");
        until_it_answers(&store).await;
        let Answer::Decided { decision, .. } = ask(&store, "k", thousand, Op::Peek(0)).await else {
            panic!("it answers again")
        };
        // Two calls of 128 were on their way, and a probe; all others waited in the queue and were left out.
        assert_eq!(decision.outcome, Outcome::Allow);
        assert!(decision.remaining >= 999 - 4 * 128, "{} are left", decision.remaining);
    });
}

#[test]
fn a_store_without_memory_keeps_what_it_has_and_counts_again_when_there_is_room() {
    for kind in Kind::wanted() {
        let server = Server::start(kind, &[]);
        block_on(async {
            let store = store(&server).await;
            assert_eq!(admitted(&store, "k", ten(), 4).await, 4);
            let set = |bytes: &str| {
                server.query::<()>(cmd("CONFIG").arg("SET").arg("maxmemory").arg(bytes));
            };
            set("1");
            let answer = ask(&store, "k", ten(), Op::Take(1)).await;
            assert!(matches!(answer, Answer::Unavailable { sent: false }), "{answer:?}");
            let failed = store.stats().failed;
            assert!(failed.contains(&("out_of_memory", 1)), "{failed:?}");
            set("0");
            until_it_answers(&store).await;
            assert_eq!(admitted(&store, "k", ten(), 10).await, 6, "nothing was charged, nothing was lost");
        });
    }
}

#[test]
fn promise_14_an_answer_comes_3_ms_before_its_caller_gives_up() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let server = Server::start(Kind::Redis, &[]);
    block_on(async {
        let settings = RedisSettings::parse(&server.url()).unwrap().with_deadline(10 * PATIENCE);
        let store = RedisStore::connect(&settings, &OWN).await.unwrap().0;
        let asked = |millis| {
            let batch: Batch = [[Operation::new(key("k"), ten(), Op::Take(1))]].into_iter().collect();
            store.apply(batch.within(Some(Span::from_millis(millis))))
        };
        let healthy = asked(10_000).await.pop();
        assert!(matches!(healthy, Some(Answer::Decided { .. })), "{healthy:?}");
        // There is no time for a call: none is made.
        let calls = store.stats().calls;
        for millis in [1, 3] {
            assert_eq!(asked(millis).await.pop(), Some(Answer::Unavailable { sent: false }));
        }
        assert_eq!((store.stats().calls, store.stats().given_up), (calls, 2));
        server.signal("STOP");
        let started = Instant::now();
        assert_eq!(asked(200).await.pop(), Some(Answer::Unavailable { sent: true }));
        let took = started.elapsed();
        let before = Duration::from_millis(197);
        assert!((before..before + ALLOWED).contains(&took), "{took:?}");
        server.signal("CONT");
    });
}

#[test]
fn without_a_guard_the_server_is_waited_for() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let server = Server::start(Kind::Redis, &[]);
    block_on(async {
        let settings = RedisSettings::parse(&server.url()).unwrap().without_guard();
        let unguarded = RedisStore::connect(&settings, &OWN).await.unwrap().0;
        let guarded = store(&server).await;
        server.signal("STOP");
        let batch: Batch = [[Operation::new(key("k"), ten(), Op::Take(1))]].into_iter().collect();
        let asked =
            tokio::spawn(async move { unguarded.apply(batch.within(Some(Span::from_millis(1)))).await });
        while guarded.trouble().is_none() {
            refused(&guarded).await;
        }
        assert!(!asked.is_finished(), "a call or more had their deadline meanwhile");
        server.signal("CONT");
        let answers = asked.await.unwrap();
        assert!(matches!(&*answers, [Answer::Decided { .. }]), "{answers:?}");
    });
}
