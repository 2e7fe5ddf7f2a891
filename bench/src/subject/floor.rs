//! The floor: what any limiter with a table of keys pays at least.
//!
//! A name is made, and two cache lines are read at random from a table as large as Weir's, the second where
//! the first says: one for the place of a key, one for its state. On one hot key it is the cost of the name
//! and of the loop around it, which everybody pays.

use std::hint::black_box;

use anyhow::Result;

use super::Subject;
use crate::name::Name;
use crate::random::Random;
use crate::scenario::Scenario;

/// What Weir's slots are expected to take, room for growth included.
pub(crate) const BYTES_A_KEY: u64 = 54;

const LINE: u64 = 64;
const WORDS_A_LINE: usize = 8;

pub(crate) struct Floor {
    table: Vec<u64>,
    lines: u64,
    admits: bool,
}

impl Floor {
    /// The first word of a line chosen by a random number.
    fn read(&self, random: u64) -> u64 {
        let line = ((random >> 32) * self.lines) >> 32;
        self.table.get(line as usize * WORDS_A_LINE).copied().unwrap_or_default()
    }
}

impl Subject for Floor {
    fn new(scenario: Scenario) -> Result<Self> {
        let lines = (u64::from(scenario.keys()) * BYTES_A_KEY).div_ceil(LINE);
        let mut random = Random::new(0);
        let table = (0..lines as usize * WORDS_A_LINE).map(|_| random.draw()).collect();
        Ok(Self { table, lines, admits: scenario.admits() })
    }

    fn decider(&self, _threads: usize) -> impl FnMut(u32) -> Result<bool> {
        // Each decision depends on the one before, or the processor would do several at once.
        let mut last = 0_u64;
        move |key| {
            let name = Name::user(key);
            let digits =
                name.as_str().as_bytes().last_chunk::<8>().map_or(0, |tail| u64::from_le_bytes(*tail));
            let place = digits.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ last;
            last = black_box(self.read(self.read(place)));
            Ok(self.admits)
        }
    }
}
