//! Sends a batch as one call, and works out its answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use ::redis::RedisError;
use parking_lot::Mutex;
use tokio::time::{sleep, timeout};
use weir_core::{Answer, Answers, Batch, Key, Span, Timestamp};

use super::breaker::Breaker;
use super::call::Call;
use super::denials::Denials;
use super::fault::Faults;
use super::link::{Link, may_have_run};
use super::local::Local;
use super::lot::lot;
use super::reply::{Reply, SecretStands, Trouble};
use super::secret;
use super::tally::{Tally, add};
use super::time::ServerTime;
use crate::clock::{Clock, SystemClock};

/// Whoever waits gives up first, and counts that.
const MARGIN: Duration = Duration::from_millis(2);

/// The secret of keys as this node knows it.
#[derive(Clone, Debug)]
pub(super) struct SharedSecret {
    /// Where it is kept.
    pub(super) name: Vec<u8>,
    /// In these words.
    pub(super) text: String,
    pub(super) fingerprint: String,
}

/// What the lanes of a store have in common.
pub(super) struct Common {
    /// Which store this is.
    pub(super) at: String,
    /// What is counted here while the server does not answer.
    pub(super) local: Arc<Local>,
    /// What is known to be refused; nothing where a refusal may rest on what another has charged for a moment.
    pub(super) denials: Option<Denials>,
    /// How long an answer may take; nothing where no guard is wanted.
    pub(super) deadline: Option<Duration>,
    /// Measures that: reading it costs each request a third of what the system's own clock does.
    pub(super) system: SystemClock,
    /// What is to go wrong on purpose.
    pub(super) faults: Faults,
    pub(super) tally: Tally,
}

pub(super) struct Sender {
    common: Arc<Common>,
    link: Link,
    /// What the names of its keys begin with.
    prefix: String,
    secret: SharedSecret,
    /// Places the edges of calendar windows.
    time: ServerTime,
    breaker: Breaker,
    /// Held by the call that pays what its keys owe.
    paying: tokio::sync::Mutex<()>,
    /// Why the breaker opened last.
    trouble: Mutex<String>,
    /// A key holds what is not ours, and it was logged.
    is_disturbed: AtomicBool,
    /// Another secret is in use, and it was logged.
    is_foreign: AtomicBool,
}

impl Sender {
    pub(super) fn new(
        common: Arc<Common>,
        link: Link,
        prefix: String,
        secret: SharedSecret,
        clock: Option<Arc<dyn Clock>>,
    ) -> Self {
        Self {
            common,
            link,
            prefix,
            secret,
            time: ServerTime::new(clock),
            breaker: Breaker::default(),
            paying: tokio::sync::Mutex::default(),
            trouble: Mutex::default(),
            is_disturbed: AtomicBool::new(false),
            is_foreign: AtomicBool::new(false),
        }
    }

    /// Whether nothing would come of a call now.
    pub(super) fn refuses_at_once(&self) -> bool {
        let refuses = self.breaker.is_open();
        if refuses {
            add(&self.common.tally.refused);
        }
        refuses
    }

    /// The time that deadlines are told in.
    pub(super) fn now(&self) -> Timestamp {
        self.common.system.now()
    }

