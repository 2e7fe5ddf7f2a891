//! The door for Redis clients, over loopback, on a clock that the test moves.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod bad_input;
mod clients;
mod throttle;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use redis::FromRedisValue;
use redis::aio::MultiplexedConnection;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use weir_core::{KeySecret, Limiter, Store, Timestamp, file};
use weir_runtime::{Listener, Node, Shutdown, Telemetry};
use weir_server::door::resp::Resp;
use weir_store::{ManualClock, MemoryStore};

const START: Timestamp = Timestamp::from_nanos(1_710_720_000_000_000_000);
const POLICIES: &str = "domain: shop\npolicies:\n  - { name: p, quota: 1/minute }\n";

struct Door {
    address: SocketAddr,
    clock: ManualClock,
    metrics: Box<dyn Fn() -> String>,
    shutdown: Shutdown,
}

impl Door {
    async fn open() -> Self {
        Self::locked(None).await
    }

    async fn locked(password: Option<&str>) -> Self {
        let clock = ManualClock::at(START);
        Self::to(Arc::new(MemoryStore::with_clock(clock.clone())), clock, password).await
    }

    async fn to(store: impl Store + 'static, clock: ManualClock, password: Option<&str>) -> Self {
        let options = file::Options::new(KeySecret::new([9; 16]));
        let policies = file::load("policy.yaml", POLICIES.as_bytes(), &options).unwrap().policies;
        let telemetry = Telemetry::new(&policies, || None, || None);
        let shutdown = Shutdown::new();
        let node = Arc::new(Node::new(Limiter::new(policies, store), telemetry, shutdown.clone()));
        let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = listener.address();
        let door = Resp::new(node.clone(), password.map(Into::into), shutdown.clone());
        let one = move |stream| door.clone().serve(stream);
        tokio::spawn(listener.serve_each(one, shutdown.clone(), Duration::ZERO));
        let metrics = Box::new(move || node.telemetry().encode().unwrap());
        Self { address, clock, metrics, shutdown }
    }

    async fn client(&self, options: &str) -> redis::RedisResult<MultiplexedConnection> {
        let client = redis::Client::open(format!("redis://{options}{}", self.address)).unwrap();
        client.get_multiplexed_async_connection().await
    }

    async fn ask<T: FromRedisValue>(&self, words: &str) -> redis::RedisResult<T> {
        ask(&mut self.client("").await.unwrap(), words).await
    }

    async fn raw(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// What the door says to this until it closes, or says no more because we say no more.
    async fn says(&self, bytes: &[u8]) -> String {
        let mut stream = self.raw().await;
        stream.write_all(bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut heard = Vec::new();
        // A door that closes before it has read all resets the connection.
        let _reset = stream.read_to_end(&mut heard).await;
        String::from_utf8(heard).unwrap()
    }
}

async fn ask<T: FromRedisValue>(to: &mut MultiplexedConnection, words: &str) -> redis::RedisResult<T> {
    let mut command = redis::Cmd::new();
    words.split(' ').for_each(|word| _ = command.arg(word));
    command.query_async(to).await
}
