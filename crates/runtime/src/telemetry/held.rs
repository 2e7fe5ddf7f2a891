//! What the store holds and what became of the rest, asked at every scrape.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use weir_store::MemoryStats;

/// Asks a store in memory.
pub(super) struct Held(Box<dyn Fn() -> Option<MemoryStats> + Send + Sync>);

impl Held {
    pub(super) fn new(stats: impl Fn() -> Option<MemoryStats> + Send + Sync + 'static) -> Self {
        Self(Box::new(stats))
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}

impl Collector for Held {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(stats) = (self.0)() else { return Ok(()) };
        for (name, help, value) in [
            ("keys_held", "Keys with a place of their own in the store", stats.keys),
            ("partitions_held", "Partitions shared by keys that found no room", stats.partitions),
            ("log_entries_held", "Entries of sliding logs that there is memory for", stats.log_entries),
        ] {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        for (name, help, value) in [
            ("keys_expired", "Keys that expired and went", stats.expired),
            ("keys_evicted", "Keys that had expired and made room for a new one", stats.evicted),
            ("log_entries_merged", "Entries of sliding logs merged for want of room", stats.merged),
            ("overflow_charges", "Charges to a shared partition for want of room", stats.overflowed),
        ] {
            let counter = ConstCounter::new(value);
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        Ok(())
    }
}
