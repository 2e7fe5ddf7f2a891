//! What was answered, and what can be said of it: how much of each kind, and exact percentiles of the waits.

use std::time::Duration;

use weir_core::{Outcome, Posture, Verdict};

/// A kind of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// By the store.
    Admitted,
    /// Without the store.
    Degraded,
    Refused,
    Unavailable,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Admitted, Self::Degraded, Self::Refused, Self::Unavailable];

    pub(super) fn of(verdict: &Verdict) -> Self {
        match verdict.outcome() {
            Outcome::Allow if verdict.is_degraded() => Self::Degraded,
            Outcome::Allow => Self::Admitted,
            Outcome::Deny | Outcome::Never => Self::Refused,
            Outcome::Unavailable => Self::Unavailable,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Admitted => "admitted by the store",
            Self::Degraded => "admitted, degraded",
            Self::Refused => "refused, 429",
            Self::Unavailable => "unavailable, 503",
        }
    }
}

/// One request and its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    /// When it came, since the beginning.
    pub(super) came: Duration,
    pub(super) kind: Kind,
    /// Whether it was answered without the store.
    pub(super) is_degraded: bool,
    /// From when it came to its answer.
    pub(super) wait: Duration,
}

/// All that one node answered, in the order in which it was asked.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) posture: Posture,
    pub(super) answers: Vec<Answered>,
}

/// What was answered to the requests of some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// By kind, a second.
    pub(super) rates: [f64; 4],
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    pub(super) max: Duration,
}

impl Course {
    /// Those that came from one instant to the other.
    pub(super) fn between(&self, from: Duration, to: Duration) -> &[Answered] {
        let before = |instant| self.answers.partition_point(|answered| answered.came < instant);
        self.answers.get(before(from)..before(to)).unwrap_or_default()
    }

    pub(super) fn figures(&self, from: Duration, to: Duration) -> Figures {
        let answers = self.between(from, to);
        let rate = |kind| {
            let count = answers.iter().filter(|answered| answered.kind == kind).count();
            count as f64 / (to - from).as_secs_f64()
        };
        let mut waits: Vec<Duration> = answers.iter().map(|answered| answered.wait).collect();
        waits.sort_unstable();
        let [p50, p99, max] = [50, 99, 100].map(|percent| percentile(&waits, percent));
        Figures { rates: Kind::ALL.map(rate), p50, p99, max }
    }
}

/// The least of sorted values that so many of a hundred do not exceed.
pub(super) fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let waits: Vec<Duration> = (1..=200).map(millis).collect();
        assert_eq!([50, 99, 100].map(|percent| percentile(&waits, percent)), [100, 198, 200].map(millis));
        assert_eq!([50, 99, 100].map(|percent| percentile(&waits[..1], percent)), [1; 3].map(millis));
        assert_eq!(percentile(&[], 99), Duration::ZERO);
    }

    #[test]
    fn figures_are_of_what_came_in_that_time() {
        let answered = |number: u64| Answered {
            came: millis(number * 10),
            kind: if number.is_multiple_of(4) { Kind::Admitted } else { Kind::Refused },
            is_degraded: false,
            wait: millis(number),
        };
        let course = Course { posture: Posture::Open, answers: (0..100).map(answered).collect() };
        let figures = course.figures(millis(200), millis(600));
        assert_eq!(figures.rates, [25.0, 0.0, 75.0, 0.0]);
        assert_eq!([figures.p50, figures.p99, figures.max], [39, 59, 59].map(millis));
        assert_eq!(course.figures(millis(2_000), millis(3_000)), Figures::default());
    }
}
