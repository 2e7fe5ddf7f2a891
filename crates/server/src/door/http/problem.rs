//! Errors as `application/problem+json` (RFC 9457): what is wrong, in which field, and what to do.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use weir_core::UnknownDomain;

pub(super) const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// A request that is not decided. Nothing was charged.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    pub(super) detail: String,
    /// The offending field of the body, such as `attributes.tenant` or `checks[3].cost`.
    pub(super) field: Option<String>,
}

#[derive(Serialize)]
struct ProblemBody<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), field: None }
    }

    pub(super) fn in_field(self, field: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..self }
    }
}

impl From<Problem> for Response {
    fn from(problem: Problem) -> Self {
        let body = ProblemBody {
            // RFC 9457, section 4.2.1: the status says all that the type would.
            r#type: "about:blank",
            title: problem.status.canonical_reason().unwrap_or("Error"),
            status: problem.status.as_u16(),
            detail: &problem.detail,
            field: problem.field.as_deref(),
        };
        // Strings and numbers always serialise.
        let mut response = Self::new(Body::from(serde_json::to_vec(&body).unwrap_or_default()));
        *response.status_mut() = problem.status;
        response.headers_mut().insert(header::CONTENT_TYPE, PROBLEM_JSON);
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

pub(super) fn not_found() -> Response {
    let detail = "there is nothing here; this door answers POST /v1/check and POST /v1/check/batch";
    Problem::new(StatusCode::NOT_FOUND, detail).into()
}

pub(super) fn method_not_allowed() -> Response {
    let mut response: Response =
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this path answers POST only").into();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

/// `index` is the place in a batch.
pub(super) fn unknown_domain(unknown: &UnknownDomain, index: Option<usize>) -> Problem {
    let field = index.map_or_else(|| "domain".to_owned(), |index| format!("checks[{index}].domain"));
    Problem::new(StatusCode::NOT_FOUND, unknown.to_string()).in_field(field)
}
