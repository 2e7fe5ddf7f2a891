//! What a node is told about itself: as typed, and settled.

mod fault;
mod store;

pub use store::StoreSetting;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use weir_core::fields::LegacyFields;
use weir_core::{KeySecret, SecretTooShort};
use weir_store::{MemoryLimits, OwnSecret};

/// Settings exactly as they were typed, as flags or as `WEIR_…` variables. Nothing is checked yet.
#[derive(Clone, Debug)]
pub struct RawSettings {
    /// Where the HTTP door listens: an address, or `off`.
    pub http: String,
    /// Where the door for Redis clients listens: an address, or `off`.
    pub resp: String,
    /// The password that Redis clients give, as the environment has it.
    pub resp_password: Option<OsString>,
    /// Where the admin port listens: an address, or `off`.
    pub admin: String,
    /// Where the counting is done: `memory:`, or the URL of a server.
    pub store: String,
    /// The password of the store, as the environment has it.
    pub store_password: Option<OsString>,
    /// The password of the Sentinels, as the environment has it.
    pub store_sentinel_password: Option<OsString>,
    /// What the names of all keys on a server begin with.
    pub store_prefix: String,
    /// How long a decision may take on a server, with its unit: `10ms`.
    pub store_deadline: String,
    /// What a node does whose store is not there when it starts: `serve` or `require`.
    pub store_at_start: String,
    /// How many nodes share the store, or `auto`.
    pub nodes: String,
    /// The name of this node among them; by default one is drawn.
    pub node_name: Option<String>,
    /// What is to go wrong with calls to the store on purpose.
    pub fault: Option<String>,
    /// A file with the certificate of the authority that signed the servers'.
    pub store_ca: Option<PathBuf>,
    /// A file with our certificate for the servers.
    pub store_cert: Option<PathBuf>,
    /// A file with the key of that.
    pub store_key: Option<PathBuf>,
    /// How many keys the store holds in memory.
    pub memory_keys: String,
    /// How many entries of sliding logs the store holds in memory.
    pub memory_log_entries: String,
    /// The largest limit of a sliding log, in units.
    pub log_limit_max: String,
    /// What happens to requests of an unknown domain: `refuse` or `admit`.
    pub unknown_domain: String,
    /// Whether the older `X-RateLimit-*` fields are sent: `off` or `on`.
    pub legacy_fields: String,
    /// The largest request body, in bytes.
    pub body_max: String,
    /// How long open requests may take after a stop is asked for, in seconds.
    pub drain: String,
    /// The key secret, as the environment has it.
    pub key_secret: Option<OsString>,
    /// A file that holds the key secret.
    pub key_secret_file: Option<PathBuf>,
    /// `text`, `json`, or `auto`: text on a terminal.
    pub log_format: String,
    /// What is logged: a level, or directives such as `info,weir_server=debug`.
    pub log: String,
}

/// Settings that hold. Each field says what it is for and why its default is what it is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The HTTP door. By default on every interface: its clients are other machines.
    pub http: Address,
    /// The door for Redis clients. By default off: its limits are its clients' own.
    pub resp: Address,
    /// The password that Redis clients give. By default none.
    pub resp_password: Option<String>,
    /// The admin port. By default on loopback: it tells too much for strangers.
    pub admin: Address,
    /// The store. By default the memory of this process.
    pub store: StoreSetting,
    /// Whether a node whose store is away when it starts ends, instead of serving by posture until the store is there.
    /// By default it serves: what it protects needs it then as well.
    pub requires_store: bool,
    /// How much the store may hold in memory: a thousand keys to a thousand million. By default 4 million keys
    /// and 16 million entries of logs, about half a gigabyte.
    pub memory: MemoryLimits,
    /// The secret that keys are hashed with. Drawn at random where none is given: a store on a server then has
    /// the first node's.
    pub secret: OwnSecret,
    /// The largest limit of a sliding log, up to 2²⁴ units. By default 10,000: 160 kB a key.
    pub log_limit_max: u64,
    /// Whether requests of an unknown domain are admitted. By default they are refused, since a misspelt
    /// domain would otherwise switch every limit off in silence.
    pub admits_unknown_domains: bool,
    /// The older fields. By default off: they have no standard.
    pub legacy_fields: LegacyFields,
    /// The largest request body in bytes, 1 kB to 64 MB. By default 1 MB: a thousand checks of a kilobyte.
    pub body_max: usize,
    /// How long open requests may take after a stop is asked for, up to an hour. By default 10 s: less than
    /// the 30 s after which orchestrators commonly kill.
    pub drain: Duration,
    /// The form of the log.
    pub log_format: LogFormat,
    /// What is logged.
    pub log: String,
}

