//! A store in the memory of this process: exact on one machine, with nothing to install.

mod logs;
mod shard;
mod shares;
mod sweeper;
mod table;

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;
use weir_core::{Answer, Answers, Batch, Key, Operation, Rule, Span, StateRef, Steps, Store, decide_group};

use crate::clock::{Clock, SystemClock};
use logs::Entries;
use shard::{Place, Shard};
use shares::Shares;
use sweeper::Sweeper;

/// Enough that two cores rarely meet in one, and that a table which grows holds up few.
const SHARDS_MAX: usize = 1_024;
/// A shard holds at least so many keys, so that chance fills all of them about alike.
const SHARD_KEYS_MIN: usize = 256;
/// How many slots are swept before others get the lock.
const SWEEP_SLOTS: usize = 256;
/// Groups of so many operations need no memory beside the stack.
const INLINE: usize = 12;
/// Shards are swept in so many parts a pass.
const SWEEP_PARTS: usize = 64;

/// How much a [`MemoryStore`] may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Keys, at 40 to 64 bytes each. Beyond it, new keys of a policy share 4,096 partitions.
    pub keys: usize,
    /// Entries of all sliding logs together, at 16 bytes each. A log has room for four in any case.
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
    /// Entries of logs that were merged with the next one for want of memory, since the start.
    pub merged: u64,
}

/// Keys and their states, in shards that are locked one by one.
///
/// The clock is read under the locks of a group, so that what one thread has seen no other decides before.
/// A mutex is right here: it is held for nanoseconds and never across an `await`. A shard is whole after every
/// step of a group, so what a panicking thread left behind can be used.
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
    /// Of all logs.
    entries: Arc<Entries>,
    shares: Shares,
    clock: C,
}

/// On a cache line of its own, so that locking one shard does not slow its neighbour.
#[derive(Debug)]
#[repr(align(64))]
struct Padded<T>(T);

const _: () = assert!(size_of::<Padded<Mutex<Shard>>>() == 64);

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
        let part = |i: usize| limits.keys / shards + usize::from(i < limits.keys % shards);
        let entries = Arc::new(Entries::new(limits.log_entries));
        let shard = |i| Padded(Mutex::new(Shard::new(part(i), entries.clone())));
        let shards = (0..shards).map(shard).collect();
        Self { shared: Arc::new(Shared { shards, entries, shares: Shares::default(), clock }), sweeper: None }
    }

    /// Lets every key go that has expired.
    pub fn sweep(&self) {
        (0..SWEEP_PARTS).for_each(|part| self.shared.sweep(part));
    }

    /// What is held, and what became of the rest.
    pub fn stats(&self) -> MemoryStats {
        let nothing = MemoryStats { log_entries: self.shared.entries.held(), ..MemoryStats::default() };
        let stats = self.shared.shards.iter().map(|shard| shard.0.lock().stats());
        stats.fold(nothing, |sum, part| MemoryStats {
            keys: sum.keys + part.keys,
            partitions: sum.partitions + part.partitions,
            log_entries: sum.log_entries,
            expired: sum.expired + part.expired,
            evicted: sum.evicted + part.evicted,
            overflowed: sum.overflowed + part.overflowed,
            merged: sum.merged + part.merged,
        })
    }
}

impl<C: Clock> Shared<C> {
    fn apply_group(&self, group: &mut [Operation], answers: &mut Answers) {
        if let [operation] = group {
            answers.push(self.apply_one(operation));
        } else {
            self.apply_several(group, answers);
        }
    }

    /// A lone operation needs none of the bookkeeping of several, and is most of all traffic.
    fn apply_one(&self, operation: &mut Operation) -> Answer {
        let Some(shard) = self.shards.get(self.index(operation.key)) else {
            return Answer::Unavailable { sent: false };
        };
        let mut shard = shard.0.lock();
        let mut place = shard.find(operation);
        // The processor reads the clock while it waits for the slot.
        let now = self.clock.now();
        if !place.is_own() {
            shard.make_room(1, now, &self.shares);
            place = shard.find(operation);
        }
        let state = shard.state(place, operation.rule);
        let step = operation.rule.decide(state, operation.op, now);
        let key = shard.write(operation, place, &step.change, &self.shares);
        drop(shard);
        operation.answer(&step, key)
    }

