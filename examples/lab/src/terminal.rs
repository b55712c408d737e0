//! Output that may go to a pipe.

use std::io::{self, ErrorKind, Write};

/// Prints it and a line end. A reader that has gone, as `head` does, wanted no more: that is no failure.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
