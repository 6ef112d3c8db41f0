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

    /// Returns the kind of the note.
    pub fn code(&self) -> NoteCode {
        self.code
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

/// Returns the sentences that [`to_json`] wrote into a row. A damaged row counts as one without notes: nothing is
/// decided by them, and an operation that is still open must be finished all the same.
pub(crate) fn from_json(notes: &str) -> Vec<String> {
    serde_json::from_str(notes).unwrap_or_default()
}

/// Adds a note to those of a row. A row of an older version has no notes for programs.
pub(crate) fn add(notes: &str, remarks: Option<&str>, note: &Note) -> (String, Option<String>) {
    let mut texts = from_json(notes);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A note is added to those of a row and a damaged row has none.
    #[test]
    fn note_is_added_and_damaged_row_has_none() {
        let first = Note::about(NoteCode::Open, "one", vec!["a".to_owned()]);
        let second = Note::new(NoteCode::Head, "two");
        let (notes, remarks) = to_json(std::slice::from_ref(&first));
        let (notes, remarks) = add(&notes, Some(&remarks), &second);
        assert_eq!(from_json(&notes), ["one", "two"]);
        let both = reports(&[first, second.clone()]);
        let remarks = remarks.expect("the row has them");
        let remarks: Vec<NoteReport> = serde_json::from_str(&remarks).expect("an array");
        assert_eq!(remarks, both);
        let (notes, remarks) = add("[\"cut o", None, &second);
        assert_eq!(from_json(&notes), ["two"], "nothing else can be read");
        assert_eq!(remarks, None, "a row of an older version");
    }
}
