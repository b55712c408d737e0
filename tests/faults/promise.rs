//! What is promised, and whether what was seen keeps it.

use lab::exchange::Answer;
use tokio::time::Duration;

/// A promise that some combination could break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Promise {
    /// A write inside a commit happens at most once, and its answer is not given without it.
    WrittenOnce,
    /// What was committed is the answer, whatever its handler does afterwards.
    CommitAnswers,
    /// A handler without a commit runs at most once per recorded key, while no call of the store fails.
    RunsOnce,
    /// An acknowledged answer is the stored answer, unless closing failed.
    AnswerIsStored,
    /// Nothing of an answer leaves before its key is closed, unless closing failed.
    ClosedFirst,
    /// A lone repeat is not refused for ever.
    KeyEnds,
    /// Whoever stays is answered in time.
    CallerIsAnswered,
    /// Nothing panics but the handler.
    NothingElsePanics,
    /// Work in the background ends, renewals with it.
    WorkEnds,
}

/// What became of one request.
#[derive(Clone, Debug)]
pub(crate) enum Got {
    Answer(Answer),
    /// The inner service's error.
    Failure,
    /// The handler's panic.
    Panic,
    /// The caller left before there was an answer.
    Left,
    /// It stayed for longer than anything may take.
    Nothing,
}

/// What one combination showed.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The caller of the first server.
    pub(crate) first: Got,
    /// How long it waited.
    pub(crate) waited: Duration,
    /// Whether the key had been closed, or closing had been given up, by then.
    pub(crate) closing_was_over: bool,
    /// Whether the last try of the first server to close the key succeeded.
    pub(crate) closed: bool,
    /// The caller of the second server.
    pub(crate) rival: Option<Got>,
    /// Whether a call of the store failed.
    pub(crate) store_failed: bool,
    /// Runs whose answers are kept.
    pub(crate) runs_to_keep: usize,
    /// The runs whose writes inside a commit are there, where handlers commit.
    pub(crate) wrote: Option<Vec<u32>>,
    pub(crate) drained: bool,
    /// Calls of the first server's store after everything had ended.
    pub(crate) calls_afterwards: usize,
    /// Lone repeats, one after another, once the store is sound and a lease has passed.
    pub(crate) repeats: Vec<Got>,
    pub(crate) other_panics: usize,
}

/// Longer than a claim, a run, a stalled body, a closing that is tried for one lease, and a look-up take together.
const PATIENCE: Duration = Duration::from_secs(40);

/// Marks a handler's answer as one that is streamed, so that its key is closed without it.
pub(crate) const STREAMED: &str = "x-streamed";

impl Seen {
    /// The promises that were broken.
    pub(crate) fn broken(&self) -> Vec<Promise> {
        let checks = [
            (Promise::WrittenOnce, self.wrote.as_ref().is_none_or(|runs| self.written_once(runs))),
            (Promise::CommitAnswers, self.commit_answers()),
            (Promise::RunsOnce, self.store_failed || self.runs_to_keep <= 1),
            (Promise::AnswerIsStored, self.answers_are_stored()),
            (Promise::ClosedFirst, self.closed_first()),
            (Promise::KeyEnds, self.key_ends()),
            (Promise::CallerIsAnswered, self.callers_are_answered()),
            (Promise::NothingElsePanics, self.other_panics == 0),
            (Promise::WorkEnds, self.drained && self.calls_afterwards == 0),
        ];
        checks.into_iter().filter_map(|(promise, kept)| (!kept).then_some(promise)).collect()
    }

    fn written_once(&self, runs: &[u32]) -> bool {
        match (runs, self.stored()) {
            ([run], Some(answer)) => answer.text() == format!("run {run}"),
            // `KeyEnds` tells of the missing answer.
            ([] | [_], None) => true,
            _ => false,
        }
    }

    /// Where the first run has written its caller gets its answer, or a refusal that says that nobody knows.
    fn commit_answers(&self) -> bool {
        let committed = self.wrote.as_ref().is_some_and(|runs| runs.contains(&1));
        !committed
            || match &self.first {
                Got::Answer(answer) => answer.replayed() != Some("false") || answer.status.is_success(),
                Got::Failure | Got::Panic => false,
                Got::Left | Got::Nothing => true,
            }
    }

    fn closed_first(&self) -> bool {
        !matches!(&self.first, Got::Answer(answer) if of_its_run(answer)) || self.closing_was_over
    }

    fn callers_are_answered(&self) -> bool {
        let answered = |got: &Got| !matches!(got, Got::Nothing);
        let all = [&self.first].into_iter().chain(&self.rival).chain(&self.repeats);
        self.waited <= PATIENCE && all.into_iter().all(answered)
    }

    /// The first lone repeat has the last word, and each later one gets the same.
    fn key_ends(&self) -> bool {
        self.repeats.iter().all(|repeat| matches!(repeat, Got::Answer(answer) if ends_a_key(answer)))
    }

    fn answers_are_stored(&self) -> bool {
        let Some(stored) = self.stored() else { return true }; // `KeyEnds` says so
        let first = [&self.first].into_iter().filter(|got| self.closed || !is_of_its_run(got));
        let mut acknowledged = first.chain(&self.rival).chain(&self.repeats).filter_map(|got| match got {
            Got::Answer(answer) if of_its_run(answer) || answer.replayed() == Some("true") => Some(answer),
            Got::Answer(_) | Got::Failure | Got::Panic | Got::Left | Got::Nothing => None,
        });
        stored.replayed() == Some("true") && acknowledged.all(|answer| is_kept_as(answer, stored))
    }

    /// What the last repeat was told.
    fn stored(&self) -> Option<&Answer> {
        match self.repeats.last() {
            Some(Got::Answer(answer)) if ends_a_key(answer) => Some(answer),
            _ => None,
        }
    }
}

/// The answer of a run that is kept.
fn of_its_run(answer: &Answer) -> bool {
    answer.replayed() == Some("false") && answer.status.is_success()
}

fn is_of_its_run(got: &Got) -> bool {
    matches!(got, Got::Answer(answer) if of_its_run(answer))
}

/// An answer that a client can rest on: that of a run, its replay, or that it is not kept.
fn ends_a_key(answer: &Answer) -> bool {
    answer.status.is_success() || (answer.status == 410 && answer.replayed() == Some("true"))
}

fn is_kept_as(answer: &Answer, stored: &Answer) -> bool {
    if answer.header(STREAMED).is_some() {
        return stored.status == 410;
    }
    (answer.status, &answer.body) == (stored.status, &stored.body)
}
