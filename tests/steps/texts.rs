//! The page has words for each step, in both languages.

use std::collections::BTreeSet;

use lab::{
    bug_tracker::Implementation::{KeyAtomic, KeySplit},
    fault_matrix::Scene,
    harness::KeySource::{self, ToolCall},
    steps::{Choice, Fencing},
};

use crate::lines::{cell, played};

const ENGLISH: &str = include_str!("../../examples/bug_tracker/lab/steps_texts_en.js");
const CHINESE: &str = include_str!("../../examples/bug_tracker/lab/steps_texts_zh.js");

/// Each stands at the begin of a line, two spaces in.
fn keys(texts: &str) -> BTreeSet<&str> {
    texts
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_once(": "))
        .map(|(key, _)| key)
        .filter(|key| key.chars().all(|letter| letter == '_' || letter.is_ascii_lowercase()))
        .collect()
}

#[test]
fn both_languages_have_the_same_texts() {
    assert_eq!(keys(ENGLISH), keys(CHINESE));
    assert!(keys(ENGLISH).contains("say_fenced_out"));
}

#[tokio::test]
async fn each_kind_of_step_has_its_sentence_and_its_label() {
    let choices = [
        cell(KeyAtomic, ToolCall, Scene::LostResponse),
        cell(KeyAtomic, ToolCall, Scene::Crash),
        cell(KeyAtomic, KeySource::None, Scene::Crash),
        cell(KeySplit, ToolCall, Scene::Concurrent),
        Choice::TakenOver { key_source: ToolCall, fencing: Fencing::On },
        Choice::TakenOver { key_source: ToolCall, fencing: Fencing::Off },
    ];
    let mut kinds = BTreeSet::new();
    for choice in choices {
        for step in played(choice).await.steps {
            let event = serde_json::to_value(step.event).unwrap();
            kinds.insert(event["kind"].as_str().unwrap().to_owned());
        }
    }

    let texts = keys(ENGLISH);
    for kind in &kinds {
        assert!(texts.contains(&*format!("say_{kind}")) && texts.contains(&*format!("label_{kind}")), "{kind}");
    }
    // As many as there are events: else some would not be asked for here.
    assert_eq!(kinds.len(), 23, "{kinds:?}");
}
