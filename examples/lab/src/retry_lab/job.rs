//! What a client asks for, in its normal form.

use http::request::Parts;
use serde::Deserialize;
use tower_idempotency::store::Fingerprint;

/// A job to create: a task of 1 to 80 characters, without spaces at its ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    task: String,
}

/// Doubled members are refused by serde, others than `task` by us.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    task: String,
}

impl NewJob {
    /// Reads a JSON object, strictly. The error says what is wrong with it.
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        // serde takes `["demo"]` for a struct too.
        if !body.trim_ascii_start().starts_with(b"{") {
            return Err("A job is a JSON object.".into());
        }
        let Body { task } = serde_json::from_slice(body).map_err(|error| format!("No job: {error}."))?;
        let task = task.trim();
        match task.chars().count() {
            1..=80 => Ok(Self { task: task.to_owned() }),
            length => Err(format!("A task has 1 to 80 characters; this one has {length}.")),
        }
    }

    /// The task.
    #[must_use]
    pub fn task(&self) -> &str {
        &self.task
    }
}

/// Two requests are the same if they ask for the same job, however that is written. What asks for none is compared byte
/// by byte; the two kinds are never equal.
pub fn fingerprint(parts: &Parts, body: &[u8]) -> Fingerprint {
    match NewJob::parse(body) {
        Ok(job) => Fingerprint::of(b"create a job", b"", job.task.as_bytes()),
        Err(_) => Fingerprint::exact(parts, body),
    }
}
