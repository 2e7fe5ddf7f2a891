//! Denials that still hold are answered without a call (promise 17): a caller who hammers a full limit costs the
//! server at most one call a second. Kept is the state that the server told; what it means as time passes, `core`
//! works out, so that the figures move on too.
//!
//! Others may give back, reset or correct meanwhile: so a denial holds for a second at most, and what this node
//! does itself undoes it at once.

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;
use weir_core::{Answer, Held, Key, Op, Operation, Outcome, Rule, Span, State, StateRef, Timestamp};

use crate::clock::Clock;

/// So many keys are known at most, at about a hundred bytes each.
const KEYS_MAX: usize = 65_536;
/// What is still on its way when a key is undone was decided before, and arrives within this or not at all.
const ON_ITS_WAY: Span = Span::from_secs(2);

pub(super) struct Denials {
    known: Mutex<Known>,
    /// How time passes here; the server's time is told with each state.
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct Known {
    keys: HashMap<Key, Entry>,
    /// Nothing is kept until then, by our time.
    closed_until: Timestamp,
}

#[derive(Clone, Copy)]
struct Entry {
    /// When the server told it, by its time.
    told: Timestamp,
    /// When it came, by ours.
    came: Timestamp,
    /// Good until then, by ours.
    until: Timestamp,
    /// What is refused; nothing where use was given back.
    denied: Option<Denied>,
}

#[derive(Clone, Copy)]
struct Denied {
    rule: Rule,
    /// The least cost that was refused.
    cost: u64,
    state: State,
}

/// What a call has to tell of a key.
pub(super) struct Told<'a> {
    pub(super) key: Key,
    /// The least cost that was refused, if one was.
    pub(super) refused: Option<u64>,
    /// Whether use was given back, corrected or reset.
    pub(super) is_undone: bool,
    /// What is held now, and by which rule.
    pub(super) held: Option<(Rule, &'a Held)>,
}

impl Denials {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { known: Mutex::default(), clock }
    }

    /// The answer to an operation that is known to be refused.
    pub(super) fn answer(&self, operation: &Operation) -> Option<Answer> {
        let (Op::Take(cost) | Op::Peek(cost)) = operation.op else { return None };
        let entry = *self.known.lock().keys.get(&operation.key)?;
        let denied = entry.denied.filter(|denied| denied.rule == operation.rule && denied.cost <= cost)?;
        let now = self.clock.now();
        let left = entry.until.since(now);
        // In the server's microseconds, and none too many.
        let at = entry.told.after(Span::from_nanos(now.since(entry.came).nanos() / 1_000 * 1_000));
        let step = denied.rule.decide(StateRef::Cell(&denied.state), Op::Peek(cost), at);
        if left == Span::ZERO || step.decision.outcome != Outcome::Deny {
            return None;
        }
        let cacheable_for = step.decision.retry_after.map(|wait| wait.min(left));
        Some(Answer::Decided { decision: step.decision, receipt: None, cacheable_for })
    }

    /// Takes in what a call told at this time of the server's.
    pub(super) fn learn<'a>(&self, told: impl Iterator<Item = Told<'a>>, at: Timestamp) {
        let now = self.clock.now();
        let mut known = self.known.lock();
        told.for_each(|told| known.learn(&told, at, now));
    }

    /// Forgets what is known of these keys, and what is still on its way: they may have been undone.
    pub(super) fn forget(&self, keys: impl Iterator<Item = Key>) {
        let now = self.clock.now();
        let mut known = self.known.lock();
        keys.for_each(|key| known.undo(key, Timestamp::from_nanos(u64::MAX), now));
    }

    /// Forgets all.
    pub(super) fn clear(&self) {
        self.known.lock().keys.clear();
    }
}

impl Known {
    fn learn(&mut self, told: &Told<'_>, at: Timestamp, now: Timestamp) {
        if told.is_undone {
            return self.undo(told.key, at, now);
        }
        let entry = self.keys.get(&told.key).filter(|entry| now < entry.until);
        // Two calls may arrive in the other order than they were decided in.
        let is_late = |entry: &Entry| at < entry.told || (at == entry.told && entry.denied.is_none());
        if now < self.closed_until || entry.is_some_and(is_late) {
            return;
        }
        let known = entry.and_then(|entry| entry.denied);
        match told.denied(known, at) {
            Some((denied, holds)) => {
                let entry = Entry { told: at, came: now, until: now.after(holds), denied: Some(denied) };
                self.put(told.key, entry, now);
            }
            None if known.is_some() => drop(self.keys.remove(&told.key)),
            None => {}
        }
    }

    fn undo(&mut self, key: Key, at: Timestamp, now: Timestamp) {
        self.put(key, Entry { told: at, came: now, until: now.after(ON_ITS_WAY), denied: None }, now);
    }

    fn put(&mut self, key: Key, entry: Entry, now: Timestamp) {
        if self.keys.len() >= KEYS_MAX && !self.keys.contains_key(&key) {
            self.keys.retain(|_, entry| now < entry.until);
            if self.keys.len() >= KEYS_MAX {
                // What was undone is forgotten with all else, so what is on its way must not be kept.
                self.keys.clear();
                self.closed_until = now.after(ON_ITS_WAY);
            }
        }
        self.keys.insert(key, entry);
    }
}

