//! A policy: a named rule that says when it matches, whose allowance it is, and how it is counted.

mod attributes;
mod changes;
mod charges;
mod costs;
mod glob;
mod set;
mod when;

pub use changes::Usage;
pub use charges::{Charge, Charges, Demand};
pub use set::{PolicySet, UnknownDomain};

pub(crate) use attributes::{AttributeId, AttributeKind, Attributes};
pub(crate) use costs::CostRule;
pub(crate) use glob::PathPattern;
pub(crate) use set::Draft;
pub(crate) use when::{Matcher, Pattern, When};

use smallvec::SmallVec;

use crate::key::KeyBuilder;
use crate::request::Layer;
use crate::rule::Rule;
use crate::words::words;

words! {
    /// Whether a policy decides, or only watches.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub enum Mode {
        /// A denial refuses the request.
        #[default]
        Enforce = "enforce",
        /// Counts as if it were enforced; what it would have blocked is reported and nothing else.
        Shadow = "shadow",
        /// As if it were not there.
        Off = "off",
    }
}

words! {
    /// What a policy does while the store cannot answer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub enum Posture {
        /// Admit: the limiter's outage is not the caller's.
        #[default]
        Open = "open",
        /// Refuse: the protection matters more than the traffic.
        Closed = "closed",
        /// Count in this node's memory, at its share of the quota.
        Local = "local",
    }
}

/// What a policy does while the store cannot answer, by the layer where the request was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Postures([Posture; Layer::ALL.len()]);

impl Postures {
    pub(crate) fn by_layer(posture: impl FnMut(Layer) -> Posture) -> Self {
        Self(Layer::ALL.map(posture))
    }

    /// The posture at a layer.
    pub fn at(&self, layer: Layer) -> Posture {
        self.0.get(layer as usize).copied().unwrap_or_default()
    }

    /// Whether this is the posture at any layer.
    pub fn contains(&self, posture: Posture) -> bool {
        self.0.contains(&posture)
    }
}

words! {
    /// What a policy does with a request that lacks an attribute of its key.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub enum OnMissing {
        /// It does not apply; such requests are counted.
        #[default]
        Skip = "skip",
        /// All such requests share one allowance.
        Shared = "shared",
        /// It refuses the request.
        Deny = "deny",
    }
}

/// How much a policy allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// Everything, without a call to the store.
    Unlimited,
    /// What the rule admits.
    Limited(Rule),
}

/// One part of a key: the first of these attributes that the request has.
pub(crate) type KeyPart = SmallVec<[AttributeId; 2]>;

/// A policy, settled.
#[derive(Debug)]
pub struct Policy {
    /// Its name, unique in the domain.
    pub name: Box<str>,
    /// What it allows.
    pub allowance: Allowance,
    /// Whether it decides.
    pub mode: Mode,
    /// What it does without its store.
    pub postures: Postures,
    /// The unit it counts.
    pub unit: Box<str>,
    /// Who answers for it, what it protects and why it is as it is: for people.
    pub notes: Notes,
    pub(crate) when: When,
    pub(crate) key: Vec<KeyPart>,
    pub(crate) on_missing: OnMissing,
    pub(crate) cost: Option<u64>,
    /// Empty means every layer.
    pub(crate) layers: Vec<Layer>,
    pub(crate) replaces: Vec<usize>,
    /// Its place among all, the narrowest first.
    pub(crate) rank: u16,
    /// Domain, name, algorithm and window are in it already.
    pub(crate) key_start: KeyBuilder,
}

/// Words for people; nothing is decided by them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Whom to ask.
    pub owner: Option<Box<str>>,
    /// What would suffer without it.
    pub protects: Option<Box<str>>,
    /// The reason for the figures.
    pub why: Option<Box<str>>,
}

impl Policy {
    /// Whether a denial of this policy refuses the request.
    pub fn is_enforced(&self) -> bool {
        self.mode == Mode::Enforce
    }

    fn is_met_at(&self, layer: Layer) -> bool {
        self.mode != Mode::Off && (self.layers.is_empty() || self.layers.contains(&layer))
    }
}
