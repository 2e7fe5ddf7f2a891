//! Checks over the whole file: what no single field can tell.

use std::ops::Range;

use super::policies::Named;
use super::read::list;
use super::report::{Problem, closest};
use super::tree::Node;
use crate::policy::{CostRule, Draft, Mode, OnMissing, Policy};

/// A cost rule that an earlier one always comes before is a mistake: its price would never be asked.
pub(super) fn unreachable_costs(rules: &[(CostRule, &Node)], problems: &mut Vec<Problem>) {
    for (i, (rule, node)) in rules.iter().enumerate() {
        let before = rules.iter().take(i);
        let hidden =
            before.clone().any(|(first, _)| first.unit == rule.unit && first.when.covers(&rule.when));
        if hidden {
            problems.push(
                Problem::new(
                    &node.span,
                    "this cost rule can never apply: an earlier one fits whatever it fits",
                )
                .hint("put the more particular rule first"),
            );
        }
    }
}

/// Resolves `replaces` to policies, and refuses names that do not exist and circles.
pub(super) fn replacements(all: &[Named<'_>], policies: &mut [Policy], problems: &mut Vec<Problem>) {
    for named in all {
        let mut replaced = Vec::new();
        for node in list(named.node, "replaces") {
            let Some(text) = node.text() else { continue };
            match all.iter().find(|other| other.name == text) {
                Some(other) if replaces_back(all, other, named.name) => problems.push(
                    Problem::new(&node.span, format!("`{text}` and `{}` replace each other", named.name))
                        .hint("neither would ever apply; keep one of the two"),
                ),
                Some(other) => replaced.extend(&other.policies),
                None => {
                    let problem = Problem::new(&node.span, format!("there is no policy called `{text}`"));
                    problems.push(match closest(text, all.iter().map(|other| other.name)) {
                        Some(name) => problem.hint(format!("did you mean `{name}`?")),
                        None => problem.hint("it may have been renamed or removed"),
                    });
                }
            }
        }
        for &index in &named.policies {
            if let Some(policy) = policies.get_mut(index) {
                policy.replaces.clone_from(&replaced);
            }
        }
    }
}

/// Whether `from` is `to`, or replaces it, at first or second hand.
fn replaces_back(all: &[Named<'_>], from: &Named<'_>, to: &str) -> bool {
    let mut seen: Vec<&str> = Vec::new();
    let mut open: Vec<&Named<'_>> = vec![from];
    while let Some(named) = open.pop() {
        if named.name == to {
            return true;
        }
        if seen.contains(&named.name) {
            continue;
        }
        seen.push(named.name);
        let next = list(named.node, "replaces").iter().filter_map(Node::text);
        open.extend(next.filter_map(|name| all.iter().find(|other| other.name == name)));
    }
    false
}

/// What is allowed but looks like a mistake.
pub(super) fn warnings(file: &Node, all: &[Named<'_>], draft: &Draft) -> Vec<Problem> {
    let mut warnings = Vec::new();
    let everyone_meets_one = draft
        .policies
        .iter()
        .any(|policy| policy.is_enforced() && policy.when.0.is_empty() && evasion(policy, draft).is_none());
    for named in all {
        let Some(policy) = named.policies.first().and_then(|&index| draft.policies.get(index)) else {
            continue;
        };
        if let (Mode::Shadow, Some(replaces)) = (policy.mode, named.node.field("replaces")) {
            warnings.push(
                Problem::new(&replaces.span, "a shadow policy replaces nothing")
                    .hint("what it replaces applies until this policy is enforced"),
            );
        }
        if policy.is_enforced()
            && !everyone_meets_one
            && let Some(attribute) = evasion(policy, draft)
        {
            let hint = "set `on_missing: deny` or `shared`, add a second choice such as ` | client.ip`, or add a \
                policy that meets every request";
            let message = format!("a client that leaves out `{attribute}` meets no enforced policy");
            warnings.push(Problem::new(&key_or_node(named.node), message).hint(hint));
        }
    }
    warnings.extend(misspellings(file, draft));
    warnings
}

/// The attribute by whose absence a client escapes the policy, if the choice is the client's.
fn evasion<'a>(policy: &Policy, draft: &'a Draft) -> Option<&'a str> {
    let by_client = |name: &str| {
        let source = draft.attributes.source_of(name).unwrap_or(name);
        source.starts_with("header.") || source.starts_with("query.") || source.starts_with("cookie.")
    };
    let by_key = policy.key.iter().filter(|_| policy.on_missing == OnMissing::Skip).find_map(|part| {
        let names = || part.iter().map(|id| draft.attributes.name(*id));
        if names().all(by_client) { names().next() } else { None }
    });
    by_key.or_else(|| {
        let required = policy.when.0.iter().map(|(id, _)| *id).filter(|id| policy.when.requires(*id));
        required.map(|id| draft.attributes.name(id)).find(|name| by_client(name))
    })
}

/// Attributes used once, without a source, whose names are close to another's.
fn misspellings(file: &Node, draft: &Draft) -> Vec<Problem> {
    let mut places: Vec<(&str, Range<usize>)> = Vec::new();
    for policy in list(file, "policies") {
        for part in list(policy, "key") {
            let names = part.text().unwrap_or_default().split('|').map(str::trim);
            places.extend(names.map(|name| (name, part.span.clone())));
        }
        let whens = policy.field("when").map(Node::entries).unwrap_or_default();
        places.extend(whens.iter().map(|entry| (entry.name.as_str(), entry.span.clone())));
    }
    let known = |name: &str| draft.attributes.source_of(name).is_some();
    let uses = |name: &str| places.iter().filter(|(other, _)| *other == name).count();
    let suspicious = places.iter().filter(|(name, _)| uses(name) == 1 && !known(name));
    let warn = |(name, span): &(&str, Range<usize>)| {
        let others = places.iter().map(|(other, _)| *other).filter(|other| other != name);
        let mut usual = others.filter(|other| known(other) || uses(other) > 1);
        let near = usual.find(|other| strsim::damerau_levenshtein(name, other) <= 2)?;
        let message = format!("`{name}` is used only here, and `{near}` elsewhere");
        Some(Problem::new(span, message).hint("are they meant to be the same attribute?"))
    };
    suspicious.filter_map(warn).collect()
}

fn key_or_node(node: &Node) -> Range<usize> {
    node.field("key").unwrap_or(node).span.clone()
}
