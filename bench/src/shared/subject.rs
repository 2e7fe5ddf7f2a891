//! Who is asked: Weir's store, a lean script of our own called in two ways.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use redis::aio::MultiplexedConnection;
use redis::{Script, ScriptInvocation};
use weir_core::{
    Algorithm, Answer, KeyBuilder, KeySecret, Op, Operation, Outcome, Posture, Precision, Quota, Rule, Span,
    Store as _,
};
use weir_store::{OwnSecret, RedisSettings, RedisStore};

use crate::name::Name;

/// A bucket that one unit always fits into, and all of it never does once it was used.
pub(crate) const BURST: u32 = 1_000_000_000;
const PER_HOUR: u32 = 3_600;
/// No decision is given up: what is measured is how long they take.
const SECOND: Duration = Duration::from_secs(1);

/// One request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) key: u32,
    pub(crate) cost: u32,
}

/// What answers.
pub(crate) trait Handle: Send + 'static {
    /// How many requests are asked at once.
    const AT_ONCE: usize;

    /// How many of them are admitted.
    fn ask(&mut self, asks: &[Ask]) -> impl Future<Output = Result<u32>> + Send;
}

/// What is measured.
pub(crate) trait Subject: Sized {
    type Handle: Handle;

    /// How many ask at the same time.
    const WORKERS: usize;

    async fn on(url: &str) -> Result<Self>;
    async fn handle(&self) -> Result<Self::Handle>;
}

// ---- Weir

/// Weir's store with buckets, or with sliding windows.
pub(crate) struct Weir<const SLIDING: bool>(WeirHandle);

#[derive(Clone)]
pub(crate) struct WeirHandle {
    store: RedisStore,
    rule: Rule,
    start: KeyBuilder,
    posture: Posture,
}

impl<const SLIDING: bool> Subject for Weir<SLIDING> {
    type Handle = WeirHandle;

    const WORKERS: usize = 512;

    async fn on(url: &str) -> Result<Self> {
        let settings = RedisSettings::parse(url)?.with_deadline(SECOND);
        Ok(Self(WeirHandle::on(&settings, SLIDING, Posture::Open).await?))
    }

    async fn handle(&self) -> Result<WeirHandle> {
        Ok(self.0.clone())
    }
}

impl Handle for WeirHandle {
    const AT_ONCE: usize = 1;

    async fn ask(&mut self, asks: &[Ask]) -> Result<u32> {
        let operation = self.operation(*asks.first().context("one request")?);
        admitted(Some(self.store.apply_one(operation, None).await))
    }
}

impl WeirHandle {
    async fn on(settings: &RedisSettings, sliding: bool, posture: Posture) -> Result<Self> {
        let own = OwnSecret::Given(KeySecret::new([7; 16]));
        let (store, secret) = RedisStore::connect(settings, &own).await?;
        let start = KeyBuilder::new(&secret).part(b"bench");
        let hour = Span::from_secs(3_600);
        let (algorithm, limit, burst) = if sliding {
            (Algorithm::SlidingWindow, BURST, None)
        } else {
            (Algorithm::TokenBucket, PER_HOUR, std::num::NonZeroU64::new(BURST.into()))
        };
        let quota = Quota::settle_for(Precision::Double, algorithm, limit.into(), hour, burst)?;
        Ok(Self { store, rule: Rule::new(start.policy_id(), algorithm, quota), start, posture })
    }

    fn operation(&self, ask: Ask) -> Operation {
        let key = self.start.part(Name::user(ask.key).as_str().as_bytes()).key();
        Operation { posture: self.posture, ..Operation::new(key, self.rule, Op::Take(ask.cost.into())) }
    }
}

fn admitted(answer: Option<Answer>) -> Result<u32> {
    match answer {
        Some(Answer::Decided { decision, .. }) => Ok(u32::from(decision.outcome == Outcome::Allow)),
        _ => bail!("no decision"),
    }
}

/// The same, and nothing is refused by what is known: every request is asked of the server.
/// With its guard as it is by itself, with that of a policy that counts locally, or without.
pub(crate) struct WeirAsking<const GUARD: Guard>(AskingHandle);

/// By how much the store is guarded.
pub(crate) type Guard = u8;
pub(crate) const UNGUARDED: Guard = 0;
pub(crate) const GUARDED: Guard = 1;
pub(crate) const GUARDED_LOCAL: Guard = 2;

