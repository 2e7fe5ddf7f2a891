//! A primary watched by Sentinels, and a cluster: failovers, slots that move, and servers that stand otherwise than
//! was said.

use std::time::{Duration, Instant};

use redis::Cmd;
use weir_core::{Algorithm, Answer, Batch, Op, Operation, Outcome, Rule, Span, Store as _};
use weir_servers::{Cluster, Kind, Sentinels, Server};
use weir_store::{OwnSecret, RedisStore, RedisStoreError};

use crate::cases::{OWN, admitted, ask, every_algorithm, key, rule};
use crate::{block_on, is_counter, prefix, settings};

/// How long a failover may take: the servers are given half a second to notice, and then they vote.
const PATIENCE: Duration = Duration::from_secs(30);

async fn store(url: &str, prefix: &str) -> RedisStore {
    RedisStore::connect(&settings(url, prefix), &OWN).await.unwrap().0
}

fn words(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    command.arg(words);
    command
}

/// Asks until the store answers; returns how often that was, and that what it said before was always that it did
/// not know.
async fn until_it_answers(store: &RedisStore, name: &str, rule: Rule) -> usize {
    let start = Instant::now();
    let mut asked = 0;
    loop {
        asked += 1;
        match ask(store, name, rule, Op::Peek(1)).await {
            Answer::Decided { .. } => return asked,
            Answer::Local { .. } | Answer::Unavailable { .. } => {
                assert!(start.elapsed() < PATIENCE, "no answer after {PATIENCE:?}");
            }
        }
    }
}

#[test]
fn a_failover_by_sentinel_is_followed() {
    for kind in Kind::wanted() {
        let servers = Sentinels::start(kind);
        let rule = rule(Algorithm::FixedWindow, 10, Span::from_secs(864_000));
        block_on(async {
            let unknown = RedisStore::connect(&settings(&format!("{}x", servers.url()), "s:"), &OWN).await;
            assert!(unknown.unwrap_err().to_string().contains("know no primary by this name"));
            let store = store(&servers.url(), "s:").await;
            assert_eq!(admitted(&store, "k", rule, 4).await, 4);
            let written: i64 = servers.primary.query(&words(&["WAIT", "2", "5000"]));
            assert_eq!(written, 2, "both replicas have it");
            servers.primary.signal("KILL");
            until_it_answers(&store, "k", rule).await;
            assert_ne!(servers.primary_port(), servers.primary.port);
            assert_eq!(
                admitted(&store, "k", rule, 10).await,
                6,
                "the new primary goes on where the old one was"
            );
        });
    }
}

#[test]
fn a_primary_that_was_demoted_counts_nothing_more() {
    for kind in Kind::wanted() {
        let servers = Sentinels::start(kind);
        let rule = rule(Algorithm::TokenBucket, 10, Span::from_secs(864_000));
        block_on(async {
            let store = store(&servers.url(), "s:").await;
            assert_eq!(admitted(&store, "k", rule, 4).await, 4);
            let written: i64 = servers.primary.query(&words(&["WAIT", "2", "5000"]));
            assert_eq!(written, 2, "both replicas have it");
            servers.fail_over();
            until_it_answers(&store, "k", rule).await;
            assert_eq!(admitted(&store, "k", rule, 10).await, 6);
        });
    }
}

#[test]
fn a_failover_in_a_cluster_is_followed() {
    for kind in Kind::wanted() {
        let cluster = Cluster::start(kind);
        let rule = rule(Algorithm::FixedWindow, 3, Span::from_secs(864_000));
        let names: Vec<String> = (0..30).map(|i| i.to_string()).collect();
        block_on(async {
            let store = store(&cluster.url(), "c:").await;
            for name in &names {
                assert_eq!(admitted(&store, name, rule, 2).await, 2);
            }
            for primary in &cluster.primaries {
                let _: i64 = primary.query(&words(&["WAIT", "1", "5000"]));
            }
            cluster.primaries[0].signal("KILL");
            for name in &names {
                until_it_answers(&store, name, rule).await;
                assert_eq!(admitted(&store, name, rule, 3).await, 1, "{name}");
            }
        });
    }
}

#[test]
fn r04_the_first_use_of_a_script_on_each_node_of_a_cluster() {
    for kind in Kind::wanted() {
        let cluster = Cluster::shared(kind);
        block_on(async {
            let store = store(&cluster.url(), &prefix()).await;
            for rule in every_algorithm(5, Span::from_secs(864_000)) {
                let name = |i: usize| format!("{} {i}", rule.algorithm);
                for i in 0..30 {
                    assert_eq!(admitted(&store, &name(i), rule, 3).await, 3);
                }
                for server in &cluster.primaries {
                    server.query::<()>(&words(&["SCRIPT", "FLUSH"]));
                }
                for i in 0..30 {
                    assert_eq!(admitted(&store, &name(i), rule, 3).await, 2);
                }
            }
        });
    }
}

