//! JSON as people write it: edited as a syntax tree, so that comments, trailing commas, indentation and every byte
//! that is not replaced stay as they were. Text in, text out.

use ckpt_store::error::{Error, Result};
use ckpt_store::lines::split_byte_order_mark;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

/// What an agent accepts beyond plain JSON in its settings. No agent accepts a comma after the last member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonDialect {
    /// Whether it accepts comments.
    pub comments: bool,
    /// Whether it accepts a byte order mark.
    pub byte_order_mark: bool,
}

impl JsonDialect {
    /// The obstacles to an agent's reading of a text, by the names of the pieces that the user would have to remove.
    pub fn refuses(self, text: &str) -> Option<&'static str> {
        let (mark, rest) = split_byte_order_mark(text);
        let is_read = |options: &ParseOptions| jsonc_parser::parse_to_value(rest, options).is_ok();
        let without_comments = ParseOptions {
            allow_comments: false,
            ..LENIENT
        };
        let without_commas = ParseOptions {
            allow_trailing_commas: false,
            ..LENIENT
        };
        if !mark.is_empty() && !self.byte_order_mark {
            Some("the byte order mark at its beginning")
        } else if !is_read(&LENIENT) {
            None
        } else if !self.comments && !is_read(&without_comments) {
            Some("the comments")
        } else if !is_read(&without_commas) {
            Some("the comma after the last member")
        } else {
            None
        }
    }
}

/// Returns settings as a tree, without a byte order mark.
///
/// # Errors
///
/// A text that is not a JSON object, comments and trailing commas apart.
pub fn parse(text: &str) -> Result<CstRootNode> {
    let text = split_byte_order_mark(text).1;
    // An agent that is killed may leave an empty file; it holds nothing that could be lost.
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = CstRootNode::parse(text, &LENIENT)
        .map_err(|error| Error::failed("not valid JSON").because(error.to_string()))?;
    if root.object_value().is_none() {
        return Err(Error::failed("the settings are not a JSON object"));
    }
    Ok(root)
}

/// What people write: comments, and commas after last members.
const LENIENT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Returns whether a text is `{}` and white space, without a comment.
pub fn is_empty_object(text: &str) -> bool {
    text.chars()
        .filter(|character| !character.is_whitespace())
        .eq("{}".chars())
}

/// Appends a field. An object whose closing bracket is on its last member's line stays so.
pub fn append_property(object: &CstObject, name: &str, value: CstInputValue) {
    let text = object.to_string();
    if is_compact(&text) {
        let member = format!("{}:{}", Value::from(name), compact(&value));
        let text = appended(&text, &member, needs_comma(&object.children()));
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
        let text = appended(&text, &compact(&value), needs_comma(&array.children()));
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

/// Replaces an object by a value; what was on one line stays on one line.
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

/// Returns whether a comma has to come before another member: not after a bracket or a comma, comments aside.
fn needs_comma(children: &[CstNode]) -> bool {
    let (_bracket, before) = children.split_last().expect("it ends with its bracket");
    let last = before.iter().rev().find(|child| !child.is_trivia());
    last.is_some_and(|last| !last.is_token())
}

/// Returns the text of an object or list with another member at its end.
fn appended(text: &str, member: &str, needs_comma: bool) -> String {
    let (inner, bracket) = text.split_at(text.len() - 1);
    let members = inner.trim_end();
    let comma = if needs_comma { "," } else { "" };
    format!(
        "{members}{comma}{member}{}{bracket}",
        &inner[members.len()..]
    )
}

/// Replaces a node by a text: the tree would break the line of whatever it inserts an object into.
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

/// Returns a value in the tree's own type.
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
