//! One shard: a table of 32-byte slots, and the rules that their states are to be read by.

use std::collections::HashMap;

use hashbrown::HashTable;
use weir_core::{Change, Key, Op, Operation, Rule, State, Timestamp};

/// Half a cache line: whose, how counted, and the state. When it expires follows from the last two.
///
/// Of the key's 128 bits a slot keeps 96; together with the six that chose its shard, two of ten million
/// keys meet with a probability below 10⁻¹⁶.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Slot {
    tag: [u32; 3],
    rule: RuleId,
    state: State,
}

const _: () = assert!(size_of::<Slot>() == 32);

/// The number of a rule within its shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RuleId(u32);

#[derive(Debug, Default)]
pub(super) struct Shard {
    slots: HashTable<Slot>,
    rules: Rules,
}

impl Shard {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The state of an operation's key. After a change of quota the slot is brought under the operation's
    /// rule first, charged or not: under an old, faster one it would seem to expire too soon. What is given
    /// back is reckoned the other way round, by the rule that the key stands under and not by its receipt's.
    pub(super) fn read(&mut self, operation: &mut Operation) -> Option<State> {
        let tag = tag(operation.key);
        let slot = self.slots.find_mut(hash(tag), |slot| slot.tag == tag)?;
        let rule = *self.rules.get(slot.rule)?;
        if let Op::Give { .. } = operation.op {
            operation.rule = rule;
        } else if rule != operation.rule {
            slot.state = operation.rule.rebase(&slot.state, &rule);
            slot.rule = self.rules.id(&operation.rule);
        }
        Some(slot.state)
    }

    /// Applies the change that was decided on what [`Shard::read`] gave for the same operation.
    pub(super) fn write(&mut self, operation: &Operation, change: Change, now: Timestamp) {
        let tag = tag(operation.key);
        match change {
            Change::Keep => {}
            Change::Clear => {
                if let Ok(slot) = self.slots.find_entry(hash(tag), |slot| slot.tag == tag) {
                    slot.remove();
                }
            }
            Change::Put(state) => match self.slots.find_mut(hash(tag), |slot| slot.tag == tag) {
                Some(slot) => slot.state = state,
                None => self.insert(tag, &operation.rule, state, now),
            },
        }
    }

    fn insert(&mut self, tag: [u32; 3], rule: &Rule, state: State, now: Timestamp) {
        self.make_room(now);
        let rule = self.rules.id(rule);
        self.slots.insert_unique(hash(tag), Slot { tag, rule, state }, |slot| hash(slot.tag));
    }

    /// Drops expired keys before the table would grow, so that it holds at most about twice the live ones.
    fn make_room(&mut self, now: Timestamp) {
        if self.slots.len() < self.slots.capacity() {
            return;
        }
        let rules = &self.rules;
        self.slots.retain(|slot| rules.get(slot.rule).is_some_and(|rule| rule.expires(&slot.state) > now));
        if self.slots.len() > self.slots.capacity() / 2 {
            self.slots.reserve(self.slots.len(), |slot| hash(slot.tag));
        }
    }
}

/// Every distinct rule that a slot was written by. Policies are few; the numbers stay small.
#[derive(Debug, Default)]
struct Rules {
    by_id: Vec<Rule>,
    ids: HashMap<Rule, RuleId>,
}

impl Rules {
    fn get(&self, id: RuleId) -> Option<&Rule> {
        self.by_id.get(id.0 as usize)
    }

    fn id(&mut self, rule: &Rule) -> RuleId {
        *self.ids.entry(*rule).or_insert_with(|| {
            // Four thousand million rules do not fit in memory, so the number always does.
            let id = RuleId(u32::try_from(self.by_id.len()).unwrap_or(u32::MAX));
            self.by_id.push(*rule);
            id
        })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the words of a wide number")]
fn tag(key: Key) -> [u32; 3] {
    [(key.0 >> 32) as u32, (key.0 >> 64) as u32, (key.0 >> 96) as u32]
}

/// Keys are hashes already; their words are as good as any.
fn hash([low, _, high]: [u32; 3]) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
