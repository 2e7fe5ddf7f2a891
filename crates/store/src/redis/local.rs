//! Counting while the server does not answer, for policies that say `on_store_failure: local`: in this node's memory,
//! at its share of the quota (promise 14), beginning with what the server last told.
//!
//! A share of a quota is `max(1, limit ÷ nodes)`. A key begins its share with the node's part of the use that the
//! server last told, so that nodes which all heard the same admit together what was left, rounded down for each.
//!
//! Beside each share stands what the server has of it, under another key: it begins alike, leaks alike, and is charged
//! only with what may have been sent. So what it falls short of the share is what the server does not know: the debt. It
//! goes to the server in the first call that names its key after the server is back, before anything else is decided
//! about that key; keys that nobody asks for are brought by [`Local::owing`]. What may have reached the server is never
//! sent again, and so is no debt.

mod known;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::sync::Notify;
use weir_core::{
    Answer, Answers, Batch, Key, Op, Operation, Outcome, Posture, Rule, Span, Store as _, Timestamp,
};

use super::nodes::Nodes;
use super::spread::is_refusal;
use super::time::ServerTime;
use crate::clock::Clock;
use crate::memory::{MemoryLimits, MemoryStore};
use known::Known;

/// So much is counted here at most, at 40 to 64 bytes a key and 16 an entry; beyond it keys of a policy share theirs.
const LIMITS: MemoryLimits = MemoryLimits { keys: 1 << 20, log_entries: 1 << 22 };
/// So many keys are remembered as counted here. What is beyond begins with a whole share, and what it used is not told
/// to the server.
const COUNTED_MAX: usize = 1 << 19;
/// The same key under another name: of it is counted only what the server may have.
const THERE: u128 = 1 << 127 | 1;

pub(super) struct Local {
    nodes: Arc<Nodes>,
    time: Arc<ServerTime>,
    known: Mutex<Known>,
    store: MemoryStore<Arc<ServerTime>>,
    counted: Mutex<HashMap<Key, Counted>>,
    beginning: tokio::sync::Mutex<()>,
    /// Whether anything was counted here: nothing else is looked at where nothing was.
    is_used: AtomicBool,
    /// The server is back.
    pub(super) returned: Notify,
}

/// A key that was counted here since the server last heard of it.
#[derive(Clone, Copy)]
struct Counted {
    rule: Rule,
    share: Rule,
    /// Nothing is left of it then.
    until: Timestamp,
    /// How often that was noted.
    notes: u32,
}

/// What a key owes to the server.
pub(super) struct Debt {
    key: Key,
    counted: Counted,
    units: u64,
}

impl Debt {
    /// The operation that pays it.
    pub(super) fn operation(&self) -> Operation {
        Operation::new(self.key, self.counted.rule, Op::Adjust(signed(self.units)))
    }
}

impl Local {
    /// Counts for one of these nodes.
    pub(super) fn new(nodes: Arc<Nodes>, clock: Option<Arc<dyn Clock>>) -> Self {
        let time = Arc::new(ServerTime::new(clock));
        Self {
            nodes,
            store: MemoryStore::with(time.clone(), LIMITS),
            time,
            known: Mutex::default(),
            counted: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
            is_used: AtomicBool::new(false),
            returned: Notify::new(),
        }
    }

    /// Reserves room for these.
    pub(super) fn in_force(&self, rules: &[Rule]) {
        let shares: Vec<Rule> = rules.iter().filter_map(|rule| rule.share(self.nodes.count())).collect();
        self.store.in_force(&shares);
    }

    /// Whether any of these may need it.
    pub(super) fn concerns(operations: &[Operation]) -> bool {
        operations.iter().any(|operation| operation.posture == Posture::Local)
    }

    /// Learns what the server told at this time.
    pub(super) fn learn(&self, batch: &Batch, answers: &[Answer], at: Timestamp) {
        if !Self::concerns(batch.operations()) {
            return;
        }
        let mut known = self.known.lock();
        let mut last = None;
        // Of a hot key that was asked for many times, what was told last is enough.
        for (Operation { key, rule, posture, .. }, answer) in batch.operations().iter().zip(answers).rev() {
            if let (Posture::Local, Answer::Decided { decision, .. }) = (posture, answer)
                && last.replace(*key) != Some(*key)
            {
                known.learn(*key, *rule, decision, at);
            }
        }
    }

