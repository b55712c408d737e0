//! Responses as a store keeps them: in memory, and as bytes.
//!
//! The bytes of version 1, in this order. Numbers are big-endian, and a block is its length in eight bytes, then
//! that many bytes.
//!
//! | Part | Bytes |
//! |---|---|
//! | version | one, `1` |
//! | status | two |
//! | number of header lines | eight |
//! | each line: name, value, sensitive | a block, a block, and one byte, `0` or `1` |
//! | body | all that is left before the checksum |
//! | checksum | the first eight bytes of SHA-256 over everything before |
//!
//! A line's value is kept as it is, whatever its bytes; repeated lines keep their number and order. Bytes that were
//! cut short, damaged, or written by a version unknown here are refused as a whole.

use std::{error::Error, fmt};

use bytes::{Buf, BufMut, Bytes};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use sha2::{Digest, Sha256};

const VERSION: u8 = 1;
const CHECKSUM_LEN: usize = 8;

/// A response as a store keeps it: status, headers and the whole body.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// The status.
    pub status: StatusCode,
    /// The header lines, in their order.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// Never the content: it is what a user was answered.
impl fmt::Debug for StoredResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredResponse")
            .field("status", &self.status)
            .field("header_lines", &self.headers.len())
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

impl StoredResponse {
    /// The response as bytes, for a store that keeps it outside this process. [`from_bytes`](Self::from_bytes) of
    /// this and of every later version of this crate reads them.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64 * (1 + self.headers.len()) + self.body.len());
        bytes.put_u8(VERSION);
        bytes.put_u16(self.status.as_u16());
        bytes.put_u64(self.headers.len() as u64);
        for (name, value) in &self.headers {
            put_block(&mut bytes, name.as_str().as_bytes());
            put_block(&mut bytes, value.as_bytes());
            bytes.put_u8(value.is_sensitive().into());
        }
        bytes.put_slice(&self.body);
        let checksum = checksum(&bytes);
        bytes.put_slice(&checksum);
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote. The body is a window on `bytes`, not a copy.
    ///
    /// # Errors
    ///
    /// [`DamagedResponse`] if a single byte is missing, added or changed, or if the version is unknown.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self, DamagedResponse> {
        let mut rest = verified(bytes.into())?;
        let status = rest.try_get_u16().map_err(malformed)?;
        let lines = rest.try_get_u64().map_err(malformed)?;
        // Grown line by line: the number of lines is believed only as far as there are bytes for them.
        let mut headers = HeaderMap::new();
        for _ in 0..lines {
            let (name, value) = take_line(&mut rest)?;
            headers.try_append(name, value).map_err(malformed)?;
        }
        Ok(Self { status: StatusCode::from_u16(status).map_err(malformed)?, headers, body: rest })
    }

    /// The same response in memory of its own. A body or a header value is often a small window on a large read
    /// buffer, which a record would keep alive for as long as its retention.
    pub(super) fn detached(&self) -> Self {
        let own = |value: &HeaderValue| {
            let mut copy = HeaderValue::from_bytes(value.as_bytes()).expect("the bytes of a header value");
            copy.set_sensitive(value.is_sensitive());
            copy
        };
        let mut headers = HeaderMap::with_capacity(self.headers.keys_len());
        headers.extend(self.headers.iter().map(|(name, value)| (name.clone(), own(value))));
        Self { status: self.status, headers, body: Bytes::copy_from_slice(&self.body) }
    }
}

/// Bytes that are no stored response, a damaged one, or one of an unknown version.
#[derive(Debug)]
pub struct DamagedResponse(Damage);

#[derive(Debug)]
enum Damage {
    Version(u8),
    Bytes,
}

impl fmt::Display for DamagedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Damage::Version(version) => write!(f, "a stored response of the unknown version {version}"),
            Damage::Bytes => f.write_str("the bytes of a stored response are damaged"),
        }
    }
}

impl Error for DamagedResponse {}

/// What stands between version and checksum. The version is judged first: another one may have another checksum.
fn verified(mut bytes: Bytes) -> Result<Bytes, DamagedResponse> {
    match bytes.first() {
        Some(&VERSION) => {}
        Some(&version) => return Err(DamagedResponse(Damage::Version(version))),
        None => return Err(DamagedResponse(Damage::Bytes)),
    }
    let end = bytes.len().checked_sub(CHECKSUM_LEN).ok_or(DamagedResponse(Damage::Bytes))?;
    let written = bytes.split_off(end);
    if written != checksum(&bytes)[..] {
        return Err(DamagedResponse(Damage::Bytes));
    }
    bytes.try_get_u8().map_err(malformed)?;
    Ok(bytes)
}

fn take_line(rest: &mut Bytes) -> Result<(HeaderName, HeaderValue), DamagedResponse> {
    let name = HeaderName::from_lowercase(&take_block(rest)?).map_err(malformed)?;
    let mut value = HeaderValue::from_bytes(&take_block(rest)?).map_err(malformed)?;
    match rest.try_get_u8().map_err(malformed)? {
        0 => {}
        1 => value.set_sensitive(true),
        _ => return Err(DamagedResponse(Damage::Bytes)),
    }
    Ok((name, value))
}

fn take_block(rest: &mut Bytes) -> Result<Bytes, DamagedResponse> {
    let len = usize::try_from(rest.try_get_u64().map_err(malformed)?).map_err(malformed)?;
    if len > rest.len() {
        return Err(DamagedResponse(Damage::Bytes));
    }
    Ok(rest.split_to(len))
}

fn put_block(bytes: &mut Vec<u8>, block: &[u8]) {
    bytes.put_u64(block.len() as u64);
    bytes.put_slice(block);
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_LEN] {
    Sha256::digest(bytes)[..CHECKSUM_LEN].try_into().expect("a digest is longer")
}

/// The checksum was right and the layout is not: nothing but another writer can have made such bytes, and what
/// exactly it got wrong helps nobody.
fn malformed<E>(_: E) -> DamagedResponse {
    DamagedResponse(Damage::Bytes)
}

#[cfg(test)]
mod tests;
