//! From checked nodes to a draft of the policy set. What the check of shapes has reported already is passed
//! over in silence here; what only meaning can tell is reported.

use std::collections::HashSet;

use super::Options;
use super::checks;
use super::conditions;
use super::policies;
use super::replaces;
use super::report::Problem;
use super::scalar;
use super::tree::Node;
use super::warnings;
use crate::cost::{REQUESTS, UNITS};
use crate::policy::{Attributes, CostRule, Draft, When};

/// Reads a whole file. Returns the draft, which is only good where no problem was pushed, and warnings.
pub(super) fn policy_file(
    file: &Node,
    options: &Options,
    problems: &mut Vec<Problem>,
) -> (Draft, Vec<Problem>) {
    let domain = file.field("domain").and_then(Node::text).unwrap_or_default().into();
    let mut draft = Draft { domain, ..Draft::default() };
    if !conditions::check_regexes(file, problems) {
        return (draft, Vec::new());
    }
    sources(file, &mut draft.attributes, problems);
    for node in list(file, "exempt") {
        if node.entries().is_empty() {
            let problem = Problem::new(&node.span, "an exemption without conditions would exempt everything");
            problems.push(problem.hint("say what is exempt, such as `path: /healthz`"));
        }
        draft.exempt.extend(conditions::when(node, &mut draft.attributes, problems));
    }
    let costs = cost_rules(file, &mut draft.attributes, problems);
    let named = policies::read(file, options, &mut draft, problems);
    checks::costs(&costs, &draft.policies, problems);
    replaces::resolve(&named, &mut draft.policies, problems);
    draft.costs = costs.into_iter().map(|(rule, _)| rule).collect();
    let warnings = if problems.is_empty() { warnings::of(file, &named, &draft) } else { Vec::new() };
    (draft, warnings)
}

/// `attributes`: where they are found. A source is what a door gives, not another attribute of the file.
fn sources(file: &Node, attributes: &mut Attributes, problems: &mut Vec<Problem>) {
    let entries = file.field("attributes").map(Node::entries).unwrap_or_default();
    let names: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    for entry in entries {
        let Some(source) = entry.value.text() else { continue };
        if names.contains(source) {
            let message = format!("`{source}` has a source itself");
            problems.push(Problem::new(&entry.value.span, message).hint("name that source here as well"));
        }
        attributes.declare(&entry.name, source);
    }
}

/// The items of a list field; none where it is absent.
pub(super) fn list<'a>(node: &'a Node, name: &str) -> &'a [Node] {
    node.field(name).map(Node::items).unwrap_or_default()
}

fn cost_rules<'a>(
    file: &'a Node,
    attributes: &mut Attributes,
    problems: &mut Vec<Problem>,
) -> Vec<(CostRule, &'a Node)> {
    let mut rules = Vec::new();
    for node in list(file, "costs") {
        let when = match node.field("when") {
            Some(when) => conditions::when(when, attributes, problems),
            None => Some(When::default()),
        };
        let unit = node.field("unit").and_then(Node::text).unwrap_or(UNITS);
        if let (REQUESTS, Some(unit)) = (unit, node.field("unit")) {
            problems.push(
                Problem::new(&unit.span, "every request is one of `requests`")
                    .hint("give the rule another unit"),
            );
        }
        let cost = node.field("cost").and_then(Node::text).and_then(|text| scalar::count(text).ok());
        if let (Some(when), Some(cost)) = (when, cost) {
            rules.push((CostRule { when, unit: unit.into(), cost }, node));
        }
    }
    rules
}
