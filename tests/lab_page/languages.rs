//! Both languages: all texts of each, and none of the other's.

use crate::page::{Failures::None, Lab, on_a_page};

/// What each element shows besides names, code, data and the button that names the other language.
const TEXTS: &str = "(() => {
  const apart = '#language, code, pre, dd, td, th[scope=row], output, svg, .brand, #herd-command, [data-report], option, #steps-title';
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = new Map();
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!parent.closest(apart) && parent.checkVisibility() && walker.currentNode.data.trim() !== '') {
      texts.set(parent, (texts.get(parent) ?? '') + walker.currentNode.data);
    }
  }
  return [...texts.values()];
})()";

#[tokio::test(flavor = "multi_thread")]
async fn the_switch_changes_all_texts_and_leaves_none_behind() {
    on_a_page("languages", None, async |lab| {
        fill_all_parts(lab).await;
        for part in PARTS {
            lab.go(&format!("#{part}")).await;
            lab.language("en").await;
            let english = texts(lab).await;
            let attributes = attributes(lab).await;
            lab.language("zh-Hans").await;
            let chinese = texts(lab).await;

            let foreign = |text: &&String| text.chars().any(|each| ('\u{4e00}'..='\u{9fff}').contains(&each));
            assert_eq!(english.iter().chain(&attributes).find(foreign), Option::None, "Chinese in English, {part}");
            assert_eq!(chinese.iter().find(|text| is_english(text)), Option::None, "English in Chinese, {part}");
            assert_eq!(self::attributes(lab).await.iter().find(|text| is_english(text)), Option::None, "{part}");
            assert_eq!(english.len(), chinese.len(), "{part}: {english:#?} {chinese:#?}");
            assert!(english.len() > 10, "{english:?}");
        }
        lab.tab().reload().await.unwrap();
        lab.until("it is remembered", "document.documentElement.lang === 'zh-Hans'").await;
    })
    .await;
}

pub(crate) const PARTS: [&str; 4] = ["reports", "herd", "steps", "exercises"];

/// So that each part shows all that it has.
pub(crate) async fn fill_all_parts(lab: &Lab) {
    lab.click("#send").await;
    lab.until_shown("#log > li:nth-child(1)").await;
    lab.until_shown("#report-form[data-state=idle]").await;
    lab.click("#send").await;
    lab.until_shown("#log > li:nth-child(2)").await;
    lab.until_shown("#count[data-count='1']").await;
    lab.go("#herd?clients=100&strategies=none,exponential,proportional,equal,full,decorrelated&zoom=20").await;
    lab.until_shown("#part-herd[data-state=done] #herd-picture svg").await;
    lab.go("#steps").await;
    lab.click("#steps-run-all").await;
    lab.until_shown("#steps-matrix [data-cell]").await;
    lab.go("#steps?fault=crash&implementation=key_split&key_source=tool_call&step=8").await;
    lab.until_shown("#steps-sentence[data-step='8']").await;
    lab.go("#exercises").await;
    lab.click("[data-question=timeout] [data-answer=failed]").await;
    lab.click("[data-question=result] [data-answer=ask]").await;
}

/// Three words in a row that are no names: nothing of these parts is called so.
fn is_english(text: &str) -> bool {
    let words: Vec<bool> = text
        .split([' ', '\u{a0}'])
        .map(|word| word.len() > 1 && word.chars().all(|each| each.is_ascii_lowercase()))
        .collect();
    words.windows(3).any(|three| three.iter().all(|word| *word))
}

async fn texts(lab: &Lab) -> Vec<String> {
    lab.eval(TEXTS).await
}

async fn attributes(lab: &Lab) -> Vec<String> {
    let read = "['aria-label', 'title'].flatMap((name) => [...document.querySelectorAll(`[${name}]`)]
                .filter((each) => each.checkVisibility()).map((each) => each.getAttribute(name)))";
    lab.eval(read).await
}
