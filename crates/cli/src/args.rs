//! What can be typed.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use weir_core::file::Options;
use weir_runtime::RawSettings;

/// A distributed rate limiter: one policy file, exact, explainable.
#[derive(Debug, Parser)]
#[command(name = "weir", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the decision service
    Serve(Box<ServeArgs>),
    /// Check policy files
    Validate(ValidateArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ServeArgs {
    /// The policy file; without one, the example of the credit bureau
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// Each of these can also be given as an environment variable.
#[derive(Debug, ClapArgs)]
pub(crate) struct SettingsArgs {
    /// Where the HTTP door listens, or `off`
    #[arg(long, value_name = "ADDRESS", env = "WEIR_HTTP", default_value = "0.0.0.0:8080")]
    http: String,
    /// Where the door for Redis clients (`CL.THROTTLE`) listens, or `off`; `WEIR_RESP_PASSWORD` locks it
    #[arg(long, value_name = "ADDRESS", env = "WEIR_RESP", default_value = "off")]
    resp: String,
    /// Where the admin port (/livez, /readyz, /metrics) listens, or `off`
    #[arg(long, value_name = "ADDRESS", env = "WEIR_ADMIN", default_value = "127.0.0.1:6070")]
    admin: String,
    /// Where the counting is done: `memory:`, or `redis://host:port`, `redis+sentinel://host,host/name`,
    /// `redis+cluster://host,host`; rediss for TLS
    #[arg(long, value_name = "URL", env = "WEIR_STORE", hide_env_values = true, default_value = "memory:")]
    store: String,
    /// What the names of all keys on a server begin with
    #[arg(long, value_name = "TEXT", env = "WEIR_STORE_PREFIX", default_value = "weir:")]
    store_prefix: String,
    /// How long a decision may take on a server; policies then answer by `on_store_failure`
    #[arg(long, value_name = "TIME", env = "WEIR_STORE_DEADLINE", default_value = "10ms")]
    store_deadline: String,
    /// What happens if a server cannot be reached at the start: `serve` by `on_store_failure` until it can, or
    /// `require` it and end
    #[arg(long, value_name = "WORD", env = "WEIR_STORE_AT_START", default_value = "serve")]
    store_at_start: String,
    /// How many nodes share the store: while it does not answer, a policy that says `on_store_failure: local` counts
    /// here, at this part of its quota. A number, or `auto`: the store counts them
    #[arg(
        long,
        value_name = "COUNT",
        allow_negative_numbers = true,
        env = "WEIR_NODES",
        default_value = "auto"
    )]
    nodes: String,
    /// The name of this node; no other node of the store may have the same. By default drawn at random
    #[arg(long, value_name = "NAME", env = "WEIR_NODE_NAME")]
    node_name: Option<String>,
    /// Make calls to the store go wrong, to rehearse: `store: delay 50ms 20%`, `store: fail 5%`, `store: drop 5%`
    #[arg(long, value_name = "FAULTS", env = "WEIR_FAULT")]
    fault: Option<String>,
    /// The certificate of the authority that signed the servers'; by default those that the machine trusts
    #[arg(long, value_name = "FILE", env = "WEIR_STORE_CA")]
    store_ca: Option<PathBuf>,
    /// Our certificate, for servers that ask for one
    #[arg(long, value_name = "FILE", env = "WEIR_STORE_CERT")]
    store_cert: Option<PathBuf>,
    /// The key of our certificate
    #[arg(long, value_name = "FILE", env = "WEIR_STORE_KEY")]
    store_key: Option<PathBuf>,
    /// How many keys the store holds in memory, at 40 to 64 bytes each
    #[arg(long, value_name = "COUNT", env = "WEIR_MEMORY_KEYS", default_value = "4000000")]
    memory_keys: String,
    /// How many entries of sliding logs the store holds in memory, at 16 bytes each
    #[arg(long, value_name = "COUNT", env = "WEIR_MEMORY_LOG_ENTRIES", default_value = "16000000")]
    memory_log_entries: String,
    /// The largest limit of a `sliding_log`
    #[arg(long, value_name = "UNITS", env = "WEIR_LOG_LIMIT_MAX", default_value = "10000")]
    log_limit_max: String,
    /// What happens to requests of an unknown domain: `refuse` (404) or `admit`
    #[arg(long, value_name = "WORD", env = "WEIR_UNKNOWN_DOMAIN", default_value = "refuse")]
    unknown_domain: String,
    /// Send the older X-RateLimit-Limit, -Remaining and -Reset as well: `off` or `on`
    #[arg(long, value_name = "WORD", env = "WEIR_LEGACY_FIELDS", default_value = "off")]
    legacy_fields: String,
    /// The largest request body
    #[arg(
        long,
        value_name = "BYTES",
        allow_negative_numbers = true,
        env = "WEIR_BODY_MAX",
        default_value = "1000000"
    )]
    body_max: String,
    /// How long open requests may take after a stop is asked for
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        env = "WEIR_DRAIN",
        default_value = "10"
    )]
    drain: String,
    /// A file with the secret that keys are hashed with (or `WEIR_KEY_SECRET`); by default drawn at random
    #[arg(long, value_name = "FILE", env = "WEIR_KEY_SECRET_FILE")]
    key_secret_file: Option<PathBuf>,
    /// The form of the log: `text`, `json`, or `auto` (text on a terminal)
    #[arg(long, value_name = "WORD", env = "WEIR_LOG_FORMAT", default_value = "auto")]
    log_format: String,
    /// What is logged: a level, or directives such as `info,weir_server=debug`
    #[arg(long, value_name = "LEVEL", env = "WEIR_LOG", default_value = "info")]
    log: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ValidateArgs {
    /// The policy files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The file that is in force, to tell whose usage would be kept
    #[arg(long, value_name = "OLD")]
    pub(crate) against: Option<PathBuf>,
    /// The store of the nodes: `memory:`, or `redis:`, which counts in coarser numbers
    #[arg(long, value_name = "URL", env = "WEIR_STORE", hide_env_values = true, default_value = "memory:")]
    pub(crate) store: String,
    /// The largest limit of a `sliding_log`, as the nodes have it
    #[arg(
        long,
        value_name = "UNITS",
        env = "WEIR_LOG_LIMIT_MAX",
        default_value_t = Options::LOG_LIMIT_MAX,
        value_parser = clap::value_parser!(u64).range(1..=1 << 24)
    )]
    pub(crate) log_limit_max: u64,
    /// How the result is written
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people
    Text,
    /// For scripts
    Json,
}

