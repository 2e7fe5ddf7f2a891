//! The door for Redis clients, with the programs that people ask it by.

use std::path::Path;
use std::process::Command;

use weir_servers::Kind;

use crate::node::Node;

const PASSWORD: &str = "hunter2";

/// A node with a door for Redis clients, and where that is.
fn node(variables: &[(&str, &str)]) -> (Node, [String; 2]) {
    let mut node = Node::starting(variables, &["--resp", "127.0.0.1:0"]);
    let listening = node.logged("listening");
    let (host, port) = listening["resp"].as_str().unwrap().rsplit_once(':').unwrap();
    let at = [host.to_owned(), port.to_owned()];
    (node, at)
}

/// What a program says that ends well.
fn said(mut command: Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

fn of_redis(program: &str, [host, port]: &[String; 2], args: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(["-h", host, "-p", port]).args(args);
    said(command)
}

/// A program that was installed for the tests, run by its interpreter.
fn client(interpreter: &str, variable: &str, library: &str, program: &str, [host, port]: &[String; 2]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = root.join("../../target/clients").join(library);
    assert!(
        library.exists(),
        "{} is not there: `./test` installs it, or set WEIR_WITHOUT_SERVERS=1",
        library.display()
    );
    let mut command = Command::new(interpreter);
    command.env(variable, library).arg(root.join("tests/weir/resp").join(program));
    command.args([host, port, PASSWORD]);
    said(command);
}

#[test]
fn redis_cli_and_redis_benchmark_find_what_they_need() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let (_node, at) = node(&[]);
    let throttle = ["CL.THROTTLE", "k", "15", "1", "86400"];
    assert_eq!(of_redis("redis-cli", &at, &throttle), "0\n16\n15\n-1\n86400\n");
    let three = of_redis("redis-cli", &at, &[&["-3"], &throttle[..]].concat());
    assert!(three.starts_with("0\n16\n14\n-1\n"), "{three}");
    let many = ["-n", "2000", "-c", "10", "-P", "16", "--csv", "CL.THROTTLE", "many", "99", "1", "86400"];
    let benchmark = of_redis("redis-benchmark", &at, &many);
    assert!(benchmark.contains("CL.THROTTLE many") && !benchmark.contains("WARNING"), "{benchmark}");
    // All of its questions were decided: 100 units are gone.
    let left = of_redis("redis-cli", &at, &["CL.THROTTLE", "many", "99", "1", "86400"]);
    assert!(left.starts_with("1\n100\n0\n"), "{left}");
}

#[test]
fn redis_py_ioredis_and_node_redis_ask_as_they_are() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let (_node, at) = node(&[("WEIR_RESP_PASSWORD", PASSWORD)]);
    assert!(of_redis("redis-cli", &at, &["PING"]).contains("NOAUTH"));
    assert_eq!(of_redis("redis-cli", &at, &["--no-auth-warning", "-a", PASSWORD, "PING"]), "PONG\n");
    client("python3", "PYTHONPATH", "python", "client.py", &at);
    client("node", "NODE_PATH", "node/node_modules", "client.js", &at);
}
