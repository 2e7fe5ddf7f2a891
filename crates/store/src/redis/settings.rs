//! Where a Redis is, and how its keys are named: as a URL says it, settled.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use ::redis::io::tcp::TcpSettings;
use ::redis::{
    ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, RedisConnectionInfo,
    TlsCertificates,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

use super::fault::Fault;

/// The settings of a [`super::RedisStore`]. Its `Debug` and `Display` never show a password.
#[derive(Clone)]
pub struct RedisSettings {
    shape: Shape,
    /// The server, the Sentinels, or some nodes of the cluster: at least one.
    places: Vec<ConnectionAddr>,
    /// Who we are to the servers, and which database we use there.
    own: RedisConnectionInfo,
    sentinel_password: Option<String>,
    certificates: Option<TlsCertificates>,
    prefix: String,
    deadline: Option<Duration>,
    nodes: Option<NonZeroU64>,
    node_name: Option<String>,
    faults: Vec<Fault>,
}

/// How servers stand together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One server.
    Server,
    /// A primary with replicas under this name, watched by Sentinels.
    Sentinel(String),
    /// Several primaries, each with some of the slots.
    Cluster,
}

/// A setting that names no Redis: what is wrong with it.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct RedisUrlError(String);

const FORMS: &str = "write redis://host:port/database, redis+sentinel://host:port,host:port/name/database, or \
    redis+cluster://host:port,host:port; rediss for TLS";
const SENTINEL_PORT: u16 = 26_379;

impl RedisSettings {
    /// What the names of all keys begin with, unless it is said otherwise.
    pub const PREFIX: &str = "weir:";
    /// How long a decision may take, unless it is said otherwise: ten times what a store in the same place takes.
    pub const DEADLINE: Duration = Duration::from_millis(10);

    /// Whether a URL names a Redis or Valkey by its scheme, whatever else may be wrong with it.
    pub fn is_meant(url: &str) -> bool {
        let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
        matches!(scheme.split('+').next(), Some("redis" | "rediss" | "valkey" | "valkeys"))
    }

    /// Settles one of
    /// - `redis://[user[:password]@]host[:port][/database]`
    /// - `redis+sentinel://[user[:password]@]host[:port],…/name[/database]`, the hosts those of the Sentinels
    /// - `redis+cluster://[user[:password]@]host[:port],…`, the hosts some nodes of the cluster
    ///
    /// each with `rediss` for TLS, and with `valkey` and `valkeys` just as well.
    ///
    /// # Errors
    ///
    /// It is no such URL. The message never shows a password.
    pub fn parse(url: &str) -> Result<Self, RedisUrlError> {
        let wrong = |why: &str| RedisUrlError(format!("{why}; {FORMS}"));
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("this is no URL"))?;
        let (protocol, shape) = scheme.split_once('+').unwrap_or((scheme, ""));
        if !Self::is_meant(protocol) {
            return Err(wrong("this names no Redis or Valkey"));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
        let (shape, database) = match shape {
            "" => (Shape::Server, path),
            "sentinel" => match path.split_once('/').unwrap_or((path, "")) {
                ("", _) => return Err(wrong("the name is missing by which the Sentinels know the primary")),
                (name, database) => (Shape::Sentinel(name.to_owned()), database),
            },
            "cluster" if matches!(path, "" | "0") => (Shape::Cluster, ""),
            "cluster" => return Err(wrong("a cluster has no databases")),
            _ => return Err(wrong("servers stand alone, or in `+sentinel` or `+cluster`")),
        };
        let hosts: Vec<&str> = hosts.split(',').collect();
        if shape == Shape::Server && hosts.len() > 1 {
            return Err(wrong("this is one server, and several hosts are named"));
        }
        let mut places = Vec::new();
        let mut own = RedisConnectionInfo::default();
        for host in hosts {
            let port = match shape {
                Shape::Sentinel(_) if !has_port(host) => format!(":{SENTINEL_PORT}"),
                _ => String::new(),
            };
            let at = if user.is_empty() { String::new() } else { format!("{user}@") };
            let one = format!("{protocol}://{at}{host}{port}/{database}");
            let one = one.as_str().into_connection_info().map_err(|error| {
                wrong(&format!("{}, the database a number", error.detail().unwrap_or("it names no server")))
            })?;
            places.push(one.addr().clone());
            own = one.redis_settings().clone();
        }
        let prefix = Self::PREFIX.to_owned();
        let (sentinel_password, certificates, deadline) = (None, None, Some(Self::DEADLINE));
        let (nodes, node_name, faults) = (None, None, Vec::new());
        Ok(Self {
            shape,
            places,
            own,
            sentinel_password,
            certificates,
            prefix,
            deadline,
            nodes,
            node_name,
            faults,
        })
    }

