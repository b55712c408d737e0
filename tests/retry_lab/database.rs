//! What the database holds together.

use lab::retry_lab::app::Client;

use crate::scene::{DEMO, OTHER, Scene, eight_at_once, seen, submit};

/// Article: identity scope.
#[tokio::test]
async fn a_key_belongs_to_its_client() {
    let scene = Scene::new();
    let [anna, ben] = [scene.server_of(Client("anna")).await, scene.server_of(Client("ben")).await];

    let of_anna = submit(&anna, "k", DEMO).await;
    let of_ben = submit(&ben, "k", OTHER).await;

    assert_eq!((seen(&of_anna), seen(&of_ben)), ((201, Some("false"), Some(1)), (201, Some("false"), Some(2))));
    assert_eq!(seen(&submit(&anna, "k", DEMO).await), (201, Some("true"), Some(1)));
    assert_eq!(seen(&submit(&ben, "k", OTHER).await), (201, Some("true"), Some(2)));
    assert_eq!(scene.jobs(), 2);
}

/// Article: the database opened again.
#[tokio::test]
async fn a_key_is_known_after_the_database_was_opened_again() {
    let scene = Scene::new();
    let server = scene.server().await;
    let first = submit(&server, "k", DEMO).await;
    server.stop().await.unwrap();

    let server = scene.server().await;
    let again = submit(&server, "k", DEMO).await;

    assert_eq!((again.status, again.replayed(), &again.body), (201, Some("true"), &first.body));
    assert_eq!(submit(&server, "k", OTHER).await.status, 409);
    assert_eq!(scene.jobs(), 1);
}

/// Article: eight concurrent calls.
#[tokio::test]
async fn eight_calls_at_once_under_one_key_are_one_job_and_one_answer() {
    let scene = Scene::new();

    let answers = eight_at_once(&scene, "/jobs", Some("k")).await;

    assert!(answers.iter().all(|answer| (answer.status, seen(answer).2) == (201, Some(1))), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer.replayed() == Some("false")).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.replayed() == Some("true")).count(), 7);
    assert_eq!(scene.jobs(), 1);
}

/// Article: a failure between the job and its record rolls back.
#[tokio::test]
async fn a_failure_between_the_job_and_its_record_creates_nothing_and_the_same_key_may_come_again() {
    let scene = Scene::new();
    let server = scene.server().await;
    scene.break_the_record();

    let failed = submit(&server, "k", DEMO).await;

    assert_eq!((failed.status, scene.jobs()), (503, 0), "{failed:?}");

    scene.mend_the_record();
    assert_eq!(seen(&submit(&server, "k", DEMO).await), (201, Some("false"), Some(1)));
    assert_eq!(seen(&submit(&server, "k", DEMO).await), (201, Some("true"), Some(1)));
    assert_eq!(scene.jobs(), 1);
}
