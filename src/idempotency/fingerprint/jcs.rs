//! The JSON Canonicalization Scheme, RFC 8785, for texts in which it loses nothing.

use std::{borrow::Cow, mem, ops::Range};

use json_event_parser::{JsonEvent, SliceJsonParser};

#[cfg(test)]
mod tests;

/// Arrays and objects in one another. `serde_json` reads one level less.
const MAX_DEPTH: usize = 128;

/// 2^53: beyond it a double does not tell a whole number from its neighbour.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// The canonical form of a JSON text; `None` where it is undefined, or is that of another meaning too.
pub(super) fn canonical(json: &[u8]) -> Option<Vec<u8>> {
    // The parser would skip a byte order mark. RFC 8259 §8.1 leaves that to each parser: the handler's may refuse it.
    if json.starts_with(b"\xEF\xBB\xBF") {
        return None;
    }
    let mut parser = SliceJsonParser::new(json);
    let mut writer = Writer { text: Vec::with_capacity(json.len()), open: Vec::new() };
    loop {
        match parser.parse_next().ok()? {
            JsonEvent::StartArray => writer.open(b'[', Open::Array { begun: false })?,
            JsonEvent::StartObject => writer.open(b'{', Open::Object { members: Vec::new() })?,
            JsonEvent::EndArray | JsonEvent::EndObject => writer.close()?,
            JsonEvent::ObjectKey(name) => writer.name(name)?,
            JsonEvent::String(string) => write_string(writer.value(), &string)?,
            JsonEvent::Number(literal) => writer.value().extend(canonical_number(&literal)?.bytes()),
            JsonEvent::Boolean(true) => writer.value().extend(b"true"),
            JsonEvent::Boolean(false) => writer.value().extend(b"false"),
            JsonEvent::Null => writer.value().extend(b"null"),
            JsonEvent::Eof => return Some(writer.text),
        }
    }
}

/// Writes values as they come, and puts the members of an object in order when it closes. No recursion: the text is
/// an attacker's.
struct Writer<'a> {
    text: Vec<u8>,
    open: Vec<Open<'a>>,
}

/// What has been opened and not yet closed.
enum Open<'a> {
    /// Whether it has a value yet.
    Array { begun: bool },
    /// In the order of the source.
    Object { members: Vec<Member<'a>> },
}

struct Member<'a> {
    name: Cow<'a, str>,
    /// Where name and value stand in the text. Its end is known once the value has been written.
    at: Range<usize>,
}

impl<'a> Writer<'a> {
    /// Where to write the next value.
    fn value(&mut self) -> &mut Vec<u8> {
        if let Some(Open::Array { begun }) = self.open.last_mut()
            && mem::replace(begun, true)
        {
            self.text.push(b',');
        }
        &mut self.text
    }

    fn open(&mut self, bracket: u8, opened: Open<'a>) -> Option<()> {
        self.value().push(bracket);
        self.open.push(opened);
        (self.open.len() <= MAX_DEPTH).then_some(())
    }

    fn name(&mut self, name: Cow<'a, str>) -> Option<()> {
        let Some(Open::Object { members }) = self.open.last_mut() else { return None };
        if let Some(last) = members.last_mut() {
            last.at.end = self.text.len();
            self.text.push(b',');
        }
        let start = self.text.len();
        write_string(&mut self.text, &name)?;
        self.text.push(b':');
        members.push(Member { name, at: start..start });
        Some(())
    }

    fn close(&mut self) -> Option<()> {
        match self.open.pop()? {
            Open::Array { .. } => self.text.push(b']'),
            Open::Object { members } => {
                self.sort(members)?;
                self.text.push(b'}');
            }
        }
        Some(())
    }

    /// Puts the last object's members in order; `None` if two have the same name.
    fn sort(&mut self, mut members: Vec<Member<'_>>) -> Option<()> {
        // RFC 8785 §3.2.3: by UTF-16 code units, where U+1F600 comes before U+FB33.
        let order = |a: &Member<'_>, b: &Member<'_>| a.name.encode_utf16().cmp(b.name.encode_utf16());
        if members.is_sorted_by(|a, b| order(a, b).is_lt()) {
            return Some(());
        }
        let start = members.first()?.at.start;
        members.last_mut()?.at.end = self.text.len();
        members.sort_unstable_by(order);
        if members.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return None;
        }
        let sorted = members.iter().map(|member| &self.text[member.at.clone()]).collect::<Vec<_>>().join(&b',');
        self.text.truncate(start);
        self.text.extend(sorted);
        Some(())
    }
}

/// `serde_json` escapes just what RFC 8785 §3.2.2.2 wants escaped, and in its way.
fn write_string(text: &mut Vec<u8>, string: &str) -> Option<()> {
    serde_json::to_writer(text, string).ok()
}

/// RFC 8785 §3.2.2.3: as ECMAScript writes the nearest double; `None` if that is another number than the literal, or
/// is not surely one that every reader takes alike.
fn canonical_number(literal: &str) -> Option<String> {
    let double: f64 = literal.parse().ok()?;
    if double.abs() > MAX_EXACT {
        return None;
    }
    let mut buffer = ryu_js::Buffer::new();
    let number = buffer.format_finite(double);
    let exact = number == literal || Decimal::parse(number)? == Decimal::parse(literal)?;
    exact.then(|| number.to_owned())
}

/// A number as literals can say it, in one form only: no zeros at either end of its digits.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: u64,
    exponent: i64,
}

impl Decimal {
    /// `None` if there are more digits than a canonical number has (17), or an exponent beyond reason.
    fn parse(literal: &str) -> Option<Self> {
        let (negative, literal) = literal.strip_prefix('-').map_or((false, literal), |literal| (true, literal));
        let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        let significant = digits.trim_end_matches('0');
        let zeros = digits.len() - significant.len();
        let significant = significant.trim_start_matches('0');
        if significant.is_empty() {
            return Some(Self { negative: false, digits: 0, exponent: 0 });
        }
        let shift = i64::try_from(zeros).ok()? - i64::try_from(fraction.len()).ok()?;
        Some(Self {
            negative,
            digits: significant.parse().ok()?,
            exponent: exponent.parse::<i64>().ok()?.checked_add(shift)?,
        })
    }
}
