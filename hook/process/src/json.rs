//! Reads JSON as agents really write it: field by field, so that one bad field costs nothing but itself.
//!
//! Agents send lone surrogates, raw control characters, numbers that fit no type, and unbounded nesting in fields that
//! we do not need. So a field is kept as text until it is read, without recursion or a copy, and everything before a
//! syntax error is kept. This reads fields; it does not validate documents.

use std::borrow::Cow;
use std::fmt;

use ckpt_store::lines::BYTE_ORDER_MARK;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// How many fields of one object are read; no agent sends a hundredth of that.
const MAX_FIELDS: usize = 10_000;

/// The fields of one JSON object, each still as text.
#[derive(Default)]
pub struct Object<'a> {
    fields: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// Reads an object, and returns the fields that could be read and whether those are all.
    pub fn read(text: &'a str) -> (Self, bool) {
        let mut object = Self::default();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let whole = Fields(&mut object.fields)
            .deserialize(&mut deserializer)
            .is_ok();
        (object, whole)
    }

    /// Returns a string field: the last one of that name, with replacement characters for what is not valid Unicode.
    pub fn text(&self, name: &str) -> Option<String> {
        decode(self.raw(name)?)
    }

    /// Returns whether a string field begins with plain text; nothing is copied.
    pub fn text_begins(&self, name: &str, text: &str) -> bool {
        let string = self.raw(name).and_then(|raw| raw.strip_prefix('"'));
        string.is_some_and(|string| string.starts_with(text))
    }

    /// Returns a field that is an object.
    pub fn object(&self, name: &str) -> Option<Object<'a>> {
        let raw = self.raw(name)?;
        raw.starts_with('{').then(|| Object::read(raw).0)
    }

    /// Returns the elements of a list that `read` understands.
    fn list<T>(&self, name: &str, read: fn(&'a str) -> Option<T>) -> Vec<T> {
        let mut elements = Vec::new();
        if let Some(raw) = self.raw(name) {
            let list = Elements {
                found: &mut elements,
                read,
            };
            // What precedes the syntax error is kept; a raw value that was read has none.
            let _ = list.deserialize(&mut serde_json::Deserializer::from_str(raw));
        }
        elements
    }

    /// Returns the objects of a field that is a list.
    pub fn objects(&self, name: &str) -> Vec<Object<'a>> {
        self.list(name, |raw| {
            raw.starts_with('{').then(|| Object::read(raw).0)
        })
    }

    /// Returns the strings of a field that is a list.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.list(name, decode)
    }

    /// Returns a field that is true or false.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.raw(name)?.parse().ok()
    }

    /// Returns whether there is a field, whatever it holds.
    pub fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// Returns a field that is a whole number.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.raw(name)?.parse().ok()
    }

    fn raw(&self, name: &str) -> Option<&'a str> {
        self.fields
            .iter()
            .rev()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.get())
    }
}

/// Returns the text as JSON that can be read: no byte-order mark, and no raw control character, `NaN` or `Infinity`.
///
/// Cursor's payloads begin with a byte-order mark, Windsurf's strings hold raw control characters; Python writes `NaN`.
pub fn repaired(text: &str) -> String {
    let mut repaired = String::with_capacity(text.len() + 64);
    let mut rest = text.trim_start_matches(BYTE_ORDER_MARK);
    while let Some(quote) = rest.find('"') {
        let (outside, string) = rest.split_at(quote);
        repair_outside(outside, &mut repaired);
        let end = string_end(string);
        repair_string(&string[..end], &mut repaired);
        rest = &string[end..];
    }
    repair_outside(rest, &mut repaired);
    repaired
}

fn repair_outside(text: &str, repaired: &mut String) {
    if text.contains("NaN") || text.contains("Infinity") {
        repaired.push_str(
            &text
                .replace("-Infinity", "null")
                .replace("Infinity", "null")
                .replace("NaN", "null"),
        );
    } else {
        repaired.push_str(text);
    }
}

fn repair_string(string: &str, repaired: &mut String) {
    for character in string.chars() {
        match character {
            '\0'..='\u{1f}' => repaired.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => repaired.push(character),
        }
    }
}

/// Returns where the string that begins `text` ends, its closing quote included.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the string that a JSON text is, if it is one.
fn decode(raw: &str) -> Option<String> {
    raw.starts_with('"').then_some(())?;
    let mut deserializer = serde_json::Deserializer::from_str(raw);
    // As bytes, because a lone surrogate is an error in a string.
    (&mut deserializer)
        .deserialize_bytes(JsonText)
        .ok()
        .map(Cow::into_owned)
}

struct JsonText;

impl<'de> Visitor<'de> for JsonText {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(String::from_utf8_lossy(bytes))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(String::from_utf8_lossy(bytes).into_owned()))
    }
}

impl<'de> DeserializeSeed<'de> for JsonText {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

/// Collects the fields of an object in a list that outlives an error.
struct Fields<'f, 'a>(&'f mut Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> DeserializeSeed<'a> for Fields<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Fields<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(JsonText)? {
            let value = map.next_value()?;
            if self.0.len() < MAX_FIELDS {
                self.0.push((name, value));
            }
        }
        Ok(())
    }
}

/// Collects what `read` makes of the elements of a list, in a list that outlives an error.
struct Elements<'f, 'a, T> {
    found: &'f mut Vec<T>,
    read: fn(&'a str) -> Option<T>,
}

impl<'a, T> DeserializeSeed<'a> for Elements<'_, 'a, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'a, T> Visitor<'a> for Elements<'_, 'a, T> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element::<&RawValue>()? {
            if self.found.len() < MAX_FIELDS {
                self.found.extend((self.read)(element.get()));
            }
        }
        Ok(())
    }
}
