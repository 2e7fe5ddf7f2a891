//! The load: which keys, how many at once, for how long, and what came of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::sync::Semaphore;

use super::server::{Work, own_seconds};
use super::subject::{Ask, BURST, Handle, Subject};
use crate::random::Random;
use weir_servers::Server;

/// Which keys are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keys {
    One,
    Zipf,
    Even,
}

const MANY: u32 = 100_000;
const EXPONENT: f64 = 1.1;

impl Keys {
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::One => "One hot key",
            Self::Zipf => "100 thousand keys by Zipf's law, s = 1.1",
            Self::Even => "100 thousand keys, evenly drawn",
        }
    }
}

/// A long row of keys, drawn beforehand.
pub(crate) struct Load {
    keys: Arc<Vec<u32>>,
    distinct: u32,
}

const DRAWN: usize = 1 << 20;

impl Load {
    pub(crate) fn of(keys: Keys) -> Self {
        let mut random = Random::new(7);
        let distinct = if matches!(keys, Keys::One) { 1 } else { MANY };
        let mut sums = Vec::new();
        if matches!(keys, Keys::Zipf) {
            let mut sum = 0.0;
            sums = (1..=MANY)
                .map(|rank| {
                    sum += f64::from(rank).powf(-EXPONENT);
                    sum
                })
                .collect();
        }
        let total = sums.last().copied().unwrap_or_default();
        let mut draw = || match keys {
            Keys::One => 0,
            Keys::Even => random.below(MANY),
            Keys::Zipf => {
                let at = total * f64::from(random.below(u32::MAX)) / f64::from(u32::MAX);
                sums.partition_point(|sum| *sum < at) as u32
            }
        };
        Self { keys: Arc::new((0..DRAWN).map(|_| draw()).collect()), distinct }
    }
}

/// What one measurement brought.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) per_second: f64,
    pub(crate) p50_micros: f64,
    pub(crate) p99_micros: f64,
    /// Of scripts, a decision.
    pub(crate) calls: f64,
    /// Of the server's processor, a decision.
    pub(crate) server_micros: f64,
    /// On the wire, a decision.
    pub(crate) bytes: f64,
}

struct Shared {
    next: AtomicU64,
    is_over: AtomicBool,
    is_measured: AtomicBool,
    /// Where the load is held back: so many may be asked now.
    allowed: Option<Semaphore>,
}

/// Asks for some seconds, at most so often a second.
pub(crate) async fn measure<S: Subject>(
    server: &Server,
    load: &Load,
    seconds: u64,
    rate: Option<f64>,
) -> Result<Measured> {
    let subject = S::on(&server.url()).await?;
    fill(&subject, load).await?;
    let shared = Arc::new(Shared {
        next: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        is_measured: AtomicBool::new(false),
        allowed: rate.map(|_| Semaphore::new(0)),
    });
    let mut workers = Vec::new();
    for _ in 0..S::WORKERS {
        workers.push(tokio::spawn(work(subject.handle().await?, shared.clone(), load.keys.clone())));
    }
    let pace = rate.map(|rate| tokio::spawn(hold_back(shared.clone(), rate)));
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = Work::of(server).await?;
    let started = Instant::now();
    shared.is_measured.store(true, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    shared.is_measured.store(false, Ordering::Relaxed);
    let elapsed = started.elapsed();
    let after = Work::of(server).await?;
    shared.is_over.store(true, Ordering::Relaxed);
    if let Some(pace) = pace {
        pace.await?;
    }
    let (mut waits, mut decisions, mut admitted) = (Vec::new(), 0_u64, 0_u64);
    for worker in workers {
        let (own, some, passed) = worker.await??;
        waits.extend(own);
        decisions += some;
        admitted += passed;
    }
    ensure!(decisions > 0, "nothing was decided in time");
    let share = admitted as f64 / decisions as f64;
    ensure!((0.4..0.6).contains(&share), "{share} were admitted; it should have been half");
    waits.sort_unstable();
    let at = |part: usize| f64::from(waits.get(waits.len() * part / 100).copied().unwrap_or_default());
    Ok(Measured {
        per_second: decisions as f64 / elapsed.as_secs_f64(),
        p50_micros: at(50),
        p99_micros: at(99),
        calls: (after.calls - before.calls) / decisions as f64,
        server_micros: (after.seconds - before.seconds) * 1e6 / decisions as f64,
        bytes: (after.bytes - before.bytes) / decisions as f64,
    })
}

/// What one short measurement brought.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burst {
    pub(crate) micros: f64,
    /// Of our own processor, those who ask with it.
    pub(crate) own_micros: f64,
}

