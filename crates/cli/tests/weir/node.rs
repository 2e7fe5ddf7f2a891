//! A running `weir serve` in the hands of a test, on free ports of the loopback interface.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A reply that takes longer fails the test instead of hanging it.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Node {
    child: Child,
    log: Receiver<String>,
    pub(crate) http: SocketAddr,
    pub(crate) admin: SocketAddr,
}

impl Node {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::starting(&[], args).listening()
    }

    /// A node with variables of its own.
    pub(crate) fn start_with(variables: &[(&str, &str)], args: &[&str]) -> Self {
        Self::starting(variables, args).listening()
    }

    pub(crate) fn listening(mut self) -> Self {
        let node = &mut self;
        let listening = node.logged("listening");
        let address = |name: &str| listening[name].as_str().unwrap().parse().unwrap();
        (node.http, node.admin) = (address("http"), address("admin"));
        self
    }

    /// A node whose log was not read yet.
    pub(crate) fn starting(variables: &[(&str, &str)], args: &[&str]) -> Self {
        let fixed = ["serve", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json"];
        let mut command = super::weir(&[&fixed[..], args].concat());
        command.envs(variables.iter().copied());
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let log = lines_of(child.stderr.take().unwrap());
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        Self { child, log, http: nowhere, admin: nowhere }
    }

    /// Reads the log up to the event with this message.
    pub(crate) fn logged(&mut self, message: &str) -> Value {
        let mut seen = String::new();
        loop {
            let Ok(line) = self.log.recv_timeout(PATIENCE) else {
                panic!("no {message:?} in the log:\n{seen}")
            };
            if let Ok(event) = serde_json::from_str::<Value>(&line)
                && event["message"] == message
            {
                return event;
            }
            seen = seen + &line + "\n";
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The resident memory of the node.
    pub(crate) fn resident_kilobytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends the node a signal: `TERM`, `STOP`, `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.id().to_string();
        assert!(std::process::Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// `POST`s a body and returns the status and the body of the reply.
    pub(crate) fn check(&self, body: &str) -> (u16, Value) {
        self.post("/v1/check", body)
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> (u16, Value) {
        let reply = post(self.http, path, body);
        (reply.status, serde_json::from_str(&reply.body).unwrap())
    }
}

/// The lines of a log, as they come. The thread that reads them ends with the log.
fn lines_of(log: ChildStderr) -> Receiver<String> {
    let (line, lines) = channel();
    std::thread::spawn(move || {
        BufReader::new(log).lines().map_while(Result::ok).all(|text| line.send(text).is_ok());
    });
    lines
}

impl Drop for Node {
    fn drop(&mut self) {
        // A test that failed leaves no process behind; one that passed has none to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Reply {
    exchange(address, format!("GET {path} HTTP/1.1\r\nhost: weir\r\nconnection: close\r\n\r\n"))
}

pub(crate) fn post(address: SocketAddr, path: &str, body: &str) -> Reply {
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nhost: weir\r\ncontent-type: application/json\r\n");
    exchange(address, format!("{head}content-length: {length}\r\nconnection: close\r\n\r\n{body}"))
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub(crate) fn exchange(address: SocketAddr, bytes: impl AsRef<[u8]>) -> Reply {
    let mut stream = connect(address);
    // A server that refuses early may close before everything is written.
    let _ = stream.write_all(bytes.as_ref());
    read_reply(&mut stream)
}

pub(crate) fn read_reply(stream: &mut TcpStream) -> Reply {
    let mut bytes = Vec::new();
    // A reset after the reply, where not everything was read, is no failure either.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Reply { status, head: head.to_owned(), body: body.to_owned() }
}

/// Waits until it is so. Who comes and goes tells nobody, so it is asked again and again.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(10), "still not so: {what}");
        std::thread::yield_now();
    }
}