impl SettingsArgs {
    /// As typed. The secret has no flag: arguments can be read by every process of the machine.
    pub(crate) fn raw(self) -> RawSettings {
        RawSettings {
            http: self.http,
            resp: self.resp,
            resp_password: std::env::var_os("WEIR_RESP_PASSWORD"),
            admin: self.admin,
            store: self.store,
            store_password: std::env::var_os("WEIR_STORE_PASSWORD"),
            store_sentinel_password: std::env::var_os("WEIR_STORE_SENTINEL_PASSWORD"),
            store_prefix: self.store_prefix,
            store_deadline: self.store_deadline,
            store_at_start: self.store_at_start,
            nodes: self.nodes,
            node_name: self.node_name,
            fault: self.fault,
            store_ca: self.store_ca,
            store_cert: self.store_cert,
            store_key: self.store_key,
            memory_keys: self.memory_keys,
            memory_log_entries: self.memory_log_entries,
            log_limit_max: self.log_limit_max,
            unknown_domain: self.unknown_domain,
            legacy_fields: self.legacy_fields,
            body_max: self.body_max,
            drain: self.drain,
            key_secret: std::env::var_os("WEIR_KEY_SECRET"),
            key_secret_file: self.key_secret_file,
            log_format: self.log_format,
            log: self.log,
        }
    }
}
