//! The door for Redis clients, with the programs that come with Redis.

use std::process::Command;

use crate::node::Node;

fn output(program: &str, args: &[&str]) -> String {
    let output =
        Command::new(program).args(args).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{program} {args:?}: {}", text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn redis_cli_and_redis_benchmark_find_what_they_need() {
    let mut node = Node::starting(&[], &["--resp", "127.0.0.1:0"]);
    let listening = node.logged("listening");
    let address = listening["resp"].as_str().unwrap();
    let (host, port) = address.rsplit_once(':').unwrap();
    let at = ["-h", host, "-p", port];
    let throttle = ["CL.THROTTLE", "k", "15", "1", "86400"];
    assert_eq!(output("redis-cli", &[&at[..], &throttle].concat()), "0\n16\n15\n-1\n86400\n");
    let three = output("redis-cli", &[&at[..], &["-3"], &throttle].concat());
    assert!(three.starts_with("0\n16\n14\n-1\n"), "{three}");
    let many = ["-n", "2000", "-c", "10", "-P", "16", "--csv", "CL.THROTTLE", "many", "99", "1", "86400"];
    let benchmark = output("redis-benchmark", &[&at[..], &many].concat());
    assert!(benchmark.contains("CL.THROTTLE many") && !benchmark.contains("WARNING"), "{benchmark}");
    // All of its questions were decided: 100 units are gone.
    let left = output("redis-cli", &[&at[..], &["CL.THROTTLE", "many", "99", "1", "86400"]].concat());
    assert!(left.starts_with("1\n100\n0\n"), "{left}");
}

#[test]
fn a_locked_door_opens_to_redis_cli_with_the_password() {
    let mut node = Node::starting(&[("WEIR_RESP_PASSWORD", "hunter2")], &["--resp", "127.0.0.1:0"]);
    let listening = node.logged("listening");
    let (host, port) = listening["resp"].as_str().unwrap().rsplit_once(':').unwrap();
    let at = ["-h", host, "-p", port];
    assert!(output("redis-cli", &[&at[..], &["PING"]].concat()).contains("NOAUTH"));
    assert_eq!(
        output("redis-cli", &[&at[..], &["--no-auth-warning", "-a", "hunter2", "PING"]].concat()),
        "PONG\n"
    );
}