#[derive(Clone)]
pub(crate) struct AskingHandle(WeirHandle);

impl<const GUARD: Guard> Subject for WeirAsking<GUARD> {
    type Handle = AskingHandle;

    const WORKERS: usize = Weir::<false>::WORKERS;

    async fn on(url: &str) -> Result<Self> {
        let settings = RedisSettings::parse(url)?;
        let settings =
            if GUARD == UNGUARDED { settings.without_guard() } else { settings.with_deadline(SECOND) };
        let posture = if GUARD == GUARDED_LOCAL { Posture::Local } else { Posture::Open };
        Ok(Self(AskingHandle(WeirHandle::on(&settings, false, posture).await?)))
    }

    async fn handle(&self) -> Result<AskingHandle> {
        Ok(self.0.clone())
    }
}

impl Handle for AskingHandle {
    const AT_ONCE: usize = 1;

    async fn ask(&mut self, asks: &[Ask]) -> Result<u32> {
        let operation = self.0.operation(*asks.first().context("one request")?);
        admitted(self.0.store.apply([[operation]].into_iter().collect()).await.pop())
    }
}

// ---- a lean script: a bucket in one string, at the server's time, with an expiry

const LEAN: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local burst, leak, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local held = redis.call('GET', KEYS[1])
local level = 0
if held then
  local used, at = struct.unpack('<dd', held)
  level = math.max(used - math.max(now - at, 0) * leak, 0)
end
if level + cost > burst then return 0 end
redis.call('SET', KEYS[1], struct.pack('<dd', level + cost, now), 'PX', ARGV[4])
return 1
";

struct Lean(Script);

impl Lean {
    fn call(&self, ask: Ask) -> ScriptInvocation<'_> {
        let mut call = self.0.key(Name::user(ask.key).as_str());
        let leak = f64::from(PER_HOUR) / 3.6e9;
        call.arg(BURST).arg(leak).arg(ask.cost).arg(3_600_000_u64);
        call
    }
}

/// Connections that each send one call and wait for its answer.
pub(crate) struct OneByOne(redis::Client);

pub(crate) struct OneHandle(Lean, MultiplexedConnection);

impl Subject for OneByOne {
    type Handle = OneHandle;

    const WORKERS: usize = 50;

    async fn on(url: &str) -> Result<Self> {
        Ok(Self(redis::Client::open(url)?))
    }

    async fn handle(&self) -> Result<OneHandle> {
        Ok(OneHandle(Lean(Script::new(LEAN)), self.0.get_multiplexed_async_connection().await?))
    }
}

impl Handle for OneHandle {
    const AT_ONCE: usize = 1;

    async fn ask(&mut self, asks: &[Ask]) -> Result<u32> {
        let ask = asks.first().context("one request")?;
        Ok(self.0.call(*ask).invoke_async(&mut self.1).await?)
    }
}

/// Connections that each send sixteen calls in one go.
pub(crate) struct Pipelined(OneByOne);

pub(crate) struct PipelinedHandle(OneHandle);

impl Subject for Pipelined {
    type Handle = PipelinedHandle;

    const WORKERS: usize = 16;

    async fn on(url: &str) -> Result<Self> {
        Ok(Self(OneByOne::on(url).await?))
    }

    async fn handle(&self) -> Result<PipelinedHandle> {
        let handle = self.0.handle().await?;
        let mut connection = handle.1.clone();
        redis::cmd("SCRIPT").arg("LOAD").arg(LEAN).query_async::<String>(&mut connection).await?;
        Ok(PipelinedHandle(handle))
    }
}

impl Handle for PipelinedHandle {
    const AT_ONCE: usize = 16;

    async fn ask(&mut self, asks: &[Ask]) -> Result<u32> {
        let OneHandle(Lean(script), connection) = &mut self.0;
        let mut pipeline = redis::pipe();
        let leak = f64::from(PER_HOUR) / 3.6e9;
        for ask in asks {
            let call =
                pipeline.cmd("EVALSHA").arg(script.get_hash()).arg(1).arg(Name::user(ask.key).as_str());
            call.arg(BURST).arg(leak).arg(ask.cost).arg(3_600_000_u64);
        }
        let admitted: Vec<u32> = pipeline.query_async(connection).await?;
        Ok(admitted.iter().sum())
    }
}