/// The slot of a key's tag goes from its primary to another, key by key, and is asked all the while.
#[test]
fn a_slot_on_its_way_is_counted_exactly() {
    for kind in Kind::wanted() {
        let cluster = Cluster::start(kind);
        let rule = rule(Algorithm::TokenBucket, 1_000, Span::from_secs(864_000_000));
        block_on(async {
            let store = store(&cluster.url(), "m:").await;
            assert_eq!(admitted(&store, "k", rule, 10).await, 10);
            let slot_of =
                |name: &str| -> u16 { cluster.primaries[0].query(&words(&["CLUSTER", "KEYSLOT", name])) };
            let mut used = 10;
            for (from, name) in
                cluster.primaries.iter().zip(&cluster.names("m:*")).filter_map(|(server, names)| {
                    names.iter().find(|name| is_counter(name)).map(|name| (server, name))
                })
            {
                let slot = slot_of(name).to_string();
                let to = cluster.primaries.iter().find(|server| server.port != from.port).unwrap();
                let id = |server: &Server| server.query::<String>(&words(&["CLUSTER", "MYID"]));
                to.query::<()>(&words(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(from)]));
                from.query::<()>(&words(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(to)]));
                used += admitted(&store, "k", rule, 5).await;
                let keys: Vec<String> = from.query(&words(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"]));
                assert_eq!(keys.len(), 2, "the counter and the secret's copy");
                let migrate = |key: &String| {
                    let port = to.port.to_string();
                    from.query::<()>(&words(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]));
                };
                migrate(&keys[0]);
                // One key here and one there: the servers put it off until both are in one place.
                let between = ask(&store, "k", rule, Op::Take(1)).await;
                assert!(matches!(between, Answer::Unavailable { sent: false }), "{between:?}");
                migrate(&keys[1]);
                used += admitted(&store, "k", rule, 5).await;
                for server in &cluster.primaries {
                    server.query::<()>(&words(&["CLUSTER", "SETSLOT", &slot, "NODE", &id(to)]));
                }
                used += admitted(&store, "k", rule, 5).await;
            }
            assert_eq!(used, 25, "the key was moved once");
            let Answer::Decided { decision, .. } = ask(&store, "k", rule, Op::Peek(0)).await else {
                panic!()
            };
            assert_eq!(decision.remaining, 975);
        });
    }
}

#[test]
fn m03_many_at_once_on_limits_in_different_slots() {
    for kind in Kind::wanted() {
        let cluster = Cluster::shared(kind);
        block_on(async {
            let prefix = prefix();
            let nodes = [store(&cluster.url(), &prefix).await, store(&cluster.url(), &prefix).await];
            let day = Span::from_secs(864_000);
            let (narrow, wide) =
                (rule(Algorithm::FixedWindow, 3, day), rule(Algorithm::TokenBucket, 40, day));
            let request = |user: usize| {
                let wide = Operation { rank: 1, ..Operation::new(key("everyone"), wide, Op::Take(1)) };
                [wide, Operation::new(key(&format!("user {user}")), narrow, Op::Take(1))]
            };
            let tasks: Vec<_> = (0..400)
                .map(|i| {
                    let (node, batch) =
                        (nodes[i % 2].clone(), [request(i % 20)].into_iter().collect::<Batch>());
                    tokio::spawn(async move { node.apply(batch).await })
                })
                .collect();
            let mut admitted = 0;
            for task in tasks {
                let answers = task.await.unwrap();
                let fits = |answer: &Answer| {
                    let Answer::Decided { decision, receipt, .. } = answer else { panic!("{answer:?}") };
                    (decision.outcome == Outcome::Allow, receipt.is_some())
                };
                let said: Vec<(bool, bool)> = answers.iter().map(fits).collect();
                let is_admitted = said.iter().all(|(fits, _)| *fits);
                assert!(said.iter().all(|(_, charged)| *charged == is_admitted), "all or nothing: {said:?}");
                admitted += usize::from(is_admitted);
            }
            let left = |answer: Answer| match answer {
                Answer::Decided { decision, .. } => decision.remaining,
                Answer::Local { .. } | Answer::Unavailable { .. } => panic!("a healthy store answers"),
            };
            let everyone = left(ask(&nodes[0], "everyone", wide, Op::Peek(0)).await);
            let mut users = 0;
            for user in 0..20 {
                users += 3 - left(ask(&nodes[1], &format!("user {user}"), narrow, Op::Peek(0)).await);
            }
            assert_eq!(
                (40 - everyone, users),
                (admitted as u64, admitted as u64),
                "each is charged what it got"
            );
            assert!(admitted <= 40);
        });
    }
}

