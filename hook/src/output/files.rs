//! A table of the files, and of the parts of git's state, that an operation changed or kept.

use ckpt_schema::report::{FileAction, FileReport, FileResult, GitPart, GitReport};
use ckpt_store::model::number::count;

use super::View;
use super::diff::{counts, sum_of};
use super::fold::{FoldedRow, ListedFile, fold};
use super::paint::Paint;
use super::table::Table;
use super::text::{path, safe, short};

/// Returns a line for each file, except those that were already as they should be.
pub fn files(files: &[FileReport], view: &View) -> String {
    moved(files, &[], view)
}

/// The same, with a line for each part of git's state below.
pub fn moved(files: &[FileReport], git: &[GitReport], view: &View) -> String {
    let mut table = Table::new(&[1, 2])
        .indented(2)
        .dropping(&[1])
        .together(&[1, 2])
        .ending_with_path();
    let shown: Vec<&FileReport> = files
        .iter()
        .filter(|file| says_something(file) || view.verbose)
        .collect();
    let lines: Vec<ListedFile<'_>> = shown.iter().map(|file| foldable(file)).collect();
    let parts = fold(&lines, view.verbose);
    let is_folded = parts.len() < shown.len();
    for part in parts {
        match part {
            FoldedRow::One(place) => {
                let file = shown[place];
                let [additions, deletions] = counts(file.additions, file.deletions, view.paint);
                let cells = vec![
                    word(file, view.paint),
                    additions,
                    deletions,
                    path(&file.path),
                ];
                table.noted(cells, reason(file.reason.as_deref(), view.paint));
            }
            FoldedRow::Directory {
                name,
                files,
                additions,
                deletions,
            } => {
                let [additions, deletions] = counts(Some(additions), Some(deletions), view.paint);
                table.row(vec![count(files, "file"), additions, deletions, name]);
            }
        }
    }
    for part in git {
        let cells = vec![
            git_word(part.result, view.paint),
            String::new(),
            String::new(),
            git_part(part),
        ];
        table.noted(cells, reason(part.reason.as_deref(), view.paint));
    }
    if !is_folded {
        return table.render(view);
    }
    let sum = |lines: fn(&FileReport) -> Option<u64>| -> u64 {
        shown.iter().filter_map(|file| lines(file)).sum()
    };
    let total = sum_of(
        shown.len() as u64,
        sum(|file| file.additions),
        sum(|file| file.deletions),
        view.paint,
    );
    format!("{}{total} (-v lists all)\n", table.render(view))
}

/// A file that stayed, failed, or has a reason is always named.
fn foldable(file: &FileReport) -> ListedFile<'_> {
    let is_done = matches!(file.result, FileResult::Done | FileResult::Planned);
    let is_kept = match file.action {
        FileAction::Keep => true,
        FileAction::Write | FileAction::Delete | FileAction::Merge | FileAction::None => false,
    };
    ListedFile {
        path: &file.path,
        is_foldable: is_done && !is_kept && !file.unclear && file.reason.is_none(),
        additions: file.additions,
        deletions: file.deletions,
    }
}

fn git_word(result: FileResult, paint: Paint) -> String {
    match result {
        FileResult::Done => paint.good("moved"),
        FileResult::Planned => paint.id("move"),
        FileResult::Failed => paint.bad("failed"),
        FileResult::Conflict | FileResult::Gap => paint.warning("kept"),
    }
}

fn git_part(part: &GitReport) -> String {
    let what = match part.part {
        GitPart::Branch => format!("branch {}", safe(plain(&part.name))),
        GitPart::Head => "HEAD".to_owned(),
        GitPart::Index => "git's index".to_owned(),
    };
    let way = match (part.part, part.result) {
        (GitPart::Branch | GitPart::Head, FileResult::Done | FileResult::Planned) => {
            let (from, to) = (part.from.as_deref(), part.to.as_deref());
            format!(": {} → {}", git_value(from), git_value(to))
        }
        _ => String::new(),
    };
    what + &way
}

/// Returns what HEAD or a branch points to: the name of a branch, or the abbreviated id of a commit.
fn git_value(text: Option<&str>) -> String {
    match text.map(|text| (text, text.strip_prefix("ref: "))) {
        Some((_, Some(branch))) => safe(plain(branch)).into_owned(),
        Some((commit, None)) => short(commit),
        None => "none".to_owned(),
    }
}

fn plain(branch: &str) -> &str {
    branch.strip_prefix("refs/heads/").unwrap_or(branch)
}

pub fn says_something(file: &FileReport) -> bool {
    file.action != FileAction::None
        || !matches!(file.result, FileResult::Done | FileResult::Planned)
}

/// Returns the note behind a path.
fn reason(reason: Option<&str>, paint: Paint) -> String {
    reason
        .map(|reason| paint.faint(&format!(" ({})", safe(reason))))
        .unwrap_or_default()
}

fn word(file: &FileReport, paint: Paint) -> String {
    match (file.result, file.action) {
        (FileResult::Conflict, _) => paint.warning("kept"),
        (FileResult::Gap, _) => paint.warning("not captured"),
        (FileResult::Failed, _) => paint.bad("failed"),
        (FileResult::Done, FileAction::Write) => paint.good("restored"),
        (FileResult::Done, FileAction::Delete) => paint.good("removed"),
        (FileResult::Done, FileAction::Merge) => paint.good("merged"),
        (FileResult::Planned, FileAction::Write) => paint.id("restore"),
        (FileResult::Planned, FileAction::Delete) => paint.id("remove"),
        (FileResult::Planned, FileAction::Merge) => paint.id("merge"),
        (_, FileAction::Keep) => paint.warning("kept"),
        (_, FileAction::None) => paint.faint("unchanged"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_at_a_branch_or_a_commit_or_nowhere() {
        assert_eq!(git_value(Some("ref: refs/heads/topic/a")), "topic/a");
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(git_value(Some(commit)), short(commit));
        assert_eq!(git_value(None), "none");
    }
}
