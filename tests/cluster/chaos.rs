//! Who is killed, and when: drawn from the seed, in the course of the reports that are acknowledged.

use std::{iter::repeat_n, time::Duration};

use tokio::time::Instant;

use crate::{
    clients::{Clients, Counted},
    ledger::Ledger,
    office::Office,
    size::Size,
};

/// The server of the store, which is killed as well.
pub(crate) trait StoreServer: Send + 'static {
    /// Ends it without a warning.
    fn kill(&mut self);

    /// Starts it with what is on its disk; returns when it answers.
    fn start(&mut self);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Kill,
    /// For longer than a lease.
    Pause,
    /// The store and one server at the same time.
    KillStore,
}

/// What came of it.
pub(crate) struct Ended<D> {
    pub(crate) ledger: Ledger,
    pub(crate) office: Office,
    pub(crate) store: D,
}

/// Files reports while everything that can be killed is killed, and says what happened.
pub(crate) async fn run<D: StoreServer>(name: &str, size: Size, office: Office, store: D) -> Ended<D> {
    let clients = Clients::new(size, office.proxy.address);
    let started = Instant::now();
    let striking = tokio::spawn(strike(size, clients.clone(), office, store));
    let filing = tokio::spawn({
        let clients = clients.clone();
        async move { clients.run().await }
    });
    // Whoever panics first ends the test: without the other it would never end.
    let ((office, store), (ledger, counted)) = tokio::try_join!(striking, filing).expect("neither panics");
    say(name, size, &ledger, counted, started.elapsed());
    Ended { ledger, office, store }
}

async fn strike<D: StoreServer>(size: Size, clients: Clients, mut office: Office, mut store: D) -> (Office, D) {
    let mut random = fastrand::Rng::with_seed(size.seed);
    for (after, fault) in schedule(size, &mut random) {
        clients.acknowledged(after).await;
        let which = random.usize(..3);
        let struck = tokio::task::spawn_blocking(move || {
            match fault {
                Fault::Kill => office.kill(which),
                Fault::Pause => office.pause(which, Duration::from_millis(2_500)),
                Fault::KillStore => {
                    store.kill();
                    office.kill(which);
                    store.start();
                }
            }
            if fault != Fault::Pause {
                office.start(which);
            }
            (office, store)
        });
        (office, store) = struck.await.expect("it does not panic");
    }
    clients.enough();
    (office, store)
}

fn schedule(size: Size, random: &mut fastrand::Rng) -> Vec<(usize, Fault)> {
    let kills = repeat_n(Fault::Kill, size.kills);
    let faults =
        kills.chain(repeat_n(Fault::Pause, size.pauses)).chain(repeat_n(Fault::KillStore, size.restarts_of_the_store));
    // From the first reports on, and with some left after the last fault.
    let mut schedule: Vec<_> =
        faults.map(|fault| (random.usize(size.operations / 1_000..size.operations * 19 / 20), fault)).collect();
    schedule.sort_by_key(|(after, _)| *after);
    schedule
}

fn say(name: &str, size: Size, ledger: &Ledger, counted: Counted, took: Duration) {
    let Counted { retries, calls_again, replays, sent_once_more } = counted;
    let Size { seed, kills, pauses, restarts_of_the_store, clients, .. } = size;
    let reports = ledger.len();
    let per_second = reports as f64 / took.as_secs_f64();
    println!(
        "{name}, seed {seed}: {reports} reports by {clients} clients in {took:.1?}, {per_second:.0} a second; {kills} kills of \
         servers, {restarts_of_the_store} more together with the store, {pauses} pauses beyond the lease; \
         {retries} retries, {calls_again} calls again, {replays} replays ({sent_once_more} sent once more)"
    );
}
