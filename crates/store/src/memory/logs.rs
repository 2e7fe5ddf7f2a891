//! The logs of one shard: a table beside the slots. All shards share one limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weir_core::{Log, LogChange};

/// Entries that there is memory for in all logs of a store, and how many there may be.
#[derive(Debug)]
pub(super) struct Entries {
    held: AtomicUsize,
    max: usize,
}

impl Entries {
    pub(super) const fn new(max: usize) -> Self {
        Self { held: AtomicUsize::new(0), max }
    }

    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    fn reserve(&self, more: usize) -> bool {
        if more == 0 {
            return true;
        }
        let fits = |held: usize| held.checked_add(more).filter(|sum| *sum <= self.max);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// Counts `are` entries where `were` had been counted.
    fn count(&self, were: usize, are: usize) {
        if are > were {
            self.held.fetch_add(are - were, Ordering::Relaxed);
        } else if were > are {
            self.held.fetch_sub(were - are, Ordering::Relaxed);
        }
    }
}

/// A log has memory for so many entries in any case.
const LEAST: usize = 4;

/// Logs by number.
#[derive(Debug)]
pub(super) struct Logs {
    by_number: Vec<Log>,
    free: Vec<usize>,
    entries: Arc<Entries>,
}

impl Logs {
    pub(super) const fn new(entries: Arc<Entries>) -> Self {
        Self { by_number: Vec::new(), free: Vec::new(), entries }
    }

    pub(super) fn get(&self, number: u64) -> Option<&Log> {
        self.by_number.get(usize::try_from(number).ok()?)
    }

    /// A new log that begins as a copy of another, or empty, with what was decided done to it. Where there is
    /// no room for all of it, it begins with one entry. Returns its number, and whether that was so.
    pub(super) fn begin(&mut self, from: Option<u64>, change: LogChange) -> (u64, bool) {
        let mut log = from.and_then(|from| self.get(from)).cloned().unwrap_or_default();
        log.apply(change, usize::MAX);
        let is_granted = self.entries.reserve(log.capacity());
        let is_merged = !is_granted && log.capacity() > LEAST;
        if is_merged {
            log = log.merged();
        }
        if !is_granted {
            self.entries.count(0, log.capacity());
        }
        let number = self.free.pop().unwrap_or(self.by_number.len());
        match self.by_number.get_mut(number) {
            Some(place) => *place = log,
            None => self.by_number.push(log),
        }
        (number as u64, is_merged)
    }

    /// Does what was decided. Where all entries together would pass their limit, this log grows no more, and
    /// merges its latest entries. Returns whether it did.
    pub(super) fn apply(&mut self, number: u64, change: LogChange) -> bool {
        let log = usize::try_from(number).ok().and_then(|number| self.by_number.get_mut(number));
        let Some(log) = log else { return false };
        let had = log.capacity();
        // It doubles when it grows; a log without any memory gets its least in any case.
        let wanted = if log.is_full() { had } else { 0 };
        let is_granted = self.entries.reserve(wanted);
        let is_merged = log.apply(change, if is_granted { usize::MAX } else { had });
        let counted = if is_granted { had + wanted } else { had };
        self.entries.count(counted, log.capacity());
        is_merged
    }

    pub(super) fn end(&mut self, number: u64) {
        let Ok(place) = usize::try_from(number) else { return };
        if let Some(log) = self.by_number.get_mut(place) {
            self.entries.count(log.capacity(), 0);
            *log = Log::default();
            self.free.push(place);
        }
        if self.free.len() == self.by_number.len() {
            (self.by_number, self.free) = (Vec::new(), Vec::new());
        }
    }
}
