//! Part Reports.

use lab::process::BugTracker;

use crate::page::{
    Failures::{None, Provoked},
    Lab, on_a_page,
};

const REPORT: &str = r#"{"run_id":"run-043","module":"cart","title":"from elsewhere","steps":[]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_is_sent_again_is_a_replay_and_one_row() {
    on_a_page("sent again", None, async |lab| {
        lab.click("#send").await;
        replies(lab, 1).await;
        let key = lab.text("#key").await;
        lab.click("#send").await;
        replies(lab, 2).await;

        assert_eq!(newest(lab).await, ("201".into(), "true".into(), "again".into()));
        assert_eq!((lab.text("#key").await, rows(lab)), (key.clone(), 1));

        lab.click("#send-new").await;
        replies(lab, 3).await;

        assert_eq!(newest(lab).await, ("201".into(), "false".into(), "new".into()));
        assert_ne!(lab.text("#key").await, key);
        assert_eq!(rows(lab), 2);
        listed(lab, 2).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_double_click_sends_once() {
    on_a_page("double click", None, async |lab| {
        lab.double_click("#send").await;
        replies(lab, 1).await;
        lab.click("#ask-key").await; // after whatever the second click did
        replies(lab, 2).await;

        assert_eq!(lab.data("#log > li", "action").await, ["ask", "send"]);
        assert_eq!(rows(lab), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_unknown_and_tried_again_under_the_same_key() {
    on_a_page("lost answer", Provoked, async |lab| {
        lab.click("#fault-lose").await;
        lab.until_shown("#faults[data-armed='1']").await;
        lab.click("#send").await;
        replies(lab, 1).await;
        let key = lab.text("#key").await;

        assert_eq!(lab.data("#log > li", "status").await, ["unknown"]);

        lab.click("#try-again").await;
        replies(lab, 2).await;

        assert_eq!(newest(lab).await, ("201".into(), "true".into(), "try".into()));
        let keys: Vec<String> = lab.eval("[...document.querySelectorAll('#log dd:first-of-type')].map((each) => each.innerText).filter((text) => text.startsWith('\"'))").await;
        assert_eq!(keys, [format!("\"{key}\""), format!("\"{key}\"")]);
        assert_eq!(rows(lab), 1);
        listed(lab, 1).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_body_under_the_key_is_422_and_a_title_too_long_400() {
    on_a_page("bad reports", Provoked, async |lab| {
        lab.click("#send").await;
        replies(lab, 1).await;
        lab.fill("#report-title", "Total is negative").await;
        lab.click("#send").await;
        replies(lab, 2).await;
        lab.fill("#report-title", &"x".repeat(81)).await;
        lab.click("#send-new").await;
        replies(lab, 3).await;

        assert_eq!(lab.data("#log > li", "status").await, ["400", "422", "201"]);
        assert_eq!(rows(lab), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_of_others_appear_by_themselves() {
    on_a_page("live list", None, async |lab| {
        let by_curl = lab.server.as_ref().unwrap().submit("\"by-curl\"", REPORT);
        listed(lab, 1).await;
        let db = lab.folder.path().join("bugs.db");
        let other = BugTracker::start(["--db", db.to_str().unwrap()]);
        let of_another_process = other.submit("\"of-another-process\"", REPORT);
        listed(lab, 2).await;

        assert_eq!((by_curl.status, of_another_process.status), (201, 201));
        assert!(lab.text("#reports").await.contains("from elsewhere"));
    })
    .await;
}

/// Waits until so many replies are there.
async fn replies(lab: &Lab, count: usize) {
    lab.until(
        &format!("{count} replies"),
        &format!("document.querySelectorAll('#log > li').length === {count} && document.querySelector('#report-form').dataset.state === 'idle'"),
    )
    .await;
}

async fn listed(lab: &Lab, count: usize) {
    lab.until_shown(&format!("#count[data-count='{count}']")).await;
}

/// Its status, whether it is a replay, and what it answers.
async fn newest(lab: &Lab) -> (String, String, String) {
    let first = "#log > li:first-child";
    let [status, replayed, action] = ["status", "replayed", "action"].map(|name| lab.data(first, name));
    (status.await.remove(0), replayed.await.remove(0), action.await.remove(0))
}

fn rows(lab: &Lab) -> i64 {
    let connection = rusqlite::Connection::open(lab.folder.path().join("bugs.db")).unwrap();
    connection.query_row("SELECT count(*) FROM reports", (), |row| row.get(0)).unwrap()
}