/// What a decision takes, by asking for a short time; each burst by its number with other keys.
pub(crate) async fn burst<S: Subject>(
    subject: &S,
    load: &Load,
    number: u64,
    length: Duration,
) -> Result<Burst> {
    let shared = Arc::new(Shared {
        next: AtomicU64::new(number * 100_003),
        is_over: AtomicBool::new(false),
        is_measured: AtomicBool::new(true),
        allowed: None,
    });
    let (started, own) = (Instant::now(), own_seconds()?);
    let mut workers = Vec::new();
    for _ in 0..S::WORKERS {
        workers.push(tokio::spawn(work(subject.handle().await?, shared.clone(), load.keys.clone())));
    }
    tokio::time::sleep(length).await;
    shared.is_over.store(true, Ordering::Relaxed);
    let mut decisions = 0_u64;
    for worker in workers {
        decisions += worker.await??.1;
    }
    ensure!(decisions > 0, "nothing was decided in time");
    let each = |seconds: f64| seconds * 1e6 / decisions as f64;
    Ok(Burst { micros: each(started.elapsed().as_secs_f64()), own_micros: each(own_seconds()? - own) })
}

/// So much is used of every bucket before, and will not have leaked when it is over.
const USED: u32 = 100_000;

/// Every key once, so that asking for all of it is too much.
pub(crate) async fn fill<S: Subject>(subject: &S, load: &Load) -> Result<()> {
    let mut workers = Vec::new();
    for first in 0..S::WORKERS as u32 {
        let (mut handle, distinct) = (subject.handle().await?, load.distinct);
        workers.push(tokio::spawn(async move {
            for key in (first..distinct).step_by(S::WORKERS) {
                handle.ask(&[Ask { key, cost: USED }]).await?;
            }
            anyhow::Ok(())
        }));
    }
    for worker in workers {
        worker.await??;
    }
    Ok(())
}

async fn work<H: Handle>(
    mut handle: H,
    shared: Arc<Shared>,
    keys: Arc<Vec<u32>>,
) -> Result<(Vec<u32>, u64, u64)> {
    let (mut waits, mut decisions, mut admitted) = (Vec::new(), 0, 0);
    let mut asks = Vec::with_capacity(H::AT_ONCE);
    while !shared.is_over.load(Ordering::Relaxed) {
        if let Some(allowed) = &shared.allowed {
            allowed.acquire_many(H::AT_ONCE as u32).await?.forget();
        }
        let first = shared.next.fetch_add(H::AT_ONCE as u64, Ordering::Relaxed);
        asks.clear();
        for number in first..first + H::AT_ONCE as u64 {
            let key = keys.get(number as usize % DRAWN).copied().unwrap_or_default();
            // Another order in each round, so that no key is always in the same half.
            let wants_all = (number ^ (number >> 20)) & 1 == 1;
            asks.push(Ask { key, cost: if wants_all { BURST } else { 1 } });
        }
        let started = Instant::now();
        let passed = handle.ask(&asks).await?;
        if shared.is_measured.load(Ordering::Relaxed) {
            waits.push(u32::try_from(started.elapsed().as_micros())?);
            decisions += asks.len() as u64;
            admitted += u64::from(passed);
        }
    }
    Ok((waits, decisions, admitted))
}

/// Lets so many be asked a second, as evenly as it can; all who still wait when it is over. It never sleeps: a
/// thread that does is waked at the cost of another, and there are two processors for all.
async fn hold_back(shared: Arc<Shared>, rate: f64) {
    let Some(allowed) = &shared.allowed else { return };
    let started = Instant::now();
    let mut given = 0;
    while !shared.is_over.load(Ordering::Relaxed) {
        let due = (started.elapsed().as_secs_f64() * rate) as usize;
        allowed.add_permits(due - given);
        given = due;
        tokio::task::yield_now().await;
    }
    allowed.add_permits(1 << 20);
}
