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

mod batcher;
mod breaker;
mod call;
mod denials;
mod fault;
mod hand_over;
mod link;
mod local;
mod lot;
mod micros;
mod packed;
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

pub use fault::{Fault, FaultKind};
pub use secret::OwnSecret;
pub use settings::{RedisSettings, RedisUrlError};
pub use tally::ServerStats;

use std::fmt;
use std::sync::Arc;

use ::redis::{ErrorKind, RedisError, ServerErrorKind};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};
use weir_core::{Answer, Answers, Batch, KeySecret, Operation, Rule, Store};

use crate::clock::{Clock, SystemClock};
use batcher::{Batcher, GivenUp};
use denials::Denials;
use fault::Faults;
use hand_over::HandOver;
use link::Link;
use local::Local;
use secret::Agreed;
use sender::{Common, Sender, SharedSecret, unavailable};
use settings::Shape;
use tags::lane;
use tally::{Tally, add};

/// Why there is no store.
#[derive(Debug, Error)]
pub enum RedisStoreError {
    /// The server cannot be reached, or refuses us.
    #[error("{at}: {why}")]
    Unreachable {
        /// Where it should be.
        at: String,
        /// What it, or the way to it, said.
        why: String,
    },
    /// The nodes of this store count under another secret.
    #[error("{at}: {why}")]
    Secret {
        /// Which store.
        at: String,
        /// What is different, and what to do.
        why: &'static str,
    },
}

/// Counts on a Redis or Valkey, together with all nodes that have the same secret and prefix. Clones share the
/// connections.
#[derive(Clone)]
pub struct RedisStore {
    /// Brings to the server what was counted here meanwhile; ends with the last clone.
    _hand_over: Arc<HandOver>,
    /// Each with keys that one call can decide about: all keys of a server, or those of a tag of a cluster.
    lanes: Arc<[Batcher]>,
    common: Arc<Common>,
}

impl RedisStore {
    /// Connects, and agrees with the other nodes on the secret that keys are hashed with: the one that policies
    /// are to be loaded with comes back. Time is the server's own.
    ///
    /// # Errors
    ///
    /// The server cannot be reached or refuses us, or the nodes of this store count under another secret.
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

    /// The same at the time of a clock of the caller's, for tests and simulations.
    ///
    /// # Errors
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
        let at = || settings.to_string();
        let unreachable = |error: RedisError| RedisStoreError::Unreachable { at: at(), why: why(&error) };
        let refused = |why| RedisStoreError::Secret { at: at(), why };
        let link = Link::to(settings).await.map_err(unreachable)?;
        let prefix = settings.prefix();
        let prefixes: Vec<String> = match settings.shape() {
            Shape::Cluster => tags::tags().iter().map(|tag| format!("{prefix}{{{tag}}}")).collect(),
            Shape::Server | Shape::Sentinel(_) => {
                link.must_stand_alone(prefix).await.map_err(unreachable)?;
                vec![prefix.to_owned()]
            }
        };
        let names: Vec<Vec<u8>> =
            prefixes.iter().map(|prefix| format!("{prefix}secret").into_bytes()).collect();
        let (secret, text) = match secret::agree(&link, &names, own).await.map_err(unreachable)? {
            Agreed::On(secret, text) => (secret, text),
            Agreed::Differently => {
                return Err(refused("its nodes count under another key secret: give this one the same"));
            }
            Agreed::OnOneNotGiven => {
                return Err(refused("its nodes were given a key secret: give it to this one too"));
            }
            Agreed::OnNothingOfOurs => {
                return Err(refused(
                    "its key secret is nothing that Weir wrote: give another prefix, or delete it",
                ));
            }
        };
        let fingerprint = secret::fingerprint(&secret);
        // Where one call decides a whole request, no refusal rests on what another has charged for a moment.
        let denials = (prefixes.len() == 1).then(|| {
            let here = clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new()));
            Denials::new(here)
        });
        let (at, deadline, tally) = (at(), settings.deadline(), Tally::default());
        let faults = Faults(settings.faults().to_vec());
        let local = Arc::new(Local::new(settings.nodes(), clock.clone()));
        let common = Arc::new(Common { link, at, local: local.clone(), denials, deadline, faults, tally });
        let lane = |(prefix, name)| {
            let shared = SharedSecret { name, text: text.clone(), fingerprint: fingerprint.clone() };
            Batcher::start(Sender::new(common.clone(), prefix, shared, clock.clone()))
        };
        let lanes: Arc<[Batcher]> = prefixes.into_iter().zip(names).map(lane).collect();
        let hand_over = Arc::new(HandOver::start(&lanes, local));
        Ok((Self { _hand_over: hand_over, lanes, common }, secret))
    }

    /// What happened so far.
    pub fn stats(&self) -> ServerStats {
        let open = self.lanes.iter().filter_map(Batcher::trouble).count();
        self.common.tally.stats(self.lanes.len(), open)
    }

    async fn ask_in_time(&self, batch: Batch) -> Answers {
        let count = batch.operations().len();
        let deadline = Instant::now() + self.common.deadline;
        let answers = match self.only_lane(batch.operations()) {
            Some(lane) => lane.apply(batch, deadline).await,
            None => self.ask_several(batch, deadline).await,
        };
        answers.unwrap_or_else(|GivenUp { sent }| {
            add(&self.common.tally.given_up);
            unavailable(count, sent)
        })
    }

    async fn ask_several(&self, batch: Batch, deadline: Instant) -> Result<Answers, GivenUp> {
        let (lanes, count) = (self.lanes.clone(), batch.operations().len());
        // On a task of its own, since a caller who goes away must leave nothing half charged.
        let spread = tokio::spawn(async move { spread::apply(&lanes, batch).await });
        let answers = timeout_at(deadline, spread).await.map_err(|_| GivenUp { sent: true })?;
        Ok(answers.unwrap_or_else(|_| unavailable(count, true)))
    }

    /// The one lane that all of these operations are on, if there is one.
    fn only_lane(&self, operations: &[Operation]) -> Option<&Batcher> {
        let mut lanes = operations.iter().map(|operation| lane(operation.key, self.lanes.len()));
        let first = lanes.next().unwrap_or_default();
        self.lanes.get(first).filter(|_| lanes.all(|lane| lane == first))
    }
}

