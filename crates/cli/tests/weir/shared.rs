//! `weir serve --store redis:`: nodes that count together, and stores that are not there.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use weir_servers::{Cluster, Kind, Server};

use super::node::{Node, get, post, until};
use super::{file, weir};

const BODY: &str = r#"{"attributes":{"user":"ada"}}"#;

/// Nodes that count on servers under a prefix of their own. They are given time, since the machine may be busy.
pub(crate) fn nodes<const N: usize>(url: &str, prefix: &str, policies: &str) -> [Node; N] {
    [(); N].map(|()| {
        Node::start(&[policies, "--store", url, "--store-prefix", prefix, "--store-deadline", "10s"])
    })
}

/// The same with wall clocks that are hours apart.
fn nodes_of_different_times(url: &str, prefix: &str, policies: &str) -> Vec<Node> {
    let start = |shift: &&str| {
        let clock = [("LD_PRELOAD", faketime()), ("FAKETIME", shift), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")];
        Node::start_with(
            &clock,
            &[policies, "--store", url, "--store-prefix", prefix, "--store-deadline", "10s"],
        )
    };
    ["+0", "+1s", "-1s", "+90m", "-7h", "+12d"].iter().map(start).collect()
}

/// The library that shows a program another time.
fn faketime() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        std::env::var("WEIR_FAKETIME").unwrap_or_else(|_| {
            let found = std::process::Command::new("find")
                .args(["/usr/lib", "-name", "libfaketimeMT.so.1"])
                .output()
                .ok()
                .and_then(|output| String::from_utf8(output.stdout).ok()?.lines().next().map(str::to_owned));
            found.expect("libfaketimeMT.so.1: `./test` installs it, or name it by WEIR_FAKETIME")
        })
    })
}

fn policies(name: &str, quota: &str) -> String {
    let text = format!(
        "domain: d\npolicies:\n  - {{ name: p, key: [user], quota: {quota}, algorithm: fixed_window }}\n"
    );
    file(name, &text)
}

/// Six nodes on one limit of 100 a window, asked by a thread each through two whole windows and a part of those
/// around them. `WEIR_WINDOW_SECONDS` makes the windows longer.
fn six_nodes_enforce_one_limit(url: &str, prefix: &str) {
    let seconds: u32 = std::env::var("WEIR_WINDOW_SECONDS").map_or(2, |text| text.parse().unwrap());
    let window_ms = f64::from(seconds) * 1_000.0;
    let policies = policies(&format!("{prefix}yaml"), &format!("100/{seconds}s"));
    let nodes = nodes_of_different_times(url, prefix, &policies);
    // How many were admitted in the window that ends at so many windows since the epoch, by this test's clock,
    // which is the servers' too.
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
            let end = (now + body["reset_after_ms"].as_f64().unwrap()) / window_ms;
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
    println!("admitted by window of {seconds} s, the first and the last cut off: {admitted:?}");
    let counts: Vec<u64> = admitted.values().copied().collect();
    assert_eq!(counts[1..3], [100, 100], "{admitted:?}");
}

#[test]
fn m03_six_nodes_with_clocks_apart_enforce_one_limit_on_one_server() {
    if Kind::Redis.is_wanted() {
        six_nodes_enforce_one_limit(&Kind::Redis.shared().url(), "six:");
    }
}

#[test]
fn m03_six_nodes_with_clocks_apart_enforce_one_limit_on_a_cluster() {
    if Kind::Redis.is_wanted() {
        six_nodes_enforce_one_limit(&Cluster::shared(Kind::Redis).url(), "six-on-cluster:");
    }
}

#[test]
fn t03_a_calendar_day_is_the_servers_whatever_the_nodes_clocks_say() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let policies = policies("day.yaml", "10/day, time_zone: Asia/Tokyo");
    let nodes = nodes_of_different_times(&Kind::Redis.shared().url(), "day:", &policies);
    let ends: Vec<f64> =
        nodes.iter().map(|node| node.check(BODY).1["reset_after_ms"].as_f64().unwrap()).collect();
    let spread =
        ends.iter().copied().fold(f64::MIN, f64::max) - ends.iter().copied().fold(f64::MAX, f64::min);
    // Beside a midnight that falls between two of these requests, one end is the next day's.
    let apart = spread.min((spread - 86_400_000.0).abs());
    assert!(apart < 60_000.0, "{ends:?}");
}

