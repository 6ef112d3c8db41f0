//! What is said of paths that no snapshot stores: notes, each with the paths that it is about. Pure.

use ckpt_schema::report::NoteCode;

use super::{gap_name, named_gap};
use crate::model::gap::Gap;
use crate::model::note::{Note, naming};
use crate::model::number::{first_of, first_quoted};

/// How many paths a line names.
pub(super) const NAMED: usize = 4;

/// Returns the note on paths: `one` says it of a single one, `many` of several, after their number.
pub(super) fn of_paths(code: NoteCode, about: Vec<String>, [one, many]: [&str; 2]) -> Option<Note> {
    let what = match about.len() {
        0 => return None,
        1 => one.to_owned(),
        count => format!("{count} {many}"),
    };
    naming(code, &what, about, NAMED)
}

/// Returns the note on ignored paths that are gone.
pub(super) fn of_gone(about: Vec<String>) -> Option<Note> {
    let words = [
        "an ignored path is gone and does not come back, because no snapshot holds it",
        "ignored paths are gone and do not come back, because no snapshot holds them",
    ];
    of_paths(NoteCode::IgnoredRemoved, about, words)
}

/// Returns the note on ignored paths that are gone although something is there again.
pub(super) fn of_replaced(about: Vec<String>) -> Option<Note> {
    let words = [
        "an ignored path was removed and made again since; what it held before does not come back",
        "ignored paths were removed and made again since; what they held before does not come back",
    ];
    of_paths(NoteCode::IgnoredRemoved, about, words)
}

/// Returns the note on files that rules hid, and that are put back as they came into view.
pub(super) fn of_put(about: Vec<String>) -> Option<Note> {
    let words = [
        "a path that rules hid is put back as it came into view; what it held before that is not known",
        "paths that rules hid are put back as they came into view; what they held before that is not known",
    ];
    of_paths(NoteCode::IgnoredChanged, about, words)
}

pub(super) fn of_gone_repositories(about: Vec<String>) -> Option<Note> {
    let what =
        "the metadata of repositories is gone and does not come back, because it is never captured";
    naming(NoteCode::RepositoryRemoved, what, about, NAMED)
}

pub(super) fn of_vanished(entries: &[&Gap]) -> Option<Note> {
    let names = entries.iter().map(|entry| named_gap(entry));
    let text = format!(
        "no snapshot holds these, so they do not come back: {}",
        first_of(names, NAMED)
    );
    let about = entries.iter().map(|entry| gap_name(entry)).collect();
    (!entries.is_empty()).then(|| Note::about(NoteCode::NotCaptured, text, about))
}

/// Returns the note on ignored paths that came. It is about `files`, too, which are in them.
pub(super) fn of_ignored(paths: Vec<String>, files: Vec<String>) -> Option<Note> {
    let what = match paths.len() {
        0 => return None,
        1 => "an ignored path that came since stays".to_owned(),
        count => format!("{count} ignored paths that came since stay"),
    };
    let text = format!("{what}: {}", first_quoted(&paths, NAMED));
    Some(Note::about(NoteCode::IgnoredMade, text, files))
}

/// Returns the note on ignore files that ignore themselves. Only their lines are remembered.
pub(super) fn of_ignore_files(about: Vec<String>) -> Option<Note> {
    let words = [
        "an ignore file that ignores itself differs from then, and stays as it is",
        "ignore files that ignore themselves differ from then, and stay as they are",
    ];
    of_paths(NoteCode::IgnoredMade, about, words)
}
