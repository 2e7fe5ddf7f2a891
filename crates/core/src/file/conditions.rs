//! `when`: conditions on attributes.

use ipnet::IpNet;
use regex::RegexBuilder;

use super::report::Problem;
use super::tree::{Kind, Node};
use crate::address;
use crate::path;
use crate::policy::{Attributes, Matcher, PathPattern, Pattern, When};
use crate::request::{CLIENT_IP, PATH};

/// A compiled regular expression takes at most this many bytes.
const REGEX_SIZE_MAX: usize = 1 << 20;

/// Reads a mapping of attributes to what they must be.
pub(super) fn when(node: &Node, attributes: &mut Attributes, problems: &mut Vec<Problem>) -> When {
    let mut when = When::default();
    for entry in node.entries() {
        let Some(id) = attributes.id(&entry.name) else {
            problems.push(Problem::new(&entry.span, "the file uses more than 65,535 attributes"));
            continue;
        };
        if let Some(matcher) = matcher(&entry.name, &entry.value, problems) {
            when.0.push((id, matcher));
        }
    }
    when
}

fn matcher(attribute: &str, node: &Node, problems: &mut Vec<Problem>) -> Option<Matcher> {
    let Kind::Map(entries) = &node.kind else {
        return Some(Matcher::AnyOf(patterns(node, problems, |text| literal(attribute, text))));
    };
    let [entry] = entries.as_slice() else {
        problems.push(
            Problem::new(&node.span, "give one of `prefix`, `regex` and `not`")
                .hint("several conditions on one attribute: write them as one `regex`"),
        );
        return None;
    };
    let value = &entry.value;
    match entry.name.as_str() {
        "prefix" => Some(Matcher::AnyOf(patterns(value, problems, |text| Ok(Pattern::Prefix(text.into()))))),
        "regex" => Some(Matcher::AnyOf(patterns(value, problems, regex))),
        "not" => Some(Matcher::NoneOf(patterns(value, problems, |text| literal(attribute, text)))),
        _ => None,
    }
}

fn patterns(
    node: &Node,
    problems: &mut Vec<Problem>,
    read: impl Fn(&str) -> Result<Pattern, (String, String)>,
) -> Vec<Pattern> {
    let mut patterns = Vec::new();
    for item in node.items() {
        let Some(text) = item.text() else { continue };
        match read(text) {
            Ok(pattern) => patterns.push(pattern),
            Err((message, hint)) => problems.push(Problem::new(&item.span, message).hint(hint)),
        }
    }
    patterns
}

fn literal(attribute: &str, text: &str) -> Result<Pattern, (String, String)> {
    match attribute {
        PATH => path_pattern(text),
        CLIENT_IP => network(text),
        _ => Ok(Pattern::Exact(text.trim().into())),
    }
}

fn path_pattern(text: &str) -> Result<Pattern, (String, String)> {
    if text.contains(['{', '}']) {
        return Err((
            "braces have no meaning in a path".into(),
            "use `*` for one segment and `**` for any number".into(),
        ));
    }
    let pattern = PathPattern::parse(text)
        .ok_or_else(|| ("a path starts with `/`".into(), format!("write `/{text}`")))?;
    // Requests are brought into normal form first, so another spelling would never match.
    let normal = path::normal_form(text);
    if normal == text {
        Ok(Pattern::Path(pattern))
    } else {
        Err(("no path looks like this in its normal form".into(), format!("write `{normal}`")))
    }
}

fn network(text: &str) -> Result<Pattern, (String, String)> {
    let network = match text.parse::<IpNet>() {
        Ok(network) => Some(network),
        Err(_) => address::parse(text).map(IpNet::from),
    };
    let hint = "such as `10.0.0.0/8`, `192.0.2.1` or `2001:db8::/32`";
    let network = network.ok_or_else(|| ("this is not an address or network".to_owned(), hint.into()))?;
    if network.addr() == network.network() {
        Ok(Pattern::Network(network))
    } else {
        let hint = format!("write `{}`", network.trunc());
        Err(("the address has bits outside its network".into(), hint))
    }
}

fn regex(text: &str) -> Result<Pattern, (String, String)> {
    let compiled = RegexBuilder::new(text).size_limit(REGEX_SIZE_MAX).build();
    compiled.map(Pattern::Regex).map_err(|error| match error {
        regex::Error::CompiledTooBig(limit) => (
            format!("this regular expression needs more than {limit} bytes"),
            "use smaller repetitions".into(),
        ),
        error => {
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            (
                format!("this regular expression does not compile: {reason}"),
                "see the syntax of the Rust crate `regex`".into(),
            )
        }
    })
}
