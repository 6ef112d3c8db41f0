//! What an operation says beyond its files: a sentence for people, and the same for programs.

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
    /// Returns a note about nothing that has a name.
    pub fn new(code: NoteCode, text: impl Into<String>) -> Self {
        Self::about(code, text, Vec::new())
    }

    /// Returns a note about things by their names, all of them; the sentence may name only the first.
    pub fn about(code: NoteCode, text: impl Into<String>, about: Vec<String>) -> Self {
        let text = text.into();
        Self { code, text, about }
    }

    /// Returns the sentence.
    pub fn text(&self) -> String {
        self.text.clone()
    }

    /// Returns it as reports give it.
    pub fn report(&self) -> NoteReport {
        NoteReport {
            code: self.code,
            text: self.text.clone(),
            about: self.about.clone(),
        }
    }
}

/// Most who look at a note want its sentence.
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

/// Returns notes as reports give them.
pub(crate) fn reports(notes: &[Note]) -> Vec<NoteReport> {
    notes.iter().map(Note::report).collect()
}

/// Returns notes as an operation's row has them: their sentences, and the same for programs.
pub(crate) fn to_json(notes: &[Note]) -> (String, String) {
    (
        written(serde_json::to_string(&texts(notes))),
        written(serde_json::to_string(&reports(notes))),
    )
}

/// Returns what a row has and one more note. A row of an older version has nothing for programs.
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
