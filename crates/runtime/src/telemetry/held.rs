//! What a store in memory holds, and what became of the rest.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::gauge::ConstGauge;
use weir_store::MemoryStats;

use super::polled::counters;

pub(super) fn encode(stats: MemoryStats, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    for (name, help, value) in [
        ("keys_held", "Keys with a place of their own in the store", stats.keys),
        ("partitions_held", "Partitions shared by keys that found no room", stats.partitions),
        ("log_entries_held", "Entries of sliding logs that there is memory for", stats.log_entries),
    ] {
        let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
        gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
    }
    let all = [
        ("keys_expired", "Keys that expired and went", stats.expired),
        ("keys_evicted", "Keys that had expired and made room for a new one", stats.evicted),
        ("log_entries_merged", "Entries of sliding logs merged for want of room", stats.merged),
        ("overflow_charges", "Charges to a shared partition for want of room", stats.overflowed),
    ];
    counters(encoder, all)
}
