//! Three bug trackers in processes of their own, on one store, behind one address. They are killed (`kill -9`), stopped and
//! started while 32 clients file reports through `RetryLayer`; the store is killed too. Each report is filed once, and
//! under the number that was acknowledged.
//!
//! `cargo build --example bug_tracker --features postgres,redis && cargo test --test cluster --features postgres,redis`;
//! `-- --nocapture` shows the figures. Needs `postgres` and `redis-server` installed. What is drawn at random comes from
//! `CLUSTER_SEED`; `CLUSTER_OPERATIONS` and `CLUSTER_KILLS` make it longer or shorter. The schedule of faults follows the
//! reports that are acknowledged, not the clock, so that a slow machine sees as many.
//!
//! What is drawn is repeatable; which request a kill hits is not. That is why the same ledger is shown a store that
//! checks, then acts ([`naive`]): there, who meets whom is arranged, and the ledger finds each report twice.

mod chaos;
mod clients;
mod ledger;
mod naive;
mod office;
mod postgres;
mod proxy;
mod redis;
mod size;
