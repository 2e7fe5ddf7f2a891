//! What happened, for people and machines that watch: one event a decision becomes metrics.
//!
//! Labels are names of policies and closed sets of words; never a key, an address or a user.

mod calls;
mod held;
mod per_policy;
mod polled;

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use weir_core::{Answer, Layer, Outcome, PolicySet, Verdict};
use weir_store::{MemoryStats, ServerStats};

use per_policy::PerPolicy;
use polled::Polled;

/// Seconds. From 10 µs, because a decision in memory takes about that with its HTTP request; to 1 s.
const LATENCY_BUCKETS: [f64; 15] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.02, 0.05, 0.1,
    0.25, 1.0,
];

/// What a look at the policies brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadOutcome {
    /// Others are in force.
    Taken,
    /// They have mistakes or could not be read; the old ones stay in force.
    Refused,
}

impl ReloadOutcome {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Refused => "refused",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReloadLabel {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// The metrics of a node.
#[derive(Debug)]
pub struct Telemetry {
    registry: Registry,
    policies: PerPolicy,
    decision_seconds: Histogram,
    /// By outcome.
    throttled: [Counter; Outcome::ALL.len()],
    exempt: Counter,
    unknown_domain: Counter,
    bad_requests: Counter,
    reloads: Family<ReloadLabel, Counter>,
    broken: Gauge,
}

impl Telemetry {
    /// Metrics for these policies. `stats` and `calls` are asked at every scrape: what the memory of this process
    /// holds, and what happened to the calls of a server.
    pub fn new(
        policies: &Arc<PolicySet>,
        stats: impl Fn() -> Option<MemoryStats> + Send + Sync + 'static,
        calls: impl Fn() -> Option<ServerStats> + Send + Sync + 'static,
    ) -> Self {
        let mut registry = Registry::with_prefix("weir");
        let policies = PerPolicy::new(policies, &mut registry);
        let decision_seconds = Histogram::new(LATENCY_BUCKETS);
        let [exempt, unknown_domain, bad_requests] = [(); 3].map(|()| Counter::default());
        let help = "The time to decide a request, in the store and around it";
        registry.register("decision_seconds", help, decision_seconds.clone());
        let by_outcome = Family::<OutcomeLabel, Counter>::default();
        registry.register("throttled", "Answers by limits that callers brought along", by_outcome.clone());
        let throttled = Outcome::ALL
            .map(|outcome| by_outcome.get_or_create_owned(&OutcomeLabel { outcome: outcome.as_str() }));
        registry.register("exempt", "Requests that are exempt from every policy", exempt.clone());
        let help = "Requests of a domain that has no policies here";
        registry.register("unknown_domain", help, unknown_domain.clone());
        registry.register("bad_requests", "Requests that could not be understood", bad_requests.clone());
        registry.register_collector(Box::new(Polled::new(stats, held::encode)));
        registry.register_collector(Box::new(Polled::new(calls, calls::encode)));
        let (reloads, broken) = (Family::<ReloadLabel, Counter>::default(), Gauge::default());
        for outcome in [ReloadOutcome::Taken, ReloadOutcome::Refused] {
            // A counter that is there from the start can be seen to rise.
            reloads.get_or_create_owned(&ReloadLabel { outcome: outcome.as_str() });
        }
        registry.register("policy_reloads", "Looks at the policies that found something", reloads.clone());
        let help = "1 while the policies as they are written were refused, and older ones are in force";
        registry.register("policies_refused", help, broken.clone());
        Self {
            registry,
            policies,
            decision_seconds,
            throttled,
            exempt,
            unknown_domain,
            bad_requests,
            reloads,
            broken,
        }
    }

    /// Takes note of a verdict.
    pub fn decided(&self, verdict: &Verdict, layer: Layer, took: Duration) {
        self.decision_seconds.observe(took.as_secs_f64());
        if verdict.is_exempt() {
            self.exempt.inc();
        }
        self.policies.decided(verdict, layer);
    }

    /// Takes note of an answer by a limit that a caller brought along.
    pub fn throttled(&self, answer: &Answer, took: Duration) {
        self.decision_seconds.observe(took.as_secs_f64());
        let outcome = match answer {
            Answer::Decided { decision, .. } | Answer::Local { decision, .. } => decision.outcome,
            Answer::Unavailable { .. } => Outcome::Unavailable,
        };
        if let Some(counter) = self.throttled.get(outcome as usize) {
            counter.inc();
        }
    }

    /// Counts for these policies from now on.
    pub fn replace(&self, policies: Arc<PolicySet>) {
        self.policies.replace(policies);
    }

    /// Takes note of what a look at the policies brought.
    pub fn reloaded(&self, outcome: ReloadOutcome) {
        self.reloads.get_or_create(&ReloadLabel { outcome: outcome.as_str() }).inc();
        let is_broken = i64::from(outcome == ReloadOutcome::Refused);
        self.broken.set(is_broken);
    }

    /// Takes note of a request of an unknown domain.
    pub fn unknown_domain(&self) {
        self.unknown_domain.inc();
    }

    /// Takes note of a request that could not be understood.
    pub fn bad_request(&self) {
        self.bad_requests.inc();
    }

    /// All metrics in the `OpenMetrics` text format, version 1.0.0.
    ///
    /// # Errors
    ///
    /// None in practice: writing to a `String` does not fail.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}
