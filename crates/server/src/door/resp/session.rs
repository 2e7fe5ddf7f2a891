//! One connection: what was read is decided together, as far as it came together.

use std::io;
use std::time::Duration;

use subtle::ConstantTimeEq as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use weir_core::{Store, Throttle};

use super::command::{self, Command};
use super::reply::{Protocol, Replies};
use super::{Shared, frame, greeting, throttle};

/// A client that has begun a command ends it within this time, and takes its answers within this.
const PATIENCE: Duration = Duration::from_secs(10);
/// So much is read at a time.
const CHUNK: usize = 16 * 1024;
/// So many questions are decided in one call: more would keep a store from others.
const TOGETHER_MAX: usize = 128;
/// A name is kept as long as its connection.
const NAME_MAX: usize = 128;
const NAME_TOO_LONG: &str = "ERR a client's name has at most 128 bytes";
const NOT_KNOWN: &str = "NOAUTH Authentication required.";

pub(super) struct Session<'a, S> {
    door: &'a Shared<S>,
    number: u64,
    name: Vec<u8>,
    is_known: bool,
    out: Replies,
}

/// Whether a connection goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Go,
    Stop,
}

impl<'a, S: Store> Session<'a, S> {
    pub(super) fn new(door: &'a Shared<S>, number: u64) -> Self {
        let out = Replies { protocol: Protocol::Two, bytes: Vec::new() };
        Self { door, number, name: Vec::new(), is_known: door.password.is_none(), out }
    }