/// Where a door listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// Nowhere.
    Off,
    /// At this address; port 0 means any free port.
    At(SocketAddr),
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// One line of text an event.
    Text,
    /// One JSON object an event.
    Json,
}

/// A setting that cannot hold: which one, what is wrong, and what to do.
#[derive(Debug, Error)]
#[error("--{flag} {value}: {problem}")]
pub struct SettingsError {
    flag: &'static str,
    value: String,
    problem: String,
}

impl RawSettings {
    /// Checks every setting and settles it.
    ///
    /// # Errors
    ///
    /// The first setting that cannot hold: which one, why, and what to do.
    pub fn settle(self) -> Result<Settings, SettingsError> {
        let log_limit_max = number("log-limit-max", &self.log_limit_max, 1, 1 << 24)? as u64;
        let log_entries = number("memory-log-entries", &self.memory_log_entries, 1_000, 1_000_000_000)?;
        if log_limit_max > log_entries as u64 {
            let problem =
                format!("a log of that size needs as many --memory-log-entries, and there are {log_entries}");
            return Err(refuse("log-limit-max", &self.log_limit_max, problem));
        }
        Ok(Settings {
            http: address("http", &self.http)?,
            resp: address("resp", &self.resp)?,
            resp_password: password("resp", "WEIR_RESP_PASSWORD", self.resp_password.as_ref())?,
            admin: address("admin", &self.admin)?,
            store: self.store()?,
            requires_store: word(
                "store-at-start",
                &self.store_at_start,
                &[("serve", false), ("require", true)],
            )?,
            memory: MemoryLimits {
                keys: number("memory-keys", &self.memory_keys, 1_000, 1_000_000_000)?,
                log_entries,
            },
            secret: self.key_secret()?,
            log_limit_max,
            admits_unknown_domains: word(
                "unknown-domain",
                &self.unknown_domain,
                &[("refuse", false), ("admit", true)],
            )?,
            legacy_fields: word(
                "legacy-fields",
                &self.legacy_fields,
                &[("off", LegacyFields::Off), ("on", LegacyFields::On)],
            )?,
            body_max: number("body-max", &self.body_max, 1_000, 64_000_000)?,
            drain: Duration::from_secs(number("drain", &self.drain, 0, 3_600)? as u64),
            log_format: word(
                "log-format",
                &self.log_format,
                &[("auto", LogFormat::Auto), ("text", LogFormat::Text), ("json", LogFormat::Json)],
            )?,
            log: log_directives(self.log)?,
        })
    }

