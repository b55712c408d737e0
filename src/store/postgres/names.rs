//! Where the records are kept: the names of a schema and what stands in it.

use std::{error::Error, fmt};

use sha2::{Digest, Sha256};

/// Postgres cuts longer names off, silently.
const LONGEST: usize = 63;
/// What the names of index and sequence add to the table's.
const LONGEST_TABLE: usize = LONGEST - "_expiry".len();

/// A schema and the table, index and sequence in it.
#[derive(Clone, Debug)]
pub(super) struct Names {
    schema: String,
    table: String,
}

impl Default for Names {
    fn default() -> Self {
        Self { schema: "tower_idempotency".into(), table: "records".into() }
    }
}

impl Names {
    pub(super) fn parse(schema: String, table: String) -> Result<Self, InvalidName> {
        let invalid = |name: &str, longest: usize| name.is_empty() || name.len() > longest || name.contains('\0');
        if invalid(&schema, LONGEST) {
            return Err(InvalidName { name: schema, longest: LONGEST });
        }
        if invalid(&table, LONGEST_TABLE) {
            return Err(InvalidName { name: table, longest: LONGEST_TABLE });
        }
        Ok(Self { schema, table })
    }

    /// Puts the names into a text of ours, and takes its comments out.
    pub(super) fn put_into(&self, text: &str) -> String {
        self.put_into_part(&whole(text))
    }

    /// As `put_into`, for a part of a [`whole`] text. In one pass: a name may hold what looks like a place for another.
    pub(super) fn put_into_part(&self, text: &str) -> String {
        let mut named = String::with_capacity(text.len() + 256);
        let mut rest = text;
        while let Some((before, (place, after))) =
            rest.split_once('{').and_then(|(before, after)| Some((before, after.split_once('}')?)))
        {
            named.push_str(before);
            named.push_str(&match place {
                "records" => self.records(),
                "fences" => self.within("_fence"),
                "fences_literal" => literal(&self.within("_fence")),
                "expiry" => quoted(&format!("{}_expiry", self.table)),
                other => unreachable!("no name is called {other}"),
            });
            rest = after;
        }
        named + rest
    }

    pub(super) fn schema(&self) -> String {
        quoted(&self.schema)
    }

    pub(super) fn schema_literal(&self) -> String {
        literal(&self.schema())
    }

    pub(super) fn records(&self) -> String {
        self.within("")
    }

    pub(super) fn records_literal(&self) -> String {
        literal(&self.records())
    }

    /// A number of its own for each table, apart from those that an application would choose for its advisory locks.
    pub(super) fn number(&self, of: &[u8]) -> i64 {
        number(&self.records(), of)
    }

    /// One for all tables of a schema: whoever comes first makes that too.
    pub(super) fn number_of_the_schema(&self) -> i64 {
        number(&self.schema(), b"migration")
    }

    fn within(&self, suffix: &str) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&format!("{}{suffix}", self.table)))
    }
}

fn number(name: &str, of: &[u8]) -> i64 {
    let mut digest = Sha256::new_with_prefix(b"tower-idempotency\0");
    digest.update(name.as_bytes());
    digest.update(of);
    i64::from_be_bytes(digest.finalize()[..8].try_into().expect("a digest is longer"))
}

/// A text of ours with what it includes, and without its comments.
pub(super) fn whole(text: &str) -> String {
    let text = text.replace("{locked}", include_str!("locked.sql"));
    text.lines().filter(|line| !line.trim_start().starts_with("--")).collect::<Vec<_>>().join("\n")
}

/// A name as an identifier, whatever stands in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as a constant; `E''` reads alike whatever `standard_conforming_strings` says.
fn literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// A schema or table that Postgres could not keep under this name: empty, too long, or with a NUL in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidName {
    name: String,
    longest: usize,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no name for a schema or table: it needs 1 to {} bytes and no NUL", self.name, self.longest)
    }
}

impl Error for InvalidName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_an_identifier_whatever_stands_in_it() {
        let names = Names::parse("my \"own\"".into(), "it's".into()).unwrap();

        assert_eq!(names.put_into("{records}"), r#""my ""own"""."it's""#);
        assert_eq!(names.put_into("{expiry}"), r#""it's_expiry""#);
        assert_eq!(names.put_into("{fences_literal}"), r#"E'"my ""own"""."it''s_fence"'"#);
    }

    #[test]
    fn a_name_may_look_like_a_place_for_another() {
        let names = Names::parse("{expiry}".into(), "{fences}".into()).unwrap();

        assert_eq!(names.put_into("{records}"), r#""{expiry}"."{fences}""#);
        assert_eq!(names.put_into("{fences}"), r#""{expiry}"."{fences}_fence""#);
    }

    #[test]
    fn a_name_that_postgres_would_refuse_or_cut_off_is_refused() {
        let parse = |schema: &str, table: &str| Names::parse(schema.into(), table.into());

        for (schema, table) in [("", "t"), ("s", ""), ("s\0", "t"), (&*"s".repeat(64), "t"), ("s", &*"t".repeat(57))] {
            assert!(parse(schema, table).is_err(), "{schema:?}.{table:?}");
        }
        assert!(parse(&"s".repeat(63), &"t".repeat(56)).is_ok());
    }

    #[test]
    fn each_table_has_advisory_locks_of_its_own() {
        let other = Names::parse("other".into(), "records".into()).unwrap();
        assert_ne!(Names::default().number(b"k"), other.number(b"k"));
        assert_ne!(Names::default().number(b"k"), Names::default().number(b"l"));
    }
}
