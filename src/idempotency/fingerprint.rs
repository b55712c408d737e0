//! Is this the same request?
//!
//! A fingerprint is three SHA-256 digests, of a request's target, content type and body. The layer compares that of a
//! repeat with the recorded one and refuses a key that comes back with another request.

use http::{HeaderMap, header::CONTENT_TYPE, request::Parts};

use crate::{key::digest, store::Fingerprint};

mod jcs;
#[cfg(test)]
mod tests;

// Each digest has a domain of its own, with a version: a field cannot pass for another, nor a canonical body for a raw
// one. Records outlive a release, so whoever changes what goes into a digest raises its version.
const TARGET: &str = "tower-idempotency/1/target";
const CONTENT_TYPES: &str = "tower-idempotency/1/content-type";
const BODY: &str = "tower-idempotency/1/body";
const JSON_BODY: &str = "tower-idempotency/1/body/jcs";
const OWN_TARGET: &str = "tower-idempotency/1/own/target";
const OWN_CONTENT_TYPE: &str = "tower-idempotency/1/own/content-type";
const OWN_BODY: &str = "tower-idempotency/1/own/body";

/// How a fingerprint is made of a request.
///
/// Each constructor that takes [`Parts`] and a body can be handed to the layer's `with_fingerprint`, and so can a
/// function of yours that ends in one of them. They are not to be mixed: a layer that changes from one to another
/// refuses repeats of older keys until their records are past retention.
impl Fingerprint {
    /// The layer's default: two requests are the same if method, path, query, `Content-Type` lines and body are the
    /// same bytes.
    ///
    /// The path is the one that the client asked for: behind axum's nested routers, which cut it, that is
    /// `OriginalUri` (feature `axum`). The host is not part of it.
    #[must_use]
    pub fn exact(parts: &Parts, body: &[u8]) -> Self {
        Self { target: target(parts), content_type: content_type(&parts.headers), body: digest(BODY, [body]) }
    }

    /// As [`exact`](Self::exact), but compares JSON by meaning: order of members, whitespace, escapes and the spelling
    /// of numbers (`1`, `1.0`, `1e0`; `0`, `-0`) do not count; the order of an array does, and so does `null` against
    /// nothing.
    ///
    /// A body is JSON if its one `Content-Type` is `application/json` or ends in `+json`, parameters aside; the
    /// content type itself is still compared byte by byte. Compared is the canonical form of RFC 8785. Where that is
    /// undefined or would make two meanings one, the bytes are compared:
    ///
    /// - duplicate names, lone surrogates, invalid UTF-8, a byte order mark, anything that is not one JSON text;
    /// - a number that is not exactly what its canonical form says (`0.1000000000000000055`), or beyond 2^53 either
    ///   way, where programs that read integers and programs that read doubles part;
    /// - more than 128 levels of arrays and objects, which is deeper than `serde_json` reads.
    ///
    /// Takes time in proportion to the body's length, times the depth for members out of order.
    #[must_use]
    pub fn json(parts: &Parts, body: &[u8]) -> Self {
        let canonical = if is_json(&parts.headers) { jcs::canonical(body) } else { None };
        let body = canonical.map_or_else(|| digest(BODY, [body]), |canonical| digest(JSON_BODY, [canonical]));
        Self { target: target(parts), content_type: content_type(&parts.headers), body }
    }

    /// From canonical forms of your own: two requests are the same if all three are the same bytes.
    ///
    /// Whatever is left out of them is not compared: a repeat that differs there gets the first one's response.
    #[must_use]
    pub fn of(target: &[u8], content_type: &[u8], body: &[u8]) -> Self {
        Self {
            target: digest(OWN_TARGET, [target]),
            content_type: digest(OWN_CONTENT_TYPE, [content_type]),
            body: digest(OWN_BODY, [body]),
        }
    }

    /// **Dangerous: the same for every request, which switches the check off.** Whatever comes with a known key gets
    /// that key's response, on another path and with another body too.
    ///
    /// For servers that have promised their clients just that; the key alone then has to name the operation.
    #[must_use]
    pub fn unchecked(_: &Parts, _: &[u8]) -> Self {
        Self::of(&[], &[], &[])
    }
}

fn target(parts: &Parts) -> [u8; 32] {
    #[cfg(feature = "axum")]
    let uri = parts.extensions.get::<axum::extract::OriginalUri>().map_or(&parts.uri, |original| &original.0);
    #[cfg(not(feature = "axum"))]
    let uri = &parts.uri;
    // Absent in the authority form, which CONNECT alone uses.
    let path_and_query = uri.path_and_query().map_or("/", |path_and_query| path_and_query.as_str());
    digest(TARGET, [parts.method.as_str(), path_and_query])
}

/// One part a line: no line, an empty line and two lines are three digests.
fn content_type(headers: &HeaderMap) -> [u8; 32] {
    digest(CONTENT_TYPES, headers.get_all(CONTENT_TYPE))
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(CONTENT_TYPE).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return false };
    let Ok(line) = line.to_str() else { return false };
    let media_type = line.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    // RFC 6839 §3.1 registers the suffix.
    media_type == "application/json" || (media_type.contains('/') && media_type.ends_with("+json"))
}
