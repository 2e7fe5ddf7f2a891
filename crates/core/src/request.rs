//! What a door hands over: the attributes of one request, what it costs, and where it was met.

use std::borrow::Cow;
use std::net::IpAddr;

use smallvec::SmallVec;

use crate::address;
use crate::cost::Cost;
use crate::path;
use crate::policy::AttributeKind;
use crate::time::Span;
use crate::words::words;

/// The attribute that holds the client's address.
pub const CLIENT_IP: &str = "client.ip";
/// The attribute that holds the request's path.
pub const PATH: &str = "path";

/// The attributes of one request. A name given twice keeps its first value; names of headers are the same in
/// capitals and small letters (RFC 9110, section 5.1), all others are not.
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

    /// The text of `name`; `None` if it is absent, empty or blank.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        let is_header = name.starts_with("header.");
        let is_it = |given: &str| given == name || (is_header && given.eq_ignore_ascii_case(name));
        let (_, text) = self.0.iter().find(|(given, _)| is_it(given))?;
        Some(text.trim()).filter(|text| !text.is_empty())
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
    /// The normal form of a value of this kind.
    pub(crate) fn normal(kind: AttributeKind, text: &'a str) -> Self {
        match kind {
            AttributeKind::Address => match address::parse(text) {
                Some(address) => Self::Address(address),
                None => Self::Text(Cow::Borrowed(text)),
            },
            AttributeKind::Path => Self::Text(path::normal_form(text)),
            AttributeKind::Text => Self::Text(Cow::Borrowed(text)),
        }
    }
}

words! {
    /// Where the front door stands.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub enum Layer {
        /// At the edge of the network.
        Edge = "edge",
        /// At the API gateway.
        Gateway = "gateway",
        /// Inside the service.
        #[default]
        Service = "service",
    }
}

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
    /// How long the caller waits for the verdict. A store on a server that would take longer is not waited for; the
    /// policies answer by their posture. `None`: as long as the store takes.
    pub timeout: Option<Span>,
}
