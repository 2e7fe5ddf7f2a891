//! What happened to the calls of a store on a server.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use weir_store::ServerStats;

use super::polled::counters;

pub(super) fn encode(stats: ServerStats, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let all = [
        ("store_calls", "Calls to the store", stats.calls),
        ("store_given_up", "Decisions given up at their deadline", stats.given_up),
        ("store_refused", "Decisions not asked for, since the breaker was open", stats.refused),
        ("store_known", "Denials that were known and took no call", stats.known),
        ("store_faults", "Calls that met a fault on purpose (--fault)", stats.faults),
        ("store_breaker_opened", "Times that the breaker opened", stats.opened),
    ];
    counters(encoder, all)?;
    let help = "Calls to the store that failed, by what it or the way to it said";
    let mut errors = encoder.encode_descriptor("store_errors", help, None, MetricType::Counter)?;
    for (kind, count) in stats.failed {
        ConstCounter::new(count).encode(errors.encode_family(&[("kind", kind)])?)?;
    }
    let help = "Nodes that share the store, as it was said or as the store counted them last";
    #[expect(clippy::cast_precision_loss, reason = "there are a million at most")]
    let nodes = ConstGauge::new(stats.nodes as f64);
    nodes.encode(encoder.encode_descriptor("nodes", help, None, nodes.metric_type())?)?;
    let help = "The share of the keys that the store is not asked about, since its breaker is open";
    #[expect(clippy::cast_precision_loss, reason = "there are 64 lanes at most")]
    let open = ConstGauge::new(stats.open as f64 / stats.lanes.max(1) as f64);
    open.encode(encoder.encode_descriptor("store_breaker_open", help, None, open.metric_type())?)
}
