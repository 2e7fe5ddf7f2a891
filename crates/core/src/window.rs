//! The window of a quota: so long, or as the calendar has it.

use std::fmt;

use crate::calendar::{Calendar, Period};
use crate::time::{Span, Timestamp};

/// The time that a limit counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// A length of time. Windows of the clock start at the epoch; zones never touch them.
    Length(Span),
    /// A day, week, month or year of a time zone.
    Calendar(Calendar),
}

/// Bits in which a state notes how many seconds a calendar window lasts: enough for two years.
const LENGTH_BITS: u32 = 26;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

impl Window {
    /// The length; `None` where the calendar decides it.
    pub const fn length(self) -> Option<Span> {
        match self {
            Self::Length(span) => Some(span),
            Self::Calendar(_) => None,
        }
    }

    /// The window around an instant.
    pub(crate) fn period_at(self, at: Timestamp) -> Period {
        match self {
            Self::Length(span) => nth(span, at.nanos() / span.nanos()),
            Self::Calendar(calendar) => calendar.period_at(at),
        }
    }

    /// Where the windows around an instant meet: the start of the last one, of this one and of the next, and
    /// the end of that. Nothing for a length of time, whose windows anyone can work out.
    pub fn edges_around(self, at: Timestamp) -> Option<[Timestamp; 4]> {
        let Self::Calendar(calendar) = self else { return None };
        let this = calendar.period_at(at);
        let last = calendar.period_at(Timestamp::from_nanos(this.start.nanos().saturating_sub(1)));
        Some([last.start, this.start, this.end, calendar.period_at(this.end).end])
    }

    /// How a state notes that it belongs to this window. A calendar window is noted whole, so that no zone
    /// has to be asked to read it, and nothing moves where a zone's rules are changed.
    pub(crate) const fn mark(self, period: Period) -> u64 {
        match self {
            Self::Length(span) => period.start.nanos() / span.nanos(),
            Self::Calendar(_) => {
                let length = period.end.since(period.start).nanos() / NANOS_PER_SECOND;
                (period.start.nanos() / NANOS_PER_SECOND) << LENGTH_BITS | length
            }
        }
    }

    /// The window that a state noted.
    pub(crate) const fn marked(self, mark: u64) -> Period {
        match self {
            Self::Length(span) => nth(span, mark),
            Self::Calendar(_) => {
                let start = Timestamp::from_nanos((mark >> LENGTH_BITS) * NANOS_PER_SECOND);
                Period { start, end: start.after(Span::from_secs(mark & ((1 << LENGTH_BITS) - 1))) }
            }
        }
    }
}

const fn nth(span: Span, index: u64) -> Period {
    let start = Timestamp::from_nanos(index.saturating_mul(span.nanos()));
    Period { start, end: start.after(span) }
}

impl From<Span> for Window {
    fn from(span: Span) -> Self {
        Self::Length(span)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(span) => span.fmt(f),
            Self::Calendar(calendar) => calendar.fmt(f),
        }
    }
}
