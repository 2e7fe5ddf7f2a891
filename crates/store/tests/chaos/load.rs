//! Requests that come when they come, while something happens to the store; and what is to hold of their answers.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use weir_core::{Cost, Descriptor, Limiter, Outcome, Posture, Precision, Request, file};
use weir_store::{OwnSecret, RedisSettings, RedisStore};

/// Units of each key. It is used up after `LIMIT * KEYS` requests of each posture.
pub(crate) const LIMIT: usize = 40;
/// Keys of each posture: on a cluster they are on every primary.
const KEYS: usize = 30;
/// The usual one.
pub(crate) const DEADLINE: Duration = RedisSettings::DEADLINE;
/// What a waiting machine may add to the deadline of one request in a thousand, and of any.
const USUAL: Duration = Duration::from_millis(5);
const ALLOWED: Duration = Duration::from_millis(50);
/// A store that is back decides again within.
const BACK_WITHIN: Duration = Duration::from_secs(2);

pub(crate) type Node = Arc<Limiter<RedisStore>>;

/// Something that happens so many milliseconds after the beginning.
pub(crate) struct Event<'a>(u64, Box<dyn FnOnce() + Send + 'a>);

pub(crate) fn on<'a>(at: u64, event: impl FnOnce() + Send + 'a) -> Event<'a> {
    Event(at, Box::new(event))
}

pub(crate) fn settings(url: &str) -> RedisSettings {
    RedisSettings::parse(url).unwrap()
}

/// A request and its answer.
#[derive(Clone, Copy, Debug)]
struct Answered {
    at: Duration,
    wait: Duration,
    posture: Posture,
    key: usize,
    outcome: Outcome,
    is_degraded: bool,
}

/// A node with a policy for each posture.
pub(crate) async fn node(settings: &RedisSettings) -> Node {
    let (store, secret) = RedisStore::connect(settings, &OwnSecret::Drawn([7; 16])).await.unwrap();
    let policy = |posture: Posture| {
        format!(
            "  - {{ name: {posture}, key: [{posture}], quota: {LIMIT}/100d, algorithm: fixed_window, \
             on_store_failure: {posture} }}\n"
        )
    };
    let text = format!("domain: chaos\npolicies:\n{}", Posture::ALL.map(policy).concat());
    let options = file::Options { precision: Precision::Double, ..file::Options::new(secret) };
    let loaded = file::load("chaos.yaml", text.as_bytes(), &options).unwrap();
    Arc::new(Limiter::new(loaded.policies, store))
}

