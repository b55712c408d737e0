//! The verbs as scripts: each is one atomic step on the server.

use std::sync::LazyLock;

use ::redis::{Cmd, ErrorKind, RedisResult, ServerErrorKind, Value};

use super::Connection;

/// A script, known to the server by its digest once it has run there.
pub(super) struct Script {
    text: &'static str,
    digest: String,
}

macro_rules! scripts {
    ($($name:ident = $file:literal;)+) => {
        $(
            pub(super) static $name: LazyLock<Script> = LazyLock::new(|| {
                Script::of(concat!(include_str!("scripts/record.lua"), include_str!(concat!("scripts/", $file))))
            });
        )+
    };
}

scripts! {
    CLAIM = "claim.lua";
    LOOKUP = "lookup.lua";
    RENEW = "renew.lua";
    COMPLETE = "complete.lua";
    RELEASE = "release.lua";
    STATUS = "status.lua";
    FORCE_RELEASE = "force_release.lua";
    FORGET = "forget.lua";
}

impl Script {
    fn of(text: &'static str) -> Self {
        Self { text, digest: ::redis::Script::new(text).get_hash().to_owned() }
    }

    /// Runs it. A server that has restarted, a replica that was promoted, or one after `SCRIPT FLUSH` does not know it
    /// and gets its text.
    pub(super) async fn run<A: AsRef<[u8]>>(
        &self,
        connection: &Connection,
        keys: &[Vec<u8>],
        args: &[A],
    ) -> RedisResult<Value> {
        match connection.ask(&command("EVALSHA", &self.digest, keys, args)).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                connection.ask(&command("EVAL", self.text, keys, args)).await
            }
            answer => answer,
        }
    }
}

fn command<A: AsRef<[u8]>>(name: &str, script: &str, keys: &[Vec<u8>], args: &[A]) -> Cmd {
    let mut command = ::redis::cmd(name);
    command.arg(script).arg(keys.len());
    for key in keys {
        command.arg(&key[..]);
    }
    for arg in args {
        command.arg(arg.as_ref());
    }
    command
}