    fn key_secret(&self) -> Result<OwnSecret, SettingsError> {
        match (&self.key_secret, &self.key_secret_file) {
            (Some(_), Some(_)) => {
                Err(refuse("key-secret-file", "", "WEIR_KEY_SECRET is set as well; give one"))
            }
            (Some(text), None) => {
                // The secret itself is never shown.
                let refused = |why: &str| refuse("key-secret-file", "", format!("WEIR_KEY_SECRET: {why}"));
                let text = text.to_str().ok_or_else(|| refused("it is not UTF-8"))?;
                let secret = KeySecret::from_text(text.trim());
                secret.map(OwnSecret::Given).map_err(|error| refused(&error.to_string()))
            }
            (None, Some(file)) => {
                let unreadable = |error: std::io::Error| {
                    refuse("key-secret-file", file.display().to_string(), error.to_string())
                };
                let text = std::fs::read_to_string(file).map_err(unreadable)?;
                let path = file.display().to_string();
                let too_short = |error: SecretTooShort| refuse("key-secret-file", path, error.to_string());
                KeySecret::from_text(text.trim()).map(OwnSecret::Given).map_err(too_short)
            }
            (None, None) => {
                let mut bytes = [0; 16];
                let no_randomness =
                    |error: getrandom::Error| refuse("key-secret-file", "", error.to_string());
                getrandom::fill(&mut bytes).map_err(no_randomness)?;
                Ok(OwnSecret::Drawn(bytes))
            }
        }
    }
}

fn refuse(flag: &'static str, value: impl Into<String>, problem: impl Into<String>) -> SettingsError {
    SettingsError { flag, value: value.into(), problem: problem.into() }
}

/// A password from the environment, which is never shown.
fn password(
    flag: &'static str,
    variable: &str,
    value: Option<&OsString>,
) -> Result<Option<String>, SettingsError> {
    let Some(value) = value else { return Ok(None) };
    let word = value.to_str().filter(|word| !word.is_empty());
    let refused = || refuse(flag, "", format!("{variable} is empty, or not UTF-8"));
    word.map(|word| Some(word.to_owned())).ok_or_else(refused)
}

fn address(flag: &'static str, text: &str) -> Result<Address, SettingsError> {
    if text == "off" {
        return Ok(Address::Off);
    }
    let problem = "give an IP address with a port, such as 127.0.0.1:8080, or `off`; names are not looked up";
    text.parse().map(Address::At).map_err(|_| refuse(flag, text, problem))
}

fn word<T: Copy>(flag: &'static str, text: &str, words: &[(&str, T)]) -> Result<T, SettingsError> {
    let known = || words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    found.ok_or_else(|| refuse(flag, text, format!("it is one of {}", known())))
}

/// A misspelt level would be taken for the name of a module, and log nothing.
fn log_directives(text: String) -> Result<String, SettingsError> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let is_good = |part: &str| part.contains('=') || LEVELS.contains(&part);
    if text.split(',').all(is_good) {
        return Ok(text);
    }
    let problem =
        "a level (off, error, warn, info, debug, trace), or directives such as `info,weir_server=debug`";
    Err(refuse("log", text, problem))
}

fn number(flag: &'static str, text: &str, min: usize, max: usize) -> Result<usize, SettingsError> {
    let in_range = text.parse().ok().filter(|number| (min..=max).contains(number));
    in_range.ok_or_else(|| refuse(flag, text, format!("a whole number from {min} to {max} is expected")))
}

