//! A store on Redis or Valkey: any number of nodes count together, exactly, in one round trip.
//!
//! ```text
//! apply ── batcher ──▶ what waits together ── call ──▶ keys and numbers ── link ──▶ the script, on the server
//!                                           ◀─ reply ── states as they were, and the time ◀──┘
//!                                              └─ weir-core works out the figures
//! ```
//!
//! The script decides and writes in one step, at the server's time. Its arithmetic is that of `weir-core` in
//! doubles; quotas are settled for [`weir_core::Precision::Double`].

mod awaited;
mod batcher;
mod breaker;
mod call;
mod denials;
mod error;
mod fault;
mod hand_over;
mod link;
mod local;
mod lot;
mod micros;
mod nodes;
mod packed;
mod reach;
mod reply;
mod script;
mod secret;
mod sender;
mod settings;
mod spread;
mod tags;
mod tally;
mod time;
mod value;

pub use awaited::Awaited;
pub use error::RedisStoreError;
pub use fault::{Fault, FaultKind};
pub use secret::OwnSecret;
pub use settings::{RedisSettings, RedisUrlError};
pub use tally::ServerStats;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use weir_core::{Answer, Answers, Batch, KeySecret, Operation, Rule, Span, Store};

use crate::clock::{Clock, SystemClock};
use batcher::Batcher;
use denials::Denials;
use fault::Faults;
use hand_over::HandOver;
use local::Local;
use nodes::{Heartbeat, Nodes};
use reach::{Reached, reach};
use sender::{Common, Sender, unavailable};
use tags::lane;
use tally::{Tally, add};

/// So long before its caller gives up an answer is given (promise 14).
const BEFORE_THE_CALLER: Duration = Duration::from_millis(3);
/// How long a node that goes waits for its store.
const LEAVE_MAX: Duration = Duration::from_secs(1);

/// Counts on a Redis or Valkey, together with all nodes that have the same secret and prefix. Clones share the
/// connections.
#[derive(Clone)]
pub struct RedisStore(Arc<Shared>);

struct Shared {
    common: Arc<Common>,
    nodes: Arc<Nodes>,
    clock: Option<Arc<dyn Clock>>,
    lanes: usize,
    /// Once the store is there.
    opened: OnceLock<Opened>,
    /// Why it is not.
    trouble: Mutex<String>,
}

struct Opened {
    /// Each with keys that one call can decide about: all keys of a server, or those of a tag of a cluster.
    lanes: Arc<[Batcher]>,
    /// Brings to the server what was counted here meanwhile.
    _hand_over: HandOver,
    heartbeat: Heartbeat,
}

