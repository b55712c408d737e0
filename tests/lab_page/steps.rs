//! Part Step by step.

use std::{collections::BTreeMap, process::Command};

use lab::process::example;
use serde_json::Value;

use crate::page::{Failures::None, Lab, on_a_page};

#[tokio::test(flavor = "multi_thread")]
async fn each_published_cell_counts_what_the_fault_matrix_counts() {
    on_a_page("matrix", None, async |lab| {
        let matrix = tokio::task::spawn_blocking(|| Command::new(example("fault_matrix")).arg("--json").output());
        lab.go("#steps").await;
        lab.click("#steps-run-all").await;
        lab.until_shown("#steps-matrix [data-cell]").await;
        let (cells, reports) = (lab.data("[data-cell]", "cell").await, lab.data("[data-cell]", "reports").await);
        let shown: BTreeMap<String, u64> =
            cells.into_iter().zip(reports).map(|(cell, count)| (cell, count.parse().unwrap())).collect();
        let words = lab.data("#steps-matrix-verdict", "wrong").await;

        let matrix: Value = serde_json::from_slice(&matrix.await.unwrap().unwrap().stdout).unwrap();
        let published = published(&matrix);
        assert_eq!(published.len(), 25);
        for (cell, count) in &published {
            assert_eq!(shown.get(cell), Some(count), "{cell}");
        }
        assert_eq!(words, ["0"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_play_goes_forward_and_back_by_buttons_and_by_keys() {
    on_a_page("steps", None, async |lab| {
        lab.go("#steps?fault=crash&implementation=key_split&key_source=tool_call&step=3").await;
        at(lab, "3").await;
        lab.click("#steps-forward").await;
        at(lab, "4").await;
        lab.click("#steps-back").await;
        at(lab, "3").await;
        lab.press("ArrowRight").await;
        lab.press("ArrowRight").await;
        at(lab, "5").await;
        lab.press("ArrowLeft").await;
        at(lab, "4").await;
        lab.press("Home").await;
        at(lab, "1").await;
        lab.press("ArrowLeft").await;
        at(lab, "1").await;
        lab.press("End").await;
        let last = lab.eval::<usize>("document.querySelectorAll('#steps-list > li').length").await;
        at(lab, &last.to_string()).await;

        let fragment: String = lab.eval("location.hash").await;
        assert!(fragment.ends_with(&format!("step={last}")), "{fragment}");
        assert_eq!(lab.data("#steps-stage", "reports").await, ["2"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fence_leaves_one_report_and_without_it_there_are_two() {
    on_a_page("fence", None, async |lab| {
        for (fencing, reports) in [("on", "1"), ("off", "2")] {
            let play = format!("fault=taken_over&implementation=key_atomic&key_source=tool_call&fencing={fencing}");
            lab.go(&format!("#steps?{play}")).await;
            assert_eq!(played(lab).await, reports, "{fencing}");
        }
    })
    .await;
}

/// How many reports the play leaves that was asked for last.
pub(crate) async fn played(lab: &Lab) -> String {
    lab.until_shown("#steps-run[aria-disabled=false]").await;
    lab.data("#steps-stage", "reports").await.remove(0)
}

async fn at(lab: &Lab, step: &str) {
    lab.until_shown(&format!("#steps-sentence[data-step='{step}']")).await;
}

/// How many reports each cell leaves, by its name on the page.
fn published(matrix: &Value) -> BTreeMap<String, u64> {
    let rows = matrix["rows"].as_array().unwrap();
    let cells = rows.iter().flat_map(|row| row["cells"].as_array().unwrap().iter().map(move |cell| (row, cell)));
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    cells
        .map(|(row, cell)| {
            let name = [&cell["fault"], &row["implementation"], &row["key_source"]].map(word).join("/");
            (name, cell["reports"].as_u64().unwrap())
        })
        .collect()
}
