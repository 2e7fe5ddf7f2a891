//! One measurement: fill the table, warm up, decide for a while, and tell what it cost.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};

use crate::allocations;
use crate::random::Random;
use crate::scenario::Scenario;
use crate::subject::{Check, Floor, Governor, Kind, Limitador, StoreStep, Subject, Throttlecrab};

/// What is to be measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) subject: Kind,
    pub(crate) scenario: Scenario,
    pub(crate) threads: usize,
    pub(crate) millis: u64,
}

/// What was measured.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Nanoseconds that a thread takes for a decision.
    pub(crate) nanos: f64,
    /// Decisions of all threads together, in millions a second.
    pub(crate) millions: f64,
    /// Resident memory that came with the keys, for each of them; nothing where they are too few to tell.
    pub(crate) bytes_a_key: Option<f64>,
    /// Allocations for each decision.
    pub(crate) allocations: f64,
}

/// What one thread did.
struct Share {
    decisions: u64,
    admitted: u64,
    allocations: u64,
    elapsed: Duration,
}

/// Between two looks at the phase.
const BATCH: u64 = 64;

/// The warm-up takes this part of the measured time.
const WARM_UP_PART: u64 = 4;

const WARMING_UP: u8 = 0;
const MEASURING: u8 = 1;
const OVER: u8 = 2;

/// Makes one measurement in this process, which should be a fresh one: memory that an earlier table gave
/// back is not always given back to the system.
pub(crate) fn one(job: Job) -> Result<Figures> {
    match job.subject {
        Kind::Floor => measure::<Floor>(job),
        Kind::WeirStore => measure::<StoreStep>(job),
        Kind::WeirCheck1 => measure::<Check<1>>(job),
        Kind::WeirCheck3 => measure::<Check<3>>(job),
        Kind::WeirCheck10 => measure::<Check<10>>(job),
        Kind::Governor => measure::<Governor>(job),
        Kind::Throttlecrab => measure::<Throttlecrab>(job),
        Kind::Limitador => measure::<Limitador>(job),
    }
}

fn measure<S: Subject>(job: Job) -> Result<Figures> {
    let keys = job.scenario.keys();
    let before = resident_bytes()?;
    let subject = S::new(job.scenario)?;
    fill(&subject, keys)?;
    let grown = resident_bytes()?.saturating_sub(before);
    let shares = decide(&subject, job)?;

    let decisions: u64 = shares.iter().map(|share| share.decisions).sum();
    let admitted: u64 = shares.iter().map(|share| share.admitted).sum();
    let expected = if job.scenario.admits() { decisions } else { 0 };
    ensure!(decisions > 0, "no decision was made in time");
    ensure!(admitted == expected, "{admitted} of {decisions} were admitted; it should have been {expected}");

    let nanos: f64 = shares.iter().map(|share| share.elapsed.as_nanos() as f64).sum();
    let allocations: u64 = shares.iter().map(|share| share.allocations).sum();
    let rate = |share: &Share| share.decisions as f64 / share.elapsed.as_secs_f64();
    Ok(Figures {
        nanos: nanos / decisions as f64,
        millions: shares.iter().map(rate).sum::<f64>() / 1e6,
        bytes_a_key: (keys > 1).then(|| grown as f64 / f64::from(keys)),
        allocations: allocations as f64 / decisions as f64,
    })
}

/// Every key once.
fn fill<S: Subject>(subject: &S, keys: u32) -> Result<()> {
    let mut decide = subject.decider(1);
    for key in 0..keys {
        decide(key)?;
    }
    Ok(())
}

fn decide<S: Subject>(subject: &S, job: Job) -> Result<Vec<Share>> {
    let phase = AtomicU8::new(WARMING_UP);
    let phase = &phase;
    std::thread::scope(|scope| {
        let start = |seed| scope.spawn(move || share(subject, job, seed, phase));
        let threads: Vec<_> = (0_u64..).take(job.threads).map(start).collect();
        std::thread::sleep(Duration::from_millis(job.millis / WARM_UP_PART));
        phase.store(MEASURING, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(job.millis));
        phase.store(OVER, Ordering::Relaxed);
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| anyhow!("a measuring thread panicked"))?)
            .collect()
    })
}

/// The work of one thread.
fn share<S: Subject>(subject: &S, job: Job, seed: u64, phase: &AtomicU8) -> Result<Share> {
    let keys = job.scenario.keys();
    let mut decide = subject.decider(job.threads);
    let mut random = Random::new(seed);
    let mut batch = || -> Result<u64> {
        let mut admitted = 0;
        for _ in 0..BATCH {
            admitted += u64::from(decide(random.below(keys))?);
        }
        Ok(admitted)
    };
    // At least once, so that a bucket that is to be empty is.
    loop {
        batch()?;
        if phase.load(Ordering::Relaxed) != WARMING_UP {
            break;
        }
    }
    let (mut decisions, mut admitted) = (0, 0);
    let allocated = allocations::on_this_thread();
    let started = Instant::now();
    while phase.load(Ordering::Relaxed) == MEASURING {
        admitted += batch()?;
        decisions += BATCH;
    }
    let elapsed = started.elapsed();
    let allocations = allocations::on_this_thread() - allocated;
    Ok(Share { decisions, admitted, allocations, elapsed })
}

/// The resident memory of this process. `status` tells it in units of 1024 bytes, where `statm` counts pages
/// and leaves it to the reader to know how large they are.
pub(crate) fn resident_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("cannot read this process's memory")?;
    let field = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let size = field.and_then(|field| field.split_whitespace().next()).context("no VmRSS in the status")?;
    Ok(size.parse::<u64>()? * 1_024)
}
