//! The logs of one shard: a table beside the slots, with a limit of its own.

use weir_core::{Log, LogChange};

/// Logs by number, and how many entries there is memory for in all of them.
#[derive(Debug, Default)]
pub(super) struct Logs {
    by_number: Vec<Log>,
    free: Vec<usize>,
    entries: usize,
}

impl Logs {
    /// Entries that there is memory for.
    pub(super) const fn entries(&self) -> usize {
        self.entries
    }

    pub(super) fn get(&self, number: u64) -> Option<&Log> {
        self.by_number.get(usize::try_from(number).ok()?)
    }

    /// A new log that begins as a copy of another, or empty.
    pub(super) fn begin(&mut self, from: Option<u64>) -> u64 {
        let log = from.and_then(|from| self.get(from)).cloned().unwrap_or_default();
        self.entries += log.capacity();
        let number = self.free.pop().unwrap_or(self.by_number.len());
        match self.by_number.get_mut(number) {
            Some(place) => *place = log,
            None => self.by_number.push(log),
        }
        number as u64
    }

    /// Does what was decided. Where all entries together would pass `entries_max`, this log grows no more.
    pub(super) fn apply(&mut self, number: u64, change: LogChange, entries_max: usize) {
        let log = usize::try_from(number).ok().and_then(|number| self.by_number.get_mut(number));
        let Some(log) = log else { return };
        let had = log.capacity();
        // A full log doubles when it grows.
        let may_grow = self.entries + had.max(4) <= entries_max;
        log.apply(change, if may_grow { usize::MAX } else { had });
        self.entries = self.entries - had + log.capacity();
    }

    pub(super) fn end(&mut self, number: u64) {
        let Ok(place) = usize::try_from(number) else { return };
        if let Some(log) = self.by_number.get_mut(place) {
            self.entries -= log.capacity();
            *log = Log::default();
            self.free.push(place);
        }
        if self.free.len() == self.by_number.len() {
            (self.by_number, self.free) = (Vec::new(), Vec::new());
        }
    }
}
