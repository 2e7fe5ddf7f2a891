//! The HTTP door, from bytes to bytes, on a clock that the test moves.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod answers;
mod bad_input;
mod story;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;
use weir_core::fields::LegacyFields;
use weir_core::{KeySecret, Limiter, Timestamp, file};
use weir_runtime::{Node, Shutdown, Telemetry};
use weir_server::door::http::{self, HttpSettings};
use weir_store::{ManualClock, MemoryStore};

const START: Timestamp = Timestamp::from_nanos(1_710_720_000_000_000_000);
const BODY_MAX: usize = 100_000;

/// The door of a node, and the clock of its store.
struct Door {
    router: Router,
    node: Arc<Node<Arc<MemoryStore<ManualClock>>>>,
    store: Arc<MemoryStore<ManualClock>>,
    clock: ManualClock,
}

/// What came back.
struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Door {
    fn with(policies: &str, legacy_fields: LegacyFields) -> Self {
        let loaded =
            file::load("policy.yaml", policies.as_bytes(), &file::Options::new(KeySecret::new([9; 16])));
        let policies = loaded.unwrap_or_else(|report| panic!("{report}")).policies;
        let clock = ManualClock::at(START);
        let store = Arc::new(MemoryStore::with_clock(clock.clone()));
        let gauge = store.clone();
        let telemetry = Telemetry::new(&policies, move || Some(gauge.stats()), || None);
        let node = Arc::new(Node::new(Limiter::new(policies, store.clone()), telemetry, Shutdown::new()));
        let router = http::router(node.clone(), HttpSettings { body_max: BODY_MAX, legacy_fields });
        Self { router, node, store, clock }
    }

    fn new(policies: &str) -> Self {
        Self::with(&format!("domain: shop\n{policies}"), LegacyFields::Off)
    }

    async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Reply { status: parts.status, headers: parts.headers, body }
    }

    async fn post(&self, path: &str, body: impl Into<Body>) -> Reply {
        let request = Request::post(path).header("content-type", "application/json").body(body.into());
        self.send(request.unwrap()).await
    }

    async fn check(&self, body: impl Into<Body>) -> Reply {
        self.post("/v1/check", body).await
    }

    /// The value of a metric, by its line's beginning.
    fn metric(&self, series: &str) -> String {
        let text = self.node.telemetry().encode().unwrap();
        let line = text
            .lines()
            .find(|line| line.starts_with(series))
            .unwrap_or_else(|| panic!("{series} in\n{text}"));
        line.rsplit(' ').next().unwrap().to_owned()
    }
}
