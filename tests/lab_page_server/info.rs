//! What the server says of itself, so that the page need not try.

use http::StatusCode;
use lab::{
    bug_tracker::{Implementation, app::FaultsPage},
    exchange::{get, send},
};
use serde_json::{Value, json};

use crate::scene::Scene;

#[tokio::test]
async fn it_says_which_server_it_is_and_its_times_and_limits() {
    for (implementation, name) in Implementation::ALL.into_iter().zip(["naive", "key_split", "key_atomic"]) {
        for (faults, open) in [(FaultsPage::Open, true), (FaultsPage::Closed, false)] {
            let scene = Scene::with(implementation, faults).await;

            let info: Value = serde_json::from_slice(&scene.get("/lab/info").await.body).unwrap();

            let expected = json!({
                "version": env!("CARGO_PKG_VERSION"), "implementation": name, "faults": open,
                "delay_ms": 0, "lease_ms": 10_000, "client_timeout_ms": 2_000,
                "limits": {
                    "title_characters": 80, "key_characters": 255, "listeners": 32, "reports_shown": 200,
                    "herd_clients": 200, "herd_cap_ms": 3_600_000,
                },
            });
            assert_eq!(info, expected);
            assert_eq!(scene.get("/faults").await.status.is_success(), open);
        }
    }
}

/// A browser repeats by itself what got no answer on a connection that has served before, and would hide a lost one.
#[tokio::test]
async fn where_answers_can_be_lost_a_browser_has_a_connection_for_each_request() {
    let agents = ["Mozilla/5.0 (X11; Linux x86_64)", "curl/8.14.1"];
    let mut closes = Vec::new();
    for faults in [FaultsPage::Open, FaultsPage::Closed] {
        let scene = Scene::with(Implementation::KeyAtomic, faults).await;
        for agent in agents {
            let mut request = get("/reports");
            request.headers_mut().insert("user-agent", agent.parse().unwrap());
            closes.push(send(&scene.app, request).await.header("connection") == Some("close"));
        }
    }

    assert_eq!(closes, [true, false, false, false]);
}

#[tokio::test]
async fn a_page_that_is_none_is_404() {
    let scene = Scene::of(Implementation::KeyAtomic).await;

    for path in ["/lab", "/lab/", "/lab/none.js", "/index.html", "/lab/../Cargo.toml"] {
        let answer = scene.get(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}");
    }
}
