//! How a chain of errors is read.

use std::{error::Error, fmt, io};

use tower::BoxError;

use super::{is_timeout, surely_not_applied};

#[test]
fn what_is_not_known_proves_nothing() {
    assert!(!surely_not_applied(&Wrapped("out of luck".into())));
}

#[test]
fn a_timeout_is_found_below_what_wraps_it() {
    let timed_out = io::Error::from(io::ErrorKind::TimedOut);

    assert!(is_timeout(&Wrapped(Wrapped(timed_out.into()).into())));
    assert!(!is_timeout(&Wrapped("out of luck".into())));
}

#[cfg(feature = "hyper")]
mod refused {
    use super::{super::super::hyper::tests::refused_connection, *};

    #[tokio::test]
    async fn what_wraps_the_error_of_a_client_is_looked_through() {
        let refused = refused_connection().await;

        assert!(surely_not_applied(&Wrapped(Wrapped(refused.into()).into())));
    }

    #[tokio::test]
    async fn what_the_error_of_a_transport_wraps_is_another_exchange() {
        let tunnel = Wrapped(refused_connection().await.into());

        assert!(!surely_not_applied(&Wrapped(io::Error::other(tunnel).into())));
    }
}

#[derive(Debug)]
struct Wrapped(BoxError);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wrapped")
    }
}

impl Error for Wrapped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}
