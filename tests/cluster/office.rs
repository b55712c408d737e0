//! Three servers on one store, behind one address.

use std::{net::SocketAddr, time::Duration};

use lab::process::{BugTracker, Curl};
use tokio::time::Instant;

use crate::{
    clients::{CLIENT_TIMEOUT, key},
    proxy::Proxy,
    size::Size,
};

/// A server that has started: longer is never.
const START: Duration = Duration::from_secs(30);

pub(crate) struct Office {
    trackers: Vec<Option<BugTracker>>,
    addresses: Vec<SocketAddr>,
    args: Vec<String>,
    pub(crate) proxy: Proxy,
}

impl Office {
    pub(crate) async fn open(store: &[&str]) -> Self {
        let timeout = format!("{}ms", CLIENT_TIMEOUT.as_millis());
        let of_all = ["--lease", "1s", "--delay", "2ms", "--client-timeout", &timeout];
        let args: Vec<_> = store.iter().chain(&of_all).map(ToString::to_string).collect();
        let trackers: Vec<_> = (0..3).map(|_| BugTracker::start(&args)).collect();
        let address = |tracker: &BugTracker| tracker.url("").strip_prefix("http://").unwrap().parse().unwrap();
        let addresses: Vec<SocketAddr> = trackers.iter().map(address).collect();
        let proxy = Proxy::to(addresses.clone()).await;
        Self { trackers: trackers.into_iter().map(Some).collect(), addresses, args, proxy }
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self, which: usize) {
        self.trackers[which].take().expect("it runs").kill();
    }

    /// Starts it again, on its port; again and again while the store is not there.
    pub(crate) fn start(&mut self, which: usize) {
        let address = self.addresses[which].to_string();
        let asked = Instant::now();
        let tracker = loop {
            match BugTracker::start_at(&address, &self.args) {
                Ok(tracker) => break tracker,
                Err(line) => assert!(asked.elapsed() < START, "it does not start, and says {line:?}"),
            }
        };
        self.trackers[which] = Some(tracker);
    }

    /// Stands still for longer than its leases last: what it holds is taken over, and then it goes on.
    pub(crate) fn pause(&self, which: usize, time: Duration) {
        let tracker = self.trackers[which].as_ref().expect("it runs");
        tracker.pause();
        std::thread::sleep(time);
        tracker.resume();
    }

    /// Each server says so of some keys.
    pub(crate) fn assert_done(&self, size: Size) {
        for operation in (1..=size.operations).step_by((size.operations / 50).max(1)) {
            let key = key(size, operation);
            let tracker = self.trackers[operation % 3].as_ref().expect("it runs");
            let state = Curl::run([tracker.url(&format!("/idempotency?key={key}"))]).body;
            assert!(state.contains(r#""state":"done""#) && state.contains("201"), "{key}: {state}");
        }
    }
}
