//! The bytes of a file before and after an operation: `--contents`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The contents of a file before and after the operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileContents {
    /// The content before; null if there is none, or if it is a directory.
    pub before: Option<Content>,
    /// The content afterwards: for a merge, its result; for a file that stays, the one before.
    pub after: Option<Content>,
    /// For a file in conflict, what a plan with `on_conflict` `overwrite` would make of it. Null for all others, and if it
    /// would stay all the same.
    pub earlier: Option<EarlierVersion>,
    /// The lines that differ, in order, with three lines around them; null if a side is not text or is left out, or if
    /// the two have little in common and many lines.
    pub hunks: Option<Vec<Hunk>>,
}

/// What would come in the place of a file in conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierVersion {
    /// The content; null if the file would go, or if it is a directory.
    pub content: Option<Content>,
    /// Its blob.
    pub blob: Option<String>,
}

/// The bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Content {
    /// How `text` is encoded: the bytes themselves, or base64 if they are not UTF-8.
    pub encoding: Encoding,
    /// The bytes; null if there are too many. Then the server's method `contents` reads them by their blob.
    pub text: Option<String>,
    /// How many bytes there are.
    pub bytes: u64,
}

/// How bytes are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Encoding {
    /// As they are.
    #[serde(rename = "utf-8")]
    Utf8,
    /// In base64 with padding (RFC 4648, section 4).
    #[serde(rename = "base64")]
    Base64,
}

/// Lines that differ, as in a unified diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hunk {
    /// The first line before, from 1; if there is none, the line that precedes the hunk.
    pub old_start: u64,
    /// How many lines before.
    pub old_lines: u64,
    /// The first line after, from 1; if there is none, the line that precedes the hunk.
    pub new_start: u64,
    /// How many lines after.
    pub new_lines: u64,
    /// The lines, each after ` `, `-` or `+`, with its line end.
    pub lines: Vec<String>,
}