impl RedisStore {
    /// Connects, and agrees with the other nodes on the secret that keys are hashed with: the one that policies
    /// are to be loaded with comes back. Time is the server's own.
    ///
    /// # Errors
    ///
    /// The server is away or refuses us, or the nodes of this store count under another secret.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn connect(
        settings: &RedisSettings,
        secret: &OwnSecret,
    ) -> Result<(Self, KeySecret), RedisStoreError> {
        Self::with(settings, secret, None).await
    }

    /// The same, and where the server is away: a store that answers nothing until it is there, so that policies
    /// answer by their posture, and what waits for it.
    ///
    /// # Errors
    ///
    /// The server refuses us, or the nodes of this store count under another secret.
    ///
    /// # Panics
    ///
    /// As there.
    pub async fn connect_or_wait(
        settings: &RedisSettings,
        secret: &OwnSecret,
    ) -> Result<(Self, KeySecret, Option<Awaited>), RedisStoreError> {
        match Self::connect(settings, secret).await {
            Ok((store, agreed)) => Ok((store, agreed, None)),
            Err(error @ RedisStoreError::Away { .. }) => {
                let store = Self::not_there(settings, None);
                store.is_away(&error);
                let awaited = Awaited::start(store.clone(), settings.clone(), secret.clone());
                Ok((store, secret.secret(), Some(awaited)))
            }
            Err(refused) => Err(refused),
        }
    }

    /// [`RedisStore::connect`] at the time of a clock of the caller's, for tests and simulations.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Panics
    ///
    /// As there.
    pub async fn with_clock(
        settings: &RedisSettings,
        secret: &OwnSecret,
        clock: impl Clock + 'static,
    ) -> Result<(Self, KeySecret), RedisStoreError> {
        Self::with(settings, secret, Some(Arc::new(clock))).await
    }

    async fn with(
        settings: &RedisSettings,
        own: &OwnSecret,
        clock: Option<Arc<dyn Clock>>,
    ) -> Result<(Self, KeySecret), RedisStoreError> {
        let reached = reach(settings, own).await?;
        let (store, secret) = (Self::not_there(settings, clock), reached.secret.clone());
        store.open(reached, &secret);
        Ok((store, secret))
    }

    fn not_there(settings: &RedisSettings, clock: Option<Arc<dyn Clock>>) -> Self {
        let lanes = reach::lanes(settings);
        // Where one call decides a whole request, no refusal rests on what another has charged for a moment.
        let denials = (lanes == 1).then(|| {
            let here = clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new()));
            Denials::new(here)
        });
        let nodes = Arc::new(Nodes::new(settings.nodes()));
        let local = Arc::new(Local::new(nodes.clone(), clock.clone()));
        let faults = Faults(settings.faults().to_vec());
        let (at, deadline, tally) = (settings.to_string(), settings.deadline(), Tally::default());
        let system = SystemClock::new();
        let common = Arc::new(Common { at, local, denials, deadline, system, faults, tally });
        let (opened, trouble) = (OnceLock::new(), Mutex::default());
        Self(Arc::new(Shared { common, nodes, clock, lanes, opened, trouble }))
    }

    /// Has the server decide from now on. What was counted here under another secret has no keys there.
    fn open(&self, reached: Reached, counted_under: &KeySecret) {
        let Shared { common, nodes, clock, opened, .. } = &*self.0;
        let lane = |(prefix, shared)| {
            Batcher::start(Sender::new(common.clone(), reached.link.clone(), prefix, shared, clock.clone()))
        };
        if reached.secret != *counted_under {
            common.local.begin_anew();
        }
        let lanes: Arc<[Batcher]> = reached.lanes.into_iter().map(lane).collect();
        let hand_over = HandOver::start(&lanes, common.local.clone());
        nodes.learn(reached.nodes, Instant::now());
        let heartbeat = Heartbeat::start(reached.membership, nodes.clone());
        if opened.set(Opened { lanes, _hand_over: hand_over, heartbeat }).is_ok()
            && !self.0.trouble.lock().is_empty()
        {
            tracing::info!(store = common.at, "the store can be used, and decides from now on");
            common.local.returned.notify_one();
        }
    }

    /// Takes note of why it is not there yet, and logs what is news.
    fn is_away(&self, error: &RedisStoreError) {
        let (RedisStoreError::Away { why, .. } | RedisStoreError::Refused { why, .. }) = error;
        let mut trouble = self.0.trouble.lock();
        if *trouble != *why {
            tracing::error!(
                store = self.0.common.at,
                why,
                "the store cannot be used yet, and is tried until it can be; policies answer by `on_store_failure`"
            );
            trouble.clone_from(why);
        }
    }

    /// What happened so far.
    pub fn stats(&self) -> ServerStats {
        let Shared { common, nodes, lanes, opened, .. } = &*self.0;
        let open = |opened: &Opened| opened.lanes.iter().filter_map(Batcher::trouble).count();
        let nodes = nodes.count().get();
        ServerStats { nodes, ..common.tally.stats(*lanes, opened.get().map_or(*lanes, open)) }
    }

    /// Tells the other nodes that this one is going, so that they do not count it any more. Nobody is waited for longer
    /// than a second.
    pub async fn leave(&self) {
        if let Some(Opened { heartbeat, .. }) = self.0.opened.get() {
            let _too_late = timeout(LEAVE_MAX, heartbeat.leave()).await;
        }
    }

    async fn ask_in_time(&self, batch: Batch) -> Answers {
        let count = batch.operations().len();
        let tally = &self.0.common.tally;
        let Some(Opened { lanes, .. }) = self.0.opened.get() else {
            batch.groups().for_each(|_| add(&tally.refused));
            return unavailable(count, false);
        };
        let patience = self.0.common.deadline.map(|longest| patience(longest, batch.timeout()));
        if patience.is_some_and(|patience| patience.is_zero()) {
            add(&tally.given_up);
            return unavailable(count, false);
        }
        if let Some(lane) = only_lane(lanes, batch.operations()) {
            return lane.ask(batch, patience).await.answers().await;
        }
        // On a task of its own, since a caller who goes away must leave nothing half charged.
        let lanes = lanes.clone();
        let spread = tokio::spawn(async move { spread::apply(&lanes, batch).await });
        let Some(patience) = patience else {
            return spread.await.unwrap_or_else(|_| unavailable(count, true));
        };
        let answers = timeout(patience, spread).await;
        if answers.is_err() {
            add(&tally.given_up);
        }
        answers.ok().and_then(Result::ok).unwrap_or_else(|| unavailable(count, true))
    }
}

