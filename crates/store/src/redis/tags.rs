//! Where keys are on a cluster: each key's name begins with one of a few tags, and a tag's keys share a slot, so
//! that one call can decide about many of them.

use std::ops::Range;

use weir_core::Key;

/// The slots of a cluster.
const SLOTS: u16 = 16_384;
/// How many tags there are. More spread keys better over very many primaries, fewer let more requests share a
/// call. It is part of every key's name: with another number all counters would begin anew.
const TAGS: u16 = 64;

/// The tags, each in its own stretch of the slots, so that primaries with equal stretches have equally many.
pub(super) fn tags() -> Vec<String> {
    let width = SLOTS / TAGS;
    let slots = |i| i * width..(i + 1) * width;
    let tag = |i| (0..u16::MAX).map(|n| n.to_string()).find(|tag| is_within(tag, &slots(i)));
    (0..TAGS).filter_map(tag).collect()
}

fn is_within(tag: &str, slots: &Range<u16>) -> bool {
    slots.contains(&(crc16::State::<crc16::XMODEM>::calculate(tag.as_bytes()) % SLOTS))
}

/// Which of so many lanes is a key's.
pub(super) const fn lane(Key(key): Key, lanes: usize) -> usize {
    (key % lanes as u128) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tag_has_a_stretch_of_its_own_and_stays_what_it_is() {
        let tags = tags();
        assert_eq!(tags.len(), usize::from(TAGS));
        let known: Vec<&str> = tags.iter().take(3).map(String::as_str).collect();
        assert_eq!(known, ["10", "18", "113"], "other tags would be other counters");
        assert_eq!(
            crc16::State::<crc16::XMODEM>::calculate(b"123456789"),
            0x31c3,
            "the specification's example"
        );
    }
}