    /// The time in so long.
    pub(super) fn after(&self, patience: Duration) -> Timestamp {
        self.now().after(Span::from_nanos(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// How long it is until then.
    pub(super) fn until(&self, deadline: Timestamp) -> Duration {
        Duration::from_nanos(deadline.since(self.now()).nanos())
    }

    /// Counts a request that was given up.
    pub(super) fn gave_up(&self) {
        add(&self.common.tally.given_up);
    }

    /// Why the store is not asked, while it is not.
    pub(super) fn trouble(&self) -> Option<String> {
        self.breaker.is_open().then(|| self.trouble.lock().clone())
    }

    /// The answers to a batch, in order; that there is none where the store is not to be asked.
    pub(super) async fn send(self: Arc<Self>, batch: Batch) -> Answers {
        if self.breaker.is_open() {
            batch.groups().for_each(|_| add(&self.common.tally.refused));
            return unavailable(batch.operations().len(), false);
        }
        self.send_with_debts(batch).await
    }

    /// Tries the store now and then until it is well, whether somebody asks for it or not: what was counted here is to
    /// be brought to it.
    async fn try_until_well(sender: Weak<Self>) {
        while let Some(wait) = sender.upgrade().and_then(|sender| sender.breaker.wait(lot())) {
            sleep(wait).await;
            if let Some(sender) = sender.upgrade() {
                sender.probe().await;
            }
        }
    }

    /// Sees whether the store is well again: it charges nothing, since it may end in doubt, and writes what is there
    /// already, since a store that only reads is not well.
    async fn probe(&self) {
        let written = secret::keep(&self.link, &self.secret.name, &self.secret.text);
        let said = self.in_time(written).await;
        self.breaker.probed(said.is_err());
        match said {
            Ok(was_lost) => {
                if was_lost {
                    self.tell_of_a_lost_secret();
                }
                tracing::info!(store = self.common.at, keys = self.prefix, "the store answers again");
                self.common.local.returned.notify_one();
            }
            Err(error) => {
                self.common.tally.failed(&error);
                if error.is_timeout() {
                    self.link.is_silent();
                }
            }
        }
    }

    /// A call, within the deadline.
    async fn in_time<T>(
        &self,
        calling: impl Future<Output = Result<T, RedisError>>,
    ) -> Result<T, RedisError> {
        let Common { deadline, faults, tally, .. } = &*self.common;
        add(&tally.calls);
        let calling = faults.around(&tally.faults, calling);
        let Some(deadline) = *deadline else { return calling.await };
        let reply = timeout(deadline + MARGIN, calling).await;
        reply.unwrap_or_else(|_| Err(RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut))))
    }

    /// What the keys of a batch owe is paid first, in the same call, so that nothing is decided without it.
    async fn send_with_debts(self: &Arc<Self>, batch: Batch) -> Answers {
        if !self.common.local.may_owe(&batch) {
            return self.send_guarded(&batch).await;
        }
        // Until it is known whether that call paid, no other one names its keys: it might come before.
        let _alone = self.paying.lock().await;
        let debts = self.common.local.debts_of(&batch).await;
        if debts.is_empty() {
            return self.send_guarded(&batch).await;
        }
        let mut all: Batch = debts.iter().map(|debt| [debt.operation()]).collect();
        batch.groups().for_each(|group| all.push(group.iter().copied()));
        let mut answers = self.send_guarded(&all).await;
        let mut answers = answers.drain();
        for debt in debts {
            self.common.local.settle(debt, answers.next()).await;
        }
        let mut own = Answers::new();
        answers.for_each(|answer| own.push(answer));
        own
    }

    async fn send_guarded(self: &Arc<Self>, batch: &Batch) -> Answers {
        let (mut answers, troubles) = self.send_once(batch).await;
        let is_beyond = |trouble: &Option<Trouble>| *trouble == Some(Trouble::BeyondEdges);
        if !troubles.iter().any(is_beyond) {
            return answers;
        }
        // The server has told its time meanwhile, and nothing was done: those groups are asked again.
        let groups = || batch.groups().zip(&troubles);
        let beyond = groups().filter(|(_, trouble)| is_beyond(trouble));
        let again: Batch = beyond.map(|(group, _)| group.iter().copied()).collect();
        let (mut later, _) = self.send_once(&again).await;
        let (mut answers, mut later) = (answers.drain(), later.drain());
        let mut all = Answers::new();
        for (group, trouble) in groups() {
            for _ in group {
                let first = answers.next();
                let answer = if is_beyond(trouble) { later.next() } else { first };
                all.push(answer.unwrap_or(Answer::Unavailable { sent: true }));
            }
        }
        all
    }

    async fn send_once(self: &Arc<Self>, batch: &Batch) -> (Answers, Vec<Option<Trouble>>) {
        let clock = self.time.told_by_us();
        let call = Call::of(batch, clock, clock.unwrap_or_else(|| self.time.now()));
        let names = call.keys.iter().map(|key| self.name(*key)).chain([self.secret.name.clone()]);
        let names: Vec<Vec<u8>> = names.collect();
        let calling = self.link.eval(&names, &call.numbers, &self.secret.fingerprint);
        let reply = self.in_time(calling).await.and_then(Reply::read);
        self.note(reply.as_ref().err());
        match reply {
            Ok(reply) => {
                self.time.learn(reply.now);
                self.common.local.learn_the_time(reply.now);
                self.note_secret(reply.secret).await;
                if reply.secret == SecretStands::Changed {
                    let answers = unavailable(batch.operations().len(), false);
                    return (answers, batch.groups().map(|_| None).collect());
                }
                let at = reply.now;
                let decided = reply.decided(batch, &call);
                self.common.local.learn(batch, &decided.answers, at);
                if let Some(denials) = &self.common.denials {
                    denials.learn(decided.told(batch, &call), at);
                }
                self.note_troubles(&decided.troubles);
                (decided.answers, decided.troubles)
            }
            Err(error) => {
                if let Some(denials) = &self.common.denials {
                    let changes = batch.operations().iter().filter(|operation| operation.op.undoes());
                    denials.forget(changes.map(|operation| operation.key));
                }
                let answers = unavailable(batch.operations().len(), may_have_run(&error));
                (answers, batch.groups().map(|_| None).collect())
            }
        }
    }

    fn name(&self, Key(key): Key) -> Vec<u8> {
        format!("{}{key:032x}", self.prefix).into_bytes()
    }

    /// Takes note of how a call ended, and logs when the store is not asked any more: nothing for each call.
    fn note(self: &Arc<Self>, error: Option<&RedisError>) {
        if let Some(error) = error {
            self.common.tally.failed(error);
        }
        let is_guarded = self.common.deadline.is_some();
        let (true, Some(error)) = (is_guarded && self.breaker.note(error.is_some()), error) else { return };
        add(&self.common.tally.opened);
        *self.trouble.lock() = error.to_string();
        if error.is_timeout() {
            self.link.is_silent();
        }
        tracing::error!(
            store = self.common.at,
            keys = self.prefix,
            "the store does not answer, and is asked now and then: {error}"
        );
        tokio::spawn(Self::try_until_well(Arc::downgrade(self)));
    }

    /// Counting under two secrets would be counting apart, so nothing is counted under another than the store's.
    async fn note_secret(&self, stands: SecretStands) {
        let was_foreign = self.is_foreign.swap(stands == SecretStands::Changed, Ordering::Relaxed);
        match stands {
            SecretStands::Kept if was_foreign => {
                tracing::info!(store = self.common.at, "the key secret is ours again");
            }
            SecretStands::Kept => {}
            SecretStands::Lost => {
                self.tell_of_a_lost_secret();
                // Where that fails the next call finds it lost again.
                let _written = secret::keep(&self.link, &self.secret.name, &self.secret.text).await;
            }
            SecretStands::Changed if was_foreign => {}
            SecretStands::Changed => tracing::error!(
                store = self.common.at,
                "the store's key secret was changed: nothing is counted here until this node is started anew or \
                 the secret is put back"
            ),
        }
    }

    fn tell_of_a_lost_secret(&self) {
        tracing::warn!(
            store = self.common.at,
            "the store has lost its key secret, and all use with it; writing it anew"
        );
    }

    fn note_troubles(&self, troubles: &[Option<Trouble>]) {
        if troubles.contains(&Some(Trouble::NotOurs)) && !self.is_disturbed.swap(true, Ordering::Relaxed) {
            tracing::error!(
                store = self.common.at,
                "a key beginning with `{}` holds what this version of Weir did not write; delete such keys, or \
                 give another prefix",
                self.prefix
            );
        }
        if troubles.contains(&Some(Trouble::Disagreement)) {
            tracing::error!(
                store = self.common.at,
                "the script and this node decided differently: this is a defect of Weir"
            );
        }
    }
}

/// The answer to so many operations that no store answered.
pub(super) fn unavailable(count: usize, sent: bool) -> Answers {
    let mut answers = Answers::new();
    for _ in 0..count {
        answers.push(Answer::Unavailable { sent });
    }
    answers
}
