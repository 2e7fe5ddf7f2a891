//! Real servers for tests: started once for each test program, on a free port of loopback, in memory only, and
//! gone when the program ends, however it ends.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// What is started.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Redis,
    Valkey,
}

/// A server that runs as long as this lives, and no longer than the program.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) port: u16,
    /// Its standard input is a pipe from us: when that closes, the server is stopped.
    _child: Child,
}

impl Kind {
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Redis => ("WEIR_REDIS_SERVER", "redis-server"),
            Self::Valkey => ("WEIR_VALKEY_SERVER", "valkey-server"),
        }
    }

    /// Whether tests that need a server are to be run. They are, and fail where there is none, unless they are
    /// told to go without.
    pub(crate) fn is_wanted(self) -> bool {
        let is_wanted = std::env::var_os("WEIR_WITHOUT_SERVERS").is_none();
        if !is_wanted {
            println!("not run, by WEIR_WITHOUT_SERVERS: what needs {}", self.names().1);
        }
        is_wanted
    }

    /// The server of this kind that all tests of a program share.
    pub(crate) fn shared(self) -> &'static Server {
        static REDIS: OnceLock<Server> = OnceLock::new();
        static VALKEY: OnceLock<Server> = OnceLock::new();
        let server = match self {
            Self::Redis => &REDIS,
            Self::Valkey => &VALKEY,
        };
        server.get_or_init(|| Server::start(self))
    }
}

impl Server {
    /// Starts a server and waits until it takes connections.
    pub(crate) fn start(kind: Kind) -> Self {
        Self::start_with(kind, &[])
    }

    /// The same with further arguments.
    pub(crate) fn start_with(kind: Kind, arguments: &[&str]) -> Self {
        let (variable, name) = kind.names();
        let program = std::env::var(variable).unwrap_or_else(|_| name.to_owned());
        let port = free_port();
        let script = "exec 3<&0; \"$0\" \"$@\" & server=$!; \
            { cat <&3; kill $server; } > /dev/null 2>&1 & wait $server";
        let mut child = Command::new("sh")
            .args(["-c", script, &program, "--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no", "--dir", "/tmp"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let mut lines = output.lines().map_while(Result::ok);
        let is_ready = lines.by_ref().any(|line| line.contains("Ready to accept connections"));
        assert!(is_ready, "{program} did not start: `./test` installs it, or name it by {variable}");
        // What it says later is read, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self { port, _child: child }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    listener.local_addr().expect("its address").port()
}
