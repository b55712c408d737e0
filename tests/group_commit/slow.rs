//! V33: closures that take long, and the leases that are renewed all the same.

use std::{
    io,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use futures_util::future::join_all;
use http::StatusCode;
use lab::{clock::until, problem};
use tokio::time::advance;

use crate::{
    plan::{Plan, gated},
    shop::{LEASE, Shop},
};

/// SQL that runs for longer than the lease: the holders that wait for it keep their keys, whoever asks meanwhile.
#[tokio::test(start_paused = true)]
async fn v33_a_closure_that_outlasts_the_lease_costs_nobody_a_key() {
    let shop = Shop::open_with(|builder| builder.read_connections(1)).await.patient();
    assert_eq!(shop.order("done").await.status, 201);
    let runner = shop.claimed("runner", Plan::order("runner")).await;
    let (gate, slow) = shop.hold_the_writer("slow").await;
    for _ in 0..10 {
        advance(LEASE / 9).await;
    }
    assert_eq!(shop.status("runner").await, "lapsed", "its renewals wait for the closure");
    let repeat = shop.start("runner");
    tokio::task::yield_now().await;
    // Replays and claims share the one connection that reads: once this has had it, the repeat waits for the writer.
    assert_eq!(shop.order("done").await.replayed(), Some("true"));
    gate.open();

    assert_eq!(problem::kind(&repeat.await.unwrap()), (409, "InProgress".into()), "the renewals went first");
    assert_eq!(slow.answer().await.text(), "slow");
    shop.hand_over(&runner).await;
    let ended = runner.answer().await;
    assert_eq!((ended.text(), ended.replayed()), ("runner", Some("false")));
    assert_eq!(shop.orders(), ["done", "slow", "runner"]);
}

/// A group takes no further closure once a third of the lease has passed: no lease lapses behind six that take that long.
#[tokio::test(start_paused = true)]
async fn v33_closures_that_each_take_a_third_of_a_lease_let_the_renewals_in_between() {
    let shop = Shop::open().await.patient();
    let runner = shop.claimed("runner", Plan::order("runner")).await;
    let mut orders = Vec::new();
    for key in ["1", "2", "3", "4", "5", "6"] {
        let (gate, plan) = gated(key);
        orders.push((gate, shop.claimed(key, plan).await));
    }
    for (_, order) in &orders {
        shop.hand_over(order).await;
    }
    let mut answers = Vec::new();
    for (gate, order) in orders {
        let gate = gate.entered().await;
        assert_eq!(shop.status("runner").await, "in progress", "while {}", order.key);
        advance(LEASE / 3).await;
        gate.open();
        answers.push(order.answer());
    }
    assert!(join_all(answers).await.iter().all(|answer| answer.status == 201));
    shop.hand_over(&runner).await;
    assert_eq!(runner.answer().await.text(), "runner");
}

/// What is behind such a closure for too long is told that nobody knows; the record decides.
#[tokio::test(start_paused = true)]
async fn v33_orders_that_wait_past_their_limit_are_unknown_and_kept_once() {
    let shop = Shop::open().await;
    let behind = shop.claimed("behind", Plan::order("behind")).await;
    let (gate, slow) = shop.hold_the_writer("slow").await;
    shop.hand_over(&behind).await;
    for _ in 0..11 {
        advance(Duration::from_secs(1)).await;
    }
    for claimed in [slow, behind] {
        assert_eq!(problem::kind(&claimed.answer().await), (503, "OutcomeUnknown".into()));
    }
    assert!(shop.orders().is_empty());
    gate.open();

    until(|| shop.orders().len() == 2).await;
    for key in ["slow", "behind"] {
        let repeat = shop.order(key).await;
        assert_eq!((repeat.text(), repeat.replayed()), (key, Some("true")));
    }
    assert_eq!(shop.orders(), ["slow", "behind"]);
}

#[tokio::test(start_paused = true)]
async fn v33_a_closure_that_takes_a_third_of_a_lease_is_warned_about() {
    let log = Log::of_this_process();
    let shop = Shop::open().await;
    for (key, took) in [("the quick one", LEASE / 3 - Duration::from_millis(1)), ("the slow one", LEASE / 3)] {
        let (gate, holder) = shop.hold_the_writer(key).await;
        advance(took).await;
        gate.open();
        assert_eq!(holder.answer().await.status, 201);
    }
    assert!(log.says("a commit closure held the writer for a third of a lease", "the slow one"));
    assert!(!log.says("a commit closure held the writer for a third of a lease", "the quick one"));
}

/// V10, on SQLite: all come due at once, more than a queue holds, and an order among them has its turn.
#[tokio::test(start_paused = true)]
async fn v10_v33_more_renewals_than_a_queue_holds_are_made_in_time_and_starve_nobody() {
    let shop = Shop::open().await.patient();
    let keys: Vec<_> = (0..1_100).map(|n| n.to_string()).collect();
    let runners = join_all(keys.iter().map(|key| shop.claimed(key, Plan::Answer(StatusCode::OK)))).await;
    let order = shop.claimed("order", Plan::order("order")).await;
    let (gate, holder) = shop.hold_the_writer("holder").await;
    advance(LEASE / 3).await;
    shop.hand_over(&order).await;
    gate.open();
    assert_eq!(order.answer().await.status, 201);
    assert_eq!(holder.answer().await.status, 201);

    shop.renewals_reach(LEASE / 3).await;
    for runner in &runners {
        shop.hand_over(runner).await;
    }
    for runner in runners {
        assert_eq!(runner.answer().await.replayed(), Some("false"));
    }
}

/// What was logged, by any test of this process.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn of_this_process() -> Self {
        static LOG: OnceLock<Log> = OnceLock::new();
        let log = LOG.get_or_init(|| {
            let log = Self::default();
            let lines = log.clone();
            tracing_subscriber::fmt().with_writer(move || lines.clone()).with_ansi(false).init();
            log
        });
        log.clone()
    }

    /// Whether one line says both.
    fn says(&self, this: &str, that: &str) -> bool {
        let log = String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned();
        log.lines().any(|line| line.contains(this) && line.contains(that))
    }
}

impl io::Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
