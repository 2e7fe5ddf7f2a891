//! The log of one key: instants and running totals, so that every question is a binary search.

use std::collections::VecDeque;

use crate::time::{Span, Timestamp};

/// The charges of one key in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    entries: VecDeque<Entry>,
    /// The running total before the first entry.
    before: u64,
}

/// Everything charged at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at: Timestamp,
    /// All that was ever charged up to this entry, modulo 2⁶⁴: only differences are read.
    total: u64,
}

/// What a store has to do to a log. It fits the log that was decided on, and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogChange {
    /// Entries before this one are out of view, and go.
    pub(super) keep_from: usize,
    pub(super) edit: Edit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// Adds a charge that is not before the last.
    Add { at: Timestamp, cost: u64 },
    /// Takes away what is left of a charge.
    Remove { at: Timestamp, amount: u64 },
    /// Takes away so many units, the latest first.
    Lower(u64),
}

impl Log {
    /// A log of these instants, in order, each with the running total up to it; `before` is that before the
    /// first.
    pub(in super::super) fn of(before: u64, entries: &[(Timestamp, u64)]) -> Self {
        let entries = entries.iter().map(|(at, total)| Entry { at: *at, total: *total }).collect();
        Self { entries, before }
    }

    /// The bytes that an entry takes.
    pub const ENTRY_BYTES: usize = size_of::<Entry>();

    /// How many entries there is memory for.
    pub fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// Whether another entry would need more memory.
    pub fn is_full(&self) -> bool {
        self.entries.len() == self.entries.capacity()
    }

    /// Does what was decided. Where a new instant would take more than `entries_max` entries, the last one
    /// is moved forward to it instead: what it held then stays in view longer, never shorter. Returns whether
    /// that was done.
    pub fn apply(&mut self, change: LogChange, entries_max: usize) -> bool {
        let mut is_merged = false;
        if let Some(last_gone) = change.keep_from.checked_sub(1) {
            self.before = self.total(last_gone);
            self.entries.drain(..change.keep_from.min(self.entries.len()));
        }
        match change.edit {
            Edit::Add { at, cost } => is_merged = self.add(at, cost, entries_max),
            Edit::Remove { at, amount } => {
                if let Ok(i) = self.entries.binary_search_by_key(&at, |entry| entry.at) {
                    self.lower(i, amount);
                }
            }
            Edit::Lower(by) => {
                let mut left = by;
                for i in (0..self.entries.len()).rev() {
                    left -= self.lower(i, left);
                }
            }
        }
        // Gives back memory of a burst long past, and not so readily that the next one pays for it.
        if self.entries.capacity() / 8 > self.entries.len() {
            self.entries.shrink_to(self.entries.len() * 2);
        }
        is_merged
    }

    /// All that is held, as one entry at the last instant: it counts longer, never shorter.
    #[must_use]
    pub fn merged(&self) -> Self {
        let entries: VecDeque<Entry> = self.entries.back().copied().into_iter().collect();
        Self { entries, before: self.before }
    }

    fn add(&mut self, at: Timestamp, cost: u64, entries_max: usize) -> bool {
        let total = self.total_of_all().wrapping_add(cost);
        let is_full = self.entries.len() >= entries_max.max(1);
        match self.entries.back_mut() {
            Some(last) if last.at == at || is_full => {
                let is_merged = last.at != at;
                *last = Entry { at, total };
                is_merged
            }
            _ => {
                self.entries.push_back(Entry { at, total });
                false
            }
        }
    }

    /// Takes as much as it has, at most `by`, from one entry, which goes when nothing is left of it. Returns
    /// how much that was.
    fn lower(&mut self, i: usize, by: u64) -> u64 {
        let weight = self.total(i).wrapping_sub(self.total_before(i));
        let taken = by.min(weight);
        self.entries.iter_mut().skip(i).for_each(|entry| entry.total = entry.total.wrapping_sub(taken));
        if taken == weight {
            self.entries.remove(i);
        }
        taken
    }

    /// The instant of the last entry.
    pub(super) fn last(&self) -> Option<Timestamp> {
        self.entries.back().map(|entry| entry.at)
    }

    /// The instant of an entry.
    pub(super) fn at(&self, i: usize) -> Option<Timestamp> {
        self.entries.get(i).map(|entry| entry.at)
    }

    /// The first entry that is in view at `now`: one charged at `t` is until `t + window`.
    pub(super) fn first_after(&self, now: Timestamp, window: Span) -> usize {
        self.entries.partition_point(|entry| entry.at.after(window) <= now)
    }

    /// What the entries from `first` on hold together.
    pub(super) fn used_from(&self, first: usize) -> u64 {
        self.total_of_all().wrapping_sub(self.total_before(first))
    }

    /// The instant of the entry with which at least `units` have been passed, counted from `first`.
    pub(super) fn at_which_gone(&self, first: usize, units: u64) -> Option<Timestamp> {
        let (start, before) = (self.at(first)?, self.total_before(first));
        let is_short = |entry: &Entry| entry.at < start || entry.total.wrapping_sub(before) < units;
        self.at(self.entries.partition_point(is_short))
    }

    fn total_before(&self, i: usize) -> u64 {
        i.checked_sub(1).map_or(self.before, |i| self.total(i))
    }

    fn total_of_all(&self) -> u64 {
        self.entries.back().map_or(self.before, |entry| entry.total)
    }

    fn total(&self, i: usize) -> u64 {
        self.entries.get(i).map_or_else(|| self.total_of_all(), |entry| entry.total)
    }
}
