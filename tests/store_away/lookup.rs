//! A holder that was passed, and whose successor's answer cannot be asked for.

use std::time::Duration;

use lab::servers::wire::Fault;
use tower_idempotency::store::Status;

use crate::{
    app::{App, replayed, status},
    backend::{Away, Backend, Behind, OnPostgres, OnRedis, soon},
};

const LEASE: Duration = Duration::from_secs(2);

/// Rules 11 and 17: 409; the record stays the successor's.
async fn a_passed_holder_whose_look_up_fails_gets_409<B: Backend>(look_up: &[u8]) {
    for fault in [Fault::LosesQuestions, Fault::LosesAnswers, Fault::Silent] {
        let mut behind = Behind::<B>::a_wire(Away::Wire(fault)).await;
        let (passed, other) = (App::on(&behind.store, LEASE), App::on(&behind.direct, LEASE));
        let first = passed.start();
        passed.handler.has_run(1).await;
        behind.wire.fail(Fault::LosesQuestions);
        other.handler.open();
        let second = other.send_until_answered().await;
        assert_eq!(replayed(&second), (200, "run 1, attempt 2", Some("false")));

        behind.returns().await;
        behind.goes_at(look_up);
        passed.handler.let_go();
        let first = soon(first).await.unwrap();

        assert!(behind.wire.met() > 0, "{fault:?}: it was asked for");
        assert_eq!(first.status, 409, "{fault:?}");
        behind.returns().await;
        assert!(matches!(status(&behind.direct).await, Status::Done { .. }), "{fault:?}");
        assert_eq!(replayed(&passed.send_until_answered().await), (200, second.text(), Some("true")), "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_a_passed_holder_whose_look_up_fails_gets_409() {
    a_passed_holder_whose_look_up_fails_gets_409::<OnPostgres>(b"OFFSET 0) asked").await;
}

/// The one script of six words.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_redis_a_passed_holder_whose_look_up_fails_gets_409() {
    a_passed_holder_whose_look_up_fails_gets_409::<OnRedis>(b"*6\r\n$7\r\nEVALSHA").await;
}
