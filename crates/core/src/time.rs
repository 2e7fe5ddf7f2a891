//! Instants and lengths of time, in whole nanoseconds. Time is always an argument here; no clock is read.

use std::fmt;

/// An instant on a store's own clock: nanoseconds since the Unix epoch (enough until the year 2554).
///
/// A store's clock is anchored at the epoch once and then runs monotonically, so fixed windows start where
/// people expect them and a step of the wall clock changes no decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

/// A length of time in nanoseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

const NANOS_PER_MILLI: u64 = 1_000_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

impl Timestamp {
    /// The instant `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The instant `span` later; stays at the end of time where it would pass it.
    #[must_use]
    pub const fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The time from `earlier` to `self`; none where `earlier` is not earlier.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `millis` milliseconds; the longest span where that overflows.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(NANOS_PER_MILLI))
    }

    /// `seconds` seconds; the longest span where that overflows.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(NANOS_PER_SECOND))
    }

    /// The length in nanoseconds.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The length in whole milliseconds, rounded up.
    pub const fn millis_ceil(self) -> u64 {
        self.0.div_ceil(NANOS_PER_MILLI)
    }

    /// The length in whole seconds, rounded up: a client that waits them out has waited long enough.
    pub const fn secs_ceil(self) -> u64 {
        self.0.div_ceil(NANOS_PER_SECOND)
    }

    /// The length in seconds where it is a whole number of them.
    pub const fn whole_secs(self) -> Option<u64> {
        if self.0.is_multiple_of(NANOS_PER_SECOND) { Some(self.0 / NANOS_PER_SECOND) } else { None }
    }
}

/// The largest unit that states the span exactly, as policy files write it: `1s`, `1min`, `90s`, `250ms`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 7] = [
            (86_400 * NANOS_PER_SECOND, "d"),
            (3_600 * NANOS_PER_SECOND, "h"),
            (60 * NANOS_PER_SECOND, "min"),
            (NANOS_PER_SECOND, "s"),
            (NANOS_PER_MILLI, "ms"),
            (1_000, "us"),
            (1, "ns"),
        ];
        let exact = UNITS.iter().find(|(size, _)| self.0 >= *size && self.0.is_multiple_of(*size));
        match exact {
            Some((size, unit)) => write!(f, "{}{unit}", self.0 / size),
            None => write!(f, "0s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_shown_in_the_largest_exact_unit() {
        for (span, text) in [
            (Span::from_secs(1), "1s"),
            (Span::from_secs(60), "1min"),
            (Span::from_secs(90), "90s"),
            (Span::from_secs(86_400 * 30), "30d"),
            (Span::from_millis(250), "250ms"),
            (Span::from_nanos(1_500), "1500ns"),
            (Span::ZERO, "0s"),
        ] {
            assert_eq!(span.to_string(), text);
        }
    }

    #[test]
    fn h01_seconds_are_rounded_up() {
        for (millis, seconds) in [(0, 0), (400, 1), (1_000, 1), (1_001, 2), (1_300, 2)] {
            assert_eq!(Span::from_millis(millis).secs_ceil(), seconds);
        }
    }
}
