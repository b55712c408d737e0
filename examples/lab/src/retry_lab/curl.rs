//! Requests by a real curl, which are printed as they are run.

use std::{fmt, io, process::Command, time::Duration};

use crate::process::Curl;

/// The exit code of a curl that timed out.
pub const TIMED_OUT: i32 = 28;

/// Name and version of the curl that is run, if there is one.
pub fn version() -> io::Result<String> {
    let output = Command::new("curl").arg("--version").output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

/// A POST of JSON.
#[derive(Clone, Debug)]
pub struct Post {
    /// Where to.
    pub url: String,
    /// The idempotency key, if there is one.
    pub key: Option<String>,
    /// The JSON.
    pub body: String,
    /// How long it may take as a whole.
    pub max_time: Duration,
}

impl Post {
    /// Runs curl, which has to be installed.
    pub async fn run(&self) -> Curl {
        let arguments = self.arguments();
        tokio::task::spawn_blocking(|| Curl::run(arguments)).await.expect("curl is installed")
    }

    /// Beside the `-s -i` of each [`Curl`].
    fn arguments(&self) -> Vec<String> {
        let time = self.max_time.as_secs_f64().to_string();
        let mut arguments = ["--noproxy", "*", "--max-time", &time].map(str::to_owned).to_vec();
        let key = self.key.as_ref().map(|key| format!("Idempotency-Key: {key}"));
        for header in key.into_iter().chain(["Content-Type: application/json".into()]) {
            arguments.extend(["-H".into(), header]);
        }
        arguments.extend(["-d".into(), self.body.clone(), self.url.clone()]);
        arguments
    }
}

/// A line for a shell.
impl fmt::Display for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("curl -s -i")?;
        for argument in self.arguments() {
            let plain = argument.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-./:".contains(&byte));
            if plain {
                write!(f, " {argument}")?;
            } else {
                write!(f, " '{}'", argument.replace('\'', r"'\''"))?;
            }
        }
        Ok(())
    }
}