    fn apply_several(&self, group: &mut [Operation], answers: &mut Answers) {
        let mut held = self.locked(group);
        let now = self.clock.now();
        let mut places = self.places(&mut held, group);
        if !places.iter().all(|(_, place)| place.is_own()) {
            for (at, (_, shard)) in held.iter_mut().enumerate() {
                let is_new_here = |(of, place): &&(usize, Place)| *of == at && !place.is_own();
                shard.make_room(places.iter().filter(is_new_here).count(), now, &self.shares);
            }
            places = self.places(&mut held, group);
        }
        let state = |i: usize| {
            let (at, place) = places.get(i)?;
            Some(held.get(*at)?.1.state(*place, group.get(i)?.rule))
        };
        let mut steps = Steps::new();
        decide_group(group, |i| state(i).unwrap_or(StateRef::Fresh), now, &mut steps);
        for ((operation, (at, place)), step) in group.iter().zip(&places).zip(&steps) {
            let Some((_, shard)) = held.get_mut(*at) else { continue };
            let key = shard.write(operation, *place, &step.change, &self.shares);
            answers.push(operation.answer(step, key));
        }
    }

    /// Locks the shards of all keys of the group, in one order everywhere, so that no two groups wait for
    /// each other.
    fn locked(&self, group: &[Operation]) -> Held<'_> {
        let mut indices: SmallVec<[usize; INLINE]> = group.iter().map(|o| self.index(o.key)).collect();
        indices.sort_unstable();
        indices.dedup();
        indices.into_iter().filter_map(|i| self.shards.get(i).map(|shard| (i, shard.0.lock()))).collect()
    }

    /// Where each operation's state is: which of the locked shards, and where in it.
    fn places(&self, held: &mut Held<'_>, group: &mut [Operation]) -> Places {
        let place = |operation: &mut Operation| {
            let index = self.index(operation.key);
            let at = held.iter().position(|(i, _)| *i == index).unwrap_or_default();
            let shard = held.get_mut(at).map(|(_, shard)| shard);
            (at, shard.map_or(Place::None, |shard| shard.find(operation)))
        };
        group.iter_mut().map(place).collect()
    }

    /// The low bits choose the shard; the slot keeps the high ones.
    const fn index(&self, key: Key) -> usize {
        key.0 as usize & (self.shards.len() - 1)
    }

    fn sweep(&self, part: usize) {
        let (now, in_force) = (self.clock.now(), self.shares.in_force());
        for shard in self.shards.iter().skip(part).step_by(SWEEP_PARTS) {
            let mut left = shard.0.lock().slots();
            while left > 0 {
                shard.0.lock().sweep(SWEEP_SLOTS, now, &in_force);
                left = left.saturating_sub(SWEEP_SLOTS);
            }
        }
    }
}

impl<C: Clock> Store for MemoryStore<C> {
    /// There is nothing to wait for, so it is done when it is asked.
    fn apply(&self, mut batch: Batch) -> impl Future<Output = Answers> + Send {
        let mut answers = Answers::new();
        batch.groups_mut().for_each(|group| self.shared.apply_group(group, &mut answers));
        std::future::ready(answers)
    }

    fn apply_one(
        &self,
        mut operation: Operation,
        _timeout: Option<Span>,
    ) -> impl Future<Output = Answer> + Send {
        std::future::ready(self.shared.apply_one(&mut operation))
    }

    fn in_force(&self, rules: &[Rule]) {
        self.shared.shares.reserve_for(rules);
    }
}

type Places = SmallVec<[(usize, Place); INLINE]>;

type Held<'a> = SmallVec<[(usize, MutexGuard<'a, Shard>); INLINE]>;
