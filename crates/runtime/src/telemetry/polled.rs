//! Metrics that somebody is asked for at every scrape.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;

type Encode<T> = fn(T, &mut DescriptorEncoder<'_>) -> fmt::Result;

/// Asks for figures, and writes them where there are any.
pub(super) struct Polled<T> {
    ask: Box<dyn Fn() -> Option<T> + Send + Sync>,
    encode: Encode<T>,
}

impl<T> Polled<T> {
    pub(super) fn new(ask: impl Fn() -> Option<T> + Send + Sync + 'static, encode: Encode<T>) -> Self {
        Self { ask: Box::new(ask), encode }
    }
}

impl<T> fmt::Debug for Polled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Polled")
    }
}

impl<T: 'static> Collector for Polled<T> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        (self.ask)().map_or(Ok(()), |figures| (self.encode)(figures, &mut encoder))
    }
}

/// Writes counters: a name, what it counts, and how much that is.
pub(super) fn counters(
    encoder: &mut DescriptorEncoder<'_>,
    all: impl IntoIterator<Item = (&'static str, &'static str, u64)>,
) -> fmt::Result {
    for (name, help, value) in all {
        let counter = ConstCounter::new(value);
        counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
    }
    Ok(())
}
