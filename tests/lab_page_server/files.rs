//! The files of the page.

use std::collections::BTreeSet;

use lab::{
    bug_tracker::Implementation,
    lab_page::assets::{ASSETS, POLICY},
};

use crate::scene::Scene;

#[tokio::test]
async fn each_file_is_served_as_what_it_is_and_may_load_from_its_server_only() {
    let scene = Scene::of(Implementation::KeyAtomic).await;
    for asset in ASSETS {
        let answer = scene.get(asset.path).await;
        let expected = match asset.path.rsplit('.').next().unwrap() {
            "/" => "text/html; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "svg" => "image/svg+xml",
            other => panic!("what is {other}?"),
        };

        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, Some(expected)), "{}", asset.path);
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        assert_eq!(answer.header("content-security-policy"), Some(POLICY));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.text(), asset.text);
    }
    assert!(POLICY.starts_with("default-src 'self';") && !POLICY.contains("unsafe"));
}

#[test]
fn each_file_of_the_folder_is_served_and_named_by_another() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/bug_tracker/lab");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let files: BTreeSet<String> = std::fs::read_dir(folder).unwrap().map(name).map(|file| path_of(&file)).collect();
    let served: BTreeSet<String> = ASSETS.iter().map(|asset| asset.path.to_owned()).collect();

    let mut named: BTreeSet<String> = ASSETS.iter().flat_map(|asset| references(asset.text)).collect();
    named.insert("/".into());

    assert_eq!(files, served);
    assert_eq!(named, served);
}

/// The policy would refuse it, and the page would lack something.
#[test]
fn nothing_is_inline_nothing_is_markup_and_nothing_is_elsewhere() {
    let forbidden =
        ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "<style", "style=", "javascript:"];
    for asset in ASSETS {
        for word in forbidden {
            assert!(!asset.text.contains(word), "{} has {word}", asset.path);
        }
        let namespaces = asset.text.replace("http://www.w3.org/", "");
        assert!(!namespaces.contains("http://") && !namespaces.contains("https://"), "{} names a host", asset.path);
        assert!(
            asset.path != "/" || asset.text.matches("<script").count() == asset.text.matches("<script type").count()
        );
    }
}

fn path_of(file: &str) -> String {
    if file == "index.html" { "/".into() } else { format!("/lab/{file}") }
}

/// What a page links and a module imports.
fn references(text: &str) -> Vec<String> {
    let after = |before: &'static str, folder: &'static str| {
        text.split(before).skip(1).map(move |rest| format!("{folder}{}", rest.split('"').next().unwrap()))
    };
    let mut all: Vec<String> = after("href=\"/", "/").chain(after("src=\"/", "/")).collect();
    all.extend(after("from \"./", "/lab/"));
    all
}
