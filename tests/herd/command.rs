//! The example from a terminal.

use std::process::{Command, Output, Stdio};

use lab::process::example;
use serde_json::Value;

#[test]
fn it_prints_each_cell_beside_the_articles_and_succeeds() {
    let (output, text) = herd(&["--runs", "5", "--clients", "10"]);

    assert!(output.status.success(), "{text}");
    let rows: Vec<Vec<&str>> = text.lines().skip(5).take(7).map(|row| row.split_whitespace().collect()).collect();
    let names: Vec<_> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(names, ["none", "exponential", "proportional", "equal", "full", "decorrelated", "downward"]);
    assert_eq!((rows[4].len(), rows[4][1], rows[4][3], rows[4][6]), (8, "10", "39", "478"), "{text}");
    assert!(rows[4][4].starts_with('(') && rows[4][7].ends_with(')'), "{text}");
    assert_eq!((&rows[6][3..5], &rows[6][6..]), (&["-", "-"][..], &["-", "-"][..]), "{text}");
    assert!(text.ends_with("\nas in the article, within 4 standard errors\n"), "{text}");
}

#[test]
fn a_cell_that_is_off_is_named_and_it_exits_1() {
    let (output, text) =
        herd(&["--runs", "5", "--clients", "10", "--strategy", "none,full", "--plant", "shared-stream"]);

    assert_eq!(output.status.code(), Some(1), "{text}");
    let (_, named) = text.split_once("\nNOT as in the article:\n").unwrap();
    let named: Vec<&str> = named.lines().collect();
    assert_eq!(named.len(), 2, "{text}");
    assert!(
        named[0].starts_with("  full, 10 clients: ") && named[0].contains(" calls, published 39, off by +"),
        "{text}"
    );
    assert!(named[1].contains(" ms, published 478, off by +"), "{text}");
}

#[test]
fn with_other_settings_it_says_that_there_is_no_comparison_and_succeeds() {
    let few = ["--runs", "2", "--strategy", "full"];
    let said = |args: &[&str]| {
        let (output, text) = herd(&[&few[..], args].concat());
        assert!(output.status.success(), "{text}");
        text.lines().last().unwrap().to_owned()
    };

    let other_pace = "not compared: the article's base is 5ms, its cap 2s";
    assert_eq!(said(&["--clients", "10", "--base", "10ms"]), other_pace);
    assert_eq!(said(&["--clients", "10", "--cap", "1s"]), other_pace);
    assert_eq!(said(&["--clients", "20"]), "not compared: the article has none of these cells");
}

#[test]
fn as_json_it_has_each_figure_and_each_difference() {
    let few = ["--json", "--runs", "5", "--clients", "10", "--strategy", "full,downward"];
    let (output, json) = json(&few);

    assert!(output.status.success(), "{json}");
    let settings = serde_json::json!({ "seed": 1, "runs": 5, "base_ms": 5.0, "cap_ms": 2000.0, "planted": null });
    assert!(settings.as_object().unwrap().iter().all(|(name, value)| json[name] == *value), "{json}");
    assert_eq!((&json["limit"], &json["compared"]), (&4.0.into(), &true.into()));
    let [full, downward] = [0, 1].map(|number| &json["cells"][number]);
    assert_eq!((&full["strategy"], &full["clients"]), (&"full".into(), &10.into()));
    for (figure, published) in [("calls", 39.0), ("ms", 478.0)] {
        assert_eq!(full[figure]["published"], published);
        assert!(["mean", "deviation", "standard_errors"].iter().all(|name| full[figure][name].is_f64()), "{full}");
        assert!(downward[figure]["mean"].is_f64() && downward[figure]["published"].is_null(), "{downward}");
        assert!(downward[figure]["standard_errors"].is_null(), "{downward}");
    }
    assert_eq!(json["differences"], Value::Array(vec![]));
}

#[test]
fn as_json_a_difference_is_named_and_it_exits_1() {
    let few = ["--json", "--runs", "5", "--clients", "10", "--strategy", "full", "--plant", "shared-stream"];
    let (output, json) = json(&few);

    assert_eq!(output.status.code(), Some(1), "{json}");
    assert_eq!(json["planted"], "shared-stream");
    let difference = &json["differences"][1];
    assert_eq!((&difference["strategy"], &difference["clients"]), (&"full".into(), &10.into()));
    assert_eq!((&difference["figure"], &difference["published"]), (&"ms".into(), &478.0.into()));
    assert!(difference["standard_errors"].as_f64() > Some(4.0), "{difference}");
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_others() {
    let few = ["--runs", "3", "--clients", "5,20", "--json"];
    let bytes = |seed: &str| herd(&[&few[..], &["--seed", seed]].concat()).0.stdout;

    let once = bytes("7");
    assert_eq!(bytes("7"), once);
    assert_ne!(bytes("8"), once);
}

/// Neither stream is a terminal here.
#[test]
fn in_a_pipe_there_is_no_progress_bar() {
    let (output, text) = herd(&["--runs", "3", "--clients", "10"]);

    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(text.chars().all(|character| character == '\n' || !character.is_control()), "{text:?}");
}

/// Its reader is gone before it prints; it says nothing of it, and its exit code is that of the comparison.
#[test]
fn a_reader_that_has_gone_is_no_failure() {
    for (plant, code) in [(None, 0), (Some("shared-stream"), 1)] {
        let few = ["--runs", "5", "--clients", "10", "--strategy", "full"];
        let mut command = Command::new(example("herd_simulator"));
        command.args(few).args(plant.map(|defect| ["--plant", defect]).into_iter().flatten());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());

        let output = child.wait_with_output().expect("it ends");

        assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(code), ""));
    }
}

#[test]
fn its_help_names_the_strategies_and_the_defaults() {
    let (output, text) = herd(&["--help"]);

    assert!(output.status.success());
    for told in ["[default: none,exponential,proportional,equal,full,decorrelated,downward]", "[default: 10,50,100]"] {
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn it_draws_two_pictures_where_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let pictures = folder.path().join("new").join("pictures");
    let few = ["--runs", "1", "--clients", "5,10", "--strategy", "none,full", "--json", "--svg"];

    let (output, _) = json(&[&few[..], &[pictures.to_str().unwrap()]].concat());

    assert!(output.status.success());
    let drawn = String::from_utf8(output.stderr).unwrap();
    for name in ["herd-calls-and-time.svg", "herd-arrivals.svg"] {
        let file = pictures.join(name);
        assert!(drawn.contains(&format!("drawn: {}", file.display())), "{drawn}");
        let svg = std::fs::read_to_string(file).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("none"), "{svg:.200}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named_and_it_exits_1() {
    let (output, _) = herd(&["--runs", "1", "--clients", "5", "--strategy", "none", "--svg", "/dev/null/pictures"]);

    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: /dev/null/pictures: "));
}

#[test]
fn the_outage_is_a_command_of_its_own_and_is_drawn_too() {
    let folder = tempfile::tempdir().unwrap();
    let small = "overload --workers 1 --before-s 10 --outage-s 5 --after-s 20 --queue 50 --svg";
    let args: Vec<&str> = small.split(' ').chain([folder.path().to_str().unwrap()]).collect();

    let (output, text) = herd(&args);

    assert!(output.status.success(), "{text}");
    assert!(text.contains("\nno retry "), "{text}");
    assert!(folder.path().join("overload.svg").exists());
}

fn herd(args: &[&str]) -> (Output, String) {
    let output = Command::new(example("herd_simulator")).args(args).output().expect("it starts");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output, text)
}

fn json(args: &[&str]) -> (Output, Value) {
    let (output, text) = herd(args);
    let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (output, json)
}