    /// Answers in place of the server where it did not.
    pub(super) async fn complete(&self, batch: &Batch, mut answers: Answers) -> Answers {
        let mut all = Answers::new();
        let mut given = answers.drain();
        for group in batch.groups() {
            let missing = || Answer::Unavailable { sent: true };
            let mut own: Vec<Answer> = group.iter().map(|_| given.next().unwrap_or_else(missing)).collect();
            self.decide(group, &mut own).await;
            for answer in own {
                all.push(answer);
            }
        }
        all
    }

    /// Decides what of a group the server left open, all or nothing with what it did decide.
    async fn decide(&self, group: &[Operation], answers: &mut [Answer]) {
        // What has no share that could be counted by is refused, as by a closed policy.
        let is_ours = |(operation, answer): &(&Operation, &Answer)| {
            operation.posture == Posture::Local
                && matches!(answer, Answer::Unavailable { .. })
                && operation.rule.share(self.nodes.count()).is_some()
        };
        let ours: Vec<usize> = group
            .iter()
            .zip(&*answers)
            .enumerate()
            .filter(|(_, pair)| is_ours(pair))
            .map(|(i, _)| i)
            .collect();
        if ours.is_empty() {
            return;
        }
        let refuses = |pair: &(&Operation, &Answer)| pair.0.enforced && !is_ours(pair) && is_refused(pair);
        let is_refused = group.iter().zip(&*answers).any(|pair| refuses(&pair));
        let mut own: Vec<(usize, Operation)> = Vec::new();
        let (mut there, mut noted) = (Vec::new(), Vec::new());
        for i in ours {
            let (Some(operation), Some(answer)) = (group.get(i), answers.get(i)) else { continue };
            let Some(share) = operation.rule.share(self.nodes.count()) else { continue };
            let op = match operation.op {
                Op::Take(cost) if is_refused => Op::Peek(cost),
                op => op,
            };
            noted.push((operation.key, self.begin(operation, share).await));
            let operation = Operation { rule: share, op, ..*operation };
            own.push((i, operation));
            if matches!(answer, Answer::Unavailable { sent: true }) {
                there.push(Operation { key: there_of(operation.key), enforced: false, ..operation });
            }
        }
        let batch = std::iter::once(own.iter().map(|(_, operation)| *operation).chain(there)).collect();
        let mut decided = self.store.apply(batch).await;
        // Again, since a debt that was paid meanwhile took the note away.
        for (key, counted) in noted {
            self.note(key, counted);
        }
        for ((i, operation), decided) in own.into_iter().zip(decided.drain()) {
            let Answer::Decided { decision, receipt, .. } = decided else { continue };
            // More than a share ever holds, but not more than the quota: here that cannot be decided.
            let whole = group.get(i).map(|operation| operation.rule);
            let is_beyond = decision.outcome == Outcome::Never && fits(operation.op, whole);
            if let Some(answer) = answers.get_mut(i).filter(|_| !is_beyond) {
                *answer = Answer::Local { decision, charged: receipt.map_or(0, |receipt| receipt.amount) };
            }
        }
    }

    /// Notes that a key is counted here. If it was not before, its share begins with the node's part of what the server
    /// last told, if it did.
    async fn begin(&self, operation: &Operation, share: Rule) -> Counted {
        let now = self.time.now();
        let Operation { key, rule, .. } = *operation;
        let until = now.after(Span::from_nanos(share.memory().nanos().saturating_mul(2)));
        let counted = Counted { rule, share, until, notes: 0 };
        if self.is_counted(key, now) {
            self.note(key, counted);
            return counted;
        }
        // Nobody is decided by a share whose beginning is on its way.
        let _alone = self.beginning.lock().await;
        if !self.is_counted(key, now) {
            let (used, there) = self.used(key, share).await;
            let told = self.known.lock().used(key, rule, now);
            let part = told.map_or(used, |told| told.div_ceil(self.nodes.count().get()));
            self.adjust(key, share, signed(part) - signed(used)).await;
            self.adjust(there_of(key), share, signed(part) - signed(there)).await;
        }
        self.note(key, counted);
        counted
    }

    /// Forgets every key: they will have other names.
    pub(super) fn begin_anew(&self) {
        *self.known.lock() = Known::default();
        self.counted.lock().clear();
        self.is_used.store(false, Ordering::Release);
    }

    /// The keys that were counted here, each with its rule.
    pub(super) fn owing(&self) -> Vec<(Key, Rule)> {
        self.counted.lock().iter().map(|(key, counted)| (*key, counted.rule)).collect()
    }

    /// Takes note of the server's time.
    pub(super) fn learn_the_time(&self, server: Timestamp) {
        self.time.learn(server);
    }

