//! The table of one shard: 32-byte slots, two to a cache line, found by linear probing from a line's start.
//!
//! A look-up mostly reads one line. Any number of lines will do, so the table grows by half instead of
//! doubling: it is never less than half full for long, and a key takes at most 64 bytes.

use weir_core::{Key, RuleId, State};

/// Half a cache line: whose, how counted, and the state. When it expires follows from the last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Slot {
    pub(super) tag: Tag,
    /// `None` where the slot is empty.
    pub(super) rule: Option<RuleId>,
    pub(super) state: State,
}

const _: () = assert!(size_of::<Slot>() == 32);

const EMPTY: Slot = Slot { tag: Tag([0; 3]), rule: None, state: State([0; 2]) };

/// What a slot keeps of a key's 128 bits. Together with those that chose its shard, two of ten million keys
/// meet with a probability below 10⁻¹⁶.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(pub(super) [u32; 3]);

impl Tag {
    #[expect(clippy::cast_possible_truncation, reason = "the words of a wide number")]
    pub(super) const fn of(key: Key) -> Self {
        Self([(key.0 >> 32) as u32, (key.0 >> 64) as u32, (key.0 >> 96) as u32])
    }
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([Slot; 2]);

const _: () = assert!(size_of::<Line>() == 64);

/// Slots by key. Positions hold until the next insertion or removal.
#[derive(Debug, Default)]
pub(super) struct Table {
    lines: Vec<Line>,
    len: usize,
}

impl Table {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn slots(&self) -> usize {
        self.lines.len() * 2
    }

    /// Whether so many more keys would make the table too full to be searched quickly.
    pub(super) const fn lacks_room_for(&self, more: usize) -> bool {
        (self.len + more) * 5 > self.slots() * 4
    }

    /// Whether most of the table's memory is of no use.
    pub(super) const fn is_sparse(&self) -> bool {
        self.lines.len() > LINES_MIN && self.len * 5 < self.slots()
    }

    pub(super) fn get(&self, position: usize) -> Option<&Slot> {
        self.lines.get(position / 2)?.0.get(position % 2)
    }

    pub(super) fn get_mut(&mut self, position: usize) -> Option<&mut Slot> {
        self.lines.get_mut(position / 2)?.0.get_mut(position % 2)
    }

    /// Where the key with this tag is, if it is here.
    pub(super) fn find(&self, tag: Tag) -> Option<usize> {
        let mut position = home(tag, self.lines.len()) * 2;
        for _ in 0..self.slots() {
            let slot = self.get(position)?;
            slot.rule?;
            if slot.tag == tag {
                return Some(position);
            }
            position = self.after(position);
        }
        None
    }

    /// Adds a key that is not here. There is room: [`Table::lacks_room_for`] was asked.
    pub(super) fn insert(&mut self, slot: Slot) {
        let mut position = home(slot.tag, self.lines.len()) * 2;
        while self.get(position).is_some_and(|slot| slot.rule.is_some()) {
            position = self.after(position);
        }
        self.set(position, slot);
        self.len += 1;
    }

    const fn after(&self, position: usize) -> usize {
        if position + 1 == self.slots() { 0 } else { position + 1 }
    }

    /// Takes out what is at this position, and moves what had made way for it back towards its home.
    pub(super) fn remove(&mut self, position: usize) {
        let slots = self.slots();
        let mut hole = position;
        let mut next = position;
        loop {
            next = self.after(next);
            let Some(slot) = self.get(next).copied().filter(|slot| slot.rule.is_some()) else { break };
            let wanted = home(slot.tag, self.lines.len()) * 2;
            let is_displaced = (next + slots - wanted) % slots >= (next + slots - hole) % slots;
            if is_displaced && next != hole {
                self.set(hole, slot);
                hole = next;
            }
        }
        self.set(hole, EMPTY);
        self.len -= 1;
    }

    fn set(&mut self, position: usize, slot: Slot) {
        if let Some(place) = self.get_mut(position) {
            *place = slot;
        }
    }

    /// Makes room for half as many keys again as are held and `more`.
    pub(super) fn resize(&mut self, more: usize) {
        let lines = ((self.len + more) * 15 / 16 + 1).max(LINES_MIN);
        let old = std::mem::replace(&mut self.lines, vec![Line([EMPTY; 2]); lines]);
        self.len = 0;
        for slot in old.into_iter().flat_map(|line| line.0).filter(|slot| slot.rule.is_some()) {
            self.insert(slot);
        }
    }
}

const LINES_MIN: usize = 4;

/// The line on which the search for a tag begins. Tags are hashes already; the words are mixed because those
/// of shared partitions are not.
const fn home(Tag([low, middle, high]): Tag, lines: usize) -> usize {
    let mixed = (low ^ high.rotate_left(16)).wrapping_mul(0x9E37_79B9) ^ middle;
    ((mixed as u64 * lines as u64) >> 32) as usize
}
