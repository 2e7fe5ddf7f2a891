//! The HTTP door: `POST /v1/check` and `POST /v1/check/batch`.

mod body;
mod cost;
mod decode;
mod problem;
mod render;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request as HttpRequest, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use weir_core::fields::LegacyFields;
use weir_core::{Request, Store};
use weir_runtime::Node;

use problem::Problem;

/// What the HTTP door is told about itself.
#[derive(Clone, Copy, Debug)]
pub struct HttpSettings {
    /// The largest request body, in bytes.
    pub body_max: usize,
    /// Whether the older `X-RateLimit-*` fields are sent.
    pub legacy_fields: LegacyFields,
}

/// What every request to this door needs.
#[derive(Debug)]
struct Door<S> {
    node: Arc<Node<S>>,
    settings: HttpSettings,
}

impl<S> Clone for Door<S> {
    fn clone(&self) -> Self {
        Self { node: self.node.clone(), settings: self.settings }
    }
}

/// The routes of this door.
pub fn router<S: Store + 'static>(node: Arc<Node<S>>, settings: HttpSettings) -> Router {
    Router::new()
        .route("/v1/check", post(check::<S>))
        .route("/v1/check/batch", post(check_batch::<S>))
        .fallback(|| async { problem::not_found() })
        .method_not_allowed_fallback(|| async { problem::method_not_allowed() })
        .with_state(Door { node, settings })
}

async fn check<S: Store>(State(door): State<Door<S>>, request: HttpRequest) -> Response {
    match door.check(request).await {
        Ok(response) => response,
        Err(problem) => door.refused(problem),
    }
}

async fn check_batch<S: Store>(State(door): State<Door<S>>, request: HttpRequest) -> Response {
    match door.check_batch(request).await {
        Ok(response) => response,
        Err(problem) => door.refused(problem),
    }
}

impl<S: Store> Door<S> {
    async fn check(&self, request: HttpRequest) -> Result<Response, Problem> {
        let bytes = body::read(request, self.settings.body_max).await?;
        let check: decode::Check<'_> = decode::body(&bytes)?;
        let verdict = self
            .node
            .check(&check.request())
            .await
            .map_err(|unknown| problem::unknown_domain(&unknown, None))?;
        Ok(render::verdict(&verdict, self.settings.legacy_fields))
    }

    async fn check_batch(&self, request: HttpRequest) -> Result<Response, Problem> {
        let bytes = body::read(request, self.settings.body_max).await?;
        let batch: decode::CheckBatch<'_> = decode::body(&bytes)?;
        let requests: Vec<Request<'_>> = batch.checks.iter().map(decode::Check::request).collect();
        let verdicts = self.node.check_all(&requests).await;
        let verdicts =
            verdicts.map_err(|unknown| problem::unknown_domain(&unknown.reason, Some(unknown.index)))?;
        Ok(render::verdicts(&verdicts))
    }

    /// Values are not logged: they may be anybody's.
    fn refused(&self, problem: Problem) -> Response {
        // A request of an unknown domain was understood, and is counted as such.
        if problem.status != StatusCode::NOT_FOUND {
            self.node.telemetry().bad_request();
        }
        tracing::debug!(status = problem.status.as_u16(), field = problem.field, "refused to decide");
        problem.into()
    }
}
