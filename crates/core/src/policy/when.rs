//! Conditions on attributes.

use ipnet::IpNet;
use regex::Regex;

use super::attributes::{AttributeId, Values};
use super::glob::PathPattern;
use crate::request::Value;

/// Conditions that must all hold. None means always.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct When(pub(crate) Vec<(AttributeId, Matcher)>);

/// What is asked of one attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Matcher {
    /// One of these; an absent attribute is none of them.
    AnyOf(Vec<Pattern>),
    /// None of these; an absent attribute is none of them.
    NoneOf(Vec<Pattern>),
}

/// One way for a value to fit.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    Exact(Box<str>),
    Prefix(Box<str>),
    Path(PathPattern),
    Network(IpNet),
    Regex(Regex),
}

impl When {
    pub(crate) fn matches(&self, values: &Values<'_>) -> bool {
        self.0.iter().all(|(id, matcher)| matcher.matches(values.get(*id)))
    }

    /// Whether every request that fits `other` surely fits here too.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.0.iter().all(|(id, wide)| other.0.iter().any(|(i, narrow)| i == id && wide.covers(narrow)))
    }

    /// How many values the conditions name.
    pub(crate) fn patterns(&self) -> usize {
        self.0.iter().map(|(_, Matcher::AnyOf(patterns) | Matcher::NoneOf(patterns))| patterns.len()).sum()
    }

    /// Whether a request without the attribute cannot fit.
    pub(crate) fn requires(&self, id: AttributeId) -> bool {
        self.0.iter().any(|(i, matcher)| *i == id && matches!(matcher, Matcher::AnyOf(_)))
    }
}

impl Matcher {
    fn matches(&self, value: Option<&Value<'_>>) -> bool {
        let fits_one = |patterns: &[Pattern]| value.is_some_and(|v| patterns.iter().any(|p| p.matches(v)));
        match self {
            Self::AnyOf(patterns) => fits_one(patterns),
            Self::NoneOf(patterns) => !fits_one(patterns),
        }
    }

    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::AnyOf(wide), Self::AnyOf(narrow)) => {
                narrow.iter().all(|n| wide.iter().any(|w| w.covers(n)))
            }
            _ => self == other,
        }
    }
}

impl Pattern {
    fn matches(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Network(network), Value::Address(address)) => network.contains(address),
            (Self::Network(network), Value::Text(text)) => {
                crate::address::parse(text).is_some_and(|address| network.contains(&address))
            }
            (pattern, Value::Text(text)) => pattern.matches_text(text),
            (pattern, Value::Address(address)) => pattern.matches_text(&address.to_string()),
        }
    }

    fn matches_text(&self, text: &str) -> bool {
        match self {
            Self::Exact(exact) => **exact == *text,
            Self::Prefix(prefix) => text.starts_with(&**prefix),
            Self::Path(pattern) => pattern.matches(text),
            Self::Regex(regex) => regex.is_match(text),
            Self::Network(_) => false,
        }
    }

    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Prefix(wide), Self::Exact(narrow) | Self::Prefix(narrow)) => narrow.starts_with(&**wide),
            (Self::Path(wide), Self::Path(narrow)) => wide.covers(narrow),
            (Self::Network(wide), Self::Network(narrow)) => wide.contains(narrow),
            (Self::Regex(wide), Self::Exact(narrow)) => wide.is_match(narrow),
            _ => self == other,
        }
    }
}

/// Regular expressions are equal where their texts are.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(a), Self::Exact(b)) | (Self::Prefix(a), Self::Prefix(b)) => a == b,
            (Self::Path(a), Self::Path(b)) => a == b,
            (Self::Network(a), Self::Network(b)) => a == b,
            (Self::Regex(a), Self::Regex(b)) => a.as_str() == b.as_str(),
            _ => false,
        }
    }
}
