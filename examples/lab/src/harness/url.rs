//! Where the bug tracker is.

use std::{error::Error, fmt, net::SocketAddr, str::FromStr};

use http::{Uri, uri::Scheme};

/// The address of a bug tracker: `http`, a host, and perhaps a path that its pages are under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(String);

/// No address that the harness can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidBaseUrl;

impl BaseUrl {
    /// The page that reports are filed at.
    pub fn reports(&self) -> Uri {
        format!("{}/reports", self.0).parse().expect("a base is a URI, and stays one with a longer path")
    }
}

impl FromStr for BaseUrl {
    type Err = InvalidBaseUrl;

    fn from_str(text: &str) -> Result<Self, InvalidBaseUrl> {
        let uri: Uri = text.parse().map_err(|_| InvalidBaseUrl)?;
        // The client has no TLS, and hyper reports an address without a host as a failure of the transport.
        match (uri.scheme() == Some(&Scheme::HTTP), uri.authority(), uri.query()) {
            (true, Some(host), None) => Ok(Self(format!("http://{host}{}", uri.path().trim_end_matches('/')))),
            _ => Err(InvalidBaseUrl),
        }
    }
}

impl From<SocketAddr> for BaseUrl {
    fn from(address: SocketAddr) -> Self {
        Self(format!("http://{address}"))
    }
}

impl fmt::Display for InvalidBaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an address like http://127.0.0.1:3000")
    }
}

impl Error for InvalidBaseUrl {}
