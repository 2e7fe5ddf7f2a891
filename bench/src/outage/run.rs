//! The run: a server, a node for each posture, and the load by its schedule.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use weir_core::{Descriptor, Limiter, Posture, Precision, Request, file};
use weir_servers::{Kind as ServerKind, Server};
use weir_store::{OwnSecret, RedisSettings, RedisStore};

use super::answers::{Answered, Course, Kind, percentile};
use super::{END, GO_ON, LIMIT, NODES, OFFERED, STOP, WARM_UP};

/// What came of it.
pub(super) struct Run {
    /// When the store was stopped and went on, since the beginning of the picture.
    pub(super) stopped: Duration,
    pub(super) went_on: Duration,
    pub(super) courses: Vec<Course>,
    /// How late requests were asked, the machine being busy with others: the median, 99 of 100, and the latest.
    /// It is part of their waits.
    pub(super) late: [Duration; 3],
}

type Node = Arc<Limiter<RedisStore>>;

/// A request that was asked: how late, and its answer in time.
struct Asked {
    late: Duration,
    answer: JoinHandle<Result<Answered>>,
}

pub(super) fn run() -> Result<Run> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let server = Server::start(ServerKind::Redis, &[]);
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        for posture in Posture::ALL {
            nodes.push(runtime.block_on(node(&server, posture))?);
        }
    }
    let start = Instant::now();
    let (asked, stopped, went_on) = std::thread::scope(|scope| {
        let outage = scope.spawn(|| {
            let signal = |name, at| {
                sleep_until(start + WARM_UP + at);
                server.signal(name);
                start.elapsed() - WARM_UP
            };
            (signal("STOP", STOP), signal("CONT", GO_ON))
        });
        let asked = ask(&runtime, &nodes, start);
        let (stopped, went_on) = outage.join().map_err(|_| anyhow!("the server took no signal"))?;
        anyhow::Ok((asked, stopped, went_on))
    })?;
    let mut courses: Vec<Course> =
        Posture::ALL.map(|posture| Course { posture, answers: Vec::new() }).into_iter().collect();
    let (count, mut late) = (courses.len(), Vec::new());
    for (number, asked) in asked.into_iter().enumerate() {
        let mut answered = runtime.block_on(asked.answer)??;
        let Some(came) = answered.came.checked_sub(WARM_UP) else { continue };
        answered.came = came;
        late.push(asked.late);
        courses.get_mut(number % count).context("a node")?.answers.push(answered);
    }
    late.sort_unstable();
    let late = [50, 99, 100].map(|percent| percentile(&late, percent));
    Ok(Run { stopped, went_on, courses, late })
}

/// One of the nodes of a posture. They have a prefix of their own.
async fn node(server: &Server, posture: Posture) -> Result<Node> {
    let settings = RedisSettings::parse(&server.url())?.with_prefix(format!("{posture}:"));
    let (store, secret) = RedisStore::connect(&settings, &OwnSecret::Drawn([7; 16])).await?;
    let options = file::Options { precision: Precision::Double, ..file::Options::new(secret) };
    let text = format!(
        "domain: outage\npolicies:\n  - {{ name: {posture}, key: [service], quota: {LIMIT}/second, \
         on_store_failure: {posture} }}\n"
    );
    let loaded =
        file::load("outage.yaml", text.as_bytes(), &options).map_err(|report| anyhow!("{report}"))?;
    Ok(Arc::new(Limiter::new(loaded.policies, store)))
}

/// Asks each node in turn, at even distances. The thread itself waits for the instants, since the timers of the
/// runtime are no finer than a millisecond.
fn ask(runtime: &Runtime, nodes: &[Node], start: Instant) -> Vec<Asked> {
    let every = OFFERED * u32::try_from(Posture::ALL.len()).unwrap_or(1);
    let count = every * u32::try_from((WARM_UP + END).as_secs()).unwrap_or_default();
    let one = |(number, node): (u32, &Node)| {
        let due = start + Duration::from_secs(1) * number / every;
        sleep_until(due);
        let (node, late) = (node.clone(), due.elapsed());
        Asked { late, answer: runtime.spawn(answer(node, due, start)) }
    };
    (0..count).zip(nodes.iter().cycle()).map(one).collect()
}

async fn answer(node: Node, due: Instant, start: Instant) -> Result<Answered> {
    let descriptor = Descriptor::new().with("service", "one");
    let verdict = node.check(&Request { descriptor, ..Request::default() }).await?;
    let wait = due.elapsed();
    let (kind, is_degraded) = (Kind::of(&verdict), verdict.is_degraded());
    Ok(Answered { came: due - start, kind, is_degraded, wait })
}

fn sleep_until(instant: Instant) {
    let left = instant.saturating_duration_since(Instant::now());
    if left > Duration::ZERO {
        std::thread::sleep(left);
    }
}
