//! The notes of an operation, besides its files: a sentence for people, and the same for programs.

use ckpt_schema::report::NoteCode;
pub(crate) use ckpt_schema::report::NoteReport as Note;

use super::number::first_quoted;

/// Returns a note that says `what`, and names the first `most` of the things that it is about; `None` without any.
pub(crate) fn naming(code: NoteCode, what: &str, about: Vec<String>, most: usize) -> Option<Note> {
    let named = first_quoted(&about, most);
    (!about.is_empty()).then(|| Note::about(code, format!("{what}: {named}"), about))
}

/// Returns the sentences of notes.
pub(crate) fn texts(notes: &[Note]) -> Vec<String> {
    notes.iter().map(|note| note.text.clone()).collect()
}

/// Returns notes for an operation's row.
pub(crate) fn to_json(notes: &[Note]) -> String {
    serde_json::to_string(notes).expect("texts are JSON")
}

/// Returns the notes that [`to_json`] wrote into a row. A damaged row counts as one without notes: nothing is decided by
/// them, and an operation that is still open must be finished all the same.
pub(crate) fn from_json(notes: &str) -> Vec<Note> {
    serde_json::from_str(notes).unwrap_or_default()
}
