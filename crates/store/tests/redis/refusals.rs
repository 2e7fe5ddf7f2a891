//! What a server says of itself is taken for what it is: it has charged nothing, nothing is lost, and it counts again
//! soon after it is well.

use std::thread;
use std::time::{Duration, Instant};

use redis::cmd;
use weir_core::{Algorithm, Answer, Op, Rule, Span, Store as _};
use weir_servers::{Kind, Server};
use weir_store::{RedisSettings, RedisStore};

use crate::block_on;
use crate::cases::{OWN, admitted, ask, rule};

const DEADLINE: Duration = Duration::from_millis(100);
/// One comes back by itself, in its own time.
const PATIENCE: Duration = Duration::from_secs(10);

fn ten() -> Rule {
    rule(Algorithm::FixedWindow, 10, Span::from_secs(864_000_000))
}

/// Four of ten are used, then the server is made unwell, asked, and made well.
fn a_server_that_is(what: &str, arguments: &[&str], unwell: fn(&Server), well: fn(&Server)) {
    for kind in Kind::wanted() {
        let server = Server::start(kind, arguments);
        block_on(async {
            let settings = RedisSettings::parse(&server.url()).unwrap().with_deadline(DEADLINE);
            let store = RedisStore::connect(&settings, &OWN).await.unwrap().0;
            assert_eq!(admitted(&store, "k", ten(), 4).await, 4);
            unwell(&server);
            // Until it says so itself, its silence may be met, or the last of its health.
            let start = Instant::now();
            let many = rule(Algorithm::FixedWindow, 1_000_000, Span::from_secs(864_000_000));
            let of_this_kind =
                || store.stats().failed.iter().any(|(kind, count)| *kind == what && *count > 0);
            while !of_this_kind() {
                ask(&store, "other", many, Op::Take(1)).await;
                assert!(start.elapsed() < PATIENCE, "{what}: {:?}", store.stats());
            }
            while store.trouble().is_none() {
                let answer = ask(&store, "k", ten(), Op::Take(1)).await;
                assert!(matches!(answer, Answer::Unavailable { sent: false }), "{what}: {answer:?}");
            }
            well(&server);
            let start = Instant::now();
            while store.trouble().is_some() {
                assert!(start.elapsed() < PATIENCE, "{what}: not asked again");
            }
            assert_eq!(admitted(&store, "k", ten(), 10).await, 6, "{what}: nothing was charged or lost");
        });
    }
}

fn set(server: &Server, name: &str, value: &str) {
    server.query::<()>(cmd("CONFIG").arg("SET").arg(name).arg(value));
}

/// Has another client keep the server busy; whether that goes well is nobody's matter.
fn meanwhile(server: &Server, command: redis::Cmd) {
    let client = redis::Client::open(server.url()).unwrap();
    thread::spawn(move || drop(client.get_connection().map(|mut connection| command.exec(&mut connection))));
}

#[test]
fn a_server_that_is_busy_with_a_script_of_others_is_not_waited_for() {
    let unwell = |server: &Server| {
        let mut endless = cmd("EVAL");
        endless.arg("while true do end").arg(0);
        meanwhile(server, endless);
    };
    let well = |server: &Server| server.query::<()>(cmd("SCRIPT").arg("KILL"));
    a_server_that_is("busy", &["--lua-time-limit", "1"], unwell, well);
}

#[test]
fn a_server_that_loads_what_it_kept_is_asked_again_when_it_has() {
    let unwell = |server: &Server| {
        let many = "for i = 1, 4000 do redis.call('SET', 'x' .. i, string.rep('x', 64)) end";
        server.query::<()>(cmd("EVAL").arg(many).arg(0));
        set(server, "key-load-delay", "250");
        meanwhile(server, cmd("DEBUG").arg("RELOAD").to_owned());
    };
    // It comes back by itself.
    let slowly = ["--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024"];
    a_server_that_is("loading", &slowly, unwell, |_| {});
}

#[test]
fn a_server_that_cannot_save_keeps_what_it_has() {
    let unwell = |server: &Server| {
        let [_, folder]: [String; 2] = server.query(cmd("CONFIG").arg("GET").arg("dir"));
        std::fs::remove_dir_all(folder).unwrap();
        server.query::<String>(&cmd("BGSAVE"));
    };
    let well = |server: &Server| set(server, "stop-writes-on-bgsave-error", "no");
    a_server_that_is("cannot_save", &["--save", "3600 1"], unwell, well);
}

#[test]
fn a_server_that_lacks_replicas_or_is_one_counts_nothing() {
    let unwell = |server: &Server| set(server, "min-replicas-to-write", "1");
    a_server_that_is("read_only", &[], unwell, |server| set(server, "min-replicas-to-write", "0"));
    let unwell = |server: &Server| server.query::<()>(cmd("REPLICAOF").arg("127.0.0.1").arg(1));
    let well = |server: &Server| server.query::<()>(cmd("REPLICAOF").arg("NO").arg("ONE"));
    a_server_that_is("read_only", &[], unwell, well);
}
