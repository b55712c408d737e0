//! What the worker makes of an answer, against a second service that is a function. The clock is paused.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use deadpool_sqlite::Pool;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use lab::bug_tracker::{
    outbox::{self, RowKey, Sender, Until, Worker, sender::retry},
    reports::NewReport,
    table,
};
use tokio::time::timeout;
use tower::{BoxError, ServiceExt, service_fn};
use tower_idempotency::{IdempotencyKey, RetryLayer};

use crate::{
    front::{kept, service},
    office::{Office, report},
};

#[tokio::test(start_paused = true)]
async fn a_row_that_is_refused_is_set_aside_and_the_next_goes_on() {
    for refusal in [400, 413, 415, 422] {
        let office = Office::open();
        let pool = with_rows(&office, 2).await;
        let (log, sender) = answering(retry(), [refusal, 201]);

        Worker::new(pool, sender).run(Until::Empty).await;

        assert_eq!(office.answers(), [Some(refusal), Some(201)]);
        assert_eq!(*log.lock().unwrap(), ["row-1", "row-2"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_says_nothing_of_the_row_leaves_it_first_in_the_line() {
    for status in [301, 401, 404, 409, 410, 500, 503] {
        let office = Office::open();
        let pool = with_rows(&office, 2).await;
        let (log, sender) = answering(retry(), [status]);

        let run = timeout(Duration::from_secs(60), Worker::new(pool, sender).run(Until::Empty)).await;

        assert!(run.is_err(), "{status} ended it");
        assert_eq!(office.answers(), [None, None], "{status}");
        assert!(log.lock().unwrap().iter().all(|key| key == "row-1"), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_marked_410_is_a_delivery_whose_answer_was_not_kept() {
    let office = Office::open();
    let pool = with_rows(&office, 1).await;
    let replay = service_fn(|_: Request<Full<Bytes>>| async {
        let gone = Response::builder().status(410).header("idempotency-replayed", "true");
        Ok::<_, BoxError>(gone.body(Full::<Bytes>::default()).unwrap())
    });

    Worker::new(pool, over(replay, retry())).run(Until::Empty).await;

    assert_eq!(office.answers(), [Some(410)]);
}

/// The work was done and its answer lost: the retry layer sends it again, under the same key.
#[tokio::test]
async fn a_lost_answer_is_sent_again_and_done_once() {
    let office = Office::open();
    let pool = with_rows(&office, 1).await;
    let service = service(&office.notes).await;
    let log = Log::default();
    let seen = Arc::clone(&log);
    let loses_the_first_answer = service_fn(move |request: Request<Full<Bytes>>| {
        let (service, first) = (service.clone(), seen.lock().unwrap().is_empty());
        seen.lock().unwrap().push(key(&request));
        async move {
            let answer = service.oneshot(request).await?;
            if first { Err(BoxError::from("the connection was reset")) } else { Ok(answer) }
        }
    });

    Worker::new(pool, over(loses_the_first_answer, retry())).run(Until::Empty).await;

    assert_eq!(*log.lock().unwrap(), ["row-1", "row-1"]);
    assert_eq!((office.answers(), kept(&office.notes)), (vec![Some(201)], vec!["abc".to_owned()]));
}

/// The keys that came, in their order.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

/// The outbox of a tracker without a server, with rows whose keys are `row-1`, `row-2` and so on.
pub(crate) async fn with_rows(office: &Office, rows: i64) -> Pool {
    let (pool, _) = table::open(Path::new(&office.bugs)).await.unwrap();
    let connection = rusqlite::Connection::open(&office.bugs).unwrap();
    let report: NewReport = serde_json::from_str(&report("abc")).unwrap();
    for id in 1..=rows {
        let key = IdempotencyKey::parse(&format!("row-{id}")).unwrap();
        outbox::table::add(&connection, &key, id, &report).unwrap();
    }
    pool
}

/// A service that answers with these, and then with the last of them for ever.
pub(crate) fn answering<const N: usize>(retry: RetryLayer, answers: [u16; N]) -> (Log, Sender) {
    let log = Log::default();
    let seen = Arc::clone(&log);
    let service = service_fn(move |request: Request<Full<Bytes>>| {
        let mut seen = seen.lock().unwrap();
        let status = StatusCode::from_u16(answers[seen.len().min(N - 1)]).unwrap();
        seen.push(key(&request));
        async move { Ok::<_, BoxError>(Response::builder().status(status).body(Full::<Bytes>::default()).unwrap()) }
    });
    (log, over(service, retry))
}

fn over<S, R>(service: S, retry: RetryLayer) -> Sender
where
    S: tower::Service<Request<Full<Bytes>>, Response = Response<R>, Error: Into<BoxError>, Future: Send + 'static>
        + Clone
        + Send
        + Sync
        + 'static,
    R: http_body::Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    Sender::over(service, retry, "http://lab/notifications".parse().unwrap(), RowKey::Sent)
}

fn key(request: &Request<Full<Bytes>>) -> String {
    request.headers()["idempotency-key"].to_str().unwrap().trim_matches('"').to_owned()
}
