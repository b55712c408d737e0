//! V13, V26 and V34: callers that hang up. Over real TCP connections where the case is about them.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::{HeaderValue, StatusCode};
use lab::{
    app::{App, Hold, Runs, created, streaming},
    clock::until,
    exchange::post,
    gate::{Gate, Verb},
    problem,
    wire::Server,
};
use tokio::{
    sync::{Semaphore, mpsc},
    time::timeout,
};
use tower::{Layer, ServiceExt, limit::ConcurrencyLimit};
use tower_idempotency::MemoryStore;

use crate::{gated, held, shared};

/// Far more than any of these takes: no test waits for it.
const NET: Duration = Duration::from_secs(60);

async fn in_time<T>(event: impl Future<Output = T>) -> T {
    timeout(NET, event).await.expect("it happens soon")
}

/// V13: the client closes its connection while the handler runs: the run goes on, the record is there, and the repeat
/// replays.
#[tokio::test]
async fn v13_a_client_that_hangs_up_while_the_handler_runs_finds_the_answer() {
    let (hold, layer) = (Hold::new(), shared(MemoryStore::new()));
    let app = held(&layer, &hold);
    let server = Server::of_app(app.service()).await;
    let mut client = server.connect().await;
    client.post("k", "{}").await;
    in_time(hold.reached()).await;

    drop(client);
    in_time(server.connections_ended(1)).await;
    hold.let_go(1);
    in_time(layer.drained()).await;

    let repeat = in_time(server.send(post("k", "{}"))).await;
    assert_eq!((repeat.text(), repeat.replayed(), app.runs()), ("run 1", Some("true"), 1));
}

/// V13: the client closes its connection after the handler's end, while the key is being closed.
#[tokio::test]
async fn v13_a_client_that_hangs_up_before_the_answer_finds_it() {
    let (store, door) = (gated(), Arc::new(Semaphore::new(0)));
    store.set(Verb::Complete, Gate::Permit(Arc::clone(&door)));
    let layer = shared(store.clone());
    let app = App::numbered(&layer);
    let server = Server::of_app(app.service()).await;
    let mut client = server.connect().await;
    client.post("k", "{}").await;
    in_time(until(|| store.calls(Verb::Complete) == 1)).await;

    drop(client);
    in_time(server.connections_ended(1)).await;
    door.add_permits(1);
    in_time(layer.drained()).await;

    let repeat = in_time(server.send(post("k", "{}"))).await;
    assert_eq!((repeat.text(), repeat.replayed(), app.runs()), ("run 1", Some("true"), 1));
}

/// V13: the client closes its connection while the answer is being sent: the repeat gets all of it.
#[tokio::test]
async fn v13_a_client_that_hangs_up_in_the_middle_of_the_answer_finds_all_of_it() {
    const LARGE: usize = 16 << 20;
    let app = App::new(&shared(MemoryStore::new()).max_recorded_body(LARGE), |_, _| async {
        created((0..LARGE).map(|n| n as u8).collect::<Vec<_>>())
    });
    let server = Server::of_app(app.service()).await;
    let mut client = server.connect().await;
    client.post("k", "{}").await;
    assert!(in_time(client.read_head()).await.starts_with("HTTP/1.1 201"));

    drop(client);
    in_time(server.connections_ended(1)).await;

    let repeat = in_time(server.send(post("k", "{}"))).await;
    assert_eq!((repeat.status, repeat.replayed()), (StatusCode::CREATED, Some("true")));
    assert!(repeat.body.len() == LARGE && repeat.body.iter().enumerate().all(|(n, byte)| *byte == n as u8));
}

/// V26: over the wire nothing leaves before the key is closed; then the answer at once.
#[tokio::test]
async fn v26_not_a_byte_is_on_the_wire_before_the_key_is_closed() {
    let (store, door) = (gated(), Arc::new(Semaphore::new(0)));
    store.set(Verb::Complete, Gate::Permit(Arc::clone(&door)));
    let app = App::numbered(&shared(store.clone()));
    let server = Server::of_app(app.service()).await;
    let mut client = server.connect().await;
    client.post("k", "{}").await;
    in_time(until(|| store.calls(Verb::Complete) == 1)).await;
    assert!(!client.has_something_to_read());

    door.add_permits(1);

    assert!(in_time(client.read_until("run 1")).await.starts_with("HTTP/1.1 201"));
}

