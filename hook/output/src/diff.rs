//! What differs, file by file: as names, as git's letters, or as one line per file with the sum below.

use ckpt_store::model::instruction::Instruction;
use ckpt_store::model::number::{count, grouped};
use std::collections::BTreeSet;

use ckpt_schema::report::{ChangeKind, ChangeReport, DiffReport, PathText};

use super::View;
use super::files;
use super::fold::{self, ListedFile};
use super::paint::Paint;
use super::patch;
use super::text::{bytes, fit_end, path, safe, short};

/// Returns the line above a difference, which says what is compared.
pub fn heading(report: &DiffReport, view: &View) -> String {
    let named = |name: &Option<String>| name.as_deref().map(|name| side(name, view.paint));
    let Some(from) = named(&report.from_name) else {
        return String::new();
    };
    let text = match report.to_name.as_deref() {
        Some("current") if report.from_name.as_deref() == Some("current") => {
            "The workspace as it is now, compared with itself".to_owned()
        }
        Some("current") | None => format!("Since {from}"),
        Some(to) if to.starts_with("step ") && report.to_name == report.from_name => {
            format!("What {from} changed")
        }
        Some(to) => format!("From {from} to {}", side(to, view.paint)),
    };
    format!("{}\n", view.paint.faint(&text))
}

/// A message, an operation or a step stands for the state before it.
fn side(name: &str, paint: Paint) -> String {
    match name.split_once(' ') {
        Some(("message", id)) => format!("just before message {}", paint.id(&short(id))),
        Some(("operation", id)) => format!("just before operation {}", paint.id(&short(id))),
        Some((kind, id)) => format!("{} {}", safe(kind), paint.id(&short(id))),
        None => "the workspace as it is now".to_owned(),
    }
}

/// Returns the names of the differing files, one per line, or raw with a NUL byte after each.
pub fn names(files: &[ChangeReport], raw: bool, view: &View) -> Vec<u8> {
    let name = |change: &ChangeReport| match raw {
        true => [bytes(&change.path), vec![0]].concat(),
        false => format!("{}\n", name(&change.path, room(view))).into_bytes(),
    };
    shown(files).flat_map(name).collect()
}

/// The columns of a line of names, or `None` where they are to be whole.
fn room(view: &View) -> Option<usize> {
    view.width.filter(|_| !view.verbose)
}

/// Returns a path, or its end where it would be wider than its line.
fn name(name: &PathText, room: Option<usize>) -> String {
    let name = path(name);
    match room {
        Some(room) => fit_end(&name, room).into_owned(),
        None => name,
    }
}

/// Where a terminal goes on after a tab.
const TAB: usize = 8;

/// Returns git's letter for each path, and its name; for a renamed one both names.
pub fn name_status(files: &[ChangeReport], raw: bool, view: &View) -> Vec<u8> {
    let mut lines = Vec::new();
    let (field, end) = if raw { (b'\0', b'\0') } else { (b'\t', b'\n') };
    for change in shown(files) {
        let mut fields = vec![letter(change).into_bytes()];
        let names = change.renamed_from.iter().map(|rename| &rename.path);
        let room = room(view).map(|columns| match change.renamed_from {
            Some(_) => columns.saturating_sub(2 * TAB) / 2,
            None => columns.saturating_sub(TAB),
        });
        fields.extend(names.chain([&change.path]).map(|path| match raw {
            true => bytes(path),
            false => name(path, room).into_bytes(),
        }));
        lines.extend(fields.join(&field));
        lines.push(end);
    }
    lines
}

fn letter(change: &ChangeReport) -> String {
    if let Some(rename) = &change.renamed_from {
        return format!("R{:03}", rename.similarity);
    }
    match change.kind {
        ChangeKind::Added => "A",
        ChangeKind::Modified | ChangeKind::Mode => "M",
        ChangeKind::Deleted => "D",
        ChangeKind::Type => "T",
    }
    .to_owned()
}

/// A renamed file is listed once, under its new name.
pub fn shown(files: &[ChangeReport]) -> impl Iterator<Item = &ChangeReport> {
    files.iter().filter(|change| change.renamed_to.is_none())
}

/// Returns these with both sides: a renamed file is one change from its old state to its new one.
pub fn whole(files: &[ChangeReport]) -> impl Iterator<Item = ChangeReport> {
    shown(files).map(|change| patch::rename(change, files).unwrap_or_else(|| change.clone()))
}

/// What a comparison says that finds nothing.
pub const NOTHING: &str = "Nothing differs.\n";

/// Returns one line per file with its additions and deletions, and the sum.
pub fn stat(files: &[ChangeReport], view: &View) -> String {
    if files.is_empty() {
        return NOTHING.to_owned();
    }
    let (lines, is_folded) = listed(files, view);
    let total = total(files, view);
    match is_folded {
        true => format!("{lines}{}{}\n", total.trim_end(), Instruction::ListAll),
        false => lines + &total,
    }
}

/// Returns a line for each file, or for each directory if there are many files.
pub fn listing(files: &[ChangeReport], view: &View) -> String {
    listed(files, view).0
}

/// Returns the lines, and whether some stand for all files of a directory.
fn listed(files: &[ChangeReport], view: &View) -> (String, bool) {
    let all: Vec<ChangeReport> = whole(files).collect();
    let listed = |change| listed_file(change, view.paint);
    let listed: Vec<ListedFile<'_>> = all.iter().map(listed).collect();
    let (table, is_folded) = fold::table(&listed, view);
    (table.render(view), is_folded)
}

