//! The harness of a scene, and what it reports.

use std::{sync::Arc, time::Duration};

use crate::{
    bug_tracker::{
        faults::{Counters, Faults, NewCounters},
        reports::NewReport,
    },
    harness::{
        BaseUrl, Harness, KeySource, Settings, Submission,
        sample::{call, report, titled},
    },
    watch::{Watch, Witness},
};

use super::cell::Struck;

/// Calls the tool, each time in a worker of its own.
#[derive(Clone, Debug)]
pub struct Client {
    /// Where it files reports.
    pub bug_tracker: BaseUrl,
    /// Where it takes keys from.
    pub key_source: KeySource,
    /// Who sees it, if anybody does.
    pub witness: Option<Arc<dyn Witness>>,
}

impl Client {
    /// The first call of the tool.
    pub(super) async fn submit(&self) -> Submission {
        self.send(1, self.settings(), &report(), FIRST_CALL).await
    }

    /// The first call, filed by two workers at once.
    pub async fn submit_from_two_workers(&self) -> [Submission; 2] {
        let report = report();
        let worker = |number| self.send(number, self.settings(), &report, FIRST_CALL);
        tokio::join!(worker(1), worker(2)).into()
    }

    /// The first call ends with an unknown result, and the model does not query, but submits this.
    pub(super) async fn submit_again(&self, second: &NewReport, faults: &Faults) -> (Vec<Submission>, Struck) {
        faults.set(NewCounters { lose_response_after_commit: Some(1), ..NewCounters::default() });
        let gives_up = self.settings().max_attempts(1);
        let first = self.send(1, gives_up, &report(), FIRST_CALL).await;
        let struck = used_up(faults);
        // A first one that was refused has not used it up.
        faults.set(NewCounters { lose_response_after_commit: Some(0), ..NewCounters::default() });
        (vec![first, self.send(2, self.settings(), second, SECOND_CALL).await], struck)
    }

    async fn send(&self, number: u32, settings: Settings, report: &NewReport, tool_use_id: &str) -> Submission {
        let watch = self.witness.clone().map_or_else(Watch::nobody, |witness| Watch::of(witness, number));
        Harness::new(&self.bug_tracker, settings).watched(watch).submit(report, &call(tool_use_id)).await
    }

    /// No attempt times out here, however slow the host: that would be another scene.
    fn settings(&self) -> Settings {
        Settings::new(self.key_source).attempt_timeout(Duration::from_secs(60))
    }
}

const FIRST_CALL: &str = "toolu_01";
const SECOND_CALL: &str = "toolu_02";

/// The same bug under another title.
pub(super) fn reworded() -> NewReport {
    titled("The sum in the cart is off")
}

/// The same bug, as it was reported first.
pub(super) fn unchanged() -> NewReport {
    report()
}

pub(super) fn used_up(faults: &Faults) -> Struck {
    if faults.counters() == Counters::default() { Struck::Yes } else { Struck::No }
}
