//! Servers that stand together: a primary with Sentinels, and a cluster.

use weir_servers::{Cluster, Kind, Sentinels, Server};

use crate::load::{DEADLINE, LIMIT, admitted_in_bound, load, node, nothing_is_lost, on, settings};
use crate::{alone, block_on};

#[test]
fn a_primary_that_is_demoted_under_load() {
    for kind in Kind::wanted() {
        let _alone = alone();
        let sentinels = Sentinels::start(kind);
        block_on(async {
            let node = node(&settings(&sentinels.url())).await;
            let course = load(&node, 8_000, vec![on(500, || sentinels.fail_over())]).await;
            course.must_hold("demoted", &node, DEADLINE, course.happened[0]);
            // What was not copied before is forgotten, and no more than all of it.
            admitted_in_bound("demoted", &course, 2 * LIMIT);
            let port = sentinels.primary_port();
            let primary = sentinels.replicas.iter().find(|replica| replica.port == port).unwrap();
            assert!(evaluated(primary) > 1_000, "the load went on at another primary");
        });
    }
}

#[test]
fn a_slot_that_is_moved_under_load() {
    for kind in Kind::wanted() {
        let _alone = alone();
        let cluster = Cluster::start(kind);
        block_on(async {
            let node = node(&settings(&cluster.url())).await;
            let course = load(&node, 6_000, vec![on(1_000, || move_slots(&cluster))]).await;
            course.must_hold("slots moved", &node, DEADLINE, course.happened[0]);
            let doubts = course.in_doubt(&node);
            nothing_is_lost("slots moved", &course, &node, doubts).await;
            assert!(cluster.names("*")[0].is_empty(), "all of a primary's keys are elsewhere");
        });
    }
}

/// Moves each slot that holds anything from the first primary to the second.
fn move_slots(cluster: &Cluster) {
    let [from, to] = [&cluster.primaries[0], &cluster.primaries[1]];
    let id = |server: &Server| server.query::<String>(&words(&["CLUSTER", "MYID"]));
    let (from_id, to_id, port) = (id(from), id(to), to.port.to_string());
    let held: Vec<String> = from.query(&words(&["KEYS", "*"]));
    let slot_of = |name: &String| from.query::<u16>(&words(&["CLUSTER", "KEYSLOT", name])).to_string();
    let mut slots: Vec<String> = held.iter().map(slot_of).collect();
    slots.sort();
    slots.dedup();
    for slot in slots {
        to.query::<()>(&words(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]));
        from.query::<()>(&words(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]));
        loop {
            let keys: Vec<String> = from.query(&words(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"]));
            if keys.is_empty() {
                break;
            }
            let mut migrate = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
            migrate.extend(keys.iter().map(String::as_str));
            from.query::<()>(&words(&migrate));
        }
        for server in &cluster.primaries {
            server.query::<()>(&words(&["CLUSTER", "SETSLOT", &slot, "NODE", &to_id]));
        }
    }
}

/// How many scripts a server has run.
fn evaluated(server: &Server) -> usize {
    let text: String = server.query(&words(&["INFO", "commandstats"]));
    let line = text.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls=")).unwrap();
    line.split(',').next().unwrap().parse().unwrap()
}

fn words(words: &[&str]) -> redis::Cmd {
    let mut command = redis::Cmd::new();
    command.arg(words);
    command
}
