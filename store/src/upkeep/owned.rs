//! `doctor`: checks that all of the store is the user's own, and that the user can write to it; with `--repair`, moves aside what
//! stands in the place of a file.

use std::path::Path;

use ckpt_schema::report::Finding;

use super::check::NAMED;
use crate::fs::ownership::{self, Trouble};
use crate::model::number::first_of;

const SUBJECT: &str = "store";

/// Looks at everything in a store, and returns a finding for each kind of trouble, or one that says that all is well.
pub(crate) fn check(directory: &Path) -> Vec<Finding> {
    let troubles = ownership::troubles(directory);
    if troubles.is_empty() {
        let text = format!("`{}` is yours alone", directory.display());
        return vec![Finding::new("ok", SUBJECT, text)];
    }
    troubles
        .chunk_by(|one, other| one.0 == other.0)
        .filter_map(|alike| {
            let names = alike
                .iter()
                .map(|(_, path)| format!("`{}`", path.display()));
            Some(finding(alike.first()?.0, &first_of(names, NAMED)))
        })
        .collect()
}

/// Moves the directories aside that stand in the place of a file, as one in the place of a lock keeps everybody from work.
/// Nothing of them is removed. Returns what was done.
pub(crate) fn repair(directory: &Path) -> Vec<Finding> {
    let troubles = ownership::troubles(directory).into_iter();
    let misplaced = troubles.filter(|(trouble, _)| *trouble == Trouble::Directory);
    misplaced
        .map(|(_, path)| match ownership::move_aside(directory, &path) {
            Ok(place) => Finding::repaired(
                SUBJECT,
                format!(
                    "moved the directory `{}`, which stood in the place of a file, to `{}`",
                    path.display(),
                    place.display()
                ),
            ),
            Err(error) => Finding::new("error", SUBJECT, error.with_causes()),
        })
        .collect()
}

fn finding(trouble: Trouble, names: &str) -> Finding {
    let (level, what, hint) = match trouble {
        Trouble::OfAnother => (
            "error",
            "the store holds what belongs to another user",
            "somebody else may have prepared it, or `sudo` made it: look at it, then `chown` it or move it out of the store",
        ),
        Trouble::NoFile => (
            "error",
            "the store holds what is neither a file nor a directory",
            "somebody else may have prepared it: look at it, and move it out of the store",
        ),
        Trouble::Directory => (
            "error",
            "the store holds a directory in the place of a file",
            "somebody else may have prepared it: look at it; `ckpt-hook doctor --repair` moves it aside",
        ),
        Trouble::Closed => (
            "error",
            "the store holds what lacks the permissions that recording needs",
            "`chmod u+rwx` it",
        ),
        Trouble::Open => (
            "warning",
            "other users may look into the store",
            "the next event makes it private again",
        ),
    };
    Finding {
        hint: Some(hint.to_owned()),
        ..Finding::new(level, SUBJECT, format!("{what}: {names}"))
    }
}
