//! The admin port: is it alive, is it ready, what does it measure.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use weir_core::Store;

use crate::node::Node;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// `/livez`, `/readyz` and `/metrics` of a node.
pub fn router<S: Store + 'static>(node: Arc<Node<S>>) -> Router {
    Router::new()
        .route("/livez", get(|| async { "alive\n" }))
        .route("/readyz", get(readyz::<S>))
        .route("/metrics", get(metrics::<S>))
        .with_state(node)
}

/// 200 while requests are taken, 503 from the moment that a stop is asked for. Policies that were refused are
/// told of and change nothing: the node decides by those that it has. So is a store that does not answer, while
/// policies answer by `on_store_failure`: other nodes have the same store, so nothing is gained by sending requests
/// there.
async fn readyz<S: Store>(State(node): State<Arc<Node<S>>>) -> Response {
    if !node.is_ready() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    let policies = node.refused_policies().map(|why| format!("older policies are in force: {why}\n"));
    let store = node.store_trouble().map(|why| format!("degraded: {why}\n"));
    let details: String = [policies, store].into_iter().flatten().collect();
    (StatusCode::OK, format!("ready\n{details}")).into_response()
}

async fn metrics<S: Store>(State(node): State<Arc<Node<S>>>) -> Response {
    match node.telemetry().encode() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
