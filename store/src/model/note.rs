//! The notes of an operation, besides its files: a sentence for people, and the same for programs.

use std::fmt;
use std::ops::Deref;

use ckpt_schema::report::{NoteCode, NoteReport};

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    code: NoteCode,
    text: String,
    about: Vec<String>,
}

impl Note {
    /// Returns a note that names nothing.
    pub fn new(code: NoteCode, text: impl Into<String>) -> Self {
        Self::about(code, text, Vec::new())
    }

    /// Returns a note with the names of all things that it is about. The sentence may name only the first ones.
    pub fn about(code: NoteCode, text: impl Into<String>, about: Vec<String>) -> Self {
        let text = text.into();
        Self { code, text, about }
    }

    /// Returns the sentence.
    pub fn text(&self) -> String {
        self.text.clone()
    }

    /// Returns its report.
    pub fn report(&self) -> NoteReport {
        NoteReport {
            code: self.code,
            text: self.text.clone(),
            about: self.about.clone(),
        }
    }
}

/// Most callers want the sentence of a note.
impl Deref for Note {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// Returns the sentences of notes.
pub(crate) fn texts(notes: &[Note]) -> Vec<String> {
    notes.iter().map(Note::text).collect()
}

/// Returns the reports of notes.
pub(crate) fn reports(notes: &[Note]) -> Vec<NoteReport> {
    notes.iter().map(Note::report).collect()
}

/// Returns notes for an operation's row: their sentences, and the same for programs.
pub(crate) fn to_json(notes: &[Note]) -> (String, String) {
    (
        written(serde_json::to_string(&texts(notes))),
        written(serde_json::to_string(&reports(notes))),
    )
}

/// Adds a note to those of a row. A row of an older version has no notes for programs.
pub(crate) fn add(notes: &str, remarks: Option<&str>, note: &Note) -> (String, Option<String>) {
    let mut texts: Vec<String> = serde_json::from_str(notes).unwrap_or_default();
    texts.push(note.text());
    let remarks = remarks.map(|remarks| {
        let mut remarks: Vec<NoteReport> = serde_json::from_str(remarks).unwrap_or_default();
        remarks.push(note.report());
        written(serde_json::to_string(&remarks))
    });
    (written(serde_json::to_string(&texts)), remarks)
}

fn written(json: serde_json::Result<String>) -> String {
    json.expect("texts are JSON")
}