#[test]
fn servers_that_stand_otherwise_than_was_said_are_told_at_the_start() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let (alone, cluster) = (Kind::Redis.shared(), Cluster::shared(Kind::Redis));
    let node = cluster.primaries[1].port;
    block_on(async {
        for (url, says) in [
            (format!("redis://127.0.0.1:{node}"), "write redis+cluster://"),
            (format!("redis+cluster://127.0.0.1:{}", alone.port), "stands alone: write redis://"),
            (format!("redis+sentinel://127.0.0.1:{}/main", alone.port), "not point to a sentinel"),
            ("redis+cluster://127.0.0.1:1,127.0.0.1:2".into(), "no server answers"),
            ("redis+sentinel://127.0.0.1:1/main".into(), "no server answers"),
        ] {
            let refused = RedisStore::connect(&settings(&url, "x:"), &OWN).await;
            let said = refused.map_err(|error: RedisStoreError| error.to_string()).unwrap_err();
            assert!(said.contains(says) && said.lines().count() == 1, "{url}: {said}");
        }
    });
}

#[test]
fn every_part_of_a_cluster_has_the_secret_or_no_node_starts() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let cluster = Cluster::shared(Kind::Redis);
    block_on(async {
        let prefix = prefix();
        let settings = settings(&cluster.url(), &prefix);
        let (_, secret) = RedisStore::connect(&settings, &OWN).await.unwrap();
        let (_, same) = RedisStore::connect(&settings, &OwnSecret::Drawn([8; 16])).await.unwrap();
        assert!(secret == same, "the first node's secret is everybody's");
        let names = cluster.names(&format!("{prefix}*secret"));
        assert_eq!(names.concat().len(), 64);
        let other = format!("0123456789abcdef drawn {}", "08".repeat(16));
        let _: String = cluster.primaries[2].query(&words(&["SET", &names[2][0], &other]));
        let refused = RedisStore::connect(&settings, &OWN).await.unwrap_err().to_string();
        assert!(refused.contains("another key secret"), "{refused}");
    });
}

#[test]
fn a_user_needs_no_more_than_docs_deploying_says() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/deploying.md");
    let text = std::fs::read_to_string(document).unwrap();
    let line =
        text.lines().find(|line| line.starts_with("ACL SETUSER")).expect("the document has the command");
    let set_user = words(&line.split_whitespace().collect::<Vec<_>>());
    for kind in Kind::ALL {
        let (alone, sentinels, cluster) = (kind.shared(), Sentinels::start(kind), Cluster::shared(kind));
        let watched = std::iter::once(&sentinels.primary).chain(&sentinels.replicas);
        let members = cluster.primaries.iter().chain(&cluster.replicas);
        for server in std::iter::once(alone).chain(watched).chain(members) {
            let _: String = server.query(&set_user);
        }
        for url in [alone.url(), sentinels.url(), cluster.url()] {
            block_on(async {
                let url = url.replace("://", "://weir:PASSWORD@");
                let prefix = format!("weir:{}", prefix());
                let store = store(&url, &prefix).await;
                for rule in every_algorithm(3, Span::from_secs(864_000)) {
                    let name = rule.algorithm.as_str();
                    assert_eq!(admitted(&store, name, rule, 4).await, 3, "{url}");
                    ask(&store, name, rule, Op::Adjust(-1)).await;
                    assert_eq!(admitted(&store, name, rule, 1).await, 1, "{url}");
                    ask(&store, name, rule, Op::Reset).await;
                }
            });
        }
    }
}

#[test]
fn callers_who_go_away_leave_nothing_half_charged() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let cluster = Cluster::shared(Kind::Redis);
    block_on(async {
        let store = store(&cluster.url(), &prefix()).await;
        let rule = rule(Algorithm::TokenBucket, 1_000, Span::from_secs(864_000_000));
        let names: Vec<String> = (0..8).map(|i| format!("part {i}")).collect();
        let operation =
            |(rank, name): (u16, &String)| Operation { rank, ..Operation::new(key(name), rule, Op::Take(1)) };
        let batch =
            || -> Batch { [(0..).zip(&names).map(operation).collect::<Vec<_>>()].into_iter().collect() };
        // Each waits a little longer before it goes.
        for patience in 0..300 {
            let away = async {
                for _ in 0..patience {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                answers = store.apply(batch()) => assert_eq!(answers.len(), names.len()),
                () = away => {}
            }
        }
        let start = Instant::now();
        loop {
            let mut left = Vec::new();
            for name in &names {
                let Answer::Decided { decision, .. } = ask(&store, name, rule, Op::Peek(0)).await else {
                    panic!("a healthy store answers")
                };
                left.push(decision.remaining);
            }
            if left.iter().all(|one| *one == left[0]) {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "{left:?}");
        }
    });
}
