//! Where it stands: axum, plain tower services, a hyper server over TCP, and every kind of body.

use std::convert::Infallible;

use axum::{Router, body::Body, routing::post as on_post};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, Full, StreamBody, combinators::BoxBody};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
    service::TowerToHyperService,
};
use lab::{
    body::ScriptedBody,
    exchange::{Answer, HeldRequest, post, post_without_key, send},
    handler::Handler,
};
use tokio::{net::TcpListener, task::JoinHandle};
use tower::{
    Layer, Service, ServiceBuilder, ServiceExt, limit::ConcurrencyLimit, service_fn, util::BoxCloneSyncService,
};

use crate::support::{Got, Guarded, gate, layer, post_body, store};

/// `first` is the request's first answer, `repeat` that of its repeat.
fn assert_replays(first: &Answer, repeat: &Answer) {
    assert_eq!((first.status, first.replayed()), (StatusCode::OK, Some("false")));
    assert_eq!((&repeat.body, repeat.replayed()), (&first.body, Some("true")));
}

async fn axum_twice(app: Router, path: &'static str) -> (Answer, Answer) {
    let request = || {
        let mut request = post("k", "{}").map(Body::new);
        *request.uri_mut() = http::Uri::from_static(path);
        request
    };
    (send(&app, request()).await, send(&app, request()).await)
}

/// The body that came, and whether it may have been run again.
async fn echo(body: String) -> String {
    format!("{body} {}", uuid())
}

/// Other each time.
fn uuid() -> String {
    tower_idempotency::IdempotencyKey::random().to_string()
}

#[tokio::test(start_paused = true)]
async fn around_a_router() {
    let app = Router::new().route("/reports", on_post(echo)).layer(layer(&store()));

    let (first, repeat) = axum_twice(app, "/reports").await;

    assert!(first.text().starts_with("{} "));
    assert_replays(&first, &repeat);
}

#[tokio::test(start_paused = true)]
async fn around_a_nested_router() {
    let inner = Router::new().route("/reports", on_post(echo)).layer(layer(&store()));

    let (first, repeat) = axum_twice(Router::new().nest("/api", inner), "/api/reports").await;

    assert_replays(&first, &repeat);
}

#[tokio::test(start_paused = true)]
async fn around_the_routes_of_a_router() {
    let app = Router::new().route("/reports", on_post(echo)).route_layer(layer(&store()));

    let (first, repeat) = axum_twice(app, "/reports").await;

    assert_replays(&first, &repeat);
}

#[tokio::test(start_paused = true)]
async fn on_one_route() {
    let app = Router::new().route("/reports", on_post(echo).layer(layer(&store())));

    let (first, repeat) = axum_twice(app, "/reports").await;

    assert_replays(&first, &repeat);
}

/// Rule 1: on the router and again on the route (V35).
#[tokio::test(start_paused = true)]
async fn on_the_router_and_again_on_a_route() {
    let layer = layer(&store());
    let app = Router::new().route("/reports", on_post(echo).layer(layer.clone())).layer(layer);

    let (first, repeat) = axum_twice(app, "/reports").await;

    assert_replays(&first, &repeat);
}

#[tokio::test(start_paused = true)]
async fn in_a_service_builder_around_a_function() {
    let service = ServiceBuilder::new()
        .layer(layer(&store()))
        .concurrency_limit(4)
        .service(service_fn(async |_: Got<Full<Bytes>>| Ok::<_, Infallible>(Response::new(Full::from(uuid())))));

    let (first, repeat) = (send(&service, post("k", "{}")).await, send(&service, post("k", "{}")).await);

    assert_replays(&first, &repeat);
}

/// The instance that was polled ready is the one that is called: its clones are not ready. Guarded or not.
#[tokio::test(start_paused = true)]
async fn around_a_service_whose_clones_are_not_ready() {
    let service = layer(&store()).layer(ConcurrencyLimit::new(Handler::numbered(), 1));

    let mut one = service.clone();
    for request in [post("a", "{}"), post_without_key("{}"), post("b", "{}"), lab::exchange::get("/reports")] {
        let response = ServiceExt::<HeldRequest>::ready(&mut one).await.unwrap().call(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::CREATED);
    }
}

