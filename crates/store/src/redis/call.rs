//! One call of the script: the keys and the numbers for a batch of groups.

use hashbrown::HashMap;
use weir_core::{Algorithm, Batch, Key, Op, Operation, Rule, Span, Timestamp};

use super::micros;
use super::packed::Packed;
use super::script::{Code, Kind, SEVERAL, UNENFORCED};

/// What a batch comes to on the wire.
#[derive(Debug)]
pub(super) struct Call {
    /// The distinct keys.
    pub(super) keys: Vec<Key>,
    /// Of each operation, which of the keys is its.
    pub(super) key_of: Vec<usize>,
    /// The numbers that the script reads.
    pub(super) numbers: Vec<u8>,
}

/// A key lives for longer than it is needed, so that no window is too short for the server.
const GRACE: Span = Span::from_secs(1);
/// Keys expire by the server's time, which passes while a clock of the caller's stands.
const GRACE_OFF_TIME: Span = Span::from_secs(3_600);

impl Call {
    /// The call for these groups. `clock` is the time to decide at, where it is not the server's; `around` is
    /// about the server's time, and places the edges of calendar windows.
    pub(super) fn of(batch: &Batch, clock: Option<Timestamp>, around: Timestamp) -> Self {
        let mut keys = Distinct::default();
        let mut rules = Distinct::default();
        let mut groups = Packed::default();
        let mut key_of = Vec::with_capacity(batch.operations().len());
        for group in batch.groups() {
            if group.len() != 1 {
                groups.push(SEVERAL);
                groups.push(group.len() as u64);
            }
            for operation in group {
                let key = keys.number(operation.key);
                key_of.push(key);
                push_operation(&mut groups, operation, key + 1, rules.number(operation.rule) + 1);
            }
        }
        let mut numbers = Packed::default();
        numbers.push(clock.map_or(0, micros::of_instant));
        numbers.push(rules.items.len() as u64);
        let grace = if clock.is_some() { GRACE_OFF_TIME } else { GRACE };
        rules.items.iter().for_each(|rule| push_rule(&mut numbers, *rule, grace, around));
        numbers.push(batch.groups().count() as u64);
        numbers.append(&groups);
        Self { keys: keys.items, key_of, numbers: numbers.into_array() }
    }
}

/// Items, each once, in the order of their first appearance.
struct Distinct<T> {
    items: Vec<T>,
    numbers: HashMap<T, usize>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self { items: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Distinct<T> {
    fn number(&mut self, item: T) -> usize {
        let items = &mut self.items;
        *self.numbers.entry(item).or_insert_with(|| {
            items.push(item);
            items.len() - 1
        })
    }
}

/// Lua counts from 1.
fn push_operation(numbers: &mut Packed, operation: &Operation, key: usize, rule: usize) {
    let code = match operation.op {
        // Nothing is charged, so it only asks.
        Op::Take(0) | Op::Peek(_) => Code::Peek,
        Op::Take(_) => Code::Take,
        Op::Give { .. } => Code::Give,
        Op::Adjust(_) => Code::Adjust,
        Op::Reset => Code::Reset,
    };
    let unenforced = if operation.enforced { 0 } else { UNENFORCED };
    numbers.push(u64::from(code as u8 + unenforced));
    numbers.push(key as u64);
    numbers.push(rule as u64);
    match operation.op {
        Op::Take(amount) | Op::Peek(amount) => numbers.push(amount),
        Op::Give { at, amount } => {
            numbers.push(amount);
            numbers.push(micros::of_instant(at));
        }
        Op::Adjust(by) => numbers.push_signed(by),
        Op::Reset => numbers.push(0),
    }
}

fn push_rule(numbers: &mut Packed, rule: Rule, grace: Span, around: Timestamp) {
    let quota = &rule.quota;
    numbers.push(u64::from(kind(rule.algorithm) as u8));
    numbers.push(micros::of_span(quota.tick()));
    numbers.push(quota.leak());
    numbers.push(quota.scale());
    numbers.push(quota.capacity());
    numbers.push(quota.window().length().map_or(0, micros::of_span));
    // Twice as long as use is remembered, so that a key in use is rarely renewed.
    numbers.push(rule.memory().millis_ceil());
    let life = rule.memory().nanos().saturating_mul(2).saturating_add(grace.nanos());
    numbers.push(Span::from_nanos(life).millis_ceil());
    let edges = quota.window().edges_around(around);
    numbers.push(edges.map_or(0, |edges| edges.len() as u64));
    edges.into_iter().flatten().for_each(|edge| numbers.push(micros::of_instant(edge)));
}

pub(super) const fn kind(algorithm: Algorithm) -> Kind {
    match algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket => Kind::Bucket,
        Algorithm::FixedWindow => Kind::Fixed,
        Algorithm::SlidingWindow => Kind::Sliding,
        Algorithm::SlidingLog => Kind::Log,
    }
}
