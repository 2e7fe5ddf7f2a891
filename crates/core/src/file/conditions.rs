//! `when`: conditions on attributes.

use ipnet::IpNet;
use regex::RegexBuilder;

use super::report::{Complaint, Problem, complain};
use super::tree::{Kind, Node};
use crate::address;
use crate::path;
use crate::policy::{AttributeKind, Attributes, Matcher, PathPattern, Pattern, When};

/// A compiled regular expression takes at most this many bytes.
const REGEX_SIZE_MAX: usize = 1 << 18;
/// A file holds at most this many of them, so that no file makes a node ask for gigabytes.
const REGEXES_MAX: usize = 200;

/// Refuses files with too many regular expressions, before any is compiled.
pub(super) fn check_regexes(file: &Node, problems: &mut Vec<Problem>) -> bool {
    let mut open = vec![file];
    let mut seen = 0;
    while let Some(node) = open.pop() {
        open.extend(node.entries().iter().map(|entry| &entry.value));
        open.extend(if matches!(node.kind, Kind::List(_)) { node.items() } else { &[] });
        let regexes = node.field("regex").map(Node::items).unwrap_or_default();
        seen += regexes.len();
        if let (true, Some(regex)) = (seen > REGEXES_MAX, regexes.first()) {
            let message = format!("the file has more than {REGEXES_MAX} regular expressions");
            problems.push(Problem::new(&regex.span, message).hint("use `prefix`, lists, or path patterns"));
            return false;
        }
    }
    true
}

/// Reads a mapping of attributes to what they must be; `None` where any of it is at fault, since the rest
/// would mean something else.
pub(super) fn when(node: &Node, attributes: &mut Attributes, problems: &mut Vec<Problem>) -> Option<When> {
    let mut when = When::default();
    let mut good = true;
    for entry in node.entries() {
        let Some(id) = attributes.id(&entry.name) else {
            problems.push(Problem::new(&entry.span, "the file uses more than 65,535 attributes"));
            return None;
        };
        let kind = attributes.kind(&entry.name);
        match matcher(kind, &entry.value, problems) {
            Some(matcher) => when.0.push((id, matcher)),
            None => good = false,
        }
    }
    good.then_some(when)
}

fn matcher(kind: AttributeKind, node: &Node, problems: &mut Vec<Problem>) -> Option<Matcher> {
    let Kind::Map(entries) = &node.kind else {
        return patterns(node, problems, |text| literal(kind, text)).map(Matcher::AnyOf);
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
        "prefix" => patterns(value, problems, |text| prefix(kind, text)).map(Matcher::AnyOf),
        "regex" => patterns(value, problems, regex).map(Matcher::AnyOf),
        "not" => patterns(value, problems, |text| literal(kind, text)).map(Matcher::NoneOf),
        _ => None,
    }
}

fn patterns(
    node: &Node,
    problems: &mut Vec<Problem>,
    read: impl Fn(&str) -> Result<Pattern, Complaint>,
) -> Option<Vec<Pattern>> {
    let before = problems.len();
    let mut patterns = Vec::new();
    for item in node.items() {
        match item.text().map(&read) {
            Some(Ok(pattern)) => patterns.push(pattern),
            Some(Err(complaint)) => problems.push(complaint.at(&item.span)),
            None => return None,
        }
    }
    (problems.len() == before).then_some(patterns)
}

fn literal(kind: AttributeKind, text: &str) -> Result<Pattern, Complaint> {
    match kind {
        AttributeKind::Path => path_pattern(text),
        AttributeKind::Address => network(text),
        AttributeKind::Text => Ok(Pattern::Exact(text.trim().into())),
    }
}

fn prefix(kind: AttributeKind, text: &str) -> Result<Pattern, Complaint> {
    if text.starts_with(char::is_whitespace) {
        return complain("no value starts with a blank", "blanks around values are cut off; leave it out");
    }
    if kind == AttributeKind::Path && path::normal_form(text) != text {
        let hint = format!("write `{}`", path::normal_form(text));
        return complain("no path starts like this in its normal form", hint);
    }
    Ok(Pattern::Prefix(text.into()))
}

fn path_pattern(text: &str) -> Result<Pattern, Complaint> {
    if text.contains(['{', '}']) {
        return complain(
            "braces have no meaning in a path",
            "use `*` for one segment and `**` for any number",
        );
    }
    let Some(pattern) = PathPattern::parse(text) else {
        return complain("a path starts with `/`", format!("write `/{text}`"));
    };
    if text.split('/').any(|segment| segment != "**" && segment.contains("**")) {
        return complain("`**` is a segment of its own", "such as `/v1/**`; within a segment use `*`");
    }
    // Requests are brought into normal form first, so another spelling would never match.
    let normal = path::normal_form(text);
    if normal == text {
        Ok(Pattern::Path(pattern))
    } else {
        complain("no path looks like this in its normal form", format!("write `{normal}`"))
    }
}

fn network(text: &str) -> Result<Pattern, Complaint> {
    let network = match text.parse::<IpNet>() {
        Ok(network) => Some(network),
        Err(_) => address::parse(text).map(IpNet::from),
    };
    let Some(network) = network else {
        let hint = "such as `10.0.0.0/8`, `192.0.2.1` or `2001:db8::/32`";
        return complain("this is not an address or network", hint);
    };
    if network.addr() != network.network() {
        let hint = format!("write `{}`", network.trunc());
        return complain("the address has bits outside its network", hint);
    }
    if let IpNet::V6(v6) = network
        && v6.addr().to_ipv4_mapped().is_some()
    {
        return complain(
            "an IPv4-mapped network never matches: such addresses are IPv4 here",
            "write it as IPv4",
        );
    }
    Ok(Pattern::Network(network))
}

fn regex(text: &str) -> Result<Pattern, Complaint> {
    match RegexBuilder::new(text).size_limit(REGEX_SIZE_MAX).build() {
        Ok(regex) => Ok(Pattern::Regex(regex)),
        Err(regex::Error::CompiledTooBig(limit)) => complain(
            format!("this regular expression needs more than {limit} bytes"),
            "use smaller repetitions",
        ),
        Err(error) => {
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            let message = format!("this regular expression does not compile: {reason}");
            complain(message, "the syntax is that of the Rust crate `regex`")
        }
    }
}
