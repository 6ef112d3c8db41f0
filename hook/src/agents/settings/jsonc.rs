//! JSON as people write it: edited as a syntax tree, so that comments, trailing commas, indentation and every byte that is
//! not replaced stay as they were. Text in, text out.

use ckpt_store::error::{Error, Result};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

/// What an editor may put in front of a text to say that it is UTF-8.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// What an agent takes beyond plain JSON in its settings. No agent takes a comma after the last member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonDialect {
    /// Whether it takes comments.
    pub comments: bool,
    /// Whether it takes a byte order mark.
    pub byte_order_mark: bool,
}

impl JsonDialect {
    /// Returns what of a text keeps an agent from reading it, as the thing that its user would remove.
    pub fn refuses(self, text: &str) -> Option<&'static str> {
        let (mark, rest) = split_mark(text);
        // The tree itself takes comments whatever it is told.
        let is_read = |comments, commas| {
            jsonc_parser::parse_to_value(rest, &options(comments, commas)).is_ok()
        };
        if !mark.is_empty() && !self.byte_order_mark {
            Some("the byte order mark at its beginning")
        } else if !is_read(true, true) {
            None
        } else if !self.comments && !is_read(false, true) {
            Some("the comments")
        } else if !is_read(true, false) {
            Some("the comma after the last member")
        } else {
            None
        }
    }
}

/// Returns the byte order mark of a text, or nothing, and what follows it.
pub fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len_utf8()
    } else {
        0
    })
}

/// Returns settings as a tree, without a byte order mark.
///
/// # Errors
///
/// A text that is not a JSON object, comments and trailing commas apart.
pub fn parse(text: &str) -> Result<CstRootNode> {
    let text = split_mark(text).1;
    // A file of no bytes is what an agent leaves that was killed; it holds nothing that could be lost.
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = CstRootNode::parse(text, &options(true, true))
        .map_err(|error| Error::failed("not valid JSON").because(error.to_string()))?;
    if root.object_value().is_none() {
        return Err(Error::failed("the settings are not a JSON object"));
    }
    Ok(root)
}

fn options(allow_comments: bool, allow_trailing_commas: bool) -> ParseOptions {
    ParseOptions {
        allow_comments,
        allow_trailing_commas,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// Returns whether a text is `{}` and white space, without a comment.
pub fn is_empty_object(text: &str) -> bool {
    text.chars()
        .filter(|character| !character.is_whitespace())
        .eq("{}".chars())
}

/// Appends a field; what ends on its last member's line goes on there.
pub fn append_property(object: &CstObject, name: &str, value: CstInputValue) {
    let text = object.to_string();
    if is_compact(&text) {
        let text = appended(&text, &format!("{}:{}", Value::from(name), compact(&value)));
        write_raw(
            object
                .clone()
                .replace_with(CstInputValue::Number(String::new())),
            text,
        );
    } else {
        object.append(name, value);
    }
}

/// Appends an element, in the same way.
pub fn append_element(array: &CstArray, value: CstInputValue) {
    let text = array.to_string();
    if is_compact(&text) {
        let text = appended(&text, &compact(&value));
        write_raw(
            array
                .clone()
                .replace_with(CstInputValue::Number(String::new())),
            text,
        );
    } else {
        array.append(value);
    }
}

/// Puts a value in the place of an object; what was on one line stays on one line.
pub fn replace(object: &CstObject, value: CstInputValue) {
    if object.to_string().contains('\n') {
        object.clone().replace_with(value);
    } else {
        write_raw(
            object
                .clone()
                .replace_with(CstInputValue::Number(String::new())),
            compact(&value),
        );
    }
}

/// Returns whether the last member of an object or list and the closing bracket are on one line.
fn is_compact(text: &str) -> bool {
    let members = text[..text.len() - 1].trim_end_matches([' ', '\t']);
    !members.ends_with(['{', '[', '\n'])
}

/// Returns the text of an object or list with another member at its end.
fn appended(text: &str, member: &str) -> String {
    let (inner, bracket) = text.split_at(text.len() - 1);
    let members = inner.trim_end();
    let comma = if members.ends_with(',') { "" } else { "," };
    format!(
        "{members}{comma}{member}{}{bracket}",
        &inner[members.len()..]
    )
}

/// Puts a text where a node was: the tree itself breaks the line of whatever it puts an object into.
fn write_raw(node: Option<CstNode>, text: String) {
    if let Some(number) = node.and_then(|node| node.as_number_lit()) {
        number.set_raw_value(text);
    }
}

fn compact(value: &CstInputValue) -> String {
    match value {
        CstInputValue::Null => "null".to_owned(),
        CstInputValue::Bool(value) => value.to_string(),
        CstInputValue::Number(number) => number.clone(),
        CstInputValue::String(text) => Value::from(text.as_str()).to_string(),
        CstInputValue::Array(values) => format!(
            "[{}]",
            values.iter().map(compact).collect::<Vec<_>>().join(",")
        ),
        CstInputValue::Object(fields) => {
            let field = |(name, value): &(String, CstInputValue)| {
                format!("{}:{}", Value::from(name.as_str()), compact(value))
            };
            format!(
                "{{{}}}",
                fields.iter().map(field).collect::<Vec<_>>().join(",")
            )
        }
    }
}

/// Returns a value as the tree takes it.
pub fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), input(value)))
                .collect(),
        ),
    }
}