    /// Names all keys with this at the beginning. Two deployments that share a server and a secret have one each.
    #[must_use]
    pub fn with_prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// Gives up a decision after so long; policies then answer by `on_store_failure`.
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// Waits for the server as long as it takes, and never stops asking: for callers who guard themselves, and to
    /// measure what the guard costs. Callers' timeouts are not looked at then.
    #[must_use]
    pub fn without_guard(self) -> Self {
        Self { deadline: None, ..self }
    }

    /// Shares quotas among so many nodes while the server does not answer, for policies that are `local` then.
    #[must_use]
    pub fn with_nodes(self, nodes: NonZeroU64) -> Self {
        Self { nodes: Some(nodes), ..self }
    }

    /// Names this node among those of the store; no other may have the same name.
    #[must_use]
    pub fn with_node_name(self, name: &str) -> Self {
        Self { node_name: Some(name.to_owned()), ..self }
    }

    /// Has some of the calls go wrong, to rehearse a sick server.
    #[must_use]
    pub fn with_faults(self, faults: Vec<Fault>) -> Self {
        Self { faults, ..self }
    }

    /// What is to go wrong on purpose.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Whether there is a password.
    pub fn has_password(&self) -> bool {
        self.own.password().is_some()
    }

    /// The same with this password.
    #[must_use]
    pub fn with_password(self, password: &str) -> Self {
        Self { own: self.own.set_password(password), ..self }
    }

    /// The same with this password for the Sentinels, where they have one.
    #[must_use]
    pub fn with_sentinel_password(self, password: &str) -> Self {
        Self { sentinel_password: Some(password.to_owned()), ..self }
    }

    /// The same with certificates in PEM: of the authority that the servers' are to be signed by, where it is not
    /// one that the machine trusts, and a certificate with its key of our own, where the servers ask for one.
    ///
    /// # Errors
    ///
    /// The URL is not for TLS, or there is no certificate or no key.
    pub fn with_certificates(
        self,
        authority: Option<Vec<u8>>,
        own: Option<(Vec<u8>, Vec<u8>)>,
    ) -> Result<Self, RedisUrlError> {
        if !self.is_tls() {
            return Err(RedisUrlError(
                "certificates are for TLS; write rediss:// instead of redis://".into(),
            ));
        }
        let has_certificate = |pem: &[u8]| matches!(CertificateDer::pem_slice_iter(pem).next(), Some(Ok(_)));
        let missing = |what: &str| Err(RedisUrlError(format!("there is no {what} in PEM")));
        if authority.as_ref().is_some_and(|pem| !has_certificate(pem)) {
            return missing("certificate of an authority");
        }
        if own.as_ref().is_some_and(|(certificate, _)| !has_certificate(certificate)) {
            return missing("certificate of ours");
        }
        if own.as_ref().is_some_and(|(_, key)| PrivateKeyDer::from_pem_slice(key).is_err()) {
            return missing("key of ours");
        }
        let client_tls = own.map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key });
        Ok(Self { certificates: Some(TlsCertificates { client_tls, root_cert: authority }), ..self })
    }

    /// How many nodes share the store, if it was said; otherwise the store counts them.
    pub fn nodes(&self) -> Option<NonZeroU64> {
        self.nodes
    }

    pub(super) fn node_name(&self) -> Option<&str> {
        self.node_name.as_deref()
    }

    /// Nothing where no guard is wanted.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    pub(super) fn is_tls(&self) -> bool {
        self.places.iter().any(|place| matches!(place, ConnectionAddr::TcpTls { .. }))
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(super) fn places(&self) -> &[ConnectionAddr] {
        &self.places
    }

    /// How each place is connected to.
    pub(super) fn connections(&self) -> impl Iterator<Item = Result<ConnectionInfo, ::redis::RedisError>> {
        self.places.iter().map(|place| {
            let connection = place.clone().into_connection_info()?;
            Ok(connection.set_redis_settings(self.own.clone()).set_tcp_settings(tcp()))
        })
    }

    pub(super) fn own(&self) -> &RedisConnectionInfo {
        &self.own
    }

    pub(super) fn sentinel_password(&self) -> Option<&str> {
        self.sentinel_password.as_deref()
    }

    pub(super) fn certificates(&self) -> Option<&TlsCertificates> {
        self.certificates.as_ref()
    }

    /// What the names of all keys begin with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}

