//! What a request costs by the file's rules: work, not requests.

use super::attributes::Values;
use super::when::When;
use crate::cost::{Cost, REQUESTS};

/// Requests that fit `when` cost this much of `unit`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CostRule {
    pub(crate) when: When,
    pub(crate) unit: Box<str>,
    pub(crate) cost: u64,
}

/// The cost in `unit`: 0 where the caller only asks; else 1 for requests, else the policy's own, else the
/// caller's, else that of the first rule that fits, else 1.
pub(crate) fn cost_in(
    unit: &str,
    own: Option<u64>,
    said: &Cost,
    rules: &[CostRule],
    values: &Values<'_>,
) -> u64 {
    if said.only_asks() {
        return 0;
    }
    if unit == REQUESTS {
        return 1;
    }
    let by_rule =
        || rules.iter().find(|rule| *rule.unit == *unit && rule.when.matches(values)).map(|rule| rule.cost);
    own.or_else(|| said.of(unit)).or_else(by_rule).unwrap_or(1)
}
