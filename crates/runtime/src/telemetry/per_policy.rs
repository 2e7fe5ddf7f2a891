//! The counters of each policy, found by its index, so that a decision looks nothing up by name.

use std::sync::Arc;

use arc_swap::ArcSwap;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use weir_core::{Layer, Outcome, Policy, PolicySet, Verdict};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    policy: String,
    layer: &'static str,
    outcome: &'static str,
    mode: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PolicyLabel {
    policy: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ChargedLabels {
    policy: String,
    unit: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DegradedLabels {
    policy: String,
    posture: &'static str,
}

/// The counters of the policies in force. Those of policies that were replaced stay, and go on where a policy
/// of their name comes back.
#[derive(Debug)]
pub(super) struct PerPolicy {
    families: Families,
    table: ArcSwap<Table>,
}

/// The counters of one set of policies, by index.
#[derive(Debug)]
struct Table {
    of: Arc<PolicySet>,
    counters: Vec<Counters>,
}

#[derive(Debug)]
struct Counters {
    /// By layer and outcome.
    decisions: [[Counter; Outcome::ALL.len()]; Layer::ALL.len()],
    would_block: Counter,
    missing: Counter,
    charged: Counter,
    /// By layer.
    degraded: [Counter; Layer::ALL.len()],
}

#[derive(Debug, Default)]
struct Families {
    decisions: Family<DecisionLabels, Counter>,
    would_block: Family<PolicyLabel, Counter>,
    missing: Family<PolicyLabel, Counter>,
    charged: Family<ChargedLabels, Counter>,
    degraded: Family<DegradedLabels, Counter>,
}

impl PerPolicy {
    pub(super) fn new(policies: &Arc<PolicySet>, registry: &mut Registry) -> Self {
        let families = Families::default();
        let help = "Answers of each policy, also of those that only watch";
        registry.register("decisions", help, families.decisions.clone());
        let help = "Admitted requests that a shadow policy would have refused";
        registry.register("would_block", help, families.would_block.clone());
        let help = "Requests that a policy passed by for want of an attribute of its key";
        registry.register("missing_attributes", help, families.missing.clone());
        registry.register("charged", "Units charged, refused requests not counted", families.charged.clone());
        let help = "Answers given by posture because the store did not answer";
        registry.register("degraded", help, families.degraded.clone());
        let table = ArcSwap::from_pointee(families.table(policies.clone()));
        Self { families, table }
    }

    /// Counts for these policies from now on.
    pub(super) fn replace(&self, policies: Arc<PolicySet>) {
        self.table.store(Arc::new(self.families.table(policies)));
    }

    pub(super) fn decided(&self, verdict: &Verdict, layer: Layer) {
        let table = self.table.load();
        if Arc::ptr_eq(&table.of, verdict.policies()) {
            table.decided(verdict, layer);
        } else {
            // It was decided around a reload, by policies that are replaced, or not known here yet.
            self.families.table(verdict.policies().clone()).decided(verdict, layer);
        }
    }
}

impl Table {
    fn decided(&self, verdict: &Verdict, layer: Layer) {
        for (_, judgement) in verdict.judgements() {
            let Some(counters) = self.counters.get(judgement.policy) else { continue };
            let by_layer = counters.decisions.get(layer as usize);
            if let Some(counter) = by_layer.and_then(|outcomes| outcomes.get(judgement.outcome() as usize)) {
                counter.inc();
            }
            counters.charged.inc_by(judgement.charged());
            if let Some(degraded) = counters.degraded.get(layer as usize).filter(|_| judgement.is_degraded())
            {
                degraded.inc();
            }
        }
        for counters in verdict.would_block().filter_map(|index| self.counters.get(index)) {
            counters.would_block.inc();
        }
        for counters in verdict.skipped_indices().iter().filter_map(|&index| self.counters.get(index)) {
            counters.missing.inc();
        }
    }
}

impl Families {
    fn table(&self, of: Arc<PolicySet>) -> Table {
        let counters = of.policies().iter().map(|policy| self.counters(policy)).collect();
        Table { of, counters }
    }

    fn counters(&self, policy: &Policy) -> Counters {
        let name = || policy.name.to_string();
        let decisions = Layer::ALL.map(|layer| {
            Outcome::ALL.map(|outcome| {
                self.decisions.get_or_create_owned(&DecisionLabels {
                    policy: name(),
                    layer: layer.as_str(),
                    outcome: outcome.as_str(),
                    mode: policy.mode.as_str(),
                })
            })
        });
        let degraded = Layer::ALL.map(|layer| {
            let posture = policy.postures.at(layer).as_str();
            self.degraded.get_or_create_owned(&DegradedLabels { policy: name(), posture })
        });
        Counters {
            decisions,
            would_block: self.would_block.get_or_create_owned(&PolicyLabel { policy: name() }),
            missing: self.missing.get_or_create_owned(&PolicyLabel { policy: name() }),
            charged: self
                .charged
                .get_or_create_owned(&ChargedLabels { policy: name(), unit: policy.unit.to_string() }),
            degraded,
        }
    }
}
