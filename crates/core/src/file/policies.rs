//! `policies`: each node becomes one policy, or one for each quota of a list.

use super::conditions;
use super::read::list;
use super::report::Problem;
use super::scalar::{self, QuotaText, Window};
use super::tree::Node;
use crate::algorithm::Algorithm;
use crate::cost::{REQUESTS, UNITS};
use crate::key::{KeyBuilder, KeySecret};
use crate::operation::Rule;
use crate::policy::{Allowance, Attributes, Draft, KeyPart, Mode, Notes, OnMissing, Policy, Posture, When};
use crate::quota::Quota;
use crate::request::Layer;
use crate::time::Span;

/// A policy node by name, with the policies that it became.
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
    pub(super) node: &'a Node,
    /// Indices into the draft's policies; one for each quota.
    pub(super) policies: Vec<usize>,
}

/// Reads every policy into the draft.
pub(super) fn read<'a>(
    file: &'a Node,
    secret: &KeySecret,
    draft: &mut Draft,
    problems: &mut Vec<Problem>,
) -> Vec<Named<'a>> {
    let mut all: Vec<Named<'a>> = Vec::new();
    let defaults = file.field("defaults");
    for node in list(file, "policies") {
        let Some(name) = node.field("name") else { continue };
        let Some(text) = name.text() else { continue };
        let reader = Reader { node, defaults, name: text, domain: draft.domain.clone(), secret };
        let policies = reader.policies(&mut draft.attributes, problems);
        if all.iter().any(|other| other.name == text) {
            problems.push(
                Problem::new(&name.span, format!("there is another policy called `{text}`"))
                    .hint("names are unique; metrics and answers use them"),
            );
            continue;
        }
        let first = draft.policies.len();
        draft.policies.extend(policies);
        all.push(Named { name: text, node, policies: (first..draft.policies.len()).collect() });
    }
    all
}

/// One policy node, with the file's defaults behind it.
struct Reader<'a> {
    node: &'a Node,
    defaults: Option<&'a Node>,
    name: &'a str,
    domain: Box<str>,
    secret: &'a KeySecret,
}

/// A quota of a policy's list, as settled.
struct Allowed {
    suffix: String,
    allowance: Allowance,
}

