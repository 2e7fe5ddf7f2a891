//! Nodes of one store count each other, and have names of their own.

use std::time::{Duration, Instant};

use redis::cmd;
use weir_servers::{Cluster, Kind};
use weir_store::{RedisSettings, RedisStore};

use crate::cases::OWN;
use crate::{block_on, prefix, settings};

/// A node is forgotten after 6 s, and tells every 2 s that it is there.
const PATIENCE: Duration = Duration::from_secs(15);

async fn node(settings: &RedisSettings) -> RedisStore {
    RedisStore::connect(settings, &OWN).await.unwrap().0
}

async fn until_each_counts(nodes: &[&RedisStore], count: u64) {
    let start = Instant::now();
    while !nodes.iter().all(|node| node.stats().nodes == count) {
        let seen: Vec<u64> = nodes.iter().map(|node| node.stats().nodes).collect();
        assert!(start.elapsed() < PATIENCE, "{seen:?} instead of {count}");
        tokio::task::yield_now().await;
    }
}

#[test]
fn promise_14_nodes_are_counted_by_their_store() {
    if !Kind::ALL.into_iter().all(Kind::is_wanted) {
        return;
    }
    for url in [Kind::Redis.shared().url(), Cluster::shared(Kind::Valkey).url()] {
        let settings = settings(&url, &prefix());
        block_on(async {
            let [first, second, third] =
                [node(&settings).await, node(&settings).await, node(&settings).await];
            assert_eq!(third.stats().nodes, 3, "at once");
            until_each_counts(&[&first, &second, &third], 3).await;
            let told = node(&settings.clone().with_nodes(7.try_into().unwrap())).await;
            assert_eq!(told.stats().nodes, 7, "as it was said");
            told.leave().await;
            // One leaves, one is killed.
            third.leave().await;
            drop((second, third));
            until_each_counts(&[&first], 1).await;
        });
    }
}

#[test]
fn promise_14_a_store_that_forgets_its_nodes_makes_no_share_larger() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let (server, prefix) = (Kind::Redis.shared(), prefix());
    let settings = settings(&server.url(), &prefix);
    block_on(async {
        let [first, second] = [node(&settings).await, node(&settings).await];
        until_each_counts(&[&first, &second], 2).await;
        let names = ["nodes", "holders"].map(|name| format!("{prefix}{name}"));
        let gone: u64 = server.query(cmd("DEL").arg(&names));
        assert_eq!(gone, 2);
        let both_are_back = || server.query::<u64>(cmd("ZCARD").arg(&names[0])) == 2;
        let start = Instant::now();
        while !both_are_back() {
            assert_eq!([first.stats().nodes, second.stats().nodes], [2, 2]);
            assert!(start.elapsed() < PATIENCE);
        }
    });
}

#[test]
fn two_nodes_of_one_name_are_refused() {
    for kind in Kind::wanted() {
        let settings = settings(&kind.shared().url(), &prefix()).with_node_name("till-3");
        block_on(async {
            let first = node(&settings).await;
            let refused = RedisStore::connect(&settings, &OWN).await.unwrap_err().to_string();
            assert!(refused.contains("another of its nodes is named `till-3`"), "{refused}");
            let [other, third] = ["till-4", "till-5"].map(|name| settings.clone().with_node_name(name));
            let [_other, _third] = [node(&other).await, node(&third).await];
            // One that left has given its name back.
            first.leave().await;
            let start = Instant::now();
            let second = node(&settings).await;
            assert!(start.elapsed() < Duration::from_secs(1));
            // That of one that was killed is waited for.
            drop(second);
            let start = Instant::now();
            let _again = node(&settings).await;
            assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
        });
    }
}
