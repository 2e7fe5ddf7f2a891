//! `weir serve`: it answers, it says what it does, and it stops in order.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::node::{Node, connect, exchange, get, read_reply};
use super::{file, run, weir};

const FULL: &str = r#"{"attributes":{"tenant":"acme","path":"/v1/report/full"}}"#;

#[test]
fn without_a_file_it_runs_the_example() {
    let node = Node::start(&[]);
    for left in [60, 20] {
        let (status, body) = node.check(FULL);
        assert_eq!((status, body["charged"].as_u64()), (200, Some(40)));
        // Some of it flows back while the test runs.
        assert!((left..=left + 5).contains(&body["remaining"].as_u64().unwrap()), "{body}");
    }
    let (status, body) = node.check(FULL);
    assert_eq!((status, body["charged"].as_u64()), (429, Some(0)));
}

#[test]
fn the_admin_port_tells_life_readiness_and_metrics() {
    let node = Node::start(&[]);
    node.check(FULL);
    assert_eq!(get(node.admin, "/livez").status, 200);
    assert_eq!(get(node.admin, "/readyz").body, "ready\n");
    let metrics = get(node.admin, "/metrics");
    assert!(metrics.head.contains("application/openmetrics-text"));
    assert!(metrics.body.contains("weir_charged_total{policy=\"per-tenant\",unit=\"units\"} 40"));
    assert!(metrics.body.ends_with("# EOF\n"));
    assert_eq!(get(node.http, "/metrics").status, 404, "a door has no metrics");
    assert_eq!(get(node.admin, "/v1/check").status, 404, "the admin port is no door");
}

#[test]
fn a_stop_lets_open_requests_end_and_takes_no_more() {
    let mut node = Node::start(&[]);
    let mut open = expecting(&node, FULL.len());
    node.terminate();
    node.logged("stopping");
    let ready = get(node.admin, "/readyz");
    assert_eq!((ready.status, ready.body.as_str()), (503, "stopping\n"));
    open.write_all(FULL.as_bytes()).unwrap();
    assert_eq!(read_reply(&mut open).status, 200);
    assert!(node.wait().success());
}

/// A request whose head was read and whose body the node waits for: it has said so with a 100.
fn expecting(node: &Node, length: usize) -> TcpStream {
    let mut open = connect(node.http);
    let head = "POST /v1/check HTTP/1.1\r\nhost: weir\r\nconnection: close\r\nexpect: 100-continue\r\n";
    write!(open, "{head}content-length: {length}\r\n\r\n").unwrap();
    let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
    let mut said = vec![0; go_on.len()];
    open.read_exact(&mut said).unwrap();
    assert_eq!(said, go_on);
    open
}

#[test]
fn a_stop_has_a_deadline() {
    let mut node = Node::start(&["--drain", "0"]);
    let _open = expecting(&node, 5);
    node.terminate();
    assert!(node.wait().success());
}

#[test]
fn bytes_that_are_no_http_harm_nobody() {
    let node = Node::start(&[]);
    assert_eq!(exchange(node.http, b"\x00\xff\x16\x03 nonsense\r\n\r\n").status, 400);
    let headers = (0..200).map(|i| format!("x-{i}: y\r\n")).collect::<Vec<_>>().concat();
    assert_eq!(exchange(node.http, format!("GET / HTTP/1.1\r\n{headers}\r\n")).status, 431);
    let long = "x".repeat(100_000);
    assert_eq!(exchange(node.http, format!("GET / HTTP/1.1\r\nx: {long}\r\n\r\n")).status, 431);
    assert_eq!(exchange(node.http, format!("GET /{long} HTTP/1.1\r\n\r\n")).status, 431);
    let huge =
        "POST /v1/check HTTP/1.1\r\nhost: weir\r\ncontent-length: 99999999999\r\nconnection: close\r\n\r\n";
    assert_eq!(exchange(node.http, huge).status, 413);
    let unknown =
        format!("{}{}", "POST /v1/check HTTP/1.1\r\nhost: weir\r\n", "content-length: -1\r\n\r\n{}");
    assert_eq!(exchange(node.http, unknown).status, 400);
    assert_eq!(node.check("{}").0, 200, "others are unharmed");
}

#[test]
fn unknown_domains_are_admitted_where_the_settings_say_so() {
    let strict = Node::start(&[]);
    assert_eq!(strict.check(r#"{"domain":"elsewhere"}"#).0, 404);
    let lenient = Node::start(&["--unknown-domain", "admit"]);
    assert_eq!(lenient.check(r#"{"domain":"elsewhere"}"#).0, 200);
    for node in [&strict, &lenient] {
        assert!(
            get(node.admin, "/metrics").body.contains("weir_unknown_domain_total 1\n"),
            "a typo can be seen"
        );
    }
}

#[test]
fn g04_it_does_not_start_with_a_broken_policy_file() {
    let broken = file("broken.yaml", "domain: shop\npolicies:\n  - { name: p, quota: 5/fortnight }\n");
    let (code, stdout, stderr) = run(&["serve", &broken]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(
        stderr.contains("this is not a window") && stderr.contains(":3:23") && stderr.contains("not started"),
        "{stderr}"
    );
    let (code, _, stderr) = run(&["serve", "/nonexistent.yaml"]);
    assert_eq!(code, Some(2));
    assert!(stderr.starts_with("weir: cannot read /nonexistent.yaml: "), "{stderr}");
}

#[test]
fn wrong_settings_are_refused_with_what_to_do() {
    for (args, said) in [
        (&["--http", "8080"][..], "give an IP address with a port, such as 127.0.0.1:8080, or `off`"),
        (&["--store", "memroy:"], "a store is `memory:`"),
        (&["--http", "off"], "every door is off: give --http or --resp an address"),
        (&["--log", "x=y=z"], "--log"),
        (&["--log", "inof"], "a level (off, error, warn"),
        (&["--drain", "-1"], "a whole number from 0 to 3600"),
    ] {
        let (code, _, stderr) = run(&[&["serve"], args].concat());
        assert_eq!(code, Some(2), "{args:?}");
        assert!(stderr.contains(said), "{stderr}");
    }
    let node = Node::start(&[]);
    let (code, _, stderr) = run(&["serve", "--admin", "off", "--http", &node.http.to_string()]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("cannot listen there"), "{stderr}");
}

#[test]
fn settings_come_from_the_environment_as_well() {
    let output = weir(&["serve"]).env("WEIR_DRAIN", "soon").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--drain soon: a whole number from 0 to 3600"));
    let output = weir(&["serve"]).env("WEIR_KEY_SECRET", "hunter2").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("at least 16 characters") && !said.contains("hunter2"), "{said}");
}

#[test]
fn warnings_of_a_policy_file_are_logged() {
    let path =
        file("warned.yaml", "domain: shop\npolicies:\n  - { name: p, key: [header.x], quota: 5/minute }\n");
    let mut node = Node::starting(&[], &[&path]);
    let warning = node.logged("a client that leaves out `header.x` meets no enforced policy");
    assert_eq!((warning["line"].as_u64(), warning["level"].as_str()), (Some(3), Some("WARN")));
}