/// V26: a client that hangs up on a response which never ends: the body ends with its caller, the key stays closed.
#[tokio::test]
async fn v26_a_stream_ends_with_its_caller_and_its_key_stays_closed() {
    let (bodies, mut fed_bodies) = mpsc::unbounded_channel();
    let app = App::new(&shared(MemoryStore::new()), move |_, _| {
        let (events, body) = streaming();
        bodies.send(events).unwrap();
        let mut response = created("").map(|_| body);
        response.headers_mut().insert("content-type", HeaderValue::from_static("text/event-stream"));
        async move { response }
    });
    let server = Server::of_app(app.service()).await;
    let mut client = server.connect().await;
    client.post("k", "{}").await;
    let events = in_time(fed_bodies.recv()).await.unwrap();
    events.send("data: 1\n\n".into()).unwrap();
    in_time(client.read_until("data: 1\n\n")).await;

    drop(client);
    in_time(events.closed()).await;

    let repeat = in_time(server.send(post("k", "{}"))).await;
    assert_eq!(problem::kind(&repeat), (410, "NotReplayable".into()));
    assert_eq!(app.runs(), 1);
}

/// V34: a handler that never returns, and a client that sends such requests and hangs up, a thousand times: the limit
/// inside the layer bounds how many run, and each task ends at `max_run`.
#[tokio::test(start_paused = true)]
async fn v34_a_thousand_callers_that_hang_up_are_bounded_by_the_limit_inside() {
    let layer = shared(MemoryStore::new()).max_run(Duration::from_secs(60));
    let runs = Runs::default();
    let endless = runs.counting(|_, _| pending());
    let service = layer.layer(ConcurrencyLimit::new(endless, 10));
    let callers: Vec<_> =
        (0..1_000).map(|n| tokio::spawn(service.clone().oneshot(post(&n.to_string(), "{}")))).collect();
    until(|| runs.count() == 10).await;
    for caller in callers {
        caller.abort();
        assert!(caller.await.is_err_and(|error| error.is_cancelled()));
    }
    let began = tokio::time::Instant::now();

    layer.drained().await;

    assert_eq!(runs.count(), 10);
    assert!(began.elapsed() <= Duration::from_secs(60));
}

/// V34: over TCP; the connections end at once, the runs that they left at `max_run`.
#[tokio::test]
async fn v34_clients_that_hang_up_leave_nothing_behind() {
    let layer = shared(MemoryStore::new()).max_run(Duration::from_millis(200));
    let (runs, running) = (Runs::default(), Arc::new(AtomicUsize::new(0)));
    let most = Arc::new(AtomicUsize::new(0));
    let endless = {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        runs.counting(move |_, _| {
            let run = Running::begin(&running, &most);
            async move {
                let _run = run;
                pending().await
            }
        })
    };
    let server = Server::start(layer.layer(ConcurrencyLimit::new(endless, 10))).await;
    for n in 0..100 {
        let mut client = server.connect().await;
        client.post(n, "{}").await;
    }
    in_time(server.connections_ended(100)).await;

    in_time(layer.drained()).await;

    assert_eq!(running.load(Ordering::SeqCst), 0);
    assert!(most.load(Ordering::SeqCst) <= 10);
    assert!(runs.count() > 0);
}

/// Counts how many run, until it is dropped.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn begin(running: &Arc<AtomicUsize>, most: &AtomicUsize) -> Self {
        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Self(Arc::clone(running))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// V34: the key of a run that ended at `max_run` is judged as a failure: free at once, and the caller is told.
#[tokio::test(start_paused = true)]
async fn v34_a_run_that_is_out_of_time_is_answered_503() {
    let app = App::new(&shared(MemoryStore::new()), |run, _| async move {
        if run == 1 { pending().await } else { created("run 2") }
    });
    let began = tokio::time::Instant::now();
    assert_eq!(problem::kind(&app.send(post("k", "{}")).await), (503, "RunTimedOut".into()));
    assert_eq!(began.elapsed(), Duration::from_secs(15 * 60));
    assert_eq!(app.send(post("k", "{}")).await.text(), "run 2");
}

/// V34: a limit that no clock can hold is as good as none.
#[tokio::test(start_paused = true)]
async fn v34_the_longest_of_all_limits_are_limits() {
    let (store, hold) = (gated(), Hold::new());
    let layer = shared(store.clone())
        .max_run(Duration::MAX)
        .max_stall(Duration::MAX)
        .wait_for(Duration::MAX)
        .store_timeout(Duration::MAX)
        .retention(Duration::MAX)
        .purge_interval(Duration::MAX)
        .retry_after(Duration::MAX);
    let app = held(&layer, &hold);
    let (first, waiting) = (app.start(post("k", "{}")), app.start(post("k", "{}")));
    hold.reached().await;
    until(|| store.calls(Verb::Claim) > 5).await;
    hold.let_go(1);
    assert_eq!(first.await.unwrap().text(), "run 1");
    assert_eq!(waiting.await.unwrap().replayed(), Some("true"));
    store.set(Verb::Claim, Gate::Fail);
    assert_eq!(app.send(post("k", "{}")).await.status, StatusCode::SERVICE_UNAVAILABLE);
}