impl Told<'_> {
    /// What is refused by what is held now, and for how long that holds: a cost that was refused by this call, or
    /// is known to have been.
    fn denied(&self, known: Option<Denied>, at: Timestamp) -> Option<(Denied, Span)> {
        let (rule, Held::Cell(state)) = self.held? else { return None };
        let known = known.filter(|denied| denied.rule == rule).map(|denied| denied.cost);
        let cost = known.into_iter().chain(self.refused).min()?;
        let asked = Operation::new(self.key, rule, Op::Peek(cost));
        let step = rule.decide(StateRef::Cell(state), asked.op, at);
        match asked.answer(&step, self.key) {
            Answer::Decided { cacheable_for: Some(holds), .. } => {
                Some((Denied { rule, cost, state: *state }, holds))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use weir_core::{Algorithm, PolicyId, Precision, Quota};

    const START: Timestamp = Timestamp::from_nanos(1_793_400_000_000_000_000);
    const SECOND: Span = Span::from_secs(1);

    fn ten() -> Rule {
        let (algorithm, window) = (Algorithm::FixedWindow, Span::from_secs(100));
        let quota = Quota::settle_for(Precision::Double, algorithm, 10, window, None).unwrap();
        Rule::new(PolicyId(1), algorithm, quota)
    }

    /// What is held after so many units at the start.
    fn used(units: u64) -> Held {
        let mut held = None;
        ten().decide(StateRef::Fresh, Op::Take(units), START).change.apply_to(&mut held);
        held.unwrap()
    }

    fn denials() -> (Denials, ManualClock) {
        let clock = ManualClock::at(START);
        (Denials::new(Arc::new(clock.clone())), clock)
    }

    fn refused(key: u128, cost: u64, held: &Held) -> Told<'_> {
        Told { key: Key(key), refused: Some(cost), is_undone: false, held: Some((ten(), held)) }
    }

    fn undone(key: u128) -> Told<'static> {
        Told { key: Key(key), refused: None, is_undone: true, held: None }
    }

    impl Denials {
        fn told(&self, told: Told<'_>, at: Timestamp) {
            self.learn(std::iter::once(told), at);
        }

        fn knows(&self, key: u128, cost: u64) -> bool {
            self.answer(&Operation::new(Key(key), ten(), Op::Take(cost))).is_some()
        }
    }

    #[test]
    fn what_was_decided_before_an_undoing_is_not_kept_when_it_arrives_later() {
        let (denials, clock) = denials();
        let held = used(10);
        let later = START.after(Span::from_nanos(1_000));
        denials.told(refused(1, 1, &held), START);
        assert!(denials.knows(1, 1));
        denials.told(undone(1), later);
        for at in [START, later] {
            denials.told(refused(1, 1, &held), at);
            assert!(!denials.knows(1, 1));
        }
        denials.told(refused(1, 1, &held), later.after(Span::from_nanos(1_000)));
        assert!(denials.knows(1, 1));
        // Whether and when it was done is not known here, so nothing is kept until all has arrived.
        denials.forget(std::iter::once(Key(1)));
        denials.told(refused(1, 1, &held), later.after(SECOND));
        assert!(!denials.knows(1, 1));
        clock.advance(ON_ITS_WAY);
        denials.told(refused(1, 1, &held), later.after(SECOND));
        assert!(denials.knows(1, 1));
    }

    #[test]
    fn the_least_cost_that_was_refused_is_known_and_goes_with_what_is_held() {
        let (denials, _) = denials();
        let held = used(7);
        denials.told(refused(1, 5, &held), START);
        assert!(denials.knows(1, 5) && denials.knows(1, 9) && !denials.knows(1, 4));
        denials.told(refused(1, 4, &held), START);
        denials.told(refused(1, 6, &held), START);
        assert!(denials.knows(1, 4));
        let less = used(6);
        denials.told(Told { refused: None, ..refused(1, 0, &less) }, START);
        assert!(!denials.knows(1, 5), "it would fit now");
        denials.told(Told { refused: None, ..refused(1, 0, &held) }, START);
        assert!(!denials.knows(1, 5), "nothing was refused since");
    }

    #[test]
    fn promise_11_there_are_no_more_than_so_many() {
        let (denials, clock) = denials();
        let held = used(10);
        let count = |denials: &Denials| denials.known.lock().keys.len();
        for key in 0..KEYS_MAX as u128 {
            denials.told(refused(key, 1, &held), START);
        }
        assert_eq!(count(&denials), KEYS_MAX);
        clock.advance(SECOND);
        denials.told(refused(1 << 80, 1, &held), START.after(SECOND));
        assert_eq!(count(&denials), 1, "those before are over");
        for key in 0..KEYS_MAX as u128 {
            denials.told(undone(key), START.after(SECOND));
        }
        assert!(count(&denials) <= KEYS_MAX);
        denials.told(refused(0, 1, &held), START);
        assert!(!denials.knows(0, 1), "what was undone is not known any more, and is not believed");
        clock.advance(ON_ITS_WAY);
        denials.told(refused(0, 1, &held), START);
        assert!(denials.knows(0, 1));
    }
}