impl<'a> Reader<'a> {
    /// The policy's own field, else the default.
    fn field(&self, name: &str) -> Option<&'a Node> {
        self.node.field(name).or_else(|| self.defaults?.field(name))
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.field(name)?.text()
    }

    fn policies(&self, attributes: &mut Attributes, problems: &mut Vec<Problem>) -> Vec<Policy> {
        let when = (self.node.field("when"))
            .map(|when| conditions::when(when, attributes, problems))
            .unwrap_or_default();
        let (key, key_text) = self.key(attributes, problems);
        let algorithm = self.text("algorithm").and_then(Algorithm::parse).unwrap_or(Algorithm::TokenBucket);
        let allowed = self.allowed(algorithm, problems);
        self.check_cost(&allowed, problems);
        allowed.into_iter().map(|a| self.policy(a, algorithm, when.clone(), key.clone(), &key_text)).collect()
    }

    fn policy(
        &self,
        Allowed { suffix, allowance }: Allowed,
        algorithm: Algorithm,
        when: When,
        key: Vec<KeyPart>,
        key_text: &str,
    ) -> Policy {
        let name = format!("{}{suffix}", self.name);
        let window = match &allowance {
            Allowance::Limited(rule) => algorithm.key_window(&rule.quota).unwrap_or(Span::ZERO),
            Allowance::Unlimited => Span::ZERO,
        };
        let key_start = [&*self.domain, &name, algorithm.as_str(), key_text]
            .into_iter()
            .fold(KeyBuilder::new(self.secret), |key, part| key.part(part.as_bytes()))
            .part(&window.nanos().to_le_bytes());
        let note = |field| self.text(field).map(Into::into);
        Policy {
            name: name.into(),
            allowance,
            mode: self.text("mode").and_then(Mode::parse).unwrap_or_default(),
            posture: self.text("on_store_failure").and_then(Posture::parse).unwrap_or_default(),
            unit: self.text("unit").unwrap_or(UNITS).into(),
            notes: Notes { owner: note("owner"), protects: note("protects"), why: note("why") },
            when,
            key,
            on_missing: self.text("on_missing").and_then(OnMissing::parse).unwrap_or_default(),
            cost: self.own_cost(),
            layers: self.layers(),
            replaces: Vec::new(),
            key_start,
        }
    }

    fn layers(&self) -> Vec<Layer> {
        let layers = self.field("layers").map(Node::items).unwrap_or_default();
        layers.iter().filter_map(|layer| layer.text().and_then(Layer::parse)).collect()
    }

    fn own_cost(&self) -> Option<u64> {
        self.node.field("cost")?.text().and_then(|text| scalar::count(text).ok())
    }

    /// The parts of the key, and their text, which is part of every key: another key is another counter.
    fn key(&self, attributes: &mut Attributes, problems: &mut Vec<Problem>) -> (Vec<KeyPart>, String) {
        let mut parts = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        for node in list(self.node, "key") {
            let Some(names) = node.text().and_then(|text| scalar::key_part(text).ok()) else { continue };
            let text = names.join("|");
            if texts.contains(&text) {
                problems.push(Problem::new(&node.span, "this is in the key already").hint("leave it out"));
            }
            texts.push(text);
            parts.push(names.into_iter().filter_map(|name| attributes.id(name)).collect());
        }
        (parts, texts.join(","))
    }

    fn burst(&self) -> Option<u64> {
        self.node.field("burst")?.text().and_then(|text| scalar::count(text).ok())
    }

    /// The quotas, one or a list, each with the ending of its policy's name.
    fn allowed(&self, algorithm: Algorithm, problems: &mut Vec<Problem>) -> Vec<Allowed> {
        let Some(quota) = self.node.field("quota") else { return Vec::new() };
        let several = quota.items().len() > 1;
        let mut allowed: Vec<Allowed> = Vec::new();
        if let (true, Some(burst)) = (several, self.node.field("burst")) {
            problems.push(
                Problem::new(&burst.span, "one burst cannot serve several quotas")
                    .hint("write a policy of its own for the quota that has a burst"),
            );
            return allowed;
        }
        if let (Some(0), Some(burst)) = (self.burst(), self.node.field("burst")) {
            problems.push(
                Problem::new(&burst.span, "a burst of 0 would admit nothing")
                    .hint("leave it out for a burst of the limit"),
            );
        }
        for node in quota.items() {
            let Some(Ok(text)) = node.text().map(scalar::quota) else { continue };
            match self.settle(text, several, algorithm) {
                Ok(one) if allowed.iter().any(|other| other.suffix == one.suffix) => problems.push(
                    Problem::new(&node.span, "the list has another quota with this window")
                        .hint("the smaller of the two would always decide; keep that one"),
                ),
                Ok(one) => allowed.push(one),
                Err((at, message, hint)) => {
                    let place = at.and_then(|field| self.node.field(field)).unwrap_or(node);
                    problems.push(Problem::new(&place.span, message).hint(hint));
                }
            }
        }
        allowed
    }

    /// A settled quota, or the field at fault (the quota itself if `None`), what is wrong, and what to do.
    fn settle(
        &self,
        text: QuotaText,
        several: bool,
        algorithm: Algorithm,
    ) -> Result<Allowed, (Option<&'static str>, String, String)> {
        // A burst of 0 has been reported already.
        let burst = self.burst().filter(|burst| *burst > 0);
        match text {
            QuotaText::Unlimited if burst.is_some() => {
                Err((Some("burst"), "an unlimited quota has no burst".into(), "leave it out".into()))
            }
            QuotaText::Unlimited => Ok(Allowed { suffix: String::new(), allowance: Allowance::Unlimited }),
            QuotaText::Limited { window: Window::Calendar(name), .. } => {
                let hint = format!("write days instead: `{}`", days_of(name));
                let message = if algorithm == Algorithm::FixedWindow {
                    format!("calendar windows such as `{name}` are not supported")
                } else {
                    format!("`{name}` is a calendar window, and `{algorithm}` has none")
                };
                Err((None, message, hint))
            }
            QuotaText::Limited { limit, window: Window::Length(window) } => {
                use crate::quota::QuotaError as E;
                let quota = Quota::settle(algorithm, limit, window, burst).map_err(|error| {
                    let (field, hint) = match error {
                        E::BurstZero | E::BurstUnused(_) => {
                            (Some("burst"), "leave it out, or use `token_bucket`")
                        }
                        E::TooLarge { what: "burst", .. } | E::TooSlow(_) => {
                            (burst.map(|_| "burst"), "lower it, or count in larger units")
                        }
                        E::TooLarge { .. } => (None, "lower it, or count in larger units"),
                        E::Window => (None, "choose another window"),
                    };
                    (field, error.to_string(), hint.to_owned())
                })?;
                let suffix = if several { format!(".{window}") } else { String::new() };
                Ok(Allowed { suffix, allowance: Allowance::Limited(Rule { algorithm, quota }) })
            }
        }
    }

    fn check_cost(&self, allowed: &[Allowed], problems: &mut Vec<Problem>) {
        let (Some(node), Some(cost)) = (self.node.field("cost"), self.own_cost()) else { return };
        if self.text("unit") == Some(REQUESTS) {
            problems.push(
                Problem::new(&node.span, "every request is one of `requests`")
                    .hint("leave the cost out, or count another unit"),
            );
        }
        let too_small = allowed.iter().any(|a| match a.allowance {
            Allowance::Limited(rule) => rule.quota.limit() > 0 && cost > rule.quota.capacity(),
            Allowance::Unlimited => false,
        });
        if too_small {
            problems.push(
                Problem::new(&node.span, "this costs more than the quota can ever hold")
                    .hint("raise the quota or its burst; for a block, write a quota of `0/minute`"),
            );
        }
    }
}

fn days_of(calendar: &str) -> &'static str {
    match calendar {
        "week" => "7d",
        "month" => "30d",
        _ => "365d",
    }
}
