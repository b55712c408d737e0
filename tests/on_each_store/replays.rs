//! What a repeat gets, from another server too: rules 7, 8 and 15, V23, V24, V26.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use lab::{
    app::{App, answer, created},
    exchange::{Answer, post},
    gate::{Gate, GatedStore, Verb},
    problem,
};
use tokio::sync::Semaphore;
use tower_idempotency::Store;

use crate::{places::Place, shared, soon};

on_each_store![
    v23_rule_8_the_header_lines_replay_exactly_and_in_order,
    v24_rule_8_bodies_replay_byte_for_byte_under_their_status,
    v26_rule_15_an_answer_over_the_limit_leaves_after_the_close_and_is_410_afterwards,
];

/// V23; rule 7: the first answer is marked and otherwise untouched.
pub(crate) async fn v23_rule_8_the_header_lines_replay_exactly_and_in_order<S: Store>(place: &impl Place<Store = S>) {
    const LINES: [(&str, &[u8]); 8] = [
        ("location", b"/reports/1"),
        ("etag", b"\"1\""),
        ("link", b"</b>; rel=b"),
        ("link", b"</a>; rel=a"),
        ("x-list", b"a, b,,c"),
        ("x-name", b"Andr\xE9"),
        ("set-cookie", b"a=1"),
        ("set-cookie", b"b=2"),
    ];
    let app = App::new(&shared(place.store()), |_, _| async {
        let mut response = created("made");
        for (name, value) in LINES {
            response.headers_mut().append(name, HeaderValue::from_bytes(value).expect("a field value"));
        }
        response
    });
    let other = App::numbered(&shared(place.beside().await));

    let first = app.send(post("k", "{}")).await;
    let repeats = [app.send(post("k", "{}")).await, other.send(post("k", "{}")).await];

    let lines = |headers: &HeaderMap| -> Vec<(String, Vec<u8>)> {
        let lines = headers.iter().filter(|(name, _)| *name != "idempotency-replayed");
        lines.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect()
    };
    let expected = LINES.map(|(name, value)| (name.to_owned(), value.to_vec()));
    assert_eq!(lines(&first.headers), expected);
    assert_eq!((first.status, first.text(), first.replayed()), (StatusCode::CREATED, "made", Some("false")));
    for repeat in repeats {
        assert_eq!(lines(&repeat.headers), expected[..6], "all but Set-Cookie");
        assert_eq!((repeat.status, repeat.text(), repeat.replayed()), (StatusCode::CREATED, "made", Some("true")));
    }
    assert_eq!((app.runs(), other.runs()), (1, 0));
}

/// V24: all 256 values, nothing at all, and a megabyte.
pub(crate) async fn v24_rule_8_bodies_replay_byte_for_byte_under_their_status<S: Store>(place: &impl Place<Store = S>) {
    let all = Bytes::from_iter(0..=255);
    let large = Bytes::from_iter((0..=255).cycle().take(1 << 20));
    let outcomes = [(200, all.clone()), (202, Bytes::new()), (204, Bytes::new()), (404, all), (207, large)];
    for (status, body) in outcomes {
        let (status, key) = (StatusCode::from_u16(status).expect("a status"), status.to_string());
        let answered = body.clone();
        let app = App::new(&shared(place.store()), move |_, _| {
            let body = answered.clone();
            async move { answer(status, body) }
        });
        for replayed in ["false", "true"] {
            let answer = app.send(post(&key, "{}")).await;
            assert_eq!((answer.status, answer.replayed()), (status, Some(replayed)));
            assert!(answer.body == body, "the body of {status}, replayed: {replayed}");
        }
        assert_eq!(app.runs(), 1);
    }
}

/// V26: nothing leaves before the key is closed, then all of it; a repeat never runs.
pub(crate) async fn v26_rule_15_an_answer_over_the_limit_leaves_after_the_close_and_is_410_afterwards<S: Store>(
    place: &impl Place<Store = S>,
) {
    let (store, closes) = (GatedStore::new(place.store()), Arc::new(Semaphore::new(0)));
    store.set(Verb::Complete, Gate::Permit(closes.clone()));
    let large = Bytes::from(vec![b'x'; 64 * 1024]);
    let answered = large.clone();
    let app = App::new(&shared(store.clone()).max_recorded_body(1024), move |_, _| {
        let body = answered.clone();
        async move { created(body) }
    });

    let first = app.start(post("k", "{}"));
    soon(async || store.calls(Verb::Complete) == 1).await;
    assert!(!first.is_finished());
    closes.add_permits(1);
    let first: Answer = first.await.expect("no panic");
    let repeat = app.send(post("k", "{}")).await;

    assert_eq!((first.status, first.replayed()), (StatusCode::CREATED, Some("false")));
    assert!(first.body == large);
    assert_eq!(problem::kind(&repeat), (410, "NotReplayable".into()));
    assert_eq!((repeat.replayed(), &problem::of(&repeat)["original_status"]), (Some("true"), &201.into()));
    assert_eq!(app.runs(), 1);
}
