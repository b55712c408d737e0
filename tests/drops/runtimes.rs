//! Rule 14: an exchange that is dropped where there is no runtime.

use std::{thread, time::Duration};

use http::Response;
use lab::{
    app::{AppService, Payload},
    exchange::{post, send},
    handler::{Handler, numbered},
    panics,
};
use tokio::runtime::{Builder, Runtime};
use tower::{BoxError, Service};

use crate::{
    Driven, polled,
    polls::{Server, handler, layered, store},
};

const LEASE: Duration = Duration::from_secs(10);

fn answers() -> Handler {
    handler(|run| Ok(numbered(run)))
}

fn with_a_paused_clock() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime")
}

/// An exchange that has not been polled yet.
fn begun_in(runtime: &Runtime, service: &mut AppService) -> Driven<Result<Response<Payload>, BoxError>> {
    let _entered = runtime.enter();
    Box::pin(service.call(post("k", "{}")))
}

/// As after a crash: the lease lapses, a repeat takes over, and nothing panics.
#[test]
fn after_its_runtime_has_ended_an_exchange_ends_and_its_lease_lapses() {
    let (mut left_in_flight, panics_before) = (0, panics::others());
    for polls in 0.. {
        let (records, handler) = (store(), answers());
        let Server { mut service, .. } = layered(records.clone(), handler.clone());
        let first = with_a_paused_clock();
        let mut exchange = begun_in(&first, &mut service);
        let ended = first.block_on(polled(&mut exchange, polls));
        drop(first);
        drop(exchange);
        assert_eq!(panics::others(), panics_before, "after {polls} polls");
        let (runs, in_flight) = (handler.runs(), records.0.len() == 1 && ended.is_none());
        left_in_flight += usize::from(in_flight);

        let repeat = with_a_paused_clock().block_on(async {
            tokio::time::sleep(LEASE).await;
            send(&layered(records, handler.clone()).service, post("k", "{}")).await
        });
        let replayed = repeat.replayed() == Some("true");
        assert_eq!(handler.runs(), if replayed { runs } else { runs + 1 }, "after {polls} polls");
        assert!(repeat.status.is_success(), "after {polls} polls");
        if ended.is_some() {
            assert!(replayed && left_in_flight > 3, "{left_in_flight} of {polls}");
            break;
        }
    }
}

/// On a thread that belongs to no runtime it goes on in the one that it began in.
#[test]
fn on_a_thread_without_a_runtime_an_exchange_goes_on_where_it_began() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_time().build().expect("a runtime");
    for polls in 0.. {
        let handler = answers();
        let Server { mut service, drained } = layered(store(), handler.clone());
        let mut exchange = begun_in(&runtime, &mut service);
        let ended = runtime.block_on(polled(&mut exchange, polls)).is_some();
        thread::spawn(move || drop(exchange)).join().expect("no panic");
        runtime.block_on(drained);

        assert_eq!(handler.runs(), usize::from(polls > 0), "after {polls} polls");
        let repeat = runtime.block_on(send(&service, post("k", "{}")));
        assert_eq!((repeat.text(), handler.runs()), ("run 1", 1), "after {polls} polls");
        if ended {
            break;
        }
    }
}
