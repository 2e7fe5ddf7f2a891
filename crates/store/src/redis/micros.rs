//! Time on the wire: whole microseconds, which a double holds until the year 2255.

use weir_core::{Span, Timestamp};

const NANOS: u64 = 1_000;

/// Whole microseconds since the epoch.
pub(super) const fn of_instant(at: Timestamp) -> u64 {
    at.nanos() / NANOS
}

/// Whole microseconds of a length of time.
pub(super) const fn of_span(span: Span) -> u64 {
    span.nanos() / NANOS
}

/// The instant so many microseconds after the epoch.
pub(super) const fn instant(micros: u64) -> Timestamp {
    Timestamp::from_nanos(micros.saturating_mul(NANOS))
}

/// So many microseconds.
pub(super) const fn span(micros: u64) -> Span {
    Span::from_nanos(micros.saturating_mul(NANOS))
}
