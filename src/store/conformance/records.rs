//! Rule 2: each key has its own record, and what it keeps comes back as it was.

use http::{HeaderMap, HeaderValue, StatusCode};

use super::{
    Fixture,
    words::{Words, acquire, outcome, replayed, response, scoped},
};
use crate::{
    IdempotencyKey, Store,
    store::{ClaimRequest, Held, Outcome, ScopedKey, StoredResponse},
};

/// V19.
pub(super) async fn rule_2_the_same_key_in_another_scope_is_another_key<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let elsewhere = ClaimRequest { key: scoped("another shop", "k"), ..F::request("k") };
    let here = acquire(store, &F::request("k")).await;
    let there = acquire(store, &elsewhere).await;

    assert_eq!(store.complete(&here, outcome("here")).await.unwrap(), Held::Yes);
    assert_eq!(store.complete(&there, outcome("there")).await.unwrap(), Held::Yes);

    assert_eq!(replayed(store, &F::request("k")).await, response("here"));
    assert_eq!(replayed(store, &elsewhere).await, response("there"));
}

/// V20: letters of two cases, blanks at the end, what a query or a path would mind, scopes that run into their keys.
pub(super) async fn rule_2_every_scope_and_key_has_a_record_of_its_own<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let longest = "k".repeat(IdempotencyKey::DEFAULT_MAX_LEN);
    let keys = ["k", "K", "\"k \"", "\" k\"", "kk", "a:b", "../x", "%_", "'; --", "{k}", "*", "user", &longest];
    let scopes = ["", "k", "K", "k\0", "\0", "caf\u{e9}", "cafe\u{301}", "\u{1F511}", "'", "a:b", &longest];
    let all = || scopes.iter().flat_map(|scope| keys.iter().map(move |key| scoped(scope, key)));
    let asked = |key: ScopedKey| ClaimRequest { key, ..F::lasting("k") };
    for (n, key) in all().enumerate() {
        let token = acquire(store, &asked(key)).await;
        assert_eq!(store.complete(&token, outcome(&n.to_string())).await.unwrap(), Held::Yes);
    }

    for (n, key) in all().enumerate() {
        assert_eq!(replayed(store, &asked(key)).await, response(&n.to_string()));
    }
}

/// V23, V24.
pub(super) async fn rule_2_a_response_replays_line_by_line_and_byte_by_byte<F: Fixture>(fixture: &F) {
    let store = fixture.store();
    let mut headers = HeaderMap::new();
    for (name, value) in [("x-b", "2"), ("x-a", "1, \"1\""), ("x-b", ""), ("x-b", "1"), ("x-c", "\t")] {
        headers.append(name, HeaderValue::from_static(value));
    }
    headers.append("x-place", HeaderValue::from_bytes(b"caf\xE9").expect("a field value"));
    let every_byte = StoredResponse { status: StatusCode::OK, headers, body: (0..=255).collect() };
    let statuses = (100..1000).step_by(31).map(|code| StatusCode::from_u16(code).expect("a status"));
    let empty = statuses.map(|status| StoredResponse { status, headers: HeaderMap::new(), body: "".into() });
    let large = StoredResponse { body: vec![0xC3; 300_000].into(), ..every_byte.clone() };

    for (n, response) in [every_byte, large].into_iter().chain(empty).enumerate() {
        let request = F::lasting(&n.to_string());
        let token = acquire(store, &request).await;
        let outcome = Outcome::Response(response.clone());
        assert_eq!(store.complete(&token, outcome).await.unwrap(), Held::Yes);

        let replayed = replayed(store, &request).await;
        assert_eq!(replayed, response);
        let lines = |of: &StoredResponse| of.headers.iter().map(|(k, v)| (k.clone(), v.clone())).collect::<Vec<_>>();
        assert_eq!(lines(&replayed), lines(&response), "in their order");
    }
}
