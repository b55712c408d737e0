//! Rule 6: errors say whether another try is worth it, and keep their source.

use std::error::Error;

use super::{
    Faults,
    words::{Words, acquire, outcome, replayed, response},
};
use crate::{
    Store,
    store::{Held, StoreError},
};

pub(super) async fn rule_6_a_failure_that_passes_is_transient<F: Faults>(fixture: &F) {
    let store = fixture.store();
    let token = acquire(store, &F::lasting("held")).await;

    let fault = fixture.fail_for_now().await;
    let error = store.claim(&F::lasting("new")).await.expect_err("the store fails");
    fixture.mend(fault).await;

    assert!(error.is_transient(), "another try is worth it: {error:?}");
    keeps_its_source(&error);
    acquire(store, &F::lasting("new")).await;
    assert_eq!(store.complete(&token, outcome("order 1")).await.unwrap(), Held::Yes, "left as it was");
    assert_eq!(replayed(store, &F::lasting("held")).await, response("order 1"));
}

pub(super) async fn rule_6_a_failure_that_stays_is_permanent<F: Faults>(fixture: &F) {
    fixture.fail_for_good().await;

    for _ in 0..2 {
        let error = fixture.store().claim(&F::lasting("new")).await.expect_err("the store fails");
        assert!(!error.is_transient(), "no other try is worth it: {error:?}");
        keeps_its_source(&error);
    }
}

/// What went wrong is told by the source, and not once more by the error itself.
#[track_caller]
fn keeps_its_source(error: &StoreError) {
    let source = error.source().expect("it keeps its source").to_string();
    assert!(!source.trim().is_empty(), "a source that says nothing");
    assert!(!error.to_string().contains(&source), "its source is told twice: {error}");
}
