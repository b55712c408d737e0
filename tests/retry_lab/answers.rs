//! What a client is answered.

use crate::scene::{DEMO, OTHER, Scene, seen, submit, submit_plain};

/// Article, its table: a first valid request is 201, marked false, and creates one job.
#[tokio::test]
async fn a_first_request_creates_a_job_and_is_marked_false() {
    let scene = Scene::new();
    let server = scene.server().await;

    let first = submit(&server, "k", DEMO).await;

    assert_eq!(seen(&first), (201, Some("false"), Some(1)), "{first:?}");
    assert_eq!(first.body, r#"{"job_id":1,"task":"demo-report"}"#);
    assert_eq!(scene.jobs(), 1);
}

/// Article: replayed response and headers.
#[tokio::test]
async fn a_repeat_gets_the_first_body_and_headers_with_the_mark_true() {
    let scene = Scene::new();
    let server = scene.server().await;

    let first = submit(&server, "k", DEMO).await;
    let again = submit(&server, "k", DEMO).await;

    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!((first.replayed(), again.replayed()), (Some("false"), Some("true")));
    assert_eq!(again.header("content-type"), Some("application/json"));
    assert_eq!(kept(&again.headers), kept(&first.headers));
    assert_eq!(scene.jobs(), 1);
}

/// Article: another content under the same key, 409.
#[tokio::test]
async fn another_task_under_the_same_key_is_409_and_leaves_the_first_as_it_was() {
    let scene = Scene::new();
    let server = scene.server().await;
    submit(&server, "k", DEMO).await;

    let other = submit(&server, "k", OTHER).await;

    assert_eq!((other.status, other.replayed()), (409, None), "{other:?}");
    // A repeat of one that runs is 409 too, with a Retry-After: the problem's type tells the two apart.
    assert!(other.body.contains("KeyReused") && other.header("retry-after").is_none(), "{other:?}");
    assert_eq!(seen(&submit(&server, "k", DEMO).await), (201, Some("true"), Some(1)));
    assert_eq!(scene.jobs(), 1);
}

/// Article: a doubled JSON member, 400. Under a used key the layer compares first, and it is 409.
#[tokio::test]
async fn a_doubled_member_is_400_and_creates_nothing() {
    let scene = Scene::new();
    let server = scene.server().await;
    let doubled = r#"{"task":"demo-report","task":"demo-report"}"#;

    assert_eq!(submit(&server, "k", doubled).await.status, 400);
    assert_eq!(scene.jobs(), 0);

    submit(&server, "k", DEMO).await;
    assert_eq!(submit(&server, "k", doubled).await.status, 409);
    assert_eq!(scene.jobs(), 1);
}

/// Article, its table: a missing key is 400.
#[tokio::test]
async fn a_missing_key_is_400_and_creates_nothing() {
    let scene = Scene::new();
    let server = scene.server().await;

    let refused = submit_plain(&server, "/jobs", DEMO).await;

    assert_eq!((refused.status, refused.header("content-type")), (400, Some("application/problem+json")));
    assert_eq!(scene.jobs(), 0);
}

/// Article: invalid input.
#[tokio::test]
async fn what_is_no_job_is_400_and_the_corrected_one_may_come_under_the_same_key() {
    let scene = Scene::new();
    let server = scene.server().await;
    let task = |task: &str| format!(r#"{{"task":"{task}"}}"#);
    let wrong = [
        "",
        "{",
        "{}",
        "null",
        r#"["demo-report"]"#,
        r#"{"task":7}"#,
        r#"{"task":null}"#,
        r#"{"task":"demo-report","priority":1}"#,
        r#"{"task":"demo-report"} {}"#,
        &task(""),
        &task(" \\t\\n "),
        &task(&"é".repeat(81)),
    ];

    for body in wrong {
        let refused = submit(&server, "k", body).await;
        assert_eq!((refused.status, refused.replayed()), (400, Some("false")), "{body}");
        assert_eq!(submit_plain(&server, "/unsafe-jobs", body).await.status, 400, "{body}");
    }
    assert_eq!(scene.jobs(), 0);

    let longest = submit(&server, "k", &task(&format!(" {} ", "é".repeat(80)))).await;
    assert_eq!(seen(&longest), (201, Some("false"), Some(1)));
}

/// Article: normalisation.
#[tokio::test]
async fn spaces_at_both_ends_of_a_task_do_not_count_and_those_within_do() {
    let scene = Scene::new();
    let server = scene.server().await;
    let first = submit(&server, "k", r#"{"task":"demo report"}"#).await;

    for spelled in [r#"{ "task" : "  demo report\t" }"#, r#"{"task":"demo\u0020report"}"#] {
        let again = submit(&server, "k", spelled).await;
        assert_eq!((again.replayed(), &again.body), (Some("true"), &first.body), "{spelled}");
    }
    assert_eq!(submit(&server, "k", r#"{"task":"demo  report"}"#).await.status, 409);
    assert_eq!(scene.jobs(), 1);
}

/// Article: a plain POST repeats.
#[tokio::test]
async fn a_plain_post_that_is_sent_twice_is_two_jobs() {
    let scene = Scene::new();
    let server = scene.server().await;

    let first = submit_plain(&server, "/unsafe-jobs", DEMO).await;
    let again = submit_plain(&server, "/unsafe-jobs", DEMO).await;

    assert_eq!((seen(&first), seen(&again)), ((201, None, Some(1)), (201, None, Some(2))));
    assert_eq!(scene.jobs(), 2);
}

/// The lines but those of this very message.
fn kept(headers: &[(String, String)]) -> Vec<&(String, String)> {
    let mut kept: Vec<_> =
        headers.iter().filter(|(name, _)| name != "date" && name != "idempotency-replayed").collect();
    kept.sort_unstable();
    kept
}
