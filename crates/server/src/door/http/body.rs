//! Reading a request body within limits of type, size and time.

use std::error::Error as _;
use std::time::Duration;

use axum::body::{Bytes, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::LengthLimitError;

use super::problem::Problem;

/// A client that takes longer to send its body is turned away.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The body of a request that says it is JSON.
pub(super) async fn read(request: Request, max: usize) -> Result<Bytes, Problem> {
    check_type(request.headers())?;
    check_encoding(request.headers())?;
    let body = request.into_body();
    let too_large = || {
        let detail = format!("the body is larger than {max} bytes; send less at once");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    };
    // What says beforehand that it is too large is not read at all.
    if body.size_hint().lower() > max as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, max)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_long(&error) => Err(too_large()),
        Ok(Err(_)) => Err(Problem::new(StatusCode::BAD_REQUEST, "the body ended before it was complete")),
        Err(_) => Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the body took longer than 10 s to arrive")),
    }
}

fn is_too_long(error: &axum::Error) -> bool {
    error.source().is_some_and(<dyn std::error::Error>::is::<LengthLimitError>)
}

/// Compressed bodies are not taken: they are small, and could be bombs.
fn check_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.get(header::CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => {
            let detail = "the body must not be compressed: leave Content-Encoding out";
            Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
        }
        _ => Ok(()),
    }
}

/// A request without a type is taken at its body's word (RFC 9110, section 8.3).
fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        let detail = "the body must be JSON: send Content-Type: application/json (with curl: --json)";
        Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
    }
}