#[test]
fn g01_a_restart_of_all_nodes_keeps_what_was_used() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    for kind in Kind::ALL {
        let (server, policies) = (kind.shared(), policies("restart.yaml", "10/100d"));
        let before = nodes::<1>(&server.url(), "restart:", &policies);
        (0..4).for_each(|_| assert_eq!(before[0].check(BODY).0, 200));
        drop(before);
        let after = nodes::<2>(&server.url(), "restart:", &policies);
        let statuses: Vec<u16> = (0..7).map(|i| after[i % 2].check(BODY).0).collect();
        assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 429]);
    }
}

#[test]
fn a_store_that_refuses_its_node_is_told_at_the_start() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let locked = Server::start(Kind::Redis, &["--requirepass", "hunter2"]);
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
        (at(not_redis.http.port()), "no Redis or Valkey"),
        (at(locked.port), "NOAUTH"),
        (format!("redis://:hunter3@127.0.0.1:{}", locked.port), "refuses this user or password"),
        (format!("redis+cluster://u:hunter3@127.0.0.1:{}", locked.port), "refuses this user or password"),
        (format!("redis+sentinel://127.0.0.1:{}/main", locked.port), "NOAUTH"),
        (format!("{}/99", shared.url()), "DB index"),
        (format!("{}/abc", shared.url()), "the database a number"),
        ("redis://".into(), "redis://host:port/database"),
        (format!("redis+cluster://127.0.0.1:{}", shared.port), "stands alone"),
        ("redis+sentinel://127.0.0.1:1".into(), "the name is missing"),
    ] {
        let said = serve(&url, &[]);
        assert!(said.contains(says) && said.lines().count() == 1, "{url}: {said}");
    }
    // Away, it is waited for, unless it is required.
    let said = serve(&at(1), &[("WEIR_STORE_AT_START", "require")]);
    assert!(said.contains("no server answers there") && said.lines().count() == 1, "{said}");
    let _first = nodes::<1>(&shared.url(), "weir:", &policies("first.yaml", "10/100d"));
    let said = serve(&shared.url(), &[("WEIR_KEY_SECRET", "a secret of its own")]);
    assert!(said.contains("another key secret"), "{said}");
}

#[test]
fn a_password_is_taken_from_the_environment_and_from_no_argument() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let locked = Server::start(Kind::Redis, &["--requirepass", "hunter2"]);
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

#[test]
fn r08_each_policy_answers_by_its_own_posture_while_the_store_is_away() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let server = Server::start(Kind::Redis, &[]);
    let text = "
domain: d
policies:
  - { name: guarded, key: [user], when: { path: /pay }, quota: 3/100d, on_store_failure: closed }
  - { name: served, key: [user], when: { path: /read }, quota: 3/100d, on_store_failure: open }