/// How long a caller's answer may take: long enough before the caller gives up, it has one by posture. Zero where that
/// is now.
fn patience(longest: Duration, timeout: Option<Span>) -> Duration {
    timeout.map_or(longest, |timeout| {
        Duration::from_nanos(timeout.nanos()).saturating_sub(BEFORE_THE_CALLER).min(longest)
    })
}

/// Whether the server decided all of these.
fn is_complete(operations: &[Operation], answers: &[Answer]) -> bool {
    let decided = answers.iter().filter(|answer| matches!(answer, Answer::Decided { .. }));
    decided.count() == operations.len()
}

/// The one lane that all of these operations are on, if there is one.
fn only_lane<'a>(all: &'a [Batcher], operations: &[Operation]) -> Option<&'a Batcher> {
    let mut lanes = operations.iter().map(|operation| lane(operation.key, all.len()));
    let first = lanes.next().unwrap_or_default();
    all.get(first).filter(|_| lanes.all(|lane| lane == first))
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("lanes", &self.0.lanes).finish_non_exhaustive()
    }
}

impl Store for RedisStore {
    async fn apply(&self, batch: Batch) -> Answers {
        let asked = Local::concerns(batch.operations()).then(|| batch.clone());
        let answers = self.ask_in_time(batch).await;
        match asked {
            Some(asked) if !is_complete(asked.operations(), &answers) => {
                self.0.common.local.complete(&asked, answers).await
            }
            _ => answers,
        }
    }

    async fn apply_one(&self, operation: Operation, timeout: Option<Span>) -> Answer {
        let known = self.0.common.denials.as_ref().and_then(|denials| denials.answer(&operation));
        if let Some(known) = known {
            add(&self.0.common.tally.known);
            return known;
        }
        let batch = || -> Batch { [[operation]].into_iter().collect() };
        let mut answers = self.ask_in_time(batch().within(timeout)).await;
        if Local::concerns(&[operation]) && !is_complete(&[operation], &answers) {
            answers = self.0.common.local.complete(&batch(), answers).await;
        }
        answers.pop().unwrap_or(Answer::Unavailable { sent: true })
    }

    fn trouble(&self) -> Option<String> {
        let Some(Opened { lanes, .. }) = self.0.opened.get() else {
            return Some(format!("the store cannot be used yet: {}", self.0.trouble.lock()));
        };
        let mut troubles = lanes.iter().filter_map(Batcher::trouble);
        let first = troubles.next()?;
        let (lanes, open) = (lanes.len(), 1 + troubles.count());
        let part =
            if lanes == 1 { String::new() } else { format!(" for {open} of {lanes} parts of the keys") };
        Some(format!("the store does not answer{part}: {first}"))
    }

    fn in_force(&self, rules: &[Rule]) {
        self.0.common.local.in_force(rules);
        if let Some(denials) = &self.0.common.denials {
            denials.clear();
        }
    }
}
