//! Seen red: a client that pays when it begins to wait, without a guard.

use std::sync::{Arc, Mutex};

use http::Response;
use http_body_util::BodyExt;
use lab::scripted::{Scripted, ScriptedBody};
use tokio::time::sleep;
use tower::{BoxError, Service, ServiceExt};

use crate::{
    At, Copies, Dropped, Tracked, UnderWay, called, dropped_at_each_poll,
    scenes::{FULL, SECOND, Scene, scenes, service},
};

type Request = http::Request<Tracked>;

/// When a retry is paid for.
#[derive(Clone, Copy, PartialEq)]
enum Pays {
    /// As it is sent: the budget can then be spent twice, but no drop is seen.
    WhenSent,
    WhenPlanned,
}

async fn begin(scene: &Scene, pays: Pays) -> UnderWay {
    let service = service((scene.steps)());
    let copies = Copies::default();
    let tokens = Arc::new(Mutex::new(FULL));
    let first = called(service.clone(), &copies).await;
    let attempts = Box::pin(attempts(service.clone(), copies.clone(), first, Arc::clone(&tokens), pays));
    UnderWay { service, attempts, available: Box::new(move || *tokens.lock().expect("no panic")), copies }
}

async fn attempts(
    mut client: Scripted,
    copies: Copies,
    first: <Scripted as Service<Request>>::Future,
    tokens: Arc<Mutex<f64>>,
    pays: Pays,
) -> Result<Response<ScriptedBody>, BoxError> {
    let mut attempt = first;
    for _ in 0..2 {
        let answer = attempt.await?;
        if answer.status().is_success() {
            *tokens.lock().expect("no panic") += 5.0;
            return Ok(answer);
        }
        if pays == Pays::WhenPlanned {
            *tokens.lock().expect("no panic") -= 5.0;
        }
        let _ = answer.into_body().collect().await;
        sleep(SECOND).await;
        let ready = ServiceExt::<Request>::ready(&mut client).await?;
        if pays == Pays::WhenSent {
            *tokens.lock().expect("no panic") -= 5.0;
        }
        attempt = ready.call(copies.request());
    }
    let answer = attempt.await?;
    *tokens.lock().expect("no panic") += 5.0;
    Ok(answer)
}

/// Those after which the budget is not what was sent.
async fn wrong(pays: Pays) -> Vec<At> {
    let (_, scene) = scenes().swap_remove(0);
    let all = dropped_at_each_poll(async || begin(&scene, pays).await).await;
    let wrong = |dropped: &&Dropped| dropped.available != scene.left(dropped.sent, dropped.at);
    let mut states: Vec<At> = all.iter().filter(wrong).map(|dropped| dropped.at).collect();
    states.dedup();
    states
}

#[tokio::test(start_paused = true)]
async fn a_permit_without_a_guard_is_lost_with_the_wait() {
    use At::*;
    assert_eq!(wrong(Pays::WhenSent).await, []);

    let lost = [Draining(1), Sleeping(1), Readying(1), Draining(2), Sleeping(2), Readying(2)];
    assert_eq!(wrong(Pays::WhenPlanned).await, lost);
}
