//! `MemoryStore`: every promise of a store, and those of its own page.
//!
//! No `write_lock`, no `record_locks`: its one mutex is held within a verb, and nobody else can take it.

use std::{error::Error, time::Duration};

use bytes::Bytes;
use http::StatusCode;
use tower_idempotency::{
    MemoryStore, Store,
    store::{
        ClaimRequest, Held, Outcome, StoreError, StoredResponse,
        conformance::{
            Faults, Fixture,
            words::{Words, acquire, acquire_attempt, lease_left, other_body, outcome, replayed, response},
        },
    },
};

struct Memory(MemoryStore);

impl Fixture for Memory {
    type Store = MemoryStore;

    async fn fresh() -> Self {
        Self(MemoryStore::new())
    }

    fn store(&self) -> &MemoryStore {
        &self.0
    }
}

/// Its one failure is to be full.
impl Faults for Memory {
    type Fault = ();

    async fn fail_for_now(&self) {
        let _shared = self.0.clone().max_records(self.0.len());
    }

    async fn fail_for_good(&self) {
        let _shared = self.0.clone().max_records(0);
    }

    async fn mend(&self, (): ()) {
        let _shared = self.0.clone().max_records(100_000);
    }
}

tower_idempotency::store_conformance!(Memory);
tower_idempotency::store_conformance!(Memory, faults);

#[tokio::test(start_paused = true)]
async fn clones_share_records_and_limits() {
    let store = MemoryStore::new();
    let token = acquire(&store.clone(), &Memory::request("k")).await;

    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    assert_eq!(store.len(), 1);

    let clone = store.clone().max_records(1);
    refused(&store, &Memory::request("another")).await;
    assert_eq!(replayed(&clone, &Memory::request("k")).await, response("order 1"));
}

#[tokio::test(start_paused = true)]
async fn a_store_full_of_records_refuses_a_new_key_and_evicts_none() {
    let store = MemoryStore::new().max_records(3);
    let done = acquire(&store, &Memory::request("done")).await;
    assert_eq!(store.complete(&done, outcome("order 1")).await.unwrap(), Held::Yes);
    acquire(&store, &Memory::request("lapsed")).await;
    pass(Memory::LEASE).await;
    acquire(&store, &Memory::request("live")).await;

    let error = refused(&store, &Memory::request("new")).await;

    assert!(error.is_transient(), "records go past their retention");
    assert!(error.source().unwrap().to_string().contains("3 records"), "it keeps its source: {error:?}");
    assert_eq!(store.len(), 3);
    assert_eq!(replayed(&store, &Memory::request("done")).await, response("order 1"));
    assert_eq!(lease_left(&store, &Memory::request("live")).await, Memory::LEASE);
    assert_eq!(acquire_attempt(&store, &Memory::request("lapsed")).await.1, 2, "a takeover needs no room");
}

#[tokio::test(start_paused = true)]
async fn a_full_store_makes_room_from_records_past_their_retention_only() {
    let store = MemoryStore::new().max_records(2);
    acquire(&store, &ClaimRequest { retention: 2 * Memory::RETENTION, ..Memory::request("kept") }).await;
    acquire(&store, &Memory::request("expired")).await;
    pass(Memory::LEASE + Memory::RETENTION - Memory::MOMENT).await;
    refused(&store, &Memory::request("new")).await;
    pass(Memory::MOMENT).await;

    acquire(&store, &Memory::request("new")).await;

    assert_eq!(store.len(), 2);
    assert_eq!(acquire_attempt(&store, &Memory::request("kept")).await.1, 2);
}