/// What keeps us from a server, for whoever set it up.
fn why(error: &RedisError) -> String {
    const REFUSED: &str = "it refuses this user or password";
    match error.kind() {
        ErrorKind::Parse => "what answers there is no Redis or Valkey".into(),
        ErrorKind::AuthenticationFailed => REFUSED.into(),
        ErrorKind::Server(ServerErrorKind::Moved | ServerErrorKind::CrossSlot) => {
            "it is a node of a cluster: write redis+cluster:// instead of redis://".into()
        }
        ErrorKind::MasterNameNotFoundBySentinel => "its Sentinels know no primary by this name".into(),
        ErrorKind::Io => match error.to_string() {
            said if said.contains("AuthenticationFailed") => REFUSED.into(),
            said if said.contains("invalid peer certificate") => format!(
                "its certificate is not believed ({said}): give the certificate of the authority that signed it"
            ),
            said if said.contains("fatal alert") => {
                format!("it refuses us over TLS ({said}): give the certificate and the key that it asks for")
            }
            said => format!("no server answers there: {said}"),
        },
        _ => match error.to_string() {
            said if said.contains("cluster support disabled") => {
                "it stands alone: write redis:// instead of redis+cluster://".into()
            }
            said => said,
        },
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("lanes", &self.lanes.len()).finish_non_exhaustive()
    }
}

impl Store for RedisStore {
    async fn apply(&self, batch: Batch) -> Answers {
        let asked = Local::concerns(batch.operations()).then(|| batch.clone());
        let answers = self.ask_in_time(batch).await;
        match asked {
            Some(asked) => self.common.local.complete(&asked, answers).await,
            None => answers,
        }
    }

    async fn apply_one(&self, operation: Operation) -> Answer {
        if let Some(known) = self.common.denials.as_ref().and_then(|denials| denials.answer(&operation)) {
            add(&self.common.tally.known);
            return known;
        }
        let answer = self.apply([[operation]].into_iter().collect()).await.pop();
        answer.unwrap_or(Answer::Unavailable { sent: true })
    }

    fn trouble(&self) -> Option<String> {
        let mut troubles = self.lanes.iter().filter_map(Batcher::trouble);
        let first = troubles.next()?;
        let (lanes, open) = (self.lanes.len(), 1 + troubles.count());
        let part =
            if lanes == 1 { String::new() } else { format!(" for {open} of {lanes} parts of the keys") };
        Some(format!("the store does not answer{part}: {first}"))
    }

    fn in_force(&self, rules: &[Rule]) {
        self.common.local.in_force(rules);
        if let Some(denials) = &self.common.denials {
            denials.clear();
        }
    }
}
