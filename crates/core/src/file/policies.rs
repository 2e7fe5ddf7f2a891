//! `policies`: each node becomes one policy, or one for each quota of a list.

use std::collections::HashSet;
use std::ops::Range;

use super::Options;
use super::conditions;
use super::postures::Postures;
use super::quotas::{self, Allowed, Terms};
use super::read::list;
use super::report::Problem;
use super::scalar;
use super::tree::Node;
use crate::algorithm::Algorithm;
use crate::cost::{REQUESTS, UNITS};
use crate::key::KeyBuilder;
use crate::policy::{Allowance, Attributes, Draft, KeyPart, Mode, Notes, OnMissing, Policy, When};
use crate::quota::Quota;
use crate::request::Layer;
use crate::rule::Rule;

/// The most attributes that a key is made of.
const KEY_PARTS_MAX: usize = 16;

/// A policy node by name, with the policies that it became.
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
    pub(super) node: &'a Node,
    /// Where they are among the draft's policies; one for each quota.
    pub(super) policies: Range<usize>,
}

/// Reads every policy into the draft.
pub(super) fn read<'a>(
    file: &'a Node,
    options: &Options,
    draft: &mut Draft,
    problems: &mut Vec<Problem>,
) -> Vec<Named<'a>> {
    let mut all: Vec<Named<'a>> = Vec::new();
    let mut names: HashSet<Box<str>> = HashSet::new();
    let defaults = file.field("defaults");
    for node in list(file, "policies") {
        let Some(name) = node.field("name") else { continue };
        let Some(text) = name.text() else { continue };
        let reader = Reader { node, defaults, name: text, domain: &draft.domain, options };
        let policies = reader.policies(&mut draft.attributes, problems);
        // With a list of quotas the policies' names differ from the node's, and all of them count.
        let mut own =
            policies.iter().map(|policy| policy.name.clone()).chain([text.into()]).collect::<Vec<_>>();
        own.dedup();
        if let Some(taken) = own.iter().find(|name| names.contains(*name)) {
            problems.push(
                Problem::new(&name.span, format!("there is another policy called `{taken}`"))
                    .hint("names are unique; metrics and answers use them"),
            );
            continue;
        }
        names.extend(own);
        let first = draft.policies.len();
        draft.policies.extend(policies);
        all.push(Named { name: text, node, policies: first..draft.policies.len() });
    }
    all
}

/// One policy node, with the file's defaults behind it.
struct Reader<'a> {
    node: &'a Node,
    defaults: Option<&'a Node>,
    name: &'a str,
    domain: &'a str,
    options: &'a Options,
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
        let when = self.node.field("when").map(|when| conditions::when(when, attributes, problems));
        let (key, key_text) = self.key(attributes, problems);
        let algorithm = self.text("algorithm").and_then(Algorithm::parse).unwrap_or(Algorithm::TokenBucket);
        let terms = Terms { algorithm, time_zone: self.text("time_zone"), options: self.options };
        let allowed = quotas::read(self.node, terms, problems);
        self.check_cost(&allowed, problems);
        let is_unlimited = !allowed.is_empty() && allowed.iter().all(|allowed| allowed.quota.is_none());
        self.postures().check(&self.layers(), is_unlimited, problems);
        allowed
            .into_iter()
            .map(|a| {
                self.policy(a, algorithm, when.clone().flatten().unwrap_or_default(), key.clone(), &key_text)
            })
            .collect()
    }

    fn policy(
        &self,
        Allowed { suffix, quota }: Allowed,
        algorithm: Algorithm,
        when: When,
        key: Vec<KeyPart>,
        key_text: &str,
    ) -> Policy {
        let name = format!("{}{suffix}", self.name);
        let window = quota.and_then(|quota| algorithm.key_window(&quota));
        let window = window.map(|window| window.to_string()).unwrap_or_default();
        let key_start = [self.domain, &name, algorithm.as_str(), key_text, &window]
            .into_iter()
            .fold(KeyBuilder::new(&self.options.secret), |key, part| key.part(part.as_bytes()));
        let allowance = match quota {
            Some(quota) => Allowance::Limited(Rule::new(key_start.policy_id(), algorithm, quota)),
            None => Allowance::Unlimited,
        };
        let note = |field| self.text(field).map(Into::into);
        Policy {
            name: name.into(),
            allowance,
            mode: self.text("mode").and_then(Mode::parse).unwrap_or_default(),
            postures: self.postures().settled(),
            unit: self.text("unit").unwrap_or(UNITS).into(),
            notes: Notes { owner: note("owner"), protects: note("protects"), why: note("why") },
            when,
            key,
            on_missing: self.text("on_missing").and_then(OnMissing::parse).unwrap_or_default(),
            cost: self.own_cost(),
            layers: self.layers(),
            replaces: Vec::new(),
            rank: 0,
            key_start,
        }
    }

    fn layers(&self) -> Vec<Layer> {
        let layers = self.field("layers").map(Node::items).unwrap_or_default();
        layers.iter().filter_map(|layer| layer.text().and_then(Layer::parse)).collect()
    }

    fn postures(&self) -> Postures<'a> {
        Postures { policy: self.node, defaults: self.defaults }
    }

    fn own_cost(&self) -> Option<u64> {
        self.node.field("cost")?.text().and_then(|text| scalar::count(text).ok())
    }

    /// The parts of the key, and their text, which is part of every key: another key is another counter.
    fn key(&self, attributes: &mut Attributes, problems: &mut Vec<Problem>) -> (Vec<KeyPart>, String) {
        let mut parts = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        if let Some(node) = list(self.node, "key").get(KEY_PARTS_MAX) {
            problems.push(Problem::new(&node.span, format!("a key has at most {KEY_PARTS_MAX} parts")));
            return (parts, String::new());
        }
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

    fn check_cost(&self, allowed: &[Allowed], problems: &mut Vec<Problem>) {
        let (Some(node), Some(cost)) = (self.node.field("cost"), self.own_cost()) else { return };
        if cost == 0 {
            problems.push(
                Problem::new(&node.span, "a policy at no cost never counts anything")
                    .hint("leave the cost out, or say `mode: off`"),
            );
        }
        if self.text("unit") == Some(REQUESTS) {
            problems.push(
                Problem::new(&node.span, "every request is one of `requests`")
                    .hint("leave the cost out, or count another unit"),
            );
        }
        let is_too_small = |quota: Quota| quota.limit() > 0 && cost > quota.capacity();
        let too_small = allowed.iter().filter_map(|allowed| allowed.quota).any(is_too_small);
        if too_small {
            problems.push(
                Problem::new(&node.span, "this costs more than the quota can ever hold")
                    .hint("raise the quota or its burst; for a block, write a quota of `0/minute`"),
            );
        }
    }
}
