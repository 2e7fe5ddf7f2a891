//! One shard: slots and logs under one lock, within their cap.

use std::sync::Arc;

use weir_core::{Change, Key, Op, Operation, PolicyId, Rule, RuleId, State, StateRef, Timestamp};

use super::MemoryStats;
use super::logs::{Entries, Logs};
use super::shares::{ByPolicy, InForce, Shares};
use super::table::{Slot, Table, Tag};

/// Keys of a policy that find no room share so many partitions.
const PARTITIONS: u32 = 4_096;
/// How many slots are looked at for something expired, before a key without a place is told that there is none.
const LOOK_FOR_ROOM: usize = 32;

/// What a decision about a known key needs, in one cache line with the lock around it.
#[derive(Debug)]
pub(super) struct Shard {
    table: Table,
    /// Partitions that hold something.
    partitions: usize,
    rest: Box<Rest>,
}

#[derive(Debug)]
struct Rest {
    /// Keys with a place of their own. Shared partitions come on top: at most 4,096 a policy in all shards.
    cap: usize,
    logs: Logs,
    /// Keys with a place of their own.
    own: ByPolicy,
    /// Where the next sweep goes on.
    cursor: usize,
    /// What happened; what is held is told when it is asked.
    counts: MemoryStats,
}

/// Where a key's state was found. It holds while nothing else is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// In a slot of its own.
    Own(usize),
    /// In its partition, shared with other keys that had no place either.
    Shared(usize),
    None,
}

impl Place {
    pub(super) const fn is_own(self) -> bool {
        matches!(self, Self::Own(_))
    }
}

impl Shard {
    pub(super) fn new(cap: usize, entries: Arc<Entries>) -> Self {
        let (own, counts) = (ByPolicy::default(), MemoryStats::default());
        let rest = Box::new(Rest { cap, logs: Logs::new(entries), own, cursor: 0, counts });
        Self { table: Table::default(), partitions: 0, rest }
    }

    fn keys(&self) -> usize {
        self.table.len() - self.partitions
    }

    /// What is held here and what happened, but for the entries of logs, which all shards share.
    pub(super) fn stats(&self) -> MemoryStats {
        MemoryStats { keys: self.keys(), partitions: self.partitions, ..self.rest.counts }
    }

    pub(super) const fn slots(&self) -> usize {
        self.table.slots()
    }

    /// Finds the state of an operation's key. After a change of quota the slot is brought under the
    /// operation's rule first, charged or not: under an old, faster one it would seem to expire too soon. What
    /// is given back is reckoned the other way round, by the rule that the key stands under and not by its
    /// receipt's.
    pub(super) fn find(&mut self, operation: &mut Operation) -> Place {
        let place = self.place(operation);
        let (Place::Own(position) | Place::Shared(position)) = place else { return place };
        let Some(slot) = self.table.get_mut(position) else { return place };
        if slot.rule == Some(operation.rule.id()) {
            return place;
        }
        let Some(rule) = slot.rule.and_then(RuleId::rule) else { return place };
        if !rule.counts_like(operation.rule) {
            // A key is one policy's, and its algorithm is part of it. Whoever breaks that begins anew.
            return Place::None;
        }
        if let Op::Give { .. } = operation.op {
            operation.rule = rule;
        } else {
            slot.state = operation.rule.rebase(&slot.state, rule);
            slot.rule = Some(operation.rule.id());
        }
        place
    }

    /// A key without a place begins where its partition stands, if others of its kind had to share it. What
    /// lowers use touches the key's own alone: others' debts are not its to forgive.
    fn place(&self, operation: &Operation) -> Place {
        if let Some(position) = self.table.find(Tag::of(operation.key)) {
            return Place::Own(position);
        }
        let raises = matches!(operation.op, Op::Take(_) | Op::Peek(_) | Op::Adjust(0..));
        if self.partitions == 0 || !raises {
            return Place::None;
        }
        self.table.find(Tag::of(partition(operation))).map_or(Place::None, Place::Shared)
    }