#[tokio::test(start_paused = true)]
async fn an_expired_key_is_claimed_again_in_a_full_store() {
    let store = MemoryStore::new().max_records(1);
    acquire(&store, &Memory::request("k")).await;
    pass(Memory::LEASE + Memory::RETENTION).await;

    assert_eq!(acquire_attempt(&store, &other_body(&Memory::request("k"))).await.1, 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_full_of_bytes_refuses_at_the_claim() {
    let one = MemoryStore::new();
    acquire(&one, &Memory::request("0")).await;
    let store = MemoryStore::new().max_bytes(5 * one.bytes());
    let mut tokens = Vec::new();
    for n in 0..5 {
        tokens.push(acquire(&store, &Memory::request(&n.to_string())).await);
    }

    assert!(refused(&store, &Memory::request("new")).await.is_transient());

    for token in &tokens {
        assert_eq!(store.complete(token, outcome("fits its reserve")).await.unwrap(), Held::Yes);
    }
    acquire(&store, &Memory::request("new")).await;
}

#[tokio::test(start_paused = true)]
async fn a_completion_that_does_not_fit_changes_nothing_and_may_be_tried_again() {
    let store = MemoryStore::new().max_bytes(64 * 1024);
    let token = acquire(&store, &Memory::request("k")).await;
    let other = acquire(&store, &Memory::request("other")).await;
    assert_eq!(store.complete(&other, large(40 * 1024)).await.unwrap(), Held::Yes);
    pass(Memory::LEASE / 2).await;

    let error = store.complete(&token, large(40 * 1024)).await.unwrap_err();

    assert!(error.is_transient(), "the other record goes past its retention: {error:?}");
    assert_eq!(lease_left(&store, &Memory::request("k")).await, Memory::LEASE / 2, "the holder keeps its lease");
    assert_eq!(store.forget(other.key()).await.unwrap(), Held::Yes);
    assert_eq!(store.complete(&token, large(40 * 1024)).await.unwrap(), Held::Yes);
}

#[tokio::test(start_paused = true)]
async fn a_record_larger_than_the_store_is_a_permanent_error() {
    let store = MemoryStore::new().max_bytes(64 * 1024);
    let token = acquire(&store, &Memory::request("k")).await;

    let error = store.complete(&token, large(64 * 1024)).await.unwrap_err();

    assert!(!error.is_transient(), "no other try fits: {error:?}");
    let closed = Outcome::NotReplayable(StatusCode::OK);
    assert_eq!(store.complete(&token, closed).await.unwrap(), Held::Yes, "closing it without the response does");
    assert!(!refused(&MemoryStore::new().max_records(0), &Memory::request("k")).await.is_transient());
    assert!(!refused(&MemoryStore::new().max_bytes(0), &Memory::request("k")).await.is_transient());
}

#[tokio::test(start_paused = true)]
async fn lowered_limits_refuse_new_keys_and_end_no_record() {
    let store = MemoryStore::new();
    let token = acquire(&store, &Memory::request("k")).await;
    acquire(&store, &Memory::request("other")).await;
    let store = store.max_records(1).max_bytes(1);

    refused(&store, &Memory::request("new")).await;

    assert_eq!(store.renew(&token, Memory::LEASE).await.unwrap(), Held::Yes);
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes);
    assert_eq!(replayed(&store, &Memory::request("k")).await, response("order 1"));
}

/// A body is often a small window on a large read buffer.
#[tokio::test(start_paused = true)]
async fn a_record_keeps_no_buffer_of_the_response_alive() {
    let store = MemoryStore::new();
    let token = acquire(&store, &Memory::request("k")).await;
    let buffer = Bytes::from(vec![0; 64 * 1024]);
    let windowed = StoredResponse { body: buffer.slice(..10), ..response("") };

    assert_eq!(store.complete(&token, Outcome::Response(windowed)).await.unwrap(), Held::Yes);

    assert!(buffer.is_unique());
}

/// Whatever was done to the records, what they count for ends at nothing: neither leaks nor underflows.
#[tokio::test(start_paused = true)]
async fn bytes_and_records_are_given_back_in_every_way_a_record_ends() {
    let store = MemoryStore::new();
    for n in 0..100_u32 {
        let token = acquire(&store, &Memory::request(&n.to_string())).await;
        match n % 6 {
            0 => assert_eq!(store.release(&token).await.unwrap(), Held::Yes),
            1 => assert_eq!(store.force_release(token.key()).await.unwrap(), Held::Yes),
            2 => assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes),
            3 => assert_eq!(store.renew(&token, n * Memory::MOMENT).await.unwrap(), Held::Yes),
            4 => assert_eq!(store.complete(&token, large(n as usize)).await.unwrap(), Held::Yes),
            _ => {}
        }
    }
    pass(Memory::RETENTION + 100 * Memory::MOMENT).await;
    assert!(!store.is_empty() && store.bytes() > 0);

    assert_eq!(store.purge(u32::MAX).await.unwrap(), 49);

    assert!(store.is_empty());
    assert_eq!(store.bytes(), 0);
}

#[tokio::test]
async fn its_debug_output_shows_no_record() {
    let store = MemoryStore::default();
    let token = acquire(&store, &Memory::request("secret-key")).await;
    assert_eq!(store.complete(&token, outcome("secret-answer")).await.unwrap(), Held::Yes);

    let shown = format!("{store:?}");

    assert!(shown.starts_with("MemoryStore { len: 1, bytes: ") && !shown.contains("secret"), "{shown}");
}

async fn pass(time: Duration) {
    tokio::time::advance(time).await;
}

fn large(bytes: usize) -> Outcome {
    Outcome::Response(StoredResponse { body: vec![0; bytes].into(), ..response("") })
}

async fn refused(store: &MemoryStore, request: &ClaimRequest) -> StoreError {
    store.claim(request).await.expect_err("the store is full")
}