#[tokio::test(start_paused = true)]
async fn boxed_as_a_service() {
    let service: BoxCloneSyncService<HeldRequest, _, _> =
        BoxCloneSyncService::new(layer(&store()).layer(Handler::answering(|_| Response::new(uuid().into()))));

    let (first, repeat) = (send(&service, post("k", "{}")).await, send(&service, post("k", "{}")).await);

    assert_replays(&first, &repeat);
}

/// Sends a body of this kind twice; the handler answers with a body of the same kind.
macro_rules! replays_with {
    ($name:ident, $body:expr) => {
        #[tokio::test(start_paused = true)]
        async fn $name() {
            fn returns<B>(_: &impl Fn() -> B, response: B) -> Result<Response<B>, Infallible> {
                Ok(Response::new(response))
            }
            let body = || $body;
            let service = layer(&store()).layer(service_fn(move |request: Got<_>| async move {
                let body = || $body;
                drop::<Bytes>(request.into_body().collect().await.expect("no failure").to_bytes());
                returns(&body, body())
            }));

            let (first, repeat) =
                (send(&service, post_body("k", body())).await, send(&service, post_body("k", body())).await);

            assert_replays(&first, &repeat);
        }
    };
}

replays_with!(with_full_bodies, Full::new(Bytes::from_static(b"{}")));
replays_with!(with_empty_bodies, Empty::<Bytes>::new());
replays_with!(with_bodies_of_axum, Body::from("{}"));
replays_with!(with_boxed_bodies, BoxBody::new(Full::new(Bytes::from_static(b"{}"))));
replays_with!(with_scripted_bodies, ScriptedBody::streaming().data("{").data("}"));
replays_with!(
    with_streams_as_bodies,
    StreamBody::new(futures_util::stream::iter([
        Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"{"))),
        Ok(Frame::data(Bytes::from_static(b"}")))
    ]))
);
replays_with!(
    with_unsync_boxed_bodies,
    http_body_util::combinators::UnsyncBoxBody::new(Full::new(Bytes::from_static(b"{}")))
);

/// Serves one connection, and says when it has ended.
async fn serve_one(service: Guarded) -> (http::Uri, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/reports", listener.local_addr().unwrap()).parse().unwrap();
    let serving = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        // An error is a client that hung up.
        let _ = connection.await;
    });
    (uri, serving)
}

fn client() -> Client<HttpConnector, Full<Bytes>> {
    Client::builder(TokioExecutor::new()).build_http()
}

fn to(uri: &http::Uri) -> Request<Full<Bytes>> {
    let mut request = post("k", "{}");
    *request.uri_mut() = uri.clone();
    request
}

#[tokio::test]
async fn under_a_hyper_server() {
    let (uri, _) = serve_one(layer(&store()).layer(Handler::answering(|_| Response::new(uuid().into())))).await;
    let client = client();

    let first = Answer::of(client.request(to(&uri)).await.unwrap()).await;
    let repeat = Answer::of(client.request(to(&uri)).await.unwrap()).await;

    assert_replays(&first, &repeat);
    assert_eq!(first.header("content-length"), repeat.header("content-length"));
}

/// Rule 14: a client that hangs up does not stop the work (V13).
#[tokio::test]
async fn under_a_hyper_server_whose_client_hangs_up() {
    let gate = gate();
    let handler = Handler::numbered_at(&gate);
    let layer = layer(&store());
    let service = layer.layer(handler.clone());
    let (uri, serving) = serve_one(service.clone()).await;
    let client = client();
    tokio::select! {
        _ = client.request(to(&uri)) => panic!("not answered"),
        () = handler.started(1) => {}
    }
    drop(client);
    serving.await.unwrap();

    gate.add_permits(1);
    layer.drained().await;

    let repeat = send(&service, post("k", "{}")).await;
    assert_eq!((repeat.text(), repeat.replayed(), handler.runs()), ("run 1", Some("true"), 1));
}
