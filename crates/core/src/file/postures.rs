//! `on_store_failure`: one posture, or one for each layer.

use super::report::Problem;
use super::tree::Node;
use crate::policy::{self, Posture};
use crate::request::Layer;

const FIELD: &str = "on_store_failure";

/// What a policy says, with the file's defaults behind it.
pub(super) struct Postures<'a> {
    pub(super) policy: &'a Node,
    pub(super) defaults: Option<&'a Node>,
}

impl Postures<'_> {
    /// At each layer as the policy says, else as the defaults do, else open.
    pub(super) fn settled(&self) -> policy::Postures {
        let or_default = |layer| self.declared(layer).unwrap_or_default();
        policy::Postures::by_layer(|layer| said(self.policy, layer).unwrap_or_else(|| or_default(layer)))
    }

    /// Pushes a problem where a posture cannot come into force, or departs from a declared default without a reason.
    /// The policy is charged at these layers; none means at all of them.
    pub(super) fn check(&self, layers: &[Layer], is_unlimited: bool, problems: &mut Vec<Problem>) {
        let Some(node) = self.policy.field(FIELD) else { return };
        if is_unlimited {
            let message = "an unlimited policy asks no store, so it has nothing to do without one";
            problems.push(Problem::new(&node.span, message).hint("leave `on_store_failure` out"));
            return;
        }
        let is_charged_at = |layer: Layer| layers.is_empty() || layers.contains(&layer);
        for entry in node.entries() {
            if Layer::parse(&entry.name).is_some_and(|layer| !is_charged_at(layer)) {
                let message = format!("this policy is not charged at the layer `{}`", entry.name);
                let hint = "leave this out, or add the layer to `layers`";
                problems.push(Problem::new(&entry.span, message).hint(hint));
            }
        }
        if self.policy.field("why").is_some() {
            return;
        }
        for layer in Layer::ALL.into_iter().filter(|layer| is_charged_at(*layer)) {
            let (Some(own), Some(default)) = (said(self.policy, layer), self.declared(layer)) else {
                continue;
            };
            if own != default {
                let message =
                    format!("`{own}` departs from `{default}`, the default for the layer `{layer}`");
                let hint = "give the reason in `why`, or leave this out";
                problems.push(Problem::new(&node.span, message).hint(hint));
                return;
            }
        }
    }

    /// The default that the file declares. Where it is declared for other layers only, it is open.
    fn declared(&self, layer: Layer) -> Option<Posture> {
        let defaults = self.defaults.filter(|defaults| defaults.field(FIELD).is_some())?;
        Some(said(defaults, layer).unwrap_or_default())
    }
}

fn said(node: &Node, layer: Layer) -> Option<Posture> {
    let said = node.field(FIELD)?;
    let word = said.text().or_else(|| said.field(layer.as_str())?.text())?;
    Posture::parse(word)
}
