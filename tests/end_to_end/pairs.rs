//! Every two faults, one after the other.

use http::StatusCode;
use lab::faults::{Fault, Faults};
use tower::ServiceBuilder;
use tower_idempotency::retry::{HoldResponses, Outcome::Applied, Stopped::Succeeded};

use crate::shop::{HOUR, SECOND, Shop, four_attempts, order, place, replay, taken};

const FAULTS: [Fault; 8] = [
    Fault::Refused,
    Fault::ResetBefore,
    Fault::AnsweredBefore(StatusCode::SERVICE_UNAVAILABLE),
    Fault::AnsweredBefore(StatusCode::CONFLICT),
    Fault::AnsweredBefore(StatusCode::TOO_EARLY),
    Fault::LoseAnswer,
    Fault::CutAnswer,
    Fault::LateAnswer(HOUR),
];

#[tokio::test(start_paused = true)]
async fn whatever_two_faults_come_the_order_is_taken_once_and_the_client_knows() {
    for (first, second) in FAULTS.iter().flat_map(|&first| FAULTS.map(|second| (first, second))) {
        let shop = Shop::open().await;
        let client = ServiceBuilder::new()
            .layer(four_attempts().attempt_timeout(SECOND))
            .layer(HoldResponses::up_to(1 << 20))
            .layer(Faults::first([first, second]))
            .service(shop.guarded());

        let ended = place(&client, order("k")).await;

        let two = format!("{first:?}, then {second:?}");
        assert_eq!(ended.told(), Some((3, Succeeded, Applied)), "{two}");
        let was_taken_before = reaches_the_server(first) || reaches_the_server(second);
        assert_eq!(ended.answer, if was_taken_before { replay(1) } else { taken(1) }, "{two}");
        assert_eq!((shop.orders(), shop.runs()), (vec![1], 1), "{two}");
    }
}

fn reaches_the_server(fault: Fault) -> bool {
    matches!(fault, Fault::LoseAnswer | Fault::CutAnswer | Fault::LateAnswer(_))
}
