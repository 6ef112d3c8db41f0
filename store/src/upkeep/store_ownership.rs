//! `doctor`: checks that all of the store is the user's own, and that the user can write to it; with `--repair`, moves
//! aside what stands in the place of a file.

use std::path::Path;

use ckpt_schema::report::{Finding, FindingLevel};

use super::check::NAMED;
use crate::fs::ownership::{self, Fault};
use crate::model::number::first_of;

const SUBJECT: &str = "store";

/// Looks at everything in a store, and returns a finding for each kind of fault, or one that says that all is well.
pub(crate) fn check(directory: &Path) -> Vec<Finding> {
    let faults = ownership::faults(directory);
    if faults.is_empty() {
        let text = format!("`{}` is yours alone", directory.display());
        return vec![Finding::ok(SUBJECT, text)];
    }
    faults
        .chunk_by(|one, other| one.0 == other.0)
        .filter_map(|alike| {
            let names = alike
                .iter()
                .map(|(_, path)| format!("`{}`", path.display()));
            Some(finding(alike.first()?.0, &first_of(names, NAMED)))
        })
        .collect()
}

/// Moves the directories aside that stand in the place of a file, as one in the place of a lock keeps everybody from
/// work. Nothing of them is removed. Returns a sentence for each.
pub(crate) fn repair(directory: &Path) -> Vec<Finding> {
    let faults = ownership::faults(directory).into_iter();
    let misplaced = faults.filter(|(fault, _)| *fault == Fault::Directory);
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
            Err(error) => Finding::error(SUBJECT, error.with_causes()),
        })
        .collect()
}

fn finding(fault: Fault, names: &str) -> Finding {
    let (level, what, hint) = match fault {
        Fault::OfAnother => (
            FindingLevel::Error,
            "the store holds what belongs to another user",
            "another user may have put it there, or `sudo` made it: look at it, then `chown` it or move it out of the store",
        ),
        Fault::NoFile => (
            FindingLevel::Error,
            "the store holds what is neither a file nor a directory",
            "another user may have put it there: look at it, and move it out of the store",
        ),
        Fault::Directory => (
            FindingLevel::Error,
            "the store holds a directory in the place of a file",
            "another user may have put it there: look at it; `ckpt-hook doctor --repair` moves it aside",
        ),
        Fault::Closed => (
            FindingLevel::Error,
            "the store holds what lacks the permissions that recording needs",
            "`chmod u+rwx` it",
        ),
        Fault::Open => (
            FindingLevel::Warning,
            "other users may look into the store",
            "the next event makes it private again",
        ),
    };
    Finding::new(level, SUBJECT, format!("{what}: {names}")).hint(hint)
}
