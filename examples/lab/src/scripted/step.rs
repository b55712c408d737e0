//! The steps of a script.

use std::{
    io::{self, ErrorKind},
    time::Duration,
};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use tower::BoxError;

use super::ScriptedBody;

/// What happens to one attempt.
pub enum Step {
    /// It is answered at once.
    Answer(Response<ScriptedBody>),
    /// It is answered after a while.
    Late(Duration, Response<ScriptedBody>),
    /// It fails at once.
    Fail(BoxError),
    /// It is never answered.
    Never,
    /// The service was not ready for it.
    NotReady(BoxError),
    /// The service is ready for it after a while.
    ReadyAfter(Duration),
}

impl Step {
    /// Answers with this status and no body.
    pub fn status(status: u16) -> Self {
        Self::Answer(answer(status, &[], ""))
    }

    /// Answers with this status and these headers.
    pub fn with_headers(status: u16, headers: &[(&'static str, &str)]) -> Self {
        Self::Answer(answer(status, headers, ""))
    }

    /// Answers with this status and this body, once.
    pub fn with_body<B>(status: u16, body: B) -> Self
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Sync + 'static,
    {
        Self::Answer(answer(status, &[], "").map(|_| body.map_err(Into::into).boxed()))
    }

    /// Fails with an error of the transport, as an HTTP client does: nothing is known of the request.
    pub fn reset() -> Self {
        Self::Fail(io::Error::from(ErrorKind::ConnectionReset).into())
    }

    /// Fails to connect.
    pub fn refused() -> Self {
        Self::Fail(io::Error::from(ErrorKind::ConnectionRefused).into())
    }

    /// Only the bodies that are empty or in memory can be answered twice, and errors of the transport.
    pub(super) fn again(&mut self) -> Self {
        match self {
            Self::Answer(response) => Self::Answer(answer_again(response)),
            Self::Late(after, response) => Self::Late(*after, answer_again(response)),
            Self::Fail(error) => Self::Fail(error_again(error)),
            Self::NotReady(error) => Self::NotReady(error_again(error)),
            Self::Never => Self::Never,
            Self::ReadyAfter(time) => Self::ReadyAfter(*time),
        }
    }
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Answer(response) => write!(f, "Answer({})", response.status()),
            Self::Late(after, response) => write!(f, "Late({after:?}, {})", response.status()),
            Self::Fail(error) => write!(f, "Fail({error})"),
            Self::Never => f.write_str("Never"),
            Self::NotReady(error) => write!(f, "NotReady({error})"),
            Self::ReadyAfter(time) => write!(f, "ReadyAfter({time:?})"),
        }
    }
}

/// A response with its body in memory.
pub fn answer(status: u16, headers: &[(&'static str, &str)], body: impl Into<Bytes>) -> Response<ScriptedBody> {
    let mut response = Response::new(Full::new(body.into()).map_err(|never| match never {}).boxed());
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    for (name, value) in headers {
        response.headers_mut().append(*name, value.parse().expect("a header value"));
    }
    response
}

/// The same head, and no body: a test that needs a body in each answer writes each answer.
fn answer_again(response: &mut Response<ScriptedBody>) -> Response<ScriptedBody> {
    let mut again = answer(response.status().as_u16(), &[], "");
    *again.headers_mut() = response.headers().clone();
    std::mem::replace(response, again)
}

fn error_again(error: &mut BoxError) -> BoxError {
    let again = match error.downcast_ref::<io::Error>() {
        Some(error) => io::Error::from(error.kind()).into(),
        None => error.to_string().into(),
    };
    std::mem::replace(error, again)
}
