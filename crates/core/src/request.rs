//! What a door hands over: the attributes of one request, what it costs, and where it was met.

use std::borrow::Cow;
use std::net::IpAddr;

use smallvec::SmallVec;

use crate::address;
use crate::cost::Cost;
use crate::path;
use crate::words::words;

/// The attribute that holds the client's address.
pub const CLIENT_IP: &str = "client.ip";
/// The attribute that holds the request's path.
pub const PATH: &str = "path";

/// The attributes of one request. A name given twice keeps its first value.
#[derive(Clone, Debug, Default)]
pub struct Descriptor<'a>(SmallVec<[(&'a str, &'a str); 8]>);

impl<'a> Descriptor<'a> {
    /// No attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, name: &'a str, value: &'a str) -> Self {
        self.0.push((name, value));
        self
    }

    /// The value of `name` in its normal form; `None` if it is absent, empty or blank.
    pub(crate) fn get(&self, name: &str) -> Option<Value<'a>> {
        let (_, text) = self.0.iter().find(|(n, _)| *n == name)?;
        let text = text.trim();
        if text.is_empty() { None } else { Some(Value::normal(name, text)) }
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Descriptor<'a> {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

/// An attribute's value in its normal form, so that two spellings of one thing are one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Text(Cow<'a, str>),
    Address(IpAddr),
}

impl<'a> Value<'a> {
    fn normal(name: &str, text: &'a str) -> Self {
        match name {
            CLIENT_IP => match address::parse(text) {
                Some(address) => Self::Address(address),
                None => Self::Text(Cow::Borrowed(text)),
            },
            PATH => Self::Text(path::normal_form(text)),
            _ => Self::Text(Cow::Borrowed(text)),
        }
    }
}

/// Where the front door stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Layer {
    /// At the edge of the network.
    Edge,
    /// At the API gateway.
    Gateway,
    /// Inside the service.
    #[default]
    Service,
}

words!(Layer { Edge = "edge", Gateway = "gateway", Service = "service" });

/// One request to decide about.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// The domain whose policies apply; `None` means the domain that is loaded.
    pub domain: Option<&'a str>,
    /// What is known of the request.
    pub descriptor: Descriptor<'a>,
    /// What it asks for.
    pub cost: Cost,
    /// Where it was met.
    pub layer: Layer,
    /// Answer for the real cost, and charge nothing.
    pub dry_run: bool,
}
