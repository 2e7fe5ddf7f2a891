//! Checks over the whole file that no single field can make.

use std::collections::HashSet;

use super::report::Problem;
use super::tree::Node;
use crate::cost::REQUESTS;
use crate::policy::{CostRule, Policy};

/// More cost rules than this are a table of prices, which belongs to the caller.
const COST_RULES_MAX: usize = 1_000;

/// So are more values than this in all of their conditions together; each is compared with each.
const COST_PATTERNS_MAX: usize = 2_000;

/// A cost rule that can never apply is a mistake: its price would never be asked. Either an earlier one
/// always comes before it, or no policy counts its unit.
pub(super) fn costs(rules: &[(CostRule, &Node)], policies: &[Policy], problems: &mut Vec<Problem>) {
    let hint = "let the caller say what a request costs";
    if let Some((_, node)) = rules.get(COST_RULES_MAX) {
        let problem = Problem::new(&node.span, format!("more than {COST_RULES_MAX} cost rules"));
        return problems.push(problem.hint(hint));
    }
    let patterns: usize = rules.iter().map(|(rule, _)| rule.when.patterns()).sum();
    if let (true, Some((_, node))) = (patterns > COST_PATTERNS_MAX, rules.last()) {
        let message = format!("the cost rules have more than {COST_PATTERNS_MAX} values in their conditions");
        return problems.push(Problem::new(&node.span, message).hint(hint));
    }
    let units: HashSet<&str> = policies.iter().map(|policy| &*policy.unit).collect();
    for (i, (rule, node)) in rules.iter().enumerate() {
        let is_hidden =
            |(first, _): &(CostRule, &Node)| first.unit == rule.unit && first.when.covers(&rule.when);
        if rules.iter().take(i).any(is_hidden) {
            let message = "this cost rule can never apply: an earlier one fits whatever it fits";
            problems.push(Problem::new(&node.span, message).hint("put the more particular rule first"));
        }
        if let (false, Some(unit)) =
            (units.contains(&*rule.unit) || &*rule.unit == REQUESTS, node.field("unit"))
        {
            let message = format!("no policy counts `{}`, so this cost rule can never apply", rule.unit);
            problems.push(Problem::new(&unit.span, message).hint("name the unit of a policy"));
        }
    }
}
