//! What is said of paths that no snapshot stores: notes, each with the paths that it is about. Pure.

use ckpt_schema::report::NoteCode;

use super::{first_quoted, gap_name, named_gap, naming};
use crate::model::gap::Gap;
use crate::model::note::Note;
use crate::model::number::first_of;
use crate::model::path::WorkspacePath;

/// How many paths a line names.
pub(super) const NAMED: usize = 4;

pub(super) fn of_gone(paths: &[WorkspacePath]) -> Option<Note> {
    let about: Vec<String> = paths.iter().map(WorkspacePath::to_text).collect();
    let what = match about.len() {
        0 => return None,
        1 => "an ignored path is gone and does not come back, because no snapshot holds it"
            .to_owned(),
        count => format!(
            "{count} ignored paths are gone and do not come back, because no snapshot holds them"
        ),
    };
    Some(naming(NoteCode::IgnoredRemoved, &what, about, NAMED))
}

/// Returns the note on ignored paths that are gone although something is there again.
pub(super) fn of_replaced(paths: &[WorkspacePath]) -> Option<Note> {
    let about: Vec<String> = paths.iter().map(WorkspacePath::to_text).collect();
    let what = match about.len() {
        0 => return None,
        1 => {
            "an ignored path was removed and made again since; what it held before does not come back"
                .to_owned()
        }
        count => format!(
            "{count} ignored paths were removed and made again since; what they held before does not come back"
        ),
    };
    Some(naming(NoteCode::IgnoredRemoved, &what, about, NAMED))
}

pub(super) fn of_gone_repositories(about: Vec<String>) -> Option<Note> {
    let text = format!(
        "the metadata of repositories is gone and does not come back, because it is never captured: {}",
        first_quoted(&about, NAMED)
    );
    (!about.is_empty()).then(|| Note::about(NoteCode::RepositoryRemoved, text, about))
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

pub(super) fn of_ignored(about: Vec<String>) -> Option<Note> {
    let what = match about.len() {
        0 => return None,
        1 => "an ignored path that came since stays".to_owned(),
        count => format!("{count} ignored paths that came since stay"),
    };
    Some(naming(NoteCode::IgnoredMade, &what, about, NAMED))
}

/// Returns the note on ignore files that ignore themselves. Only their lines are remembered.
pub(super) fn of_ignore_files(files: Vec<WorkspacePath>) -> Option<Note> {
    let about: Vec<String> = files.iter().map(WorkspacePath::to_text).collect();
    let what = match about.len() {
        0 => return None,
        1 => "an ignore file that ignores itself differs from then, and stays as it is".to_owned(),
        count => format!(
            "{count} ignore files that ignore themselves differ from then, and stay as they are"
        ),
    };
    Some(naming(NoteCode::IgnoredMade, &what, about, NAMED))
}
