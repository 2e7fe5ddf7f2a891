//! What is allowed but looks like a mistake.

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::ops::Range;

use super::policies::Named;
use super::read::list;
use super::report::Problem;
use super::tree::Node;
use crate::policy::{Allowance, Draft, Mode, OnMissing, Policy, When};

/// Names that look misspelt are compared with at most this many others.
const COMPARED_MAX: usize = 50;

/// All warnings about a file that has no mistakes.
pub(super) fn of(file: &Node, all: &[Named<'_>], draft: &Draft) -> Vec<Problem> {
    let mut warnings = shadows_that_replace(all, draft);
    warnings.extend(evasions(all, draft));
    warnings.extend(exemptions_by_choice(file, draft));
    warnings.extend(misspellings(file, draft));
    warnings
}

fn first_policy<'a>(named: &Named<'_>, draft: &'a Draft) -> Option<&'a Policy> {
    draft.policies.get(named.policies.start)
}

fn shadows_that_replace(all: &[Named<'_>], draft: &Draft) -> Vec<Problem> {
    let shadows = all.iter().filter(|n| first_policy(n, draft).is_some_and(|p| p.mode == Mode::Shadow));
    let replaces = shadows.filter_map(|named| named.node.field("replaces"));
    let warn = |node: &Node| {
        Problem::new(&node.span, "a shadow policy replaces nothing")
            .hint("what it replaces applies until this policy is enforced")
    };
    replaces.map(warn).collect()
}

/// Policies that a client escapes by leaving something out, where nothing else is sure to meet it.
fn evasions(all: &[Named<'_>], draft: &Draft) -> Vec<Problem> {
    let enforced = draft.policies.iter().filter(|policy| policy.is_enforced());
    let replaced: HashSet<usize> = enforced.flat_map(|policy| policy.replaces.clone()).collect();
    let meets_everyone = |(index, policy): (usize, &Policy)| {
        policy.is_enforced()
            && policy.when.0.is_empty()
            && policy.layers.is_empty()
            && matches!(policy.allowance, Allowance::Limited(_))
            && !replaced.contains(&index)
            && escape(policy, draft).is_none()
    };
    if draft.policies.iter().enumerate().any(meets_everyone) {
        return Vec::new();
    }
    let warn = |named: &Named<'_>| {
        let policy = first_policy(named, draft).filter(|policy| policy.is_enforced())?;
        let attribute = escape(policy, draft)?;
        let place = named.node.field("key").unwrap_or(named.node);
        let hint = "set `on_missing: deny` or `shared`, add a second choice such as ` | client.ip`, or add a \
            policy that meets every request";
        let message = format!("a client that leaves out `{attribute}` meets no enforced policy");
        Some(Problem::new(&place.span, message).hint(hint))
    };
    all.iter().filter_map(warn).collect()
}

/// The attribute by whose absence a client escapes the policy, if the choice is the client's.
fn escape<'a>(policy: &Policy, draft: &'a Draft) -> Option<&'a str> {
    let name = |id| draft.attributes.name(id);
    let by_key = policy.key.iter().filter(|_| policy.on_missing == OnMissing::Skip).find_map(|part| {
        let mut names = part.iter().map(|id| name(*id));
        if part.iter().all(|id| is_clients_choice(name(*id), draft)) { names.next() } else { None }
    });
    by_key.or_else(|| required(&policy.when).map(name).find(|name| is_clients_choice(name, draft)))
}

fn required(when: &When) -> impl Iterator<Item = crate::policy::AttributeId> {
    when.0.iter().map(|(id, _)| *id).filter(|id| when.requires(*id))
}

/// Whether a client decides what the attribute is, or whether there is one.
fn is_clients_choice(name: &str, draft: &Draft) -> bool {
    let source = draft.attributes.source_of(name).unwrap_or(name);
    ["header.", "query.", "cookie.", "jwt."].iter().any(|kind| source.starts_with(kind))
}

/// An exemption that a client can give itself.
fn exemptions_by_choice(file: &Node, draft: &Draft) -> Vec<Problem> {
    let warn = |(node, when): (&Node, &When)| {
        let mut names = when.0.iter().map(|(id, _)| draft.attributes.name(*id));
        let name = names.next().filter(|name| is_clients_choice(name, draft))?;
        if !names.all(|name| is_clients_choice(name, draft)) {
            return None;
        }
        let message = format!("any client can exempt itself by its choice of `{name}`");
        Some(Problem::new(&node.span, message).hint("exempt by something that the client does not choose"))
    };
    list(file, "exempt").iter().zip(&draft.exempt).filter_map(warn).collect()
}

/// Attributes used once, without a source, whose names are close to another's.
fn misspellings(file: &Node, draft: &Draft) -> Vec<Problem> {
    let mut uses: BTreeMap<&str, (usize, Range<usize>)> = BTreeMap::new();
    let mut note = |name, span: &Range<usize>| uses.entry(name).or_insert((0, span.clone())).0 += 1;
    for policy in list(file, "policies") {
        for part in list(policy, "key") {
            let names = part.text().unwrap_or_default().split('|').map(str::trim);
            names.for_each(|name| note(name, &part.span));
        }
        for entry in policy.field("when").map(Node::entries).unwrap_or_default() {
            note(&entry.name, &entry.span);
        }
    }
    let has_source = |name: &str| draft.attributes.source_of(name).is_some();
    let is_usual = |(name, (count, _)): &(&&str, &(usize, Range<usize>))| *count > 1 || has_source(name);
    let usual: Vec<&str> = uses.iter().filter(is_usual).map(|(name, _)| *name).take(COMPARED_MAX).collect();
    let warn = |(name, (_, span)): (&&str, &(usize, Range<usize>))| {
        // Of a short name a third is one letter or none.
        let is_near = |other: &&&str| {
            name.len().abs_diff(other.len()) <= 2
                && strsim::damerau_levenshtein(name, other) <= (name.len() / 3).min(2)
        };
        let near = usual.iter().find(is_near)?;
        let message = format!("`{name}` is used only here, and `{near}` elsewhere");
        Some(Problem::new(span, message).hint("are they meant to be the same attribute?"))
    };
    uses.iter().filter(|entry| !is_usual(entry)).take(COMPARED_MAX).filter_map(warn).collect()
}
