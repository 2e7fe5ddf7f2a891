//! A store in the memory of this process: exact on one machine, with nothing to install.

mod shard;

use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use weir_core::{
    Answer, Batch, BatchAnswer, Change, Group, GroupAnswer, Key, Operation, State, StateRef, Store,
    decide_group,
};

use crate::clock::{Clock, SystemClock};
use shard::Shard;

/// Enough that two cores rarely meet in one, few enough that a group's locks stay cheap.
const SHARDS: usize = 64;

/// Keys and their states, in shards that are locked one by one.
///
/// The clock is read under the locks of a group, so that what one thread has seen no other decides before.
/// A standard mutex is right here: it is held for nanoseconds and never across an `await`.
#[derive(Debug)]
pub struct MemoryStore<C = SystemClock> {
    shards: Box<[Padded<Mutex<Shard>>]>,
    clock: C,
}

/// On cache lines of its own, so that locking one shard does not slow its neighbour.
#[derive(Debug)]
#[repr(align(128))]
struct Padded<T>(T);

impl MemoryStore {
    /// An empty store on the system's monotonic clock.
    pub fn new() -> Self {
        Self::with_clock(SystemClock::new())
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Clock> MemoryStore<C> {
    /// An empty store on a clock of the caller's.
    pub fn with_clock(clock: C) -> Self {
        let shards = std::iter::repeat_with(|| Padded(Mutex::default())).take(SHARDS).collect();
        Self { shards, clock }
    }

    /// How many keys are held, expired ones among them that have not been needed away yet.
    pub fn keys_held(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    fn apply_group(&self, mut group: Group) -> GroupAnswer {
        let mut held = self.locked(&group);
        let now = self.clock.now();
        let mut states: SmallVec<[Option<State>; 2]> = SmallVec::new();
        for operation in &mut group {
            let shard = shard_of(&mut held, operation.key);
            states.push(shard.and_then(|shard| shard.read(operation)));
        }
        let state = |i: usize| match states.get(i) {
            Some(Some(state)) => StateRef::Cell(state),
            _ => StateRef::Fresh,
        };
        let decided = decide_group(&group, state, now);
        let commit = |(operation, (answer, change)): (&Operation, (Answer, Change))| {
            if let Some(shard) = shard_of(&mut held, operation.key) {
                shard.write(operation, change, now);
            }
            answer
        };
        group.iter().zip(decided).map(commit).collect()
    }

    /// Locks the shards of all keys of the group, in one order everywhere, so that no two groups wait for
    /// each other.
    fn locked(&self, group: &Group) -> Held<'_> {
        let mut indices: SmallVec<[usize; 4]> = group.iter().map(|o| shard_index(o.key)).collect();
        indices.sort_unstable();
        indices.dedup();
        indices.into_iter().filter_map(|i| self.shards.get(i).map(|shard| (i, lock(shard)))).collect()
    }
}

impl<C: Clock> Store for MemoryStore<C> {
    async fn apply(&self, batch: Batch) -> BatchAnswer {
        batch.into_iter().map(|group| self.apply_group(group)).collect()
    }
}

type Held<'a> = SmallVec<[(usize, MutexGuard<'a, Shard>); 2]>;

fn shard_of<'a>(held: &'a mut Held<'_>, key: Key) -> Option<&'a mut Shard> {
    let index = shard_index(key);
    held.iter_mut().find(|(i, _)| *i == index).map(|(_, shard)| &mut **shard)
}

/// The low bits choose the shard; the slot keeps the high ones.
fn shard_index(key: Key) -> usize {
    (key.0 % SHARDS as u128) as usize
}

/// A shard is whole after every step of a group, so what a panicking thread left behind can be used.
fn lock(shard: &Padded<Mutex<Shard>>) -> MutexGuard<'_, Shard> {
    shard.0.lock().unwrap_or_else(PoisonError::into_inner)
}
