//! What a request did wrong, as `application/problem+json`.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use tower_idempotency::idempotency::CommitError;

/// A response that says what went wrong.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    detail: String,
}

impl Problem {
    /// 400: the request has to be corrected. Nothing was recorded, so the corrected one may come under the same key.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, detail: detail.into() }
    }

    /// 404.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, detail: detail.into() }
    }

    /// 415.
    pub fn unsupported_media_type(detail: impl Into<String>) -> Self {
        Self { status: StatusCode::UNSUPPORTED_MEDIA_TYPE, detail: detail.into() }
    }

    /// 500: the fault that a client asked for.
    pub fn crashed() -> Self {
        let detail = "The server failed in the middle of this. Send it again with the same key.".into();
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, detail }
    }

    /// 500: another request has registered this key meanwhile.
    pub fn key_taken() -> Self {
        let detail = "Another request registered this key first. Send it again with the same key.".into();
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, detail }
    }

    /// 503: others are served now.
    pub fn busy(detail: impl Into<String>) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, detail: detail.into() }
    }

    /// 503: something that may pass. The cause goes into the log.
    pub fn unavailable(cause: &dyn std::error::Error) -> Self {
        let source = cause.source().map(tracing::field::display);
        tracing::error!(source, "{cause}");
        let detail = "The database did not take this now. Send it again with the same key.".into();
        Self { status: StatusCode::SERVICE_UNAVAILABLE, detail }
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        Self::unavailable(&error)
    }
}

impl From<CommitError> for Problem {
    fn from(error: CommitError) -> Self {
        Self::unavailable(&error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason(),
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        let media_type = HeaderValue::from_static("application/problem+json");
        let mut response = (self.status, [(header::CONTENT_TYPE, media_type)], body.to_string()).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// The answer to every path that is none of ours.
pub async fn no_such_page() -> Problem {
    Problem::not_found("There is no such page; /reports is one.")
}
