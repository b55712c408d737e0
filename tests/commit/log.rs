//! What a test has logged.

use std::{
    cell::RefCell,
    io::{self, Write},
    sync::Once,
};

use tracing::Level;

thread_local! {
    /// Each test has a thread of its own, on which its runtime polls.
    static LINES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the warnings and errors of this thread, from now on.
pub(crate) fn start() {
    static GLOBAL: Once = Once::new();
    GLOBAL.call_once(|| {
        tracing_subscriber::fmt().with_writer(|| Line).with_ansi(false).with_max_level(Level::WARN).init();
    });
    LINES.with_borrow_mut(Vec::clear);
}

/// How many lines hold this text.
pub(crate) fn count(text: &str) -> usize {
    LINES.with_borrow(|lines| String::from_utf8_lossy(lines).lines().filter(|line| line.contains(text)).count())
}

struct Line;

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        LINES.with_borrow_mut(|lines| lines.write(line))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