fn listed_file(change: &ChangeReport, paint: Paint) -> ListedFile<'_> {
    let note = whose(change, paint);
    ListedFile {
        group: group(change).filter(|_| note.is_empty() && !is_gap(change)),
        additions: change.additions,
        deletions: change.deletions,
        word: kind(change, paint),
        name: both_names(change),
        note: match change.kind {
            ChangeKind::Mode => {
                let modes = change.old_mode.as_deref().zip(change.new_mode.as_deref());
                let modes = modes.map(|(old, new)| format!(" ({})", files::modes(old, new)));
                modes.unwrap_or_default() + &note
            }
            _ => note,
        },
        moved_from: change.renamed_from.as_ref().map(|rename| &rename.path),
        ..ListedFile::of(&change.path)
    }
}

/// Returns the name of a changed file; of a renamed one both.
pub fn both_names(change: &ChangeReport) -> String {
    match &change.renamed_from {
        Some(rename) => format!("{} → {}", path(&rename.path), path(&change.path)),
        None => path(&change.path),
    }
}

/// Returns the kind of changes that a change may share a row with. A removed file is always named.
fn group(change: &ChangeReport) -> Option<usize> {
    match (&change.renamed_from, change.kind) {
        (Some(_), _) => Some(0),
        (None, ChangeKind::Added) => Some(1),
        (None, ChangeKind::Modified) => Some(2),
        (None, ChangeKind::Mode) => Some(3),
        (None, ChangeKind::Type) => Some(4),
        (None, ChangeKind::Deleted) => None,
    }
}

/// Returns the note behind a path whose change is not certainly the agent's.
fn whose(change: &ChangeReport, paint: Paint) -> String {
    match change.attribution.as_deref() {
        None | Some("agent") => String::new(),
        Some(other) => {
            let why = change.reason.as_deref();
            let why = why.map(|why| format!(": {}", safe(why)));
            paint.warning(&format!(" ({}{})", safe(other), why.unwrap_or_default()))
        }
    }
}

/// Returns the total of files and lines. Unclear changes are counted separately, as in `log`.
pub fn total(files: &[ChangeReport], view: &View) -> String {
    let (unclear, sure): (Vec<&ChangeReport>, Vec<&ChangeReport>) =
        shown(files).partition(|change| change.attribution.as_deref() == Some("unclear"));
    let unclear = paths(&unclear);
    let and_unclear = match unclear {
        0 => String::new(),
        _ => view.paint.warning(&format!(", {unclear} unclear")),
    };
    let mut sum = (paths(&sure), 0, 0);
    for change in sure {
        let (additions, deletions) = match &change.renamed_from {
            Some(rename) => (rename.additions, rename.deletions),
            None => (change.additions, change.deletions),
        };
        sum.1 += additions.unwrap_or(0);
        sum.2 += deletions.unwrap_or(0);
    }
    format!("{}{and_unclear}\n", sum_of(sum.0, sum.1, sum.2, view.paint))
}

/// The number of different paths: one that another author changed in between has two rows.
fn paths(changes: &[&ChangeReport]) -> u64 {
    let paths: BTreeSet<&PathText> = changes.iter().map(|change| &change.path).collect();
    paths.len() as u64
}

/// Returns "151 files, +4,150 -0".
pub fn sum_of(files: u64, additions: u64, deletions: u64, paint: Paint) -> String {
    format!(
        "{}, {} {}",
        count(files, "file"),
        paint.good(&format!("+{}", grouped(additions))),
        paint.bad(&format!("-{}", grouped(deletions)))
    )
}

/// A word for the change of a file.
pub fn kind(change: &ChangeReport, paint: Paint) -> String {
    if is_gap(change) {
        return paint.warning("not captured");
    }
    if change.renamed_from.is_some() {
        return paint.warning("renamed");
    }
    match change.kind {
        ChangeKind::Added => paint.good("added"),
        ChangeKind::Modified if change.whitespace_only => paint.warning("modified (white space)"),
        ChangeKind::Modified if change.binary => paint.warning("modified (binary)"),
        ChangeKind::Modified => paint.warning("modified"),
        ChangeKind::Deleted => paint.bad("deleted"),
        ChangeKind::Mode => paint.warning("mode"),
        ChangeKind::Type => paint.warning("type"),
    }
}

/// Returns whether no snapshot holds one of its sides: it could not be read, or a directory above it could not.
fn is_gap(change: &ChangeReport) -> bool {
    let is_missing = |mode: &Option<String>, blob: &Option<String>| {
        mode.is_some() && blob.is_none() && !patch::is_directory(mode.as_deref())
    };
    is_missing(&change.old_mode, &change.old_blob) || is_missing(&change.new_mode, &change.new_blob)
}

/// Returns "+2" and "-1", each empty if there are no such lines.
pub fn counts(additions: Option<u64>, deletions: Option<u64>, paint: Paint) -> [String; 2] {
    let show = |sign: char, lines: Option<u64>| match lines {
        None | Some(0) => String::new(),
        Some(lines) => format!("{sign}{}", grouped(lines)),
    };
    [
        paint.good(&show('+', additions)),
        paint.bad(&show('-', deletions)),
    ]
}
