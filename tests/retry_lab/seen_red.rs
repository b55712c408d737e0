//! The same requests with a guard off, and the damage that the guard prevents.

use axum::{Extension, Json, Router, body::Bytes, extract::State, response::Response, routing::post};
use http::StatusCode;
use lab::{
    bug_tracker::problem::Problem,
    retry_lab::{
        app::{self, Client, DEMO_CLIENT, Lab},
        job::NewJob,
        server::Server,
        table,
    },
};
use tower_idempotency::{
    IdempotencyLayer, SqliteStore,
    idempotency::{Claim, Scope},
    store::Fingerprint,
};

use crate::scene::{DEMO, OTHER, Scene, eight_at_once, seen, submit};

#[tokio::test]
async fn eight_calls_at_once_without_the_layer_are_eight_jobs() {
    let scene = Scene::new();

    eight_at_once(&scene, "/unsafe-jobs", None).await;

    assert_eq!(scene.jobs(), 8);
}

#[tokio::test]
async fn without_a_fingerprint_another_task_gets_the_answer_of_the_first() {
    let scene = Scene::new();
    let layer = app::idempotency(table::open(&scene.db()).await.unwrap()).with_fingerprint(Fingerprint::unchecked);
    let server = serve(&scene, layer, DEMO_CLIENT).await;
    submit(&server, "k", DEMO).await;

    assert_eq!(seen(&submit(&server, "k", OTHER).await), (201, Some("true"), Some(1)));
}

#[tokio::test]
async fn with_the_exact_fingerprint_spaces_at_the_ends_count() {
    let scene = Scene::new();
    let layer = app::idempotency(table::open(&scene.db()).await.unwrap()).with_fingerprint(Fingerprint::exact);
    let server = serve(&scene, layer, DEMO_CLIENT).await;
    submit(&server, "k", DEMO).await;

    assert_eq!(submit(&server, "k", r#"{"task":" demo-report "}"#).await.status, 409);
}

#[tokio::test]
async fn in_a_shared_scope_a_client_gets_the_answer_of_another() {
    let scene = Scene::new();
    let layer = IdempotencyLayer::new(table::open(&scene.db()).await.unwrap(), Scope::shared());
    let anna = serve(&scene, layer.clone(), Client("anna")).await;
    let ben = serve(&scene, layer, Client("ben")).await;
    submit(&anna, "k", DEMO).await;

    assert_eq!(seen(&submit(&ben, "k", DEMO).await), (201, Some("true"), Some(1)));
}

/// The order that the article warns of: the job commits by itself, then its record fails.
#[tokio::test]
async fn a_job_that_commits_before_its_record_stays_and_the_repeat_is_a_second_one() {
    let scene = Scene::new();
    let layer = app::idempotency(table::open(&scene.db()).await.unwrap());
    let job_first = Router::new()
        .route("/jobs", post(create_then_record).layer(layer.clone()))
        .with_state(scene.lab())
        .layer(Extension(DEMO_CLIENT));
    let server = Server::serve(job_first, layer).await.unwrap();
    scene.break_the_record();

    assert_eq!(submit(&server, "k", DEMO).await.status, 503);
    assert_eq!(scene.jobs(), 1);

    scene.mend_the_record();
    assert_eq!(submit(&server, "k", DEMO).await.status, 201);
    assert_eq!(scene.jobs(), 2);
}

async fn create_then_record(
    State(lab): State<Lab>,
    claim: Claim<SqliteStore>,
    body: Bytes,
) -> Result<Response, Problem> {
    let job = NewJob::parse(&body).map_err(Problem::bad_request)?;
    let created = table::insert_alone(&lab.db, &job)?;
    claim.commit(move |_| Ok::<_, Problem>((StatusCode::CREATED, Json(created)))).await
}

async fn serve(scene: &Scene, layer: IdempotencyLayer<SqliteStore>, client: Client) -> Server {
    Server::serve(app::app(layer.clone(), scene.lab(), client), layer).await.unwrap()
}