    /// The state that [`Shard::find`] found for an operation by this rule.
    pub(super) fn state(&self, place: Place, rule: Rule) -> StateRef<'_> {
        match place {
            Place::Own(position) | Place::Shared(position) => {
                self.table.get(position).map_or(StateRef::Fresh, |slot| self.state_of(slot, rule))
            }
            Place::None => StateRef::Fresh,
        }
    }

    fn state_of<'a>(&'a self, slot: &'a Slot, rule: Rule) -> StateRef<'a> {
        if !rule.keeps_log() {
            return StateRef::Cell(&slot.state);
        }
        let State([number, _]) = slot.state;
        self.rest.logs.get(number).map_or(StateRef::Fresh, StateRef::Log)
    }

    /// Applies the change that was decided on what [`Shard::find`] found for the same operation. Returns the
    /// key that holds the charge: the operation's own, or its partition's.
    pub(super) fn write(
        &mut self,
        operation: &Operation,
        place: Place,
        change: &Change,
        shares: &Shares,
    ) -> Key {
        if *change == Change::Keep {
            return operation.key;
        }
        let tag = Tag::of(operation.key);
        // An earlier write of the same group may have moved it.
        let is_still_there = |position: usize| self.table.get(position).is_some_and(|slot| slot.tag == tag);
        let own = match place {
            Place::Own(position) if is_still_there(position) => Some(position),
            _ => self.table.find(tag),
        };
        let is_of_rule = |slot: &Slot| slot.rule == Some(operation.rule.id());
        match own.filter(|position| self.table.get(*position).is_some_and(is_of_rule)) {
            Some(position) if *change == Change::Clear => self.remove(position),
            Some(position) => self.change(position, change),
            None => {
                if let Some(position) = own {
                    self.remove(position);
                }
                if *change != Change::Clear {
                    return self.write_new(operation, change, shares);
                }
            }
        }
        operation.key
    }

    /// Makes room for so many new keys, by letting go what has expired and by growing. It is done before
    /// anything is decided: what was decided on must not go, and [`Shard::find`] has to be asked again.
    pub(super) fn make_room(&mut self, keys: usize, now: Timestamp, shares: &Shares) {
        let is_tight = self.table.lacks_room_for(keys);
        if keys == 0 || !is_tight && self.keys() + keys <= self.unreserved() {
            return;
        }
        let slots = if is_tight { self.table.slots() } else { LOOK_FOR_ROOM };
        self.rest.counts.evicted += self.sweep_some(slots, now, &shares.in_force());
        // A little more than needed, or the next key would sweep it all again.
        if is_tight && self.table.lacks_room_for(keys + self.table.len() / 5) {
            self.table.resize(keys);
        }
    }

    /// Half of the cap at most is reserved: below that there is room for everyone.
    const fn unreserved(&self) -> usize {
        self.rest.cap / 2
    }

    fn write_new(&mut self, operation: &Operation, change: &Change, shares: &Shares) -> Key {
        let (rule, policy) = (operation.rule.id(), operation.rule.policy);
        let common = partition(operation);
        if operation.key != common && self.has_room(policy, shares) {
            let from = if self.partitions == 0 { None } else { self.table.find(Tag::of(common)) };
            self.insert(operation.key, rule, from, change);
            *self.rest.own.entry(policy).or_default() += 1;
            return operation.key;
        }
        self.rest.counts.overflowed += 1;
        if let Some(position) = self.table.find(Tag::of(common)) {
            self.change(position, change);
        } else {
            self.insert(common, rule, None, change);
            self.partitions += 1;
        }
        common
    }

    fn change(&mut self, position: usize, change: &Change) {
        let Some(slot) = self.table.get_mut(position) else { return };
        match *change {
            Change::Put(state) => slot.state = state,
            Change::Log(change) => {
                let State([number, _]) = slot.state;
                self.rest.counts.merged += u64::from(self.rest.logs.apply(number, change));
            }
            Change::Keep | Change::Clear => {}
        }
    }

    /// Adds a key. What was decided for a log was decided on its partition's, at `from`.
    fn insert(&mut self, key: Key, rule: RuleId, from: Option<usize>, change: &Change) {
        let state = match *change {
            Change::Put(state) => state,
            Change::Log(change) => {
                let from = from.and_then(|position| self.table.get(position)).map(|slot| slot.state.0[0]);
                let (number, is_merged) = self.rest.logs.begin(from, change);
                self.rest.counts.merged += u64::from(is_merged);
                State([number, 0])
            }
            Change::Keep | Change::Clear => return,
        };
        self.table.insert(Slot { tag: Tag::of(key), rule: Some(rule), state });
    }

    /// Whether a new key of this policy may have a place of its own. Eviction forgives no debt: only what has
    /// expired made room.
    fn has_room(&self, policy: PolicyId, shares: &Shares) -> bool {
        let owed = || shares.in_force().owed_to_others(policy, self.rest.cap, &self.rest.own);
        self.keys() < self.unreserved() || self.keys() + owed() < self.rest.cap
    }

    /// Looks at so many slots and drops what has expired.
    pub(super) fn sweep(&mut self, slots: usize, now: Timestamp, in_force: &InForce) {
        self.rest.counts.expired += self.sweep_some(slots, now, in_force);
        if self.table.is_sparse() {
            self.table.resize(0);
        }
    }

    fn sweep_some(&mut self, slots: usize, now: Timestamp, in_force: &InForce) -> u64 {
        let (mut dropped, mut left) = (0, slots.min(self.table.slots()));
        while left > 0 {
            if self.rest.cursor >= self.table.slots() {
                self.rest.cursor = 0;
            }
            if self.table.get(self.rest.cursor).is_some_and(|slot| self.is_over(slot, now, in_force)) {
                // What moves up into its place is looked at next.
                self.remove(self.rest.cursor);
                dropped += 1;
            } else {
                self.rest.cursor += 1;
                left -= 1;
            }
        }
        dropped
    }

    /// Whether a slot says no more than a fresh one. A quota may have been lowered since it was written: then
    /// it stays until it has expired by that one too.
    fn is_over(&self, slot: &Slot, now: Timestamp, in_force: &InForce) -> bool {
        let Some(rule) = slot.rule.and_then(RuleId::rule) else { return false };
        rule.expires(self.state_of(slot, rule)) <= now
            && in_force.instead_of(rule).is_none_or(|changed| {
                rule.keeps_log() || changed.expires(StateRef::Cell(&changed.rebase(&slot.state, rule))) <= now
            })
    }

    fn remove(&mut self, position: usize) {
        let Some(&Slot { tag, rule: Some(id), state: State([number, _]) }) = self.table.get(position) else {
            return;
        };
        let Some(rule) = id.rule() else { return };
        if rule.keeps_log() {
            self.rest.logs.end(number);
        }
        if is_partition(tag, rule.policy) {
            self.partitions -= 1;
        } else if let Some(own) = self.rest.own.get_mut(&rule.policy) {
            *own -= 1;
            if *own == 0 {
                self.rest.own.remove(&rule.policy);
            }
        }
        self.table.remove(position);
    }
}

/// The partition that a key shares where it has no place of its own. It lies in the key's own shard.
fn partition(operation: &Operation) -> Key {
    let number = operation.key.0 % u128::from(PARTITIONS);
    let PolicyId(policy) = operation.rule.policy;
    Key(u128::from(policy) << 64 | number << 32 | number)
}

fn is_partition(Tag([number, low, high]): Tag, PolicyId(policy): PolicyId) -> bool {
    number < PARTITIONS && u64::from(high) << 32 | u64::from(low) == policy
}
