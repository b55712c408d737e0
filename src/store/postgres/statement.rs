//! The store's statements, as prepared ones or as plain text.

use std::{fmt::Write as _, sync::Arc};

use sqlx::{AssertSqlSafe, PgConnection, postgres::PgRow};

use super::names::{self, Names};

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// Prepared under a name, once on each connection.
    Prepared,
    /// As text with its values in it, in one message: nothing is left on a connection, and nothing is needed of it.
    Text,
}

/// One statement, with the names of the store's tables in it.
#[derive(Clone, Debug)]
pub(super) enum Statement {
    Prepared(Arc<str>),
    Text(Arc<[Part]>),
}

/// A value, by its place among those of a statement, and the text behind it. Taken apart before the names are put in, which
/// may hold a `$1` of their own.
#[derive(Debug)]
pub(super) struct Part {
    value: Option<usize>,
    text: String,
}

/// A value of a statement. None is text of a user's: keys and responses are bytes here.
#[derive(Debug)]
pub(super) enum Value<'a> {
    Bytes(&'a [u8]),
    MaybeBytes(Option<&'a [u8]>),
    Int(i64),
    Bool(bool),
    BytesList(Vec<&'a [u8]>),
    IntList(Vec<i64>),
}

impl Statement {
    pub(super) fn new(text: &str, names: &Names, sending: Sending) -> Self {
        match sending {
            Sending::Prepared => Self::Prepared(names.put_into(text).into()),
            Sending::Text => {
                let text = names::whole(text);
                let mut parts = text.split('$');
                let first = Part { value: None, text: names.put_into_part(parts.next().unwrap_or_default()) };
                let others = parts.map(|part| {
                    let digits = part.bytes().take_while(u8::is_ascii_digit).count();
                    let number: usize = part[..digits].parse().expect("a number follows each $ in our statements");
                    Part { value: Some(number - 1), text: names.put_into_part(&part[digits..]) }
                });
                Self::Text(std::iter::once(first).chain(others).collect())
            }
        }
    }

    pub(super) async fn fetch_optional(
        &self,
        connection: &mut PgConnection,
        values: &[Value<'_>],
    ) -> sqlx::Result<Option<PgRow>> {
        match self {
            Self::Prepared(text) => prepared(text, values).fetch_optional(connection).await,
            Self::Text(parts) => sqlx::raw_sql(AssertSqlSafe(in_text(parts, values))).fetch_optional(connection).await,
        }
    }

    pub(super) async fn fetch_one(&self, connection: &mut PgConnection, values: &[Value<'_>]) -> sqlx::Result<PgRow> {
        self.fetch_optional(connection, values).await?.ok_or(sqlx::Error::RowNotFound)
    }

    pub(super) async fn fetch_all(
        &self,
        connection: &mut PgConnection,
        values: &[Value<'_>],
    ) -> sqlx::Result<Vec<PgRow>> {
        match self {
            Self::Prepared(text) => prepared(text, values).fetch_all(connection).await,
            Self::Text(parts) => sqlx::raw_sql(AssertSqlSafe(in_text(parts, values))).fetch_all(connection).await,
        }
    }
}

fn prepared<'a>(
    text: &Arc<str>,
    values: &'a [Value<'a>],
) -> sqlx::query::Query<'a, sqlx::Postgres, sqlx::postgres::PgArguments> {
    let mut query = sqlx::query(AssertSqlSafe(Arc::clone(text)));
    for value in values {
        query = match value {
            Value::Bytes(bytes) => query.bind(*bytes),
            Value::MaybeBytes(bytes) => query.bind(*bytes),
            Value::Int(int) => query.bind(*int),
            Value::Bool(bool) => query.bind(*bool),
            Value::BytesList(list) => query.bind(&list[..]),
            Value::IntList(list) => query.bind(&list[..]),
        };
    }
    query
}

/// Values as hexadecimal digits and numbers: nothing in them can end a constant.
fn in_text(parts: &[Part], values: &[Value<'_>]) -> String {
    let mut text = String::with_capacity(4096);
    for part in parts {
        if let Some(value) = part.value {
            values[value].write_to(&mut text);
        }
        text.push_str(&part.text);
    }
    text
}

impl Value<'_> {
    fn write_to(&self, text: &mut String) {
        match self {
            Self::Bytes(bytes) | Self::MaybeBytes(Some(bytes)) => write_bytes(text, bytes),
            Self::MaybeBytes(None) => text.push_str("NULL::bytea"),
            Self::Int(int) => write_int(text, *int),
            Self::Bool(bool) => text.push_str(if *bool { "true" } else { "false" }),
            Self::BytesList(list) => write_list(text, list, "bytea", |text, bytes| write_bytes(text, bytes)),
            Self::IntList(list) => write_list(text, list, "bigint", |text, int| write_int(text, *int)),
        }
    }
}

fn write_bytes(text: &mut String, bytes: &[u8]) {
    text.push_str("decode('");
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text.push_str("', 'hex')");
}

fn write_int(text: &mut String, int: i64) {
    let _ = write!(text, "({int})::bigint");
}

fn write_list<T>(text: &mut String, list: &[T], of: &str, write: impl Fn(&mut String, &T)) {
    text.push_str("ARRAY[");
    for (n, value) in list.iter().enumerate() {
        if n > 0 {
            text.push(',');
        }
        write(text, value);
    }
    let _ = write!(text, "]::{of}[]");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_text(text: &str, names: &Names, values: &[Value<'_>]) -> String {
        match Statement::new(text, names, Sending::Text) {
            Statement::Text(parts) => super::in_text(&parts, values),
            Statement::Prepared(_) => panic!("as text"),
        }
    }

    #[test]
    fn a_statement_as_text_has_its_values_in_it() {
        let values = [Value::Int(-7), Value::Bytes(b"'$1\\"), Value::MaybeBytes(None), Value::IntList(vec![1, 2])];

        assert_eq!(
            in_text("SELECT $2, $1, $3 || $4", &Names::default(), &values),
            "SELECT decode('2724315c', 'hex'), (-7)::bigint, NULL::bytea || ARRAY[(1)::bigint,(2)::bigint]::bigint[]"
        );
    }

    #[test]
    fn a_name_that_looks_like_the_place_of_a_value_is_a_name() {
        let names = Names::parse("a$1".into(), "$".into()).unwrap();

        assert_eq!(in_text("FROM {records} WHERE $1", &names, &[Value::Int(7)]), r#"FROM "a$1"."$" WHERE (7)::bigint"#);
    }
}