    /// Whether a key of this batch may owe something.
    pub(super) fn may_owe(&self, batch: &Batch) -> bool {
        self.is_used.load(Ordering::Acquire) && {
            let all = self.counted.lock();
            batch.operations().iter().any(|operation| all.contains_key(&operation.key))
        }
    }

    /// Takes what the keys of a batch owe, to be paid by the call that carries the batch; nothing, too, of a key that
    /// was counted here. Until it is told by [`Local::settle`] how that ended, no other call may name those keys.
    pub(super) async fn debts_of(&self, batch: &Batch) -> Vec<Debt> {
        let mut debts: Vec<Debt> = Vec::new();
        for Operation { key, .. } in batch.operations() {
            let Some(counted) = self.counted.lock().get(key).copied() else { continue };
            if debts.iter().any(|debt| debt.key == *key) {
                continue;
            }
            let units = self.owed(*key, counted.share).await;
            // What is counted meanwhile stays owed.
            self.adjust(there_of(*key), counted.share, signed(units)).await;
            debts.push(Debt { key: *key, counted, units });
        }
        debts
    }

    /// Ends the share of a key whose debt was paid. What surely did not arrive is owed again; what may have arrived is
    /// not, and the share goes on.
    pub(super) async fn settle(&self, debt: Debt, answer: Option<Answer>) {
        let Debt { key, counted, units } = debt;
        match answer {
            Some(Answer::Decided { decision, .. }) => {
                // The next share begins with that.
                self.known.lock().learn(key, counted.rule, &decision, self.time.now());
                let notes = self.counted.lock().get(&key).map(|counted| counted.notes);
                if self.owed(key, counted.share).await == 0 {
                    self.forget(key, notes);
                }
            }
            Some(Answer::Unavailable { sent: false }) => {
                self.adjust(there_of(key), counted.share, -signed(units)).await;
            }
            _ => {}
        }
    }

    /// The units that the server does not know of.
    async fn owed(&self, key: Key, share: Rule) -> u64 {
        let (used, there) = self.used(key, share).await;
        used.saturating_sub(there)
    }

    /// The units that are used of a key here, and those of them that the server may have, at one instant.
    async fn used(&self, key: Key, share: Rule) -> (u64, u64) {
        let both = [key, there_of(key)].map(|key| Operation::new(key, share, Op::Peek(0)));
        let mut answers = self.store.apply([both].into_iter().collect()).await;
        let mut used = answers.drain().map(|answer| match answer {
            Answer::Decided { decision, .. } => decision.limit - decision.remaining,
            Answer::Local { .. } | Answer::Unavailable { .. } => 0,
        });
        (used.next().unwrap_or_default(), used.next().unwrap_or_default())
    }

    async fn adjust(&self, key: Key, share: Rule, by: i64) {
        self.store.apply_one(Operation::new(key, share, Op::Adjust(by)), None).await;
    }

    /// Forgets a key, unless it was noted again: what is counted after its debt was looked at is noted after that.
    fn forget(&self, key: Key, notes: Option<u32>) {
        let mut all = self.counted.lock();
        if all.get(&key).map(|counted| counted.notes) == notes {
            all.remove(&key);
        }
        self.is_used.store(!all.is_empty(), Ordering::Release);
    }

    fn is_counted(&self, key: Key, now: Timestamp) -> bool {
        self.counted.lock().get(&key).is_some_and(|counted| now < counted.until)
    }

    /// Notes that a key is counted here, if there is room for that.
    fn note(&self, key: Key, counted: Counted) {
        let now = self.time.now();
        let mut all = self.counted.lock();
        if all.len() >= COUNTED_MAX && !all.contains_key(&key) {
            all.retain(|_, counted| now < counted.until);
            if all.len() >= COUNTED_MAX {
                return;
            }
        }
        let notes = all.get(&key).map_or(0, |counted| counted.notes.wrapping_add(1));
        all.insert(key, Counted { notes, ..counted });
        self.is_used.store(true, Ordering::Release);
    }
}

fn signed(units: u64) -> i64 {
    i64::try_from(units).unwrap_or(i64::MAX)
}

fn fits(op: Op, rule: Option<Rule>) -> bool {
    let (Op::Take(cost) | Op::Peek(cost)) = op else { return true };
    rule.is_some_and(|rule| cost <= rule.quota.capacity())
}

const fn there_of(Key(key): Key) -> Key {
    Key(key ^ THERE)
}

/// Whether an enforced operation that is not decided here refuses its request.
fn is_refused((operation, answer): &(&Operation, &Answer)) -> bool {
    let is_unknown = matches!(answer, Answer::Unavailable { .. });
    is_refusal(answer) || (is_unknown && operation.posture != Posture::Open)
}