";
    let policies = file("postures.yaml", text);
    let node = Node::start(&[&policies, "--store", &server.url(), "--store-deadline", "100ms"]);
    let ask = |path: &str| {
        post(node.http, "/v1/check", &format!(r#"{{"attributes":{{"user":"ada","path":"{path}"}}}}"#))
    };
    assert_eq!([ask("/pay").status, ask("/read").status], [200, 200]);
    assert!(!get(node.admin, "/readyz").body.contains("degraded"));
    server.signal("STOP");
    for _ in 0..50 {
        let (paying, reading) = (ask("/pay"), ask("/read"));
        assert_eq!([paying.status, reading.status], [503, 200]);
        assert!(
            !paying.head.contains("retry-after") && !reading.head.contains("ratelimit:"),
            "nothing is made up"
        );
    }
    let ready = get(node.admin, "/readyz");
    assert!(
        ready.status == 200 && ready.body.contains("degraded: the store does not answer"),
        "{}",
        ready.body
    );
    let metrics = get(node.admin, "/metrics").body;
    let value = |name: &str| -> f64 {
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
            .unwrap_or_else(|| panic!("no {name}"));
        line.trim().parse().unwrap()
    };
    assert!((value("weir_store_breaker_open") - 1.0).abs() < 1e-9);
    assert!(value("weir_store_errors_total{kind=\"timeout\"}") >= 5.0);
    assert!(value("weir_store_refused_total") > 50.0);
    assert!((value("weir_degraded_total{policy=\"guarded\",posture=\"closed\"}") - 50.0).abs() < 1e-9);
    server.signal("CONT");
    let start = Instant::now();
    while ask("/pay").status == 503 {
        assert!(start.elapsed() < Duration::from_secs(2), "it is not asked again");
    }
    assert!(!get(node.admin, "/readyz").body.contains("degraded"));
}

#[test]
fn r08_local_admits_no_more_than_a_share_in_each_process() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let server = Server::start(Kind::Redis, &[]);
    let text = "
domain: d
policies:
  - { name: shared, key: [user], quota: 3/100d, on_store_failure: local }
  - { name: watching, key: [user], quota: 1/100d, on_store_failure: local, mode: shadow }
";
    let policies = file("local.yaml", text);
    for count in [1, 3] {
        let nodes: Vec<Node> = (0..count)
            .map(|_| {
                let (url, prefix) = (server.url(), format!("{count}-nodes:"));
                let store = ["--store", &url, "--store-prefix", &prefix, "--store-deadline", "100ms"];
                Node::start(&[&[policies.as_str()], &store[..]].concat())
            })
            .collect();
        // They count each other.
        let counted = format!("weir_nodes {count}.0\n");
        for node in &nodes {
            until("all are counted", || get(node.admin, "/metrics").body.contains(&counted));
        }
        server.signal("STOP");
        for node in &nodes {
            let body = format!(r#"{{"attributes":{{"user":"{count}"}}}}"#);
            let answers: Vec<_> = (0..100).map(|_| post(node.http, "/v1/check", &body)).collect();
            let with = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
            assert_eq!([with(200), with(429)], [3 / count, 100 - 3 / count]);
            assert!(answers.iter().all(|answer| answer.body.contains(r#""degraded":true"#)));
            assert!(answers[99].head.contains("retry-after: "), "{}", answers[99].head);
            let metrics = get(node.admin, "/metrics").body;
            assert!(metrics.contains("weir_degraded_total{policy=\"shared\",posture=\"local\"} 100\n"));
        }
        server.signal("CONT");
    }
}

#[test]
fn faults_on_purpose_are_told_counted_and_answered_by_posture() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let url = Kind::Redis.shared().url();
    for (fault, counted, status) in [
        ("store: fail 100%", "errors_total{kind=\"connection\"} 2", [503, 503]),
        ("store: drop 100%", "given_up_total 2", [503, 503]),
        ("store: delay 20ms 100%", "given_up_total 0", [200, 200]),
    ] {
        let text = "
domain: d
policies:
  - { name: guarded, key: [user], quota: 9/100d, on_store_failure: closed }
";
        let policies = file("faults.yaml", text);
        let prefix = format!("{}:", fault.replace(' ', "-"));
        let arguments = [&policies, "--store", &url, "--store-prefix", &prefix, "--store-deadline", "200ms"];
        let mut node = Node::starting(&[("WEIR_FAULT", fault)], &arguments);
        node = node.listening();
        let told = node.logged("calls to the store go wrong ON PURPOSE (--fault): not for production");
        assert!(fault.ends_with(told["fault"].as_str().unwrap()), "{told}");
        assert_eq!([node.check(BODY).0, node.check(BODY).0], status, "{fault}");
        let metrics = get(node.admin, "/metrics").body;
        assert!(metrics.contains("weir_store_faults_total 2\n"), "{fault}");
        assert!(metrics.contains(&format!("weir_store_{counted}\n")), "{fault}: {metrics}");
    }
}
