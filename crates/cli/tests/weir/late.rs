//! `weir serve` before its store is there.

use weir_servers::{Kind, Server};

use super::file;
use super::node::{Node, get, until};
use super::shared::nodes;

const BODY: &str = r#"{"attributes":{"user":"ada"}}"#;

const LATE: &str = "domain: d
policies:
  - { name: local, key: [user], quota: 10/100d, algorithm: fixed_window, on_store_failure: local }
  - { name: closed, key: [bill], quota: 10/100d, algorithm: fixed_window, on_store_failure: closed }
";

/// A node that was started before its store was, and has admitted 5 by posture; and where the store is to come.
fn node_before_its_store(kind: Kind, policies: &str, variables: &[(&str, &str)]) -> (Node, String, u16) {
    let place = Server::start(kind, &[]);
    let (url, port) = (place.url(), place.port);
    place.signal("KILL");
    drop(place);
    let late =
        [policies, "--store", &url, "--store-prefix", "late:", "--store-deadline", "1s", "--nodes", "2"];
    let mut node = Node::starting(variables, &late);
    node.logged(
        "the store cannot be used yet, and is tried until it can be; policies answer by `on_store_failure`",
    );
    let node = node.listening();
    assert_eq!(node.check(r#"{"attributes":{"bill":"7"}}"#).0, 503);
    let statuses: Vec<u16> = (0..7).map(|_| node.check(BODY).0).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429], "a share");
    let ready = get(node.admin, "/readyz");
    assert!(
        ready.status == 200 && ready.body.contains("degraded: the store cannot be used yet"),
        "{}",
        ready.body
    );
    assert!(get(node.admin, "/metrics").body.contains("weir_store_breaker_open 1"));
    (node, url, port)
}

#[test]
fn a_node_whose_store_is_not_there_serves_by_posture_and_brings_what_it_counted() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    for kind in Kind::ALL {
        let policies = file("late.yaml", LATE);
        let secret = [("WEIR_KEY_SECRET", "a secret of all nodes")];
        let (node, _, port) = node_before_its_store(kind, &policies, &secret);
        let server = Server::start_at(kind, port, &[]);
        until("it counts there", || get(node.admin, "/readyz").body == "ready\n");
        let statuses: Vec<u16> = (0..6).map(|_| node.check(BODY).0).collect();
        assert_eq!(statuses, [200, 200, 200, 200, 200, 429], "the rest");
        drop(server);
    }
}

#[test]
fn promise_8_a_node_that_finds_its_store_late_takes_the_secret_of_the_others() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let policies = file("late-secret.yaml", LATE);
    let (node, url, port) = node_before_its_store(Kind::Redis, &policies, &[]);
    // Another node finds the store first, and its secret is drawn.
    node.signal("STOP");
    let _server = Server::start_at(Kind::Redis, port, &[]);
    let [other] = nodes::<1>(&url, "late:", &policies);
    node.signal("CONT");
    until("both count there", || get(node.admin, "/readyz").body == "ready\n");
    let both = [&node, &other];
    let admitted = (0..20).filter(|i| both[i % 2].check(BODY).0 == 200).count();
    assert_eq!(admitted, 10, "together");
    assert!(get(node.admin, "/metrics").body.contains(r#"weir_policy_reloads_total{outcome="taken"} 0"#));
}