/// A time with its unit, `ms` or `s`, of so many milliseconds at least and at most.
fn millis(text: &str, min: u64, max: u64) -> Option<Duration> {
    let number = |unit: &str| text.strip_suffix(unit)?.parse::<u64>().ok();
    let millis = number("ms").or_else(|| number("s")?.checked_mul(1_000))?;
    (min..=max).contains(&millis).then(|| Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw() -> RawSettings {
        RawSettings {
            http: "127.0.0.1:0".into(),
            resp: "off".into(),
            resp_password: None,
            admin: "off".into(),
            store: "memory:".into(),
            store_password: None,
            store_sentinel_password: None,
            store_prefix: "weir:".into(),
            store_deadline: "10ms".into(),
            store_at_start: "serve".into(),
            nodes: "auto".into(),
            node_name: None,
            fault: None,
            store_ca: None,
            store_cert: None,
            store_key: None,
            memory_keys: "1000".into(),
            memory_log_entries: "1000".into(),
            log_limit_max: "100".into(),
            unknown_domain: "refuse".into(),
            legacy_fields: "off".into(),
            body_max: "65536".into(),
            drain: "10".into(),
            key_secret: None,
            key_secret_file: None,
            log_format: "auto".into(),
            log: "info".into(),
        }
    }

    #[test]
    fn good_settings_are_settled() {
        let settings = raw().settle().unwrap();
        assert_eq!(settings.admin, Address::Off);
        assert_eq!(settings.http, Address::At("127.0.0.1:0".parse().unwrap()));
        assert_eq!(settings.drain, Duration::from_secs(10));
        let drawn = |settings: Settings| match settings.secret {
            OwnSecret::Drawn(bytes) => bytes,
            OwnSecret::Given(_) => panic!("none was given"),
        };
        assert_ne!(drawn(settings), drawn(raw().settle().unwrap()), "drawn anew");
    }

    #[test]
    fn g04_wrong_settings_say_which_and_what_to_do() {
        let error = |change: fn(&mut RawSettings)| {
            let mut settings = raw();
            change(&mut settings);
            settings.settle().unwrap_err().to_string()
        };
        assert_eq!(
            error(|s| s.store = "memroy:".into()),
            "--store memroy:: a store is `memory:`, or a server such as `redis://localhost:6379`"
        );
        for wrong in ["redis://:hunter2@host:port", "http://:hunter2@host", "redis:hunter2@"] {
            let mut settings = raw();
            settings.store = wrong.into();
            let error = settings.settle().unwrap_err().to_string();
            assert!(error.starts_with("--store") && !error.contains("hunter2"), "{error}");
        }
        for wrong in ["0ms", "-1s", "11s", "10", "10 ms", "", "1e3ms", "99999999999999999999s"] {
            let mut settings = raw();
            settings.store_deadline = wrong.into();
            let error = settings.settle().unwrap_err().to_string();
            assert!(error.starts_with("--store-deadline") && error.contains("1ms to 10s"), "{error}");
        }
        for wrong in ["0", "-3", "three", "1000001"] {
            let mut settings = raw();
            settings.nodes = wrong.into();
            let error = settings.settle().unwrap_err().to_string();
            assert!(error.starts_with("--nodes") && error.contains("from 1 to 1000000"), "{error}");
        }
        for wrong in ["", "a b", "ä", "a/b"] {
            let mut settings = raw();
            settings.node_name = Some(wrong.into());
            let error = settings.settle().unwrap_err().to_string();
            assert!(error.starts_with("--node-name") && error.contains("64 characters"), "{error}");
        }
        assert!(error(|s| s.fault = Some("store: fail 5%".into())).contains("--store redis://"));
        let certificate = |s: &mut RawSettings| {
            (s.store, s.store_cert) = ("rediss://h".into(), Some("Cargo.toml".into()));
        };
        assert!(error(certificate).contains("give --store-key too"));
        let authority = |s: &mut RawSettings| {
            (s.store, s.store_ca) = ("rediss://h".into(), Some("nowhere.pem".into()));
        };
        assert!(error(authority).starts_with("--store-ca nowhere.pem"));
        assert!(error(|s| (s.store, s.store_prefix) = ("redis://h".into(), "a{".into())).contains("prefix"));
        assert_eq!(
            error(|s| s.http = "8080".into()),
            "--http 8080: give an IP address with a port, such as 127.0.0.1:8080, or `off`; names are not looked up"
        );
        assert_eq!(error(|s| s.drain = "-1".into()), "--drain -1: a whole number from 0 to 3600 is expected");
        assert_eq!(
            error(|s| s.unknown_domain = "maybe".into()),
            "--unknown-domain maybe: it is one of `refuse`, `admit`"
        );
        assert!(error(|s| s.log = "inof".into()).contains("a level (off, error"));
        assert!(error(|s| s.log = String::new()).contains("a level (off, error"));
        let short = error(|s| s.key_secret = Some("hunter2".into()));
        assert!(short.contains("at least 16 characters") && !short.contains("hunter2"));
        assert!(
            error(|s| s.key_secret_file = Some("/nonexistent/secret".into())).contains("/nonexistent/secret")
        );
    }
}
