//! A file of jobs and keys, servers on it, and what it holds.

use std::{path::PathBuf, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
};
use futures_util::future::join_all;
use lab::{
    process::Curl,
    retry_lab::{
        app::{self, Client, DEMO_CLIENT, Lab},
        curl::Post,
        server::Server,
        table::{self, Job, Witness},
    },
};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::Barrier;

pub(crate) const DEMO: &str = r#"{"task":"demo-report"}"#;
pub(crate) const OTHER: &str = r#"{"task":"other-report"}"#;

pub(crate) struct Scene {
    folder: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    /// The server of the example, without its delay.
    pub(crate) async fn server(&self) -> Server {
        self.server_of(DEMO_CLIENT).await
    }

    /// The same, with another caller.
    pub(crate) async fn server_of(&self, client: Client) -> Server {
        Server::open(&self.db(), Duration::ZERO, client).await.unwrap()
    }

    pub(crate) fn db(&self) -> PathBuf {
        self.folder.path().join("jobs.db")
    }

    pub(crate) fn lab(&self) -> Lab {
        Lab { db: self.db(), delay: Duration::ZERO }
    }

    pub(crate) fn jobs(&self) -> u64 {
        Witness::open(&self.db()).unwrap().jobs().unwrap()
    }

    /// From now on no key can be closed: what fails is the step after the job is written.
    pub(crate) fn break_the_record(&self) {
        self.execute(
            "CREATE TRIGGER broken BEFORE UPDATE OF ended_at ON tower_idempotency_records
             WHEN NEW.ended_at IS NOT NULL BEGIN SELECT RAISE(ABORT, 'the record is broken'); END",
        );
    }

    pub(crate) fn mend_the_record(&self) {
        self.execute("DROP TRIGGER broken");
    }

    fn execute(&self, sql: &str) {
        Connection::open(self.db()).unwrap().execute_batch(sql).unwrap();
    }
}

/// POSTs to `/jobs` under this key.
pub(crate) async fn submit(server: &Server, key: &str, body: &str) -> Curl {
    request(server, "/jobs", Some(key), body).run().await
}

/// POSTs without a key.
pub(crate) async fn submit_plain(server: &Server, path: &str, body: &str) -> Curl {
    request(server, path, None, body).run().await
}

fn request(server: &Server, path: &str, key: Option<&str>, body: &str) -> Post {
    let max_time = Duration::from_secs(30);
    Post { url: server.url(path), key: key.map(Into::into), body: body.into(), max_time }
}

/// Eight clients whose requests are all with the server before the first of them goes on.
pub(crate) async fn eight_at_once(scene: &Scene, path: &str, key: Option<&str>) -> Vec<Curl> {
    let layer = app::idempotency(table::open(&scene.db()).await.unwrap());
    let wait_for_all = from_fn_with_state(
        Arc::new(Barrier::new(8)),
        async |State(all_there): State<Arc<Barrier>>, request: Request, next: Next| {
            all_there.wait().await;
            next.run(request).await
        },
    );
    let app = app::app(layer.clone(), scene.lab(), DEMO_CLIENT).layer(wait_for_all);
    let server = Server::serve(app, layer).await.unwrap();
    join_all((0..8).map(|_| request(&server, path, key, DEMO)).map(|post| async move { post.run().await })).await
}

/// What a test mostly asks of an answer: status, replay mark, number of the job.
pub(crate) fn seen(answer: &Curl) -> (u16, Option<&str>, Option<i64>) {
    (answer.status, answer.replayed(), serde_json::from_str(&answer.body).ok().map(|job: Job| job.job_id))
}
