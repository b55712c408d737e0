//! Over real connections: hyper's server and hyper's client, each with its layer.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use lab::{
    app::Hold,
    exchange::{HeldRequest, post_without_key},
    faults::{Fault, Faults},
    wire::Server,
};
use tokio::net::TcpSocket;
use tower::{BoxError, Layer, Service, ServiceBuilder};
use tower_idempotency::{
    RetryLayer,
    retry::{
        HoldResponses,
        Outcome::{Applied, NotApplied, Unknown},
        RetryError,
        Stopped::{Attempts, NotRepeatable, Succeeded},
    },
};

use crate::{
    seen_red::assumed_repeatable,
    shop::{Shop, four_attempts, order, place, replay, taken},
};

/// Long for an attempt that is answered, short for a test.
const TIMEOUT: Duration = Duration::from_millis(500);

fn hyper() -> Client<HttpConnector, Full<Bytes>> {
    Client::builder(TokioExecutor::new()).build_http()
}

/// A client whose attempts go to these servers in turn; those beyond the last go there too.
fn client_of(
    retry: &RetryLayer,
    servers: &[SocketAddr],
) -> impl Service<
    HeldRequest,
    Response = Response<impl Body<Data = Bytes, Error: Into<BoxError>> + use<>>,
    Error = RetryError,
> + Clone
+ use<> {
    let (servers, next) = (servers.to_vec(), Arc::new(AtomicUsize::new(0)));
    ServiceBuilder::new()
        .layer(retry.clone())
        .layer(HoldResponses::up_to(1 << 20))
        .map_request(move |request: Request<Full<Bytes>>| {
            let server = servers[next.fetch_add(1, Ordering::SeqCst).min(servers.len() - 1)];
            let (mut head, body) = request.into_parts();
            head.uri = format!("http://{server}{}", head.uri).parse().unwrap();
            Request::from_parts(head, body)
        })
        .service(hyper())
}

/// An address that refuses connections: bound, so that nobody else takes it, and not listening.
fn nobody() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

#[tokio::test]
async fn an_answer_lost_or_cut_after_the_commit_is_replayed() {
    for fault in [Fault::LoseAnswer, Fault::CutAnswer] {
        let shop = Shop::open().await;
        let server = Server::start(Faults::first([fault]).layer(shop.guarded())).await;
        let client = client_of(&four_attempts(), &[server.address]);

        let ended = place(&client, order("k")).await;

        assert_eq!(ended.told(), Some((2, Succeeded, Applied)), "{fault:?}");
        assert_eq!((ended.answer, shop.orders()), (replay(1), vec![1]), "{fault:?}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_or_a_503_before_the_request_is_tried_again() {
    for fault in [Fault::ResetBefore, Fault::AnsweredBefore(StatusCode::SERVICE_UNAVAILABLE)] {
        let shop = Shop::open().await;
        let server = Server::start(Faults::first([fault]).layer(shop.guarded())).await;
        let client = client_of(&four_attempts(), &[server.address]);

        let ended = place(&client, order("k")).await;

        assert_eq!(ended.told(), Some((2, Succeeded, Applied)), "{fault:?}");
        assert_eq!((ended.answer, shop.orders()), (taken(1), vec![1]), "{fault:?}");
    }
}

#[tokio::test]
async fn a_connection_that_is_refused_at_first_is_tried_again_without_a_key_too() {
    let shop = Shop::open().await;
    let server = Server::start(shop.guarded()).await;
    let keyless = Server::start(shop.naive()).await;
    let (_socket, nobody) = nobody();

    let keyed = place(&client_of(&four_attempts(), &[nobody, server.address]), order("k")).await;
    let bare = place(&client_of(&four_attempts(), &[nobody, keyless.address]), post_without_key("{}")).await;

    assert_eq!((keyed.told(), keyed.answer), (Some((2, Succeeded, Applied)), taken(1)));
    assert_eq!((bare.told(), bare.answer), (Some((2, Succeeded, Applied)), taken(2)));
    assert_eq!(shop.orders(), [1, 2]);
}

#[tokio::test]
async fn where_nobody_listens_the_outcome_is_not_applied() {
    let (_socket, nobody) = nobody();

    let ended = place(&client_of(&four_attempts(), &[nobody]), post_without_key("{}")).await;

    assert_eq!(ended.told(), Some((4, Attempts, NotApplied)));
}

#[tokio::test]
async fn where_every_answer_is_lost_the_outcome_is_unknown() {
    let shop = Shop::open().await;
    let server = Server::start(Faults::always(Fault::LoseAnswer).layer(shop.guarded())).await;

    let ended = place(&client_of(&four_attempts(), &[server.address]), order("k")).await;

    assert_eq!(ended.told(), Some((4, Attempts, Unknown)));
    assert_eq!(shop.orders(), [1]);
}

#[tokio::test]
async fn an_order_without_a_key_whose_answer_is_lost_is_sent_once() {
    let shop = Shop::open().await;
    let server = Server::start(Faults::first([Fault::LoseAnswer]).layer(shop.naive())).await;

    let ended = place(&client_of(&four_attempts(), &[server.address]), post_without_key("{}")).await;

    assert_eq!(ended.told(), Some((1, NotRepeatable, Unknown)));
    assert_eq!(shop.orders(), [1]);
}

/// The client hangs up, and the work goes on without it.
#[tokio::test]
async fn an_attempt_that_times_out_while_its_work_runs_is_replayed() {
    let shop = Shop::open().await;
    let hold = Hold::new();
    let work = shop.guarded_at(&hold);
    let faults = Faults::none();
    let server = Server::start(faults.layer(work)).await;
    let client = client_of(&four_attempts().attempt_timeout(TIMEOUT), &[server.address]);

    let let_go = async {
        faults.saw(2).await;
        hold.let_go(1);
    };
    let (ended, ()) = tokio::join!(place(&client, order("k")), let_go);

    let failures = ended.info.as_ref().unwrap().failures();
    assert_eq!(failures[0].failure().to_string(), "failed: the attempt timed out");
    assert_eq!((ended.answer, shop.orders(), shop.runs()), (replay(1), vec![1], 1));
}

#[tokio::test]
async fn a_handler_that_fails_once_is_run_again() {
    let shop = Shop::open().await;
    let work = shop.guarded_after(async |run| match run {
        1 => Err(StatusCode::INTERNAL_SERVER_ERROR),
        _ => Ok(()),
    });
    let server = Server::start(work).await;

    let ended = place(&client_of(&four_attempts(), &[server.address]), order("k")).await;

    assert_eq!(ended.told(), Some((2, Succeeded, Applied)));
    assert_eq!((ended.answer, shop.orders()), (taken(2), vec![2]));
}

/// Seen red.
#[tokio::test]
async fn without_a_key_an_order_whose_answer_is_lost_or_cut_is_taken_twice() {
    for fault in [Fault::LoseAnswer, Fault::CutAnswer] {
        let shop = Shop::open().await;
        let server = Server::start(Faults::first([fault]).layer(shop.naive())).await;

        let ended = place(&client_of(&four_attempts(), &[server.address]), assumed_repeatable()).await;

        assert_eq!(ended.told(), Some((2, Succeeded, Applied)), "{fault:?}");
        assert_eq!((ended.answer, shop.orders()), (taken(2), vec![1, 2]), "{fault:?}");
    }
}
