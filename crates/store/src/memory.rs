//! A store in the memory of this process: exact on one machine, with nothing to install.

mod logs;
mod rules;
mod shard;
mod sweeper;
mod table;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use weir_core::{
    Answer, Batch, BatchAnswer, Change, Group, GroupAnswer, Key, Operation, Rule, StateRef, Store,
    decide_group,
};

use crate::clock::{Clock, SystemClock};
use rules::Rules;
use shard::{Cap, Place, Shard};
use sweeper::Sweeper;

/// Enough that two cores rarely meet in one, and that a table which grows holds up few; each takes two cache
/// lines when it is empty.
const SHARDS_MAX: usize = 1_024;
/// A shard holds at least so many keys, so that chance fills all of them about alike.
const SHARD_KEYS_MIN: usize = 256;
/// How many slots are swept before others get the lock.
const SWEEP_SLOTS: usize = 256;
/// Shards are swept in so many parts a pass.
const SWEEP_PARTS: usize = 64;

/// How much a [`MemoryStore`] may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Keys, at 40 to 64 bytes each. Beyond it, new keys of a policy share 4,096 partitions.
    pub keys: usize,
    /// Entries of all sliding logs together, at 16 bytes each.
    pub log_entries: usize,
}

impl Default for MemoryLimits {
    /// 4 million keys and 16 million entries: at most 512 MB.
    fn default() -> Self {
        Self { keys: 4_000_000, log_entries: 16_000_000 }
    }
}

/// What a [`MemoryStore`] holds, and what became of the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// Keys with a place of their own; expired ones among them for about ten seconds.
    pub keys: usize,
    /// Partitions that are in use by keys without a place.
    pub partitions: usize,
    /// Entries of logs that there is memory for.
    pub log_entries: usize,
    /// Keys that expired and went, since the start.
    pub expired: u64,
    /// Keys that had expired and made room for a new one, since the start.
    pub evicted: u64,
    /// Charges to a shared partition for want of room, since the start.
    pub overflowed: u64,
}

/// Keys and their states, in shards that are locked one by one.
///
/// The clock is read under the locks of a group, so that what one thread has seen no other decides before.
/// A standard mutex is right here: it is held for nanoseconds and never across an `await`.
///
/// Memory is bounded by [`MemoryLimits`]. Expired keys go by themselves within about ten seconds. A debt is
/// never forgiven to make room: when a shard is full of keys that owe, a new key is charged to a partition
/// that it shares with others of its policy, which is never more permissive than a key of its own. Half of
/// all room is reserved, in equal shares, for the policies in force.
#[derive(Debug)]
pub struct MemoryStore<C = SystemClock> {
    shared: Arc<Shared<C>>,
    /// Lives as long as the store, and ends with it.
    sweeper: Option<Sweeper>,
}

#[derive(Debug)]
struct Shared<C> {
    shards: Box<[Padded<Mutex<Shard>>]>,
    rules: Rules,
    clock: C,
}

/// On cache lines of its own, so that locking one shard does not slow its neighbour.
#[derive(Debug)]
#[repr(align(128))]
struct Padded<T>(T);

impl MemoryStore {
    /// An empty store on the system's monotonic clock, with the default limits.
    pub fn new() -> Self {
        Self::with_limits(MemoryLimits::default())
    }

