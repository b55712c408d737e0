//! Part Exercises.

use crate::{
    page::{Failures::None, Lab, on_a_page},
    steps::played,
};

/// Each question, its right answer, and how many reports the play shows that its link leads to.
const ANSWERS: [(&str, &str, Option<&str>); 12] = [
    ("timeout", "unknown", Some("2")),
    ("result", "ask", Some("2")),
    ("attempts", "two", Some("2")),
    ("replay", "refused", Option::None),
    ("split", "two", Some("2")),
    ("lease", "conflict", Some("1")),
    ("fence", "fence", Some("2")),
    ("business", "two", Some("2")),
    ("jitter", "rounds", Option::None),
    ("layers", "product", Option::None),
    ("standard", "draft", Option::None),
    ("hint", "untrusted", Some("2")),
];

#[tokio::test(flavor = "multi_thread")]
async fn all_answers_right_are_the_full_score() {
    on_a_page("all right", None, async |lab| {
        lab.go("#exercises").await;
        for (question, answer, _) in ANSWERS {
            give(lab, question, answer).await;
            lab.until_shown(&format!("[data-question={question}][data-mark=right]")).await;
        }

        assert_eq!(lab.data("[data-question]", "question").await, ANSWERS.map(|(question, ..)| question));
        assert_eq!(score(lab).await, ("12".into(), "12".into()));

        lab.click("#start-again").await;
        assert_eq!(score(lab).await, ("0".into(), "0".into()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_wrong_answer_is_explained_and_its_link_leads_to_what_it_promises() {
    on_a_page("wrong answers", None, async |lab| {
        lab.go("#exercises").await;
        let mut links = Vec::new();
        for (question, right, reports) in ANSWERS {
            let answers = lab.data(&format!("[data-question={question}] [data-answer]"), "answer").await;
            assert!(answers.iter().any(|answer| answer == right), "{question}");
            for wrong in answers.iter().filter(|answer| *answer != right) {
                give(lab, question, wrong).await;
                let mark = format!("[data-question={question}][data-mark=wrong] .mark");
                assert!(lab.text(&mark).await.len() > 60, "{question} {wrong}");
            }
            let link = format!("document.querySelector('[data-question={question}] .mark a').getAttribute('href')");
            links.push((question, lab.eval::<String>(&link).await, reports));
        }
        assert_eq!(score(lab).await, ("0".into(), "12".into()));

        for (question, link, reports) in links {
            lab.go(&link).await;
            let part = link[1..].split('?').next().unwrap();
            lab.until_shown(&format!("#part-{part}")).await;
            match part {
                "steps" => assert_eq!(played(lab).await, reports.unwrap(), "{question}"),
                "herd" => lab.until_shown("#part-herd[data-state=done] #herd-picture svg").await,
                _ => lab.until_shown("#send").await,
            }
            shows_what_it_promises(lab, question).await;
        }
    })
    .await;
}

async fn shows_what_it_promises(lab: &Lab, question: &str) {
    match question {
        "lease" => {
            assert!(lab.eval::<String>("document.querySelector('#steps-list').textContent").await.contains("409"))
        }
        "jitter" => assert_eq!(lab.data("#herd-table tr[data-strategy]", "strategy").await, ["exponential", "full"]),
        "layers" => assert_eq!(lab.data("#herd-table tr[data-strategy]", "strategy").await, ["none", "full"]),
        _ => {}
    }
}

async fn give(lab: &Lab, question: &str, answer: &str) {
    lab.click(&format!("[data-question={question}] [data-answer={answer}]")).await;
}

/// How many are right, and how many are answered.
async fn score(lab: &Lab) -> (String, String) {
    (lab.data("#score", "right").await.remove(0), lab.data("#score", "answered").await.remove(0))
}
