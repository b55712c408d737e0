//! Why a cell is what it is, by the article.

use super::{row::Row, scene::Scene};
use crate::{bug_tracker::Implementation, harness::KeySource};

/// Why this scene leaves as many reports as it should.
pub const fn why(row: Row, scene: Scene) -> &'static str {
    use Implementation::{KeyAtomic, KeySplit, Naive};
    use KeySource::{Business, None, PerAttempt, ToolCall};
    use Scene::{Concurrent, Crash, LostResponse, NewId, NewTitle};
    match (row.implementation, row.key_source, scene) {
        (Naive, _, LostResponse) => "the report was filed before its answer was lost, and the server knows no repeats",
        (Naive, _, Crash) => "the report was filed before the crash, and the server knows no repeats",
        (Naive, _, Concurrent) => "each request files a report",
        (Naive, _, NewId | NewTitle) => "each call of the tool files a report",
        (KeySplit | KeyAtomic, None, _) => "a server that knows keys refuses a report without one: nothing is filed",
        (KeyAtomic, PerAttempt, Crash) => "by chance: the crash came before the write, so the lost key had no report",
        (KeySplit, PerAttempt, Crash) => {
            "the report was committed before the crash, and the next attempt has a new key"
        }
        (_, PerAttempt, LostResponse) => "the next attempt has a new key, which finds nothing",
        (_, PerAttempt, Concurrent) => "two keys: neither request knows of the other",
        (_, PerAttempt, NewId | NewTitle) => "the second call has a new key, as each attempt has",
        (_, ToolCall | Business, LostResponse) => {
            "the key was registered before the answer left: the repeat is a replay"
        }
        (KeySplit, ToolCall | Business, Crash) => "the report was committed, its key was not: the repeat files another",
        (KeySplit, ToolCall | Business, Concurrent) => {
            "both look the key up before either registers it; the second finds it taken, beside its own report: 500"
        }
        (KeyAtomic, ToolCall | Business, Crash) => {
            "report and key are committed together: of a crash before that nothing is left"
        }
        (KeyAtomic, ToolCall | Business, Concurrent) => {
            "one holds the claim, the other gets 409, and then the stored answer"
        }
        (_, ToolCall, NewId | NewTitle) => "the second call has another id, and with it another key",
        (_, Business, NewId) => "the key comes from run, module and title, which are the same",
        (_, Business, NewTitle) => "another title is another key: left to the evaluation",
    }
}

/// What a row does not stop.
pub fn not_stopped(row: Row) -> Vec<Scene> {
    let twice = row.expected().into_iter().zip(Scene::ALL).filter(|(reports, _)| *reports > 1);
    twice.map(|(_, scene)| scene).collect()
}
