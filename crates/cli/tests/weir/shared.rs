//! `weir serve --store redis:`: nodes that count together, and stores that are not there.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Barrier;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::node::{Node, post};
use super::servers::{Kind, Server};
use super::{file, weir};

const WINDOW_MS: f64 = 2_000.0;
const BODY: &str = r#"{"attributes":{"user":"ada"}}"#;

/// Nodes that count on a server under a prefix of their own.
fn nodes<const N: usize>(server: &Server, prefix: &str, policies: &str) -> [Node; N] {
    [(); N].map(|()| Node::start(&[policies, "--store", &server.url(), "--store-prefix", prefix]))
}

fn policies(name: &str, quota: &str) -> String {
    let text = format!(
        "domain: d\npolicies:\n  - {{ name: p, key: [user], quota: {quota}, algorithm: fixed_window }}\n"
    );
    file(name, &text)
}

#[test]
fn m03_six_nodes_enforce_one_limit_in_every_window() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let nodes = nodes::<6>(Kind::Redis.shared(), "six:", &policies("six.yaml", "100/2s"));
    // How many were admitted in the window that ends at so many windows since the epoch.
    let mut admitted: BTreeMap<String, u64> = BTreeMap::new();
    let start = Barrier::new(nodes.len());
    let hammer = |node: SocketAddr| {
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        start.wait();
        // The first and the last window are cut off; the two between are whole.
        while seen.len() < 4 {
            let reply = post(node, "/v1/check", BODY);
            let body: Value = serde_json::from_str(&reply.body).unwrap();
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1_000.0;
            let end = (now + body["reset_after_ms"].as_f64().unwrap()) / WINDOW_MS;
            *seen.entry(format!("{end:.0}")).or_default() += u64::from(reply.status == 200);
        }
        seen
    };
    let hammer = &hammer;
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            nodes.iter().map(|node| node.http).map(|at| scope.spawn(move || hammer(at))).collect();
        for thread in threads {
            for (window, count) in thread.join().unwrap() {
                *admitted.entry(window).or_default() += count;
            }
        }
    });
    let counts: Vec<u64> = admitted.values().copied().collect();
    assert_eq!(counts[1..3], [100, 100], "{admitted:?}");
}

#[test]
fn g01_a_restart_of_all_nodes_keeps_what_was_used() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    for kind in [Kind::Redis, Kind::Valkey] {
        let (server, policies) = (kind.shared(), policies("restart.yaml", "10/100d"));
        let before = nodes::<1>(server, "restart:", &policies);
        (0..4).for_each(|_| assert_eq!(before[0].check(BODY).0, 200));
        drop(before);
        let after = nodes::<2>(server, "restart:", &policies);
        let statuses: Vec<u16> = (0..7).map(|i| after[i % 2].check(BODY).0).collect();
        assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 429]);
    }
}

#[test]
fn a_store_that_is_not_there_is_told_at_the_start() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let locked = Server::start_with(Kind::Redis, &["--requirepass", "hunter2"]);
    let not_redis = Node::start(&[]);
    let at = |port: u16| format!("redis://127.0.0.1:{port}");
    let shared = Kind::Redis.shared();
    let serve = |url: &str, variables: &[(&str, &str)]| {
        let mut command = weir(&["serve", "--http", "127.0.0.1:0", "--admin", "off"]);
        command.env("WEIR_STORE", url).envs(variables.iter().copied());
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(!said.contains("hunter"), "{said}");
        said
    };
    for (url, says) in [
        (at(1), "no server answers there"),
        (at(not_redis.http.port()), "no Redis or Valkey"),
        (at(locked.port), "NOAUTH"),
        (format!("redis://:hunter3@127.0.0.1:{}", locked.port), "refuses this user or password"),
        (format!("{}/99", shared.url()), "DB index"),
        (format!("{}/abc", shared.url()), "the database a number"),
        ("redis://".into(), "redis://host:port/database"),
    ] {
        let said = serve(&url, &[]);
        assert!(said.contains(says) && said.lines().count() == 1, "{url}: {said}");
    }
    let _first = nodes::<1>(shared, "weir:", &policies("first.yaml", "10/100d"));
    let said = serve(&shared.url(), &[("WEIR_KEY_SECRET", "a secret of its own")]);
    assert!(said.contains("another key secret"), "{said}");
}

#[test]
fn a_password_is_taken_from_the_environment_and_from_no_argument() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let locked = Server::start_with(Kind::Redis, &["--requirepass", "hunter2"]);
    let url = format!("redis://:hunter2@127.0.0.1:{}", locked.port);
    let output = weir(&["serve", "--store", &url]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("WEIR_STORE_PASSWORD") && !said.contains("hunter2"), "{said}");
    let policies = policies("locked.yaml", "10/100d");
    let node = Node::start_with(&[("WEIR_STORE", &url)], &[&policies]);
    assert_eq!(node.check(BODY).0, 200);
    let plain = format!("redis://127.0.0.1:{}", locked.port);
    let node = Node::start_with(&[("WEIR_STORE_PASSWORD", "hunter2")], &[&policies, "--store", &plain]);
    assert_eq!(node.check(BODY).0, 200);
}
