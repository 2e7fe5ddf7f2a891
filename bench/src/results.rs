//! What was measured, and what can be said of it: medians, spreads, ratios.

use crate::measure::Figures;
use crate::scenario::Scenario;
use crate::subject::Kind;

/// One subject under one load, measured once a round.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) subject: Kind,
    pub(crate) scenario: Scenario,
    pub(crate) threads: usize,
    /// By round; `None` where the measurement failed.
    pub(crate) rounds: Vec<Option<Figures>>,
}

/// Everything that was measured.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) rows: Vec<Row>,
    /// What went wrong, in words.
    pub(crate) failures: Vec<String>,
}

/// Where the values of several rounds lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// `None` where there are no values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let upper = *values.get(values.len() / 2)?;
        let lower = *values.get((values.len() - 1) / 2)?;
        Some(Self { median: lower.midpoint(upper), min, max })
    }
}

impl Row {
    /// Where one of the figures lies.
    pub(crate) fn spread(&self, figure: impl Fn(&Figures) -> f64) -> Option<Spread> {
        Spread::of(self.rounds.iter().flatten().map(figure))
    }
}

impl Results {
    pub(crate) fn row(&self, subject: Kind, scenario: Scenario, threads: usize) -> Option<&Row> {
        let is_it = |row: &&Row| row.subject == subject && row.scenario == scenario && row.threads == threads;
        self.rows.iter().find(is_it)
    }

    /// All that was measured of a subject under a load, with any number of threads.
    pub(crate) fn figures(&self, subject: Kind, scenario: Scenario) -> impl Iterator<Item = &Figures> {
        let is_it = move |row: &&Row| row.subject == subject && row.scenario == scenario;
        self.rows.iter().filter(is_it).flat_map(|row| row.rounds.iter().flatten())
    }

    /// How many times as long as `fast` the subject `slow` takes: the median of the rounds' ratios. The two
    /// of one round were measured close together, so what drifts over the run drops out.
    pub(crate) fn ratio(&self, slow: Kind, fast: Kind, scenario: Scenario, threads: usize) -> Option<f64> {
        let (slow, fast) = (self.row(slow, scenario, threads)?, self.row(fast, scenario, threads)?);
        let pairs = slow.rounds.iter().zip(&fast.rounds);
        let ratios = pairs.filter_map(|(slow, fast)| Some(slow.as_ref()?.nanos / fast.as_ref()?.nanos));
        Spread::of(ratios).map(|spread| spread.median)
    }

    /// The peer with the lowest median.
    pub(crate) fn fastest_peer(&self, scenario: Scenario, threads: usize) -> Option<Kind> {
        let median = |peer: Kind| self.row(peer, scenario, threads)?.spread(|f| f.nanos).map(|s| s.median);
        let measured = Kind::PEERS.into_iter().filter_map(|peer| Some((peer, median(peer)?)));
        measured.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(peer, _)| peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_in_the_middle() {
        let median = |values: &[f64]| Spread::of(values.iter().copied()).map(|spread| spread.median);
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }
}
