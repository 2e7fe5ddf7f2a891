//! An attack on the memory store: ten million keys, each used once, against room for one million.
//!
//! It asks what an operator would: does memory stay flat, does anyone get away with a debt, do other policies
//! suffer, how long do decisions wait while expired keys are swept, and is everything gone afterwards.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use weir_core::{
    Algorithm, Answer, Decision, Key, KeyBuilder, KeySecret, Op, Operation, Outcome, Quota, Rule, Span,
    Store as _, Timestamp,
};
use weir_store::{ManualClock, MemoryLimits, MemoryStore};

use crate::measure::resident_bytes;
use crate::name::Name;
use crate::random::Random;
use crate::subject::at_once;

const CAP: usize = 1_000_000;
const FLOOD: u32 = 10_000_000;
/// Keys of each policy that were there before.
const KNOWN: u32 = 10_000;
/// Decisions of which the waits are told.
const SAMPLE: usize = 2_000_000;

struct Policy {
    rule: Rule,
    start: KeyBuilder,
}

impl Policy {
    /// Ten units an hour, all at once if wanted.
    fn new(name: &str) -> Result<Self> {
        let start = KeyBuilder::new(&KeySecret::new([7; 16])).part(name.as_bytes());
        let quota = Quota::settle(Algorithm::TokenBucket, 10, Span::from_secs(3_600), None)?;
        Ok(Self { rule: Rule::new(start.policy_id(), Algorithm::TokenBucket, quota), start })
    }

    fn key(&self, number: u32) -> Key {
        self.start.part(Name::user(number).as_str().as_bytes()).key()
    }

    fn ask(&self, store: &MemoryStore<ManualClock>, number: u32, op: Op) -> Result<Decision> {
        let operation = Operation::new(self.key(number), self.rule, op);
        match at_once(store.apply_one(operation, None))? {
            Answer::Decided { decision, .. } => Ok(decision),
            Answer::Local { .. } | Answer::Unavailable { .. } => bail!("the memory store gave no decision"),
        }
    }
}

/// Runs the attack and tells of it in Markdown. Fails where a debt was forgiven or a bystander suffered.
pub(crate) fn flood() -> Result<String> {
    let clock = ManualClock::at(Timestamp::from_nanos(1_710_720_000_000_000_000));
    let limits = MemoryLimits { keys: CAP, ..MemoryLimits::default() };
    let store = MemoryStore::with(clock.clone(), limits);
    let (attacked, bystander) = (Policy::new("attacked")?, Policy::new("bystander")?);
    store.in_force(&[attacked.rule, bystander.rule]);
    for number in 0..KNOWN {
        attacked.ask(&store, number, Op::Take(10))?;
        bystander.ask(&store, number, Op::Take(4))?;
    }
    let quiet = waits(&store, &attacked)?;
    let mut resident = Vec::new();
    for number in 0..FLOOD {
        attacked.ask(&store, KNOWN + number, Op::Take(1))?;
        if (number + 1) % (FLOOD / 5) == 0 {
            resident.push(resident_bytes()? / 1_000_000);
            ensure!(store.stats().keys <= CAP, "the cap was passed: {:?}", store.stats());
        }
    }
    let flooded = store.stats();
    for number in 0..KNOWN {
        ensure!(attacked.ask(&store, number, Op::Peek(1))?.outcome == Outcome::Deny, "a debt was forgiven");
        ensure!(bystander.ask(&store, number, Op::Peek(0))?.remaining == 6, "a bystander's key suffered");
        let newcomer = bystander.ask(&store, KNOWN + number, Op::Take(4))?;
        ensure!(newcomer.remaining == 6, "a bystander's new key has no place of its own");
    }
    // Half of the flood's keys are as good as fresh six minutes later, and all of them; the debtors are not.
    clock.advance(Span::from_secs(361));
    let sweeping = swept_meanwhile(&store, &attacked)?;
    clock.advance(Span::from_secs(3_600));
    store.sweep();
    let after = store.stats();
    ensure!(after.keys == 0 && after.partitions == 0, "something is left: {after:?}");
    let [quiet_50, quiet_999] = quiet;
    let [sweeping_50, sweeping_999] = sweeping;
    Ok(format!(
        "## A flood\n\nTen million keys of one policy, each used once, against a cap of one million; {KNOWN} drained \
         keys of it and {KNOWN} half-used ones of another policy were there before.\n\n\
         | | |\n|---|---|\n\
         | resident memory after each 2 million keys of the flood | {resident:?} MB |\n\
         | keys and shared partitions held then | {} and {} |\n\
         | charges to shared partitions | {} |\n\
         | drained keys that were admitted | 0 of {KNOWN} |\n\
         | keys of the other policy with another balance than before, or without a place | 0 of {} |\n\
         | a decision with all quiet: median, p99.9 | {quiet_50} ns, {quiet_999} ns |\n\
         | a decision while a million expired keys are swept: median, p99.9 | {sweeping_50} ns, {sweeping_999} ns |\n\
         | p99.9 of the second to that of the first | {:.1} |\n\
         | keys, partitions and memory after everything expired | 0, 0 and {} MB |\n",
        flooded.keys,
        flooded.partitions,
        flooded.overflowed,
        2 * KNOWN,
        sweeping_999 as f64 / quiet_999.max(1) as f64,
        resident_bytes()? / 1_000_000,
    ))
}

/// The median and the 99.9th percentile of decisions about known keys, in nanoseconds, the clock's reading
/// among them.
fn waits(store: &MemoryStore<ManualClock>, policy: &Policy) -> Result<[u64; 2]> {
    let mut random = Random::new(7);
    let mut waits = Vec::with_capacity(SAMPLE);
    for _ in 0..SAMPLE {
        let number = random.below(KNOWN);
        let started = Instant::now();
        policy.ask(store, number, Op::Take(10))?;
        waits.push(u64::try_from(started.elapsed().as_nanos())?);
    }
    waits.sort_unstable();
    let at = |part: usize| waits.get(waits.len() * part / 1_000).copied().unwrap_or_default();
    Ok([at(500), at(999)])
}

/// The same while another thread sweeps without a pause.
fn swept_meanwhile(store: &MemoryStore<ManualClock>, policy: &Policy) -> Result<[u64; 2]> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                store.sweep();
            }
        });
        let waits = waits(store, policy);
        is_over.store(true, Ordering::Relaxed);
        waits
    })
}