/// A thousand requests a second to one node, in turns of each posture and key, for so many milliseconds.
pub(crate) async fn load(node: &Node, millis: u64, events: Vec<Event<'_>>) -> Course {
    let start = Instant::now();
    let mut ticks = interval(Duration::from_millis(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut asked: Vec<JoinHandle<Answered>> = Vec::new();
    let happened = std::thread::scope(|scope| {
        let mut events = events.into_iter().peekable();
        let mut happening = Vec::new();
        let pace = async {
            for tick in 0..millis {
                ticks.tick().await;
                if let Some(Event(_, event)) = events.next_if(|Event(at, _)| *at <= tick) {
                    // It may take a while, and the load goes on.
                    happening.push(scope.spawn(move || {
                        event();
                        start.elapsed()
                    }));
                }
                asked.push(tokio::spawn(ask(node.clone(), tick as usize, start)));
            }
        };
        tokio::task::block_in_place(|| Handle::current().block_on(pace));
        happening.into_iter().map(|event| event.join().unwrap()).collect()
    });
    let mut answers = Vec::new();
    for asked in asked {
        answers.push(asked.await.unwrap());
    }
    Course { answers, happened }
}

async fn ask(node: Node, number: usize, start: Instant) -> Answered {
    let posture = Posture::ALL[number % Posture::ALL.len()];
    let key = number / Posture::ALL.len() % KEYS;
    let (at, began) = (start.elapsed(), Instant::now());
    let name = key.to_string();
    let descriptor = Descriptor::new().with(posture.as_str(), &name);
    let verdict = node.check(&Request { descriptor, ..Request::default() }).await.unwrap();
    let (outcome, is_degraded) = (verdict.outcome(), verdict.is_degraded());
    Answered { at, wait: began.elapsed(), posture, key, outcome, is_degraded }
}

/// How much of each key of a posture is used, as the store says.
async fn used(node: &Node, posture: Posture) -> Vec<usize> {
    let mut used = Vec::new();
    for key in 0..KEYS {
        let name = key.to_string();
        let descriptor = Descriptor::new().with(posture.as_str(), &name);
        let request = Request { descriptor, cost: Cost::units(0), ..Request::default() };
        let verdict = node.check(&request).await.unwrap();
        assert!(!verdict.is_degraded(), "it decides again");
        let decision = verdict.judgements().next().and_then(|(_, judgement)| judgement.decision()).unwrap();
        used.push((decision.limit - decision.remaining) as usize);
    }
    used
}

/// All that was answered.
pub(crate) struct Course {
    answers: Vec<Answered>,
    /// When each event was over.
    pub(crate) happened: Vec<Duration>,
}

impl Course {
    /// What is to hold whatever happens. `back`: the store answers again since then.
    pub(crate) fn must_hold(&self, name: &str, node: &Node, deadline: Duration, back: Duration) {
        println!("{name}: {self}; {}", figures(node));
        for answered in &self.answers {
            let by_posture = match answered.posture {
                Posture::Open => answered.outcome == Outcome::Allow,
                Posture::Closed => answered.outcome == Outcome::Unavailable,
                Posture::Local => matches!(answered.outcome, Outcome::Allow | Outcome::Deny),
            };
            let by_store = matches!(answered.outcome, Outcome::Allow | Outcome::Deny);
            assert!(if answered.is_degraded { by_posture } else { by_store }, "{name}: {answered:?}");
        }
        let [usual, longest] = self.waits();
        assert!(usual <= deadline + USUAL, "{name}: {usual:?} for 99.9%");
        assert!(longest <= deadline + ALLOWED, "{name}: {longest:?} at most");
        let last =
            self.answers.iter().filter(|answered| answered.is_degraded).map(|answered| answered.at).max();
        let last = last.unwrap_or_default();
        assert!(
            last <= back + BACK_WITHIN,
            "{name}: degraded at {last:?}, and the store was back at {back:?}"
        );
        assert_eq!(node.store().stats().open, 0, "{name}");
    }

    /// How many requests may have been charged and were answered without the store: what was refused for the breaker
    /// was surely not sent.
    pub(crate) fn in_doubt(&self, node: &Node) -> usize {
        self.degraded() - node.store().stats().refused as usize
    }

    /// How many answers were given without the store.
    pub(crate) fn degraded(&self) -> usize {
        self.answers.iter().filter(|answered| answered.is_degraded).count()
    }

    /// How many requests of each key were admitted, those that the store decided and the others.
    fn admitted(&self, posture: Posture) -> Vec<(usize, usize)> {
        let mut admitted = vec![(0, 0); KEYS];
        for answered in &self.answers {
            if answered.posture == posture && answered.outcome == Outcome::Allow {
                let (by_store, without) = &mut admitted[answered.key];
                *if answered.is_degraded { without } else { by_store } += 1;
            }
        }
        admitted
    }

    /// That of 99.9%, and the longest.
    fn waits(&self) -> [Duration; 2] {
        let mut waits: Vec<Duration> = self.answers.iter().map(|answered| answered.wait).collect();
        waits.sort_unstable();
        [waits[(waits.len() * 999).div_ceil(1000) - 1], waits[waits.len() - 1]]
    }
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [usual, longest] = self.waits();
        let (count, degraded, happened) = (self.answers.len(), self.degraded(), &self.happened);
        write!(
            f,
            "{count} answers, {degraded} degraded, 99.9% within {usual:.1?}, all within {longest:.1?}, "
        )?;
        write!(f, "events over at {happened:.1?}")
    }
}

fn figures(node: &Node) -> String {
    let stats = node.store().stats();
    let failed: Vec<_> = stats.failed.into_iter().filter(|(_, count)| *count > 0).collect();
    format!(
        "{} calls, failed {failed:?}, {} given up, {} refused",
        stats.calls, stats.given_up, stats.refused
    )
}

/// What is to hold where the store keeps what it has: nothing of it is lost, and nothing is admitted beyond the limit,
/// but for so many requests that may have been charged and were not.
pub(crate) async fn nothing_is_lost(name: &str, course: &Course, node: &Node, doubts: usize) {
    let closed = used(node, Posture::Closed).await;
    for (used, (by_store, without)) in closed.into_iter().zip(course.admitted(Posture::Closed)) {
        assert!(by_store <= used && used <= LIMIT && without == 0, "{name}: {by_store} of {used}");
    }
    let local = course.admitted(Posture::Local).into_iter().map(|(by_store, without)| by_store + without);
    let beyond: usize = local.map(|admitted| admitted.saturating_sub(LIMIT)).sum();
    assert!(beyond <= doubts, "{name}: {beyond} beyond the limit, {doubts} in doubt");
}

/// What is to hold where the store may have lost what it had, once.
pub(crate) fn admitted_in_bound(name: &str, course: &Course, bound: usize) {
    for (by_store, without) in course.admitted(Posture::Local) {
        assert!(by_store + without <= bound, "{name}: {by_store} by the store and {without} without it");
    }
}