/// Without it a call waits for the one before it to be acknowledged.
pub(super) fn tcp() -> TcpSettings {
    TcpSettings::default().set_nodelay(true)
}

/// Whether a host, perhaps an IPv6 address in brackets, is followed by a port.
fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'))
}

/// Where it is, without what is secret about it.
impl fmt::Display for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tls = if self.is_tls() { "s" } else { "" };
        let places: Vec<String> = self.places.iter().map(ToString::to_string).collect();
        let (places, database) = (places.join(","), self.own.db());
        match &self.shape {
            Shape::Server => write!(f, "redis{tls}://{places}/{database}"),
            Shape::Sentinel(name) => write!(f, "redis{tls}+sentinel://{places}/{name}/{database}"),
            Shape::Cluster => write!(f, "redis{tls}+cluster://{places}"),
        }
    }
}

impl fmt::Debug for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisSettings({self}, {:?})", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_is_read_and_told_again() {
        for (url, says) in [
            ("redis://h", "redis://h:6379/0"),
            ("valkey://u:p@h:7/3", "redis://h:7/3"),
            ("rediss://h:7", "rediss://h:7/0"),
            ("redis+sentinel://a,b:7,[::1]/main", "redis+sentinel://a:26379,b:7,::1:26379/main/0"),
            ("rediss+sentinel://u:p@a:1,b:2/main/4", "rediss+sentinel://a:1,b:2/main/4"),
            ("redis+cluster://a:1,b:2,c", "redis+cluster://a:1,b:2,c:6379"),
            ("valkeys+cluster://a:1", "rediss+cluster://a:1"),
        ] {
            assert_eq!(RedisSettings::parse(url).unwrap().to_string(), says);
        }
        let user = RedisSettings::parse("redis+cluster://me:secret@a,b").unwrap();
        assert_eq!((user.own().username(), user.own().password()), (Some("me"), Some("secret")));
    }

    #[test]
    fn a_wrong_url_is_told_what_is_wrong() {
        for (url, says) in [
            ("redis:h", "no URL"),
            ("http://h", "no Redis"),
            ("redis+sentinel://h:1", "the name is missing"),
            ("redis+sentinel://h:1//0", "the name is missing"),
            ("redis+cluster://h:1/3", "no databases"),
            ("redis+cluster://", "redis+cluster://host:port"),
            ("redis+cluster://a,,b", "redis+cluster://host:port"),
            ("redis+other://h", "stand alone"),
            ("redis://a,b", "one server"),
            ("redis+sentinel://a/main/x", "the database a number"),
        ] {
            let error = RedisSettings::parse(url).unwrap_err().to_string();
            assert!(error.contains(says), "{url}: {error}");
        }
        let plain = RedisSettings::parse("redis://h").unwrap().with_certificates(None, None);
        assert!(plain.unwrap_err().to_string().contains("rediss://"));
    }

    #[test]
    fn a_password_is_never_shown() {
        let settings = RedisSettings::parse("redis://someone:hunter2@127.0.0.1:7000/3").unwrap();
        let settings = settings.with_sentinel_password("hunter2");
        assert_eq!(settings.to_string(), "redis://127.0.0.1:7000/3");
        assert!(!format!("{settings:?}").contains("hunter2"));
        for wrong in
            ["redis://:hunter2@/x y", "redis://someone:hunter2@host:port", "http://:hunter2@host", "hunter2"]
        {
            let error = RedisSettings::parse(wrong).unwrap_err().to_string();
            assert!(!error.contains("hunter2") && error.contains("redis://host"), "{error}");
        }
    }
}
