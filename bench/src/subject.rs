//! What is measured, each behind the same trait: the floor, Weir, and its peers.

mod floor;
mod governor;
mod limitador;
mod throttlecrab;
mod weir;

// `self::`, since three of the modules are called like the crates that they are about.
pub(crate) use self::floor::{BYTES_A_KEY as FLOOR_BYTES_A_KEY, Floor};
pub(crate) use self::governor::Governor;
pub(crate) use self::limitador::Limitador;
pub(crate) use self::throttlecrab::Throttlecrab;
pub(crate) use self::weir::{Check, StoreStep, at_once};

use anyhow::Result;
use clap::ValueEnum;

use crate::scenario::{Scenario, word};

/// Something that decides about keys, from several threads at once.
pub(crate) trait Subject: Sized + Sync {
    /// Empty, and with the scenario's bucket for every key. None is told how many keys will come.
    fn new(scenario: Scenario) -> Result<Self>;

    /// What one of `threads` threads calls for each decision: it is given the number of a user and says
    /// whether the request is admitted. What a caller would keep from one to the next, it keeps.
    fn decider(&self, threads: usize) -> impl FnMut(u32) -> Result<bool>;
}

/// Every subject, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Two dependent reads of random cache lines
    Floor,
    /// Weir: key, operation, memory store
    WeirStore,
    /// Weir: a whole check with 1 matching policy
    #[value(name = "weir-check-1")]
    WeirCheck1,
    /// Weir: a whole check with 3 matching policies
    #[value(name = "weir-check-3")]
    WeirCheck3,
    /// Weir: a whole check with 10 matching policies
    #[value(name = "weir-check-10")]
    WeirCheck10,
    /// governor, keyed by strings in a `DashMap`
    Governor,
    /// throttlecrab, the library, with its periodic store
    Throttlecrab,
    /// limitador, the library, in memory
    Limitador,
}

/// limitador holds about a kilobyte a key: ten million would need ten gigabytes, and minutes to fill.
const LIMITADOR_KEYS_MAX: u32 = 100_000;

/// Ten policies hold almost five counters for each user. Ten million users would take minutes to fill, each
/// time anew, to tell what three policies tell already.
const CHECK_10_KEYS_MAX: u32 = 100_000;

impl Kind {
    /// Those whose ratio to everything else is told.
    pub(crate) const WEIR: [Self; 4] =
        [Self::WeirStore, Self::WeirCheck1, Self::WeirCheck3, Self::WeirCheck10];

    /// Whole checks.
    pub(crate) const CHECKS: [Self; 3] = [Self::WeirCheck1, Self::WeirCheck3, Self::WeirCheck10];

    /// Others that decide exactly, by string keys.
    pub(crate) const PEERS: [Self; 3] = [Self::Governor, Self::Throttlecrab, Self::Limitador];

    /// Its name in tables.
    pub(crate) fn label(self) -> String {
        word(&self).replace('-', " ")
    }

    /// The most keys that it is measured with.
    pub(crate) const fn keys_max(self) -> u32 {
        match self {
            Self::Limitador => LIMITADOR_KEYS_MAX,
            Self::WeirCheck10 => CHECK_10_KEYS_MAX,
            _ => u32::MAX,
        }
    }
}
