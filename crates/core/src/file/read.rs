//! From checked nodes to a draft of the policy set. What the check of shapes has reported already is passed
//! over in silence here; what only meaning can tell is reported.

use super::checks;
use super::conditions;
use super::policies;
use super::report::Problem;
use super::scalar;
use super::tree::Node;
use crate::cost::{REQUESTS, UNITS};
use crate::key::KeySecret;
use crate::policy::{Attributes, CostRule, Draft};

/// Reads a whole file. Returns the draft, which is only good where no problem was pushed, and warnings.
pub(super) fn policy_file(
    file: &Node,
    secret: &KeySecret,
    problems: &mut Vec<Problem>,
) -> (Draft, Vec<Problem>) {
    let domain = file.field("domain").and_then(Node::text).unwrap_or_default().into();
    let mut draft = Draft { domain, ..Draft::default() };
    for entry in file.field("attributes").map(Node::entries).unwrap_or_default() {
        if let Some(source) = entry.value.text() {
            draft.attributes.declare(&entry.name, source);
        }
    }
    for node in list(file, "exempt") {
        draft.exempt.push(conditions::when(node, &mut draft.attributes, problems));
    }
    let costs = cost_rules(file, &mut draft.attributes, problems);
    let named = policies::read(file, secret, &mut draft, problems);
    checks::unreachable_costs(&costs, problems);
    checks::replacements(&named, &mut draft.policies, problems);
    draft.costs = costs.into_iter().map(|(rule, _)| rule).collect();
    let warnings = checks::warnings(file, &named, &draft);
    (draft, warnings)
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
        let when =
            node.field("when").map(|when| conditions::when(when, attributes, problems)).unwrap_or_default();
        let unit = node.field("unit").and_then(Node::text).unwrap_or(UNITS);
        if let (REQUESTS, Some(unit)) = (unit, node.field("unit")) {
            problems.push(
                Problem::new(&unit.span, "every request is one of `requests`")
                    .hint("give the rule another unit"),
            );
        }
        if let Some(cost) = node.field("cost").and_then(Node::text).and_then(|text| scalar::count(text).ok())
        {
            rules.push((CostRule { when, unit: unit.into(), cost }, node));
        }
    }
    rules
}
