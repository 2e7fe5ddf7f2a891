//! What the script keeps under a key, read into a state.
//!
//! A value begins with `W`, its kind, and the number of the layout, so that nothing else is taken for one. All
//! numbers are doubles, the lowest byte first; instants are in microseconds since the epoch:
//!
//! ```text
//! 0  'W' kind layout 0
//! 4  when the key expires, in milliseconds
//! 12 bucket   parts · tick · parts a unit · microseconds a tick · parts that leak a tick
//!    fixed    used · start · end · 0 · 0
//!    sliding  current · index · previous · 0 · 0
//!    log      total before the first entry, then for each: instant · total up to it
//! ```

use weir_core::Portable;

use super::micros::{instant, span};
use super::script::{Kind, LAYOUT};

/// The state that a value holds; nothing where it is none of this layout.
pub(super) fn state(value: &[u8]) -> Option<Portable> {
    let (&[mark, kind, layout, 0], rest) = value.split_first_chunk()? else { return None };
    if mark != b'W' || layout != LAYOUT || rest.len() % 8 != 0 {
        return None;
    }
    let mut words = rest.chunks_exact(8).filter_map(|word| word.try_into().ok().map(whole));
    let _expires = words.next()?;
    let mut next = || words.next();
    match kind {
        kind if kind == Kind::Bucket as u8 => {
            let (parts, tick, scale) = (next()?, next()?, next()?);
            Some(Portable::Level { parts, tick, scale, tick_length: span(next()?), leak: next()? })
        }
        kind if kind == Kind::Fixed as u8 => {
            Some(Portable::Count { used: next()?, start: instant(next()?), end: instant(next()?) })
        }
        kind if kind == Kind::Sliding as u8 => {
            Some(Portable::Counts { current: next()?, index: next()?, previous: next()? })
        }
        kind if kind == Kind::Log as u8 => {
            let before = next()?;
            let entries = std::iter::from_fn(|| Some((instant(next()?), next()?))).collect();
            Some(Portable::Log { before, entries })
        }
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "only whole numbers are written")]
const fn whole(bytes: [u8; 8]) -> u64 {
    f64::from_le_bytes(bytes) as u64
}

#[cfg(test)]
mod tests {
    use weir_core::Span;

    use super::*;

    fn value(kind: u8, layout: u8, words: &[f64]) -> Vec<u8> {
        [b'W', kind, layout, 0].into_iter().chain(words.iter().flat_map(|word| word.to_le_bytes())).collect()
    }

    #[test]
    fn a_value_is_read_as_the_state_that_it_holds() {
        let level = value(1, LAYOUT, &[9.0, 5.0, 7.0, 600_000.0, 1.0, 2.0]);
        let expected = Portable::Level {
            parts: 5,
            tick: 7,
            scale: 600_000,
            tick_length: Span::from_nanos(1_000),
            leak: 2,
        };
        assert_eq!(state(&level), Some(expected));
        let log = value(4, LAYOUT, &[9.0, 2.0, 10.0, 3.0, 11.0, 5.0]);
        let entries = vec![(instant(10), 3), (instant(11), 5)];
        assert_eq!(state(&log), Some(Portable::Log { before: 2, entries }));
    }

    #[test]
    fn nothing_else_is_taken_for_a_state() {
        let good = value(2, LAYOUT, &[9.0, 5.0, 0.0, 60.0, 0.0]);
        assert!(state(&good).is_some());
        for bad in [
            value(2, LAYOUT + 1, &[9.0, 5.0, 0.0, 60.0, 0.0]),
            value(9, LAYOUT, &[9.0, 5.0, 0.0, 60.0, 0.0]),
            value(2, LAYOUT, &[9.0]),
            good[..good.len() - 1].to_vec(),
            b"100".to_vec(),
            Vec::new(),
        ] {
            assert_eq!(state(&bad), None, "{bad:?}");
        }
    }
}
