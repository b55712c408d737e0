//! What `--store` says.

use std::{convert::Infallible, fmt, path::PathBuf, str::FromStr};

/// `--store` as it was given. Read only by [`Address::parse`]: a command line that prints what it cannot read would print
/// passwords.
#[derive(Clone, PartialEq, Eq)]
pub struct Asked(String);

impl FromStr for Asked {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

/// Where the keys are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// In this process.
    Memory,
    /// In this file.
    Sqlite(PathBuf),
    /// In this database.
    Postgres(Url),
    /// On this server.
    Redis(Url),
}

/// It is none of the four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownStore;

impl Address {
    /// Reads it.
    pub fn parse(Asked(text): &Asked) -> Result<Self, UnknownStore> {
        match text.split_once(':') {
            None if text == "memory" => Ok(Self::Memory),
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::Sqlite(path.into())),
            Some(("postgres" | "postgresql", rest)) if is_server(rest) => Ok(Self::Postgres(Url(text.clone()))),
            Some(("redis" | "rediss", rest)) if is_server(rest) => Ok(Self::Redis(Url(text.clone()))),
            _ => Err(UnknownStore),
        }
    }
}

fn is_server(rest: &str) -> bool {
    rest.strip_prefix("//").is_some_and(|server| !server.is_empty())
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Sqlite(file) => write!(f, "sqlite:{}", file.display()),
            Self::Postgres(url) | Self::Redis(url) => url.fmt(f),
        }
    }
}

impl fmt::Display for UnknownStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("--store is memory, sqlite:FILE, postgres://USER@HOST/DATABASE or redis://HOST")
    }
}

impl std::error::Error for UnknownStore {}

/// The address of a server. It may hold a password, so it shows neither user nor parameters.
#[derive(Clone, PartialEq, Eq)]
pub struct Url(String);

impl Url {
    /// All of it, for the client.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.0.split_once("://").expect("parsed");
        let (at, parameters) = (rest.rfind('@'), rest.find('?'));
        let shown = match (at, parameters) {
            // Which of the two ends the password nobody can tell.
            (Some(at), Some(parameters)) if parameters < at => "...",
            (at, parameters) => &rest[at.map_or(0, |at| at + 1)..parameters.unwrap_or(rest.len())],
        };
        write!(f, "{scheme}://{shown}")
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({self})")
    }
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asked(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, UnknownStore> {
        Address::parse(&Asked(text.into()))
    }

    #[test]
    fn each_store_has_one_spelling() {
        assert_eq!(parse("memory"), Ok(Address::Memory));
        assert_eq!(parse("sqlite:bugs.db"), Ok(Address::Sqlite("bugs.db".into())));
        assert!(matches!(parse("postgres://h/d"), Ok(Address::Postgres(_))));
        assert!(matches!(parse("postgresql://h/d"), Ok(Address::Postgres(_))));
        assert!(matches!(parse("redis://h"), Ok(Address::Redis(_))));
        for wrong in
            ["", "memory:", "sqlite:", "sqlite", "postgres", "postgres:h", "postgres://", "redis:/h", "mysql://h"]
        {
            assert_eq!(parse(wrong), Err(UnknownStore), "{wrong}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        for (given, shown) in [
            ("postgres://app:secret@h:5432/d", "postgres://h:5432/d"),
            ("postgres://h/d?password=secret", "postgres://h/d"),
            ("postgres://app:sec/ret@h/d", "postgres://h/d"),
            ("postgres://app:secret@x@h/d", "postgres://h/d"),
            ("postgres://h/d?password=secret@x", "postgres://..."),
            ("redis://:secret@h:6379/", "redis://h:6379/"),
        ] {
            let address = parse(given).unwrap();
            assert_eq!(address.to_string(), shown);
            assert!(!format!("{address:?}").contains("sec"), "{address:?}");
        }
        assert!(!format!("{:?}", Asked("postgres://a:secret@h".into())).contains("secret"));
    }
}
