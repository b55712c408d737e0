//! What goes wrong.

use std::fmt;

use serde::Serialize;

/// The five columns of the article. In each of them there is one bug to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scene {
    /// The report is committed and the answer is lost; the harness tries again
    LostResponse,
    /// The server fails half-way; the harness tries again
    Crash,
    /// Two workers file the report for the same tool call, and both are past the look-up before either writes
    Concurrent,
    /// The answer is lost and the harness gives up; the model calls the tool once more
    NewId,
    /// The same, and the model words the title otherwise
    NewTitle,
}

impl Scene {
    /// All of them, as in the article.
    pub const ALL: [Self; 5] = [Self::LostResponse, Self::Crash, Self::Concurrent, Self::NewId, Self::NewTitle];
}

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::LostResponse => "lost response",
            Self::Crash => "crash",
            Self::Concurrent => "concurrent",
            Self::NewId => "new id",
            Self::NewTitle => "new title",
        })
    }
}
