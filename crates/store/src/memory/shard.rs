//! One shard: slots and logs under one lock, within their cap.

use weir_core::{Change, Key, Op, Operation, PolicyId, State, StateRef, Timestamp};

use super::logs::Logs;
use super::rules::{Known, RuleId, Rules};
use super::table::{Slot, Table, Tag};

/// Keys of a policy that find no room share so many partitions.
const PARTITIONS: u32 = 4_096;
/// How many slots are looked at, before a key without a place is told that there is none.
const LOOK_FOR_ROOM: usize = 32;

/// How much a shard may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cap {
    /// Keys with a place of their own. Shared partitions come on top: at most 4,096 a policy in all shards.
    pub(super) keys: usize,
    /// Entries of logs.
    pub(super) log_entries: usize,
}

/// What has happened in a shard.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Expired keys that went by themselves.
    pub(super) expired: u64,
    /// Expired keys that made room for others.
    pub(super) evicted: u64,
    /// Charges to a shared partition, for want of room.
    pub(super) overflowed: u64,
}

#[derive(Debug)]
pub(super) struct Shard {
    cap: Cap,
    table: Table,
    logs: Logs,
    /// Keys with a place of their own, by the number of their policy.
    own: Vec<u32>,
    /// Partitions that hold something.
    partitions: usize,
    /// Where the next sweep goes on.
    cursor: usize,
    counts: Counts,
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

impl Shard {
    pub(super) fn new(cap: Cap) -> Self {
        let (table, logs) = (Table::default(), Logs::default());
        let (own, counts) = (Vec::new(), Counts::default());
        Self { cap, table, logs, own, partitions: 0, cursor: 0, counts }
    }

    /// Keys with a place of their own.
    pub(super) fn keys(&self) -> usize {
        self.table.len() - self.partitions
    }

    pub(super) const fn partitions(&self) -> usize {
        self.partitions
    }

    pub(super) const fn slots(&self) -> usize {
        self.table.slots()
    }

    pub(super) const fn log_entries(&self) -> usize {
        self.logs.entries()
    }

    pub(super) const fn counts(&self) -> Counts {
        self.counts
    }

