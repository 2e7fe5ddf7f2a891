//! limitador's store on Redis: a window that admits as much decides the same. It reads first and counts then, in two
//! round trips; its authors say that this is not exact.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use limitador::AsyncRateLimiter;
use limitador::limit::{Context, Expression, Limit, Namespace};
use limitador::storage::redis::AsyncRedisStorage;

use super::subject::{Ask, BURST, Handle, Subject};
use crate::name::Name;

const NAMESPACE: &str = "bench";
const VARIABLE: &str = "user";
const HOUR: u64 = 3_600;

pub(crate) struct LimitadorRedis(Arc<AsyncRateLimiter>);

pub(crate) struct LimitadorHandle(Arc<AsyncRateLimiter>, Namespace);

impl Subject for LimitadorRedis {
    type Handle = LimitadorHandle;

    const WORKERS: usize = 256;

    async fn on(url: &str) -> Result<Self> {
        let storage = AsyncRedisStorage::new(url).await.map_err(|error| anyhow!("{error:?}"))?;
        let limiter = AsyncRateLimiter::new_with_storage(Box::new(storage));
        let variable = Expression::parse(VARIABLE).map_err(|error| anyhow!("{error}"))?;
        limiter.add_limit(Limit::new(NAMESPACE, BURST.into(), HOUR, [], [variable]));
        Ok(Self(Arc::new(limiter)))
    }

    async fn handle(&self) -> Result<LimitadorHandle> {
        Ok(LimitadorHandle(self.0.clone(), Namespace::from(NAMESPACE)))
    }
}

impl Handle for LimitadorHandle {
    const AT_ONCE: usize = 1;

    async fn ask(&mut self, asks: &[Ask]) -> Result<u32> {
        let ask = asks.first().context("one request")?;
        let values = HashMap::from([(VARIABLE.to_owned(), Name::user(ask.key).as_str().to_owned())]);
        let checked =
            self.0.check_rate_limited_and_update(&self.1, &Context::from(values), ask.cost.into()).await;
        Ok(u32::from(!checked.map_err(|error| anyhow!("{error}"))?.limited))
    }
}
