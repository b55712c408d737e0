//! Reads what a client sends as JSON.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::header;
use serde::de::DeserializeOwned;

use super::problem::Problem;

/// Reads an object strictly: unknown, missing and doubled members, wrong types and other media types are refused.
pub async fn read_object<T, S>(request: Request, state: &S) -> Result<T, Problem>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    let media_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = media_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(Problem::unsupported_media_type("This is sent as application/json."));
    }
    let body = Bytes::from_request(request, state).await.map_err(|error| Problem::bad_request(error.to_string()))?;
    // serde reads a struct from an array of its members too.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(Problem::bad_request("This is sent as a JSON object."));
    }
    serde_json::from_slice(&body).map_err(|error| Problem::bad_request(format!("Not understood: {error}.")))
}