    /// Finds the state of an operation's key. After a change of quota the slot is brought under the
    /// operation's rule first, charged or not: under an old, faster one it would seem to expire too soon. What
    /// is given back is reckoned the other way round, by the rule that the key stands under and not by its
    /// receipt's.
    pub(super) fn find(&mut self, operation: &mut Operation, rules: &Rules) -> Place {
        let place = self.place(operation);
        let (Place::Own(position) | Place::Shared(position)) = place else { return place };
        let Some(slot) = self.table.get_mut(position) else { return place };
        let Some(Known { rule, .. }) = slot.rule.and_then(|id| rules.get(id)) else { return place };
        if !rule.counts_like(&operation.rule) {
            // A key is one policy's, and its algorithm is part of it. Whoever breaks that begins anew.
            self.remove(position, rules);
            return Place::None;
        }
        if let Op::Give { .. } = operation.op {
            operation.rule = *rule;
        } else if *rule != operation.rule
            && let Some((id, _)) = rules.id(&operation.rule)
        {
            slot.state = operation.rule.rebase(&slot.state, rule);
            slot.rule = Some(id);
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

    /// The state that [`Shard::find`] found.
    pub(super) fn state(&self, place: Place, rules: &Rules) -> StateRef<'_> {
        match place {
            Place::Own(position) | Place::Shared(position) => {
                self.table.get(position).map_or(StateRef::Fresh, |slot| self.state_of(slot, rules))
            }
            Place::None => StateRef::Fresh,
        }
    }

    fn state_of<'a>(&'a self, slot: &'a Slot, rules: &Rules) -> StateRef<'a> {
        let keeps_log = slot.rule.and_then(|id| rules.get(id)).is_some_and(|known| known.rule.keeps_log());
        if !keeps_log {
            return StateRef::Cell(&slot.state);
        }
        let State([number, _]) = slot.state;
        self.logs.get(number).map_or(StateRef::Fresh, StateRef::Log)
    }

    /// Applies the change that was decided on what [`Shard::find`] found for the same operation. Returns the
    /// key that holds the charge: the operation's own, or its partition's.
    pub(super) fn write(
        &mut self,
        operation: &Operation,
        place: Place,
        change: Change,
        now: Timestamp,
        rules: &Rules,
    ) -> Key {
        if change == Change::Keep {
            return operation.key;
        }
        let tag = Tag::of(operation.key);
        // An earlier write of the same group may have moved it.
        let is_still_there = |position: usize| self.table.get(position).is_some_and(|slot| slot.tag == tag);
        let own = match place {
            Place::Own(position) if is_still_there(position) => Some(position),
            _ => self.table.find(tag),
        };
        match (own, change) {
            (Some(position), Change::Clear) => self.remove(position, rules),
            (Some(position), _) => self.change(position, change),
            (None, Change::Clear) => {}
            (None, _) => return self.write_new(operation, change, now, rules),
        }
        operation.key
    }

    fn write_new(&mut self, operation: &Operation, change: Change, now: Timestamp, rules: &Rules) -> Key {
        let Some((rule, policy)) = rules.id(&operation.rule) else { return operation.key };
        let shared = partition(operation);
        self.make_space(now, rules);
        if operation.key != shared && self.has_room(policy, now, rules) {
            let from = if self.partitions == 0 { None } else { self.table.find(Tag::of(shared)) };
            self.insert(operation.key, rule, from, change);
            self.own.resize(self.own.len().max(policy + 1), 0);
            self.own.get_mut(policy).into_iter().for_each(|own| *own += 1);
            return operation.key;
        }
        self.counts.overflowed += 1;
        if let Some(position) = self.table.find(Tag::of(shared)) {
            self.change(position, change);
        } else {
            self.insert(shared, rule, None, change);
            self.partitions += 1;
        }
        shared
    }

    fn change(&mut self, position: usize, change: Change) {
        let Some(slot) = self.table.get_mut(position) else { return };
        match change {
            Change::Put(state) => slot.state = state,
            Change::Log(change) => {
                let State([number, _]) = slot.state;
                self.logs.apply(number, change, self.cap.log_entries);
            }
            Change::Keep | Change::Clear => {}
        }
    }

    /// Adds a key. What was decided for a log was decided on its partition's, at `from`.
    fn insert(&mut self, key: Key, rule: RuleId, from: Option<usize>, change: Change) {
        let state = match change {
            Change::Put(state) => state,
            Change::Log(change) => {
                let from = from.and_then(|position| self.table.get(position)).map(|slot| slot.state.0[0]);
                let number = self.logs.begin(from);
                self.logs.apply(number, change, self.cap.log_entries);
                State([number, 0])
            }
            Change::Keep | Change::Clear => return,
        };
        self.table.insert(Slot { tag: Tag::of(key), rule: Some(rule), state });
    }

    /// Sees to it that the table takes one slot more. What has expired goes before the table grows.
    fn make_space(&mut self, now: Timestamp, rules: &Rules) {
        if !self.table.is_full() {
            return;
        }
        self.counts.evicted += self.sweep_some(self.table.slots(), now, rules);
        if self.table.len() * 3 >= self.table.slots() * 2 {
            self.table.resize();
        }
    }

    /// Whether a new key of this policy may have a place of its own. Eviction forgives no debt: only what has
    /// expired makes room.
    fn has_room(&mut self, policy: usize, now: Timestamp, rules: &Rules) -> bool {
        if self.keys() >= self.cap.keys {
            self.counts.evicted += self.sweep_some(LOOK_FOR_ROOM, now, rules);
        }
        // Half of the cap at most is reserved, so below that there is always room.
        let is_free = |shard: &Self| {
            let owed = rules.owed_to_others(policy, shard.cap.keys, &shard.own);
            shard.keys() + owed < shard.cap.keys
        };
        self.keys() < self.cap.keys / 2 || is_free(self)
    }

    /// Looks at so many slots and drops what has expired.
    pub(super) fn sweep(&mut self, slots: usize, now: Timestamp, rules: &Rules) {
        self.counts.expired += self.sweep_some(slots, now, rules);
        if self.table.is_sparse() {
            self.table.resize();
        }
    }

    fn sweep_some(&mut self, slots: usize, now: Timestamp, rules: &Rules) -> u64 {
        let (mut dropped, mut left) = (0, slots.min(self.table.slots()));
        while left > 0 {
            if self.cursor >= self.table.slots() {
                self.cursor = 0;
            }
            let is_over = |slot: &Slot| {
                let known = slot.rule.and_then(|id| rules.get(id));
                known.is_some_and(|known| known.rule.expires(self.state_of(slot, rules)) <= now)
            };
            if self.table.get(self.cursor).is_some_and(is_over) {
                // What moves up into its place is looked at next.
                self.remove(self.cursor, rules);
                dropped += 1;
            } else {
                self.cursor += 1;
                left -= 1;
            }
        }
        dropped
    }

    fn remove(&mut self, position: usize, rules: &Rules) {
        let Some(&Slot { tag, rule: Some(id), state: State([number, _]) }) = self.table.get(position) else {
            return;
        };
        let Some(known) = rules.get(id) else { return };
        if known.rule.keeps_log() {
            self.logs.end(number);
        }
        if is_partition(tag, known.rule.policy) {
            self.partitions -= 1;
        } else if let Some(own) = self.own.get_mut(known.policy) {
            *own -= 1;
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