    /// An empty store on the system's monotonic clock.
    pub fn with_limits(limits: MemoryLimits) -> Self {
        let mut store = Self::with(SystemClock::new(), limits);
        let shared = Arc::downgrade(&store.shared);
        let sweep = move |part| shared.upgrade().map(|shared| shared.sweep(part)).is_some();
        store.sweeper = Some(Sweeper::start(SWEEP_PARTS, sweep));
        store
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Clock> MemoryStore<C> {
    /// An empty store on a clock of the caller's, with the default limits. Nothing is swept until room is
    /// needed, unless [`MemoryStore::sweep`] is called.
    pub fn with_clock(clock: C) -> Self {
        Self::with(clock, MemoryLimits::default())
    }

    /// The same, with these limits.
    pub fn with(clock: C, limits: MemoryLimits) -> Self {
        let shards = (limits.keys / SHARD_KEYS_MIN).clamp(1, SHARDS_MAX);
        let shards = if shards.is_power_of_two() { shards } else { shards.next_power_of_two() / 2 };
        let share = |of: usize, i: usize| of / shards + usize::from(i < of % shards);
        let cap = |i| Cap { keys: share(limits.keys, i), log_entries: share(limits.log_entries, i) };
        let shards = (0..shards).map(|i| Padded(Mutex::new(Shard::new(cap(i))))).collect();
        Self { shared: Arc::new(Shared { shards, rules: Rules::default(), clock }), sweeper: None }
    }

    /// Lets every key go that has expired.
    pub fn sweep(&self) {
        (0..SWEEP_PARTS).for_each(|part| self.shared.sweep(part));
    }

    /// What is held, and what became of the rest.
    pub fn stats(&self) -> MemoryStats {
        self.shared.shards.iter().fold(MemoryStats::default(), |sum, shard| {
            let shard = lock(shard);
            let counts = shard.counts();
            MemoryStats {
                keys: sum.keys + shard.keys(),
                partitions: sum.partitions + shard.partitions(),
                log_entries: sum.log_entries + shard.log_entries(),
                expired: sum.expired + counts.expired,
                evicted: sum.evicted + counts.evicted,
                overflowed: sum.overflowed + counts.overflowed,
            }
        })
    }
}

impl<C: Clock> Shared<C> {
    fn apply_group(&self, mut group: Group) -> GroupAnswer {
        let mut held = self.locked(&group);
        let now = self.clock.now();
        let mut places: SmallVec<[(usize, Place); 12]> = SmallVec::new();
        for operation in &mut group {
            let at = self.position(&held, operation.key);
            let shard = held.get_mut(at).map(|(_, shard)| shard);
            places.push((at, shard.map_or(Place::None, |shard| shard.find(operation, &self.rules))));
        }
        let state = |i: usize| {
            let shard = places.get(i).and_then(|(at, place)| Some((&held.get(*at)?.1, *place)));
            shard.map_or(StateRef::Fresh, |(shard, place)| shard.state(place, &self.rules))
        };
        let decided = decide_group(&group, state, now);
        let mut commit =
            |(operation, (at, place)): (&Operation, (usize, Place)), mut answer, change: Change| {
                let Some((_, shard)) = held.get_mut(at) else { return answer };
                let key = shard.write(operation, place, change, now, &self.rules);
                if let Answer::Decided { receipt: Some(receipt), .. } = &mut answer {
                    receipt.key = key;
                }
                answer
            };
        (group.iter().zip(places).zip(decided))
            .map(|(at, (answer, change))| commit(at, answer, change))
            .collect()
    }

    /// Locks the shards of all keys of the group, in one order everywhere, so that no two groups wait for
    /// each other.
    fn locked(&self, group: &Group) -> Held<'_> {
        let mut indices: SmallVec<[usize; 12]> = group.iter().map(|o| self.index(o.key)).collect();
        indices.sort_unstable();
        indices.dedup();
        indices.into_iter().filter_map(|i| self.shards.get(i).map(|shard| (i, lock(shard)))).collect()
    }

    /// Which of the locked shards is the key's.
    fn position(&self, held: &Held<'_>, key: Key) -> usize {
        let index = self.index(key);
        held.iter().position(|(i, _)| *i == index).unwrap_or_default()
    }

    /// The low bits choose the shard; the slot keeps the high ones.
    fn index(&self, key: Key) -> usize {
        (key.0 % self.shards.len() as u128) as usize
    }

    fn sweep(&self, part: usize) {
        let now = self.clock.now();
        for shard in self.shards.iter().skip(part).step_by(SWEEP_PARTS) {
            let mut left = lock(shard).slots();
            while left > 0 {
                lock(shard).sweep(SWEEP_SLOTS, now, &self.rules);
                left = left.saturating_sub(SWEEP_SLOTS);
            }
        }
    }
}

impl<C: Clock> Store for MemoryStore<C> {
    async fn apply(&self, batch: Batch) -> BatchAnswer {
        batch.into_iter().map(|group| self.shared.apply_group(group)).collect()
    }

    fn in_force(&self, rules: &[Rule]) {
        self.shared.rules.reserve_for(rules);
    }
}

type Held<'a> = SmallVec<[(usize, MutexGuard<'a, Shard>); 12]>;

/// A shard is whole after every step of a group, so what a panicking thread left behind can be used.
fn lock(shard: &Padded<Mutex<Shard>>) -> MutexGuard<'_, Shard> {
    shard.0.lock().unwrap_or_else(PoisonError::into_inner)
}
