//! The page speaks two languages.

use std::collections::HashSet;

use lab::lab_page::assets::ASSETS;

#[test]
fn each_text_stands_in_both_languages() {
    let mut files = 0;
    for asset in ASSETS {
        let Some((_, english)) = asset.text.split_once("\n  en: {\n") else { continue };
        let (english, chinese) = english.split_once("\n  zh: {\n").expect("a second language");
        let (english, chinese) = (keys(english), keys(chinese));

        assert_eq!(english, chinese, "{}", asset.path);
        assert!(!english.is_empty(), "{}", asset.path);
        assert_eq!(english.iter().collect::<HashSet<_>>().len(), english.len(), "{} says one twice", asset.path);
        files += 1;
    }

    assert!(files >= 3, "{files} files of texts");
}

/// What stands, four spaces in, before a colon.
fn keys(texts: &str) -> Vec<&str> {
    texts
        .lines()
        .filter_map(|line| line.strip_prefix("    ").filter(|line| !line.starts_with([' ', '/', '}'])))
        .filter_map(|line| match line.strip_prefix('"') {
            Some(quoted) => quoted.split_once("\":").map(|(key, _)| key),
            None => line.split_once(':').map(|(key, _)| key),
        })
        .collect()
}
