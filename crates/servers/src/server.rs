//! One server.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use redis::{Cmd, Connection, FromRedisValue};

/// What is started.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `redis-server`, or what `WEIR_REDIS_SERVER` names.
    Redis,
    /// `valkey-server`, or what `WEIR_VALKEY_SERVER` names.
    Valkey,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Redis, Self::Valkey];

    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Redis => ("WEIR_REDIS_SERVER", "redis-server"),
            Self::Valkey => ("WEIR_VALKEY_SERVER", "valkey-server"),
        }
    }

    /// Whether tests that need a server are to be run. They are, and fail where there is none, unless they are
    /// told to go without.
    pub fn is_wanted(self) -> bool {
        let is_wanted = std::env::var_os("WEIR_WITHOUT_SERVERS").is_none();
        if !is_wanted {
            println!("not run, by WEIR_WITHOUT_SERVERS: what needs {}", self.names().1);
        }
        is_wanted
    }

    /// All that are wanted.
    pub fn wanted() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| kind.is_wanted())
    }

    /// The server of this kind that all tests of a program share.
    pub fn shared(self) -> &'static Server {
        static REDIS: OnceLock<Server> = OnceLock::new();
        static VALKEY: OnceLock<Server> = OnceLock::new();
        let server = match self {
            Self::Redis => &REDIS,
            Self::Valkey => &VALKEY,
        };
        server.get_or_init(|| Server::start(self, &[]))
    }
}

/// A server that runs as long as this lives, and no longer than the program.
#[derive(Debug)]
pub struct Server {
    /// Where it listens, on loopback.
    pub port: u16,
    /// The server's own process.
    process: u32,
    /// Its standard input is a pipe from us: when that closes, the server is stopped.
    _shell: Child,
}

/// Starts the server in a folder of its own, tells its process, and ends it when nobody holds the other end of the
/// pipe any more. A stopped process would not end, so it is waked first.
const SHELL: &str = r#"
    exec 3<&0
    mkdir -p "$FOLDER" && cd "$FOLDER"
    [ -z "$CONFIG" ] || printf '%s\n' "$CONFIG" > own.conf
    sh -c 'echo $$; exec "$0" "$@"' "$0" "$@" &
    server=$!
    { cat <&3; kill $server; kill -CONT $server; } > /dev/null 2>&1 &
    wait $server
    rm -rf "$FOLDER""#;

impl Server {
    /// Starts a server with these further arguments and waits until it takes connections.
    pub fn start(kind: Kind, arguments: &[&str]) -> Self {
        Self::start_at(kind, free_port(), arguments)
    }

    /// The same at this port, where one was before.
    pub fn start_at(kind: Kind, port: u16, arguments: &[&str]) -> Self {
        let own = ["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
        Self::run(kind, port, "", &[&own, arguments].concat())
    }

    /// Starts a server by a configuration that it may write to.
    pub(crate) fn start_by(kind: Kind, port: u16, config: &str, arguments: &[&str]) -> Self {
        Self::run(kind, port, config, &[&["own.conf"], arguments].concat())
    }

    /// Starts a server that takes connections over TLS alone, with these files: its certificate, the key of that,
    /// and the authority's certificate, which those of clients are to be signed by.
    pub fn start_tls(kind: Kind, [certificate, key, authority]: [&Path; 3], arguments: &[&str]) -> Self {
        let port = free_port();
        let text = |path: &Path| path.display().to_string();
        let config = format!(
            "port 0\ntls-port {port}\nbind 127.0.0.1\nsave \"\"\ntls-cert-file {}\ntls-key-file {}\n\
             tls-ca-cert-file {}",
            text(certificate),
            text(key),
            text(authority)
        );
        Self::start_by(kind, port, &config, arguments)
    }

    fn run(kind: Kind, port: u16, config: &str, arguments: &[&str]) -> Self {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let (variable, name) = kind.names();
        let program = std::env::var(variable).unwrap_or_else(|_| name.to_owned());
        let folder: PathBuf = std::env::temp_dir().join(format!(
            "weir-server-{}-{}",
            std::process::id(),
            FOLDERS.fetch_add(1, Ordering::Relaxed)
        ));
        let mut shell = Command::new("sh")
            .args(["-c", SHELL, &program])
            .args(arguments)
            .env("FOLDER", folder)
            .env("CONFIG", config)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let output = BufReader::new(shell.stdout.take().expect("its output"));
        let mut lines = output.lines().map_while(Result::ok);
        let process = lines.next().and_then(|line| line.parse().ok()).expect("the process of the server");
        let is_ready =
            |line: String| ["Ready to accept", "Sentinel ID"].iter().any(|said| line.contains(said));
        assert!(
            lines.by_ref().any(is_ready),
            "{program} did not start: `./test` installs it, or name it by {variable}"
        );
        // What it says later is read, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self { port, process, _shell: shell }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Its process, to be measured.
    pub const fn process(&self) -> u32 {
        self.process
    }

    /// Sends its process a signal: `KILL`, `STOP`, `CONT`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.process.to_string()]).status();
        assert!(status.is_ok_and(|status| status.success()), "kill -s {name}");
    }

    /// Asks it something.
    pub fn query<T: FromRedisValue>(&self, command: &Cmd) -> T {
        command.query(&mut self.connection()).expect("an answer")
    }

    pub(crate) fn connection(&self) -> Connection {
        redis::Client::open(self.url()).and_then(|client| client.get_connection()).expect("a connection")
    }

    /// Whether what it says under `INFO` or `CLUSTER INFO` has this line.
    pub(crate) fn says(&self, command: &[&str], line: &str) -> bool {
        let text: String = self.query(&words(command));
        text.lines().any(|said| said == line)
    }
}

/// A command of these words.
pub(crate) fn words(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    command.arg(words);
    command
}

/// A port that nobody listens at, and that nobody else is given: it is below those that systems give to
/// connections.
pub(crate) fn free_port() -> u16 {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(97);
    loop {
        let number = start.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % 22_000;
        let port = 10_000 + u16::try_from(number).unwrap_or_default();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