    pub(super) async fn run(mut self, stream: &mut TcpStream) -> io::Result<()> {
        let mut read = Vec::new();
        let mut due = Instant::now();
        loop {
            // A client that is silent between commands takes no room.
            if read.is_empty() {
                tokio::select! {
                    biased;
                    () = self.door.shutdown.asked() => return Ok(()),
                    ready = stream.readable() => ready?,
                }
                due = Instant::now() + PATIENCE;
            } else if timeout_at(due, stream.readable()).await.is_err() {
                return Ok(());
            }
            read.reserve(CHUNK);
            match stream.try_read_buf(&mut read) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            }
            let (taken, next) = self.answer(&read).await;
            read.drain(..taken);
            // Nor does one that has begun a command take more than it has sent.
            read.shrink_to_fit();
            if taken > 0 {
                due = Instant::now() + PATIENCE;
            }
            let written = timeout(PATIENCE, stream.write_all(&self.out.bytes)).await;
            written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
            self.out.bytes = Vec::new();
            if next == Next::Stop {
                return stream.shutdown().await;
            }
        }
    }

    /// Answers every command that is whole; how many bytes those took.
    async fn answer(&mut self, read: &[u8]) -> (usize, Next) {
        let mut taken = 0;
        let mut waiting: Vec<Throttle<'_>> = Vec::new();
        loop {
            let rest = read.get(taken..).unwrap_or_default();
            let (words, length) = match frame::first(rest) {
                Ok(Some(found)) => found,
                Ok(None) => {
                    self.decide(&mut waiting).await;
                    return (taken, Next::Go);
                }
                Err(broken) => {
                    self.decide(&mut waiting).await;
                    self.door.node.telemetry().bad_request();
                    self.out.error(&format!("ERR Protocol error: {broken}"));
                    return (taken, Next::Stop);
                }
            };
            taken += length;
            let words: Vec<&[u8]> = words.into_iter().filter_map(|word| rest.get(word)).collect();
            if words.is_empty() {
                continue;
            }
            match command::read(&words) {
                Command::Throttle(throttle) if self.is_known => {
                    waiting.push(throttle);
                    if waiting.len() == TOGETHER_MAX {
                        self.decide(&mut waiting).await;
                    }
                }
                other => {
                    self.decide(&mut waiting).await;
                    if self.obey(other) == Next::Stop {
                        return (taken, Next::Stop);
                    }
                }
            }
        }
    }

    /// Decides what waits, in one call.
    async fn decide(&mut self, waiting: &mut Vec<Throttle<'_>>) {
        if waiting.is_empty() {
            return;
        }
        for answer in self.door.node.throttle(waiting).await {
            if answer.is_err() {
                self.door.node.telemetry().bad_request();
            }
            throttle::answer(&answer, &mut self.out);
        }
        waiting.clear();
    }

    fn obey(&mut self, command: Command<'_, '_>) -> Next {
        let out = &mut self.out;
        match command {
            Command::Hello(words) => self.hello(words),
            Command::Auth(words) => self.auth(words),
            Command::Quit => {
                out.simple("OK");
                return Next::Stop;
            }
            Command::Foreign => return Next::Stop,
            // One that is known is not obeyed here, but decided together with others.
            Command::Throttle(_) => out.error(NOT_KNOWN),
            _ if !self.is_known => out.error(NOT_KNOWN),
            Command::Ping(None) => out.simple("PONG"),
            Command::Ping(Some(text)) | Command::Echo(text) => out.string(text),
            Command::Fine => out.simple("OK"),
            Command::Id => out.integer(i64::try_from(self.number).unwrap_or(i64::MAX)),
            Command::Name if self.name.is_empty() => out.nothing(),
            Command::Name => out.string(&self.name),
            Command::SetName(name) if name.len() > NAME_MAX => out.error(NAME_TOO_LONG),
            Command::SetName(name) => {
                self.name = name.to_vec();
                out.simple("OK");
            }
            Command::Nothing => out.array(0),
            Command::Info => greeting::info(out),
            Command::Config(names) => greeting::config(names, out),
            Command::Count => out.integer(0),
            Command::Reset => {
                (out.protocol, self.is_known) = (Protocol::Two, self.door.password.is_none());
                self.name.clear();
                out.simple("RESET");
            }
            Command::Refused(text) => {
                self.door.node.telemetry().bad_request();
                out.error(&text);
            }
        }
        Next::Go
    }

    /// `HELLO [2|3 [AUTH user password] [SETNAME name]]`.
    fn hello(&mut self, words: &[&[u8]]) {
        let (version, mut options) = match words {
            [] => (None, words),
            [version, options @ ..] => (Some(*version), options),
        };
        let protocol = match version {
            None => self.out.protocol,
            Some(b"2") => Protocol::Two,
            Some(b"3") => Protocol::Three,
            Some(_) => return self.out.error("NOPROTO unsupported protocol version"),
        };
        let (mut is_known, mut name) = (self.is_known, None);
        loop {
            options = match options {
                [] => break,
                [word, user, password, rest @ ..] if word.eq_ignore_ascii_case(b"AUTH") => {
                    if !self.lets_in(Some(user), password) {
                        return self.wrong_password();
                    }
                    is_known = true;
                    rest
                }
                [word, given, ..] if word.eq_ignore_ascii_case(b"SETNAME") && given.len() > NAME_MAX => {
                    return self.out.error(NAME_TOO_LONG);
                }
                [word, given, rest @ ..] if word.eq_ignore_ascii_case(b"SETNAME") => {
                    name = Some(given.to_vec());
                    rest
                }
                _ => return self.out.error("ERR Syntax error in HELLO"),
            };
        }
        if !is_known {
            let text = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
                 <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP \
                 protocol version at the same time";
            return self.out.error(text);
        }
        (self.is_known, self.out.protocol) = (true, protocol);
        self.name = name.unwrap_or_else(|| std::mem::take(&mut self.name));
        greeting::hello(self.number, &mut self.out);
    }

    /// `AUTH [user] password`.
    fn auth(&mut self, words: &[&[u8]]) {
        let (user, password) = match words {
            [password] => (None, *password),
            [user, password] => (Some(*user), *password),
            _ => return self.out.error("ERR wrong number of arguments for 'auth' command"),
        };
        if self.door.password.is_none() && user.is_none() {
            let text = "ERR AUTH <password> called without any password configured for the default user. Are you \
                 sure your configuration is correct?";
            return self.out.error(text);
        }
        if !self.lets_in(user, password) {
            return self.wrong_password();
        }
        self.is_known = true;
        self.out.simple("OK");
    }

    fn wrong_password(&mut self) {
        self.door.node.telemetry().bad_request();
        self.out.error("WRONGPASS invalid username-password pair or user is disabled.");
    }

    /// Whether these are right. There is one user; without a password it takes any, as Redis has it.
    fn lets_in(&self, user: Option<&[u8]>, password: &[u8]) -> bool {
        let is_the_user = user.is_none_or(|user| user == b"default");
        let is_right = |right: &String| bool::from(right.as_bytes().ct_eq(password));
        is_the_user && self.door.password.as_ref().is_none_or(is_right)
    }
}
