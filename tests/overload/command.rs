//! The command line, and what it prints.

use clap::{Parser, error::ErrorKind};
use lab::overload::{Abandoned, Command, Recovery, Report, Settings, Verdict};

fn parse(arguments: &str) -> Result<Command, clap::Error> {
    Command::try_parse_from(["overload"].into_iter().chain(arguments.split_whitespace()))
}

/// What is printed, and how it compares.
fn run(arguments: &str) -> (String, Verdict) {
    let command = parse(arguments).unwrap();
    let report = command.measure().unwrap();
    (command.text(&report), report.verdict())
}

/// A server so small that a run takes no time.
const SMALL: &str = "--workers 1 --before-s 10 --outage-s 5 --after-s 20 --queue 50";

#[test]
fn the_defaults_are_those_of_the_settings() {
    let Command { settings, sweep, json } = parse("").unwrap();
    assert_eq!((settings, sweep, json), (Settings::DEFAULT, false, false));
}

#[test]
fn each_setting_has_an_option() {
    let all = "--seed 2 --workers 3 --service-ms 4 --queue 5 --abandoned dropped --errors 0 --load 6 --timeout-ms 7 \
               --attempts 8 --clients 9 --before-s 10 --outage-s 11 --after-s 12 --sweep --json";
    let Command { settings, sweep, json } = parse(all).unwrap();
    let expected = Settings {
        seed: 2,
        workers: 3,
        service_ms: 4,
        queue: 5,
        abandoned: Abandoned::Dropped,
        errors: 0,
        load: 6,
        timeout_ms: 7,
        attempts: 8,
        clients: 9,
        before_s: 10,
        outage_s: 11,
        after_s: 12,
    };
    assert_eq!((settings, sweep, json), (expected, true, true));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for wrong in [
        "--workers 0",
        "--service-ms 0",
        "--queue 0",
        "--load 0",
        "--load 100",
        "--timeout-ms 0",
        "--attempts 1",
        "--attempts 11",
        "--clients 0",
        "--after-s 9",
        "--errors 51",
        "--seed -1",
        "--abandoned kept",
    ] {
        let kind = parse(wrong).unwrap_err().kind();
        assert!(
            matches!(kind, ErrorKind::ValueValidation | ErrorKind::InvalidValue | ErrorKind::UnknownArgument),
            "{wrong}: {kind:?}"
        );
    }
}

#[test]
fn what_would_run_for_minutes_is_refused() {
    let refused = parse("--workers 1000 --service-ms 1").unwrap().measure().unwrap_err();
    assert_eq!(refused.to_string(), "120000000 requests would come in, more than 1000000");
}

#[test]
fn the_default_settings_show_what_they_are_to_show() {
    let (text, verdict) = run("--seed 5");
    assert_eq!(verdict, Verdict::AsExpected, "{text}");
    assert!(text.contains("not in 120 s"), "{text}");
    assert!(text.ends_with("as expected: down for good without a budget, and only then"), "{text}");
}

#[test]
fn a_run_that_ends_otherwise_is_named() {
    let mut report = parse(SMALL).unwrap().measure().unwrap();
    report.settings = Settings::DEFAULT;
    let set = |report: &mut Report, recoveries: [Recovery; 4]| {
        report.runs.iter_mut().zip(recoveries).for_each(|(run, recovery)| run.outcome.recovery = recovery);
    };
    let (up, down) = (Recovery::AfterSeconds(3), Recovery::NotWithinSeconds(120));
    set(&mut report, [up, down, down, up]);
    assert_eq!(report.verdict(), Verdict::AsExpected);
    for wrong in 0..4 {
        let mut recoveries = [up, down, down, up];
        recoveries[wrong] = if recoveries[wrong] == up { down } else { up };
        set(&mut report, recoveries);
        assert_eq!(report.verdict(), Verdict::NotAsExpected);
        let text = report.to_string();
        let named: Vec<_> = text.lines().filter(|line| line.ends_with("<- differs")).collect();
        assert!(named.len() == 1 && named[0].starts_with(report.runs[wrong].policy.name()), "{text}");
    }
}

#[test]
fn other_settings_are_not_judged() {
    let (text, verdict) = run(SMALL);
    assert_eq!(verdict, Verdict::NotJudged);
    assert!(text.ends_with("not the default settings: nothing is expected"), "{text}");
}

#[test]
fn it_prints_the_same_bytes_again_as_text_and_as_json() {
    for format in ["", "--json"] {
        let run = || run(&format!("{SMALL} --sweep {format}")).0;
        assert_eq!(run(), run());
    }
}

#[test]
fn its_json_has_each_second_of_each_run() {
    let (text, _) = run(&format!("{SMALL} --sweep --json"));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    assert!(runs.iter().all(|run| run["outcome"]["seconds"].as_array().unwrap().len() == 35));
    assert_eq!(json["verdict"], "not_judged");
    assert_eq!(json["sweep"]["rows"].as_array().unwrap().len(), 8);
}

#[test]
fn its_picture_names_what_it_shows() {
    let svg = parse(SMALL).unwrap().measure().unwrap().chart().to_svg();
    for name in ["no retry", "full jitter, no budget", "full jitter, budget", "outage", "seconds"] {
        assert!(svg.contains(name), "{name}");
    }
}
