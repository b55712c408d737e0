//! What is printed.

use crate::cases::Row;

const PEER: usize = 24;
const TEXT: usize = 42;

pub(crate) fn print_head() {
    line(["", "peer", "what it did", "what tower-idempotency did", "fault", "ours"]);
}

pub(crate) fn print(row: &Row) {
    println!("{}", "-".repeat(PEER + 2 * TEXT + 28));
    println!("{:<3} {}", row.point, row.case);
    let peer = wrapped(&format!("{} {}", row.peer.name, locked_version(row.peer.name)), PEER);
    let (did, ours) = (wrapped(&row.peer.did, TEXT), wrapped(&row.ours.did, TEXT));
    let fault = if row.peer.fault_seen { "seen" } else { "NOT SEEN" };
    let passed = if row.ours.passed { "passed" } else { "FAILED" };
    for n in 0..peer.len().max(did.len()).max(ours.len()) {
        let cell = |lines: &[String]| lines.get(n).cloned().unwrap_or_default();
        let (fault, passed) = if n == 0 { (fault, passed) } else { ("", "") };
        line(["", &cell(&peer), &cell(&did), &cell(&ours), fault, passed]);
    }
}

fn line([point, peer, did, ours, fault, passed]: [&str; 6]) {
    let text = format!("{point:<3} {peer:<PEER$}  {did:<TEXT$}  {ours:<TEXT$}  {fault:<8}  {passed}");
    println!("{}", text.trim_end());
}

/// Broken at spaces; a longer word stands alone.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("one line");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// From the lock file, so that no version stands in two places.
fn locked_version(package: &str) -> &'static str {
    let head = format!("name = \"{package}\"\nversion = \"");
    let (_, rest) = include_str!("../Cargo.lock").split_once(&head).expect("a locked package");
    rest.split('"').next().expect("a version")
}
