//! Which of two requests goes on.

use std::time::Duration;

use tokio::time::sleep_until;

use super::recorder::{Recorder, Step};
use crate::watch::{Before, Event, Name, Witness};

/// Who waits for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nobody: there is one request at a time.
    OneByOne,
    /// The second request is sent while the first one works. Once both have looked the key up, they write in turn.
    Overlapping,
    /// The second request is sent when the lease of the first one has lapsed; the first one goes on when the second has
    /// ended.
    TakenOver {
        /// How long a claim lasts.
        lease: Duration,
    },
}

const FIRST: u32 = 1;
const SECOND: u32 = 2;

impl Order {
    pub(super) async fn hold(self, recorder: &Recorder, request: Name, before: Before) {
        match (self, request.client, before) {
            (Self::OneByOne, ..) | (Self::Overlapping | Self::TakenOver { .. }, FIRST, Before::Sending) => {}

            (Self::Overlapping, SECOND, Before::Sending) if request.attempt == 1 => {
                recorder.until(|steps| works(steps, FIRST) || ended(steps, FIRST)).await;
            }
            // A second attempt too: else there were as many of them as luck has it.
            (Self::Overlapping, SECOND, _) => recorder.until(|steps| ended(steps, FIRST)).await,
            (Self::Overlapping, _, _) => {
                recorder.until(|steps| works(steps, SECOND) || told(steps, SECOND)).await;
            }

            (Self::TakenOver { lease }, SECOND, Before::Sending) => {
                recorder.until(|steps| works(steps, FIRST) || ended(steps, FIRST)).await;
                if let Some((granted, claim)) = recorder.claim_of(FIRST) {
                    sleep_until(granted + lease).await;
                    let lease_ms = u64::try_from(lease.as_millis()).expect("a short one");
                    recorder.saw(claim, Event::LeaseLapsed { lease_ms });
                }
            }
            (Self::TakenOver { .. }, FIRST, Before::Writing) => {
                recorder.until(|steps| ended(steps, SECOND)).await;
                recorder.saw(request, Event::Woke);
            }
            (Self::TakenOver { .. }, _, _) => {}
        }
    }
}

fn some(steps: &[Step], client: u32, event: impl Fn(&Event) -> bool) -> bool {
    steps.iter().any(|step| step.request.client == client && event(&step.event))
}

fn works(steps: &[Step], client: u32) -> bool {
    some(steps, client, |event| matches!(event, Event::Working))
}

fn told(steps: &[Step], client: u32) -> bool {
    some(steps, client, |event| matches!(event, Event::Received { .. } | Event::NoAnswer))
}

fn ended(steps: &[Step], client: u32) -> bool {
    some(steps, client, |event| matches!(event, Event::Ended(_)))
}
