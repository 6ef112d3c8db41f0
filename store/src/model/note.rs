//! The notes of an operation, besides its files: a sentence for people, and the same for programs.

pub(crate) use ckpt_schema::report::NoteReport as Note;

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
