//! A table of the files, and of the parts of git's state, that an operation changed or kept.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::{
    FileAction, FileReport, FileResult, GitPart, GitReport, PathText, Rename, RootFiles,
};
use ckpt_store::model::branch_name;
use ckpt_store::model::instruction::Instruction;

use super::View;
use super::diff::sum_of;
use super::fold::{self, ListedFile};
use super::paint::Paint;
use super::text::{path, safe, short, with_ids_shortened};

/// Returns a line for each file, except those that were already as they should be.
pub fn files(files: &[FileReport], view: &View) -> String {
    moved(files, &[], view)
}

/// Returns the files of other roots, each list below the name of its root.
pub fn in_roots(roots: &[RootFiles], view: &View) -> String {
    let root = |root: &RootFiles| {
        let name = view.paint.strong(&safe(&root.workspace));
        format!("{name}\n{}", files(&root.files, view))
    };
    roots.iter().map(root).collect()
}

/// The same, with a line for each part of git's state below.
pub fn moved(files: &[FileReport], git: &[GitReport], view: &View) -> String {
    let origins = origins(files);
    let gone = moved_away(files);
    let shown: Vec<&FileReport> = files
        .iter()
        .filter(|file| says_something(file) || view.verbose)
        .filter(|file| !gone.contains(&file.path))
        .collect();
    let groups = groups(&shown, &origins);
    let lines = shown.iter().zip(groups).map(|(file, group)| {
        let origin = origins.get(&file.path);
        let moved_from = origin.map(|origin| &origin.path);
        let (additions, deletions) = line_counts(file);
        ListedFile {
            group,
            additions,
            deletions,
            word: word(file, view.paint),
            name: name(file),
            note: permissions(file) + &reason(file.reason.as_deref(), view.paint),
            moved_from,
            ..ListedFile::of(&file.path)
        }
    });
    let lines: Vec<ListedFile<'_>> = lines.collect();
    let (mut table, is_folded) = fold::table(&lines, view);
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
    let sum = |count: fn(&ListedFile<'_>) -> Option<u64>| lines.iter().filter_map(count).sum();
    let total = sum_of(
        lines.len() as u64,
        sum(|line| line.additions),
        sum(|line| line.deletions),
        view.paint,
    );
    format!("{}{total}{}\n", table.render(view), Instruction::ListAll)
}

/// Returns the paths that go because their files move: these have no rows of their own.
pub fn moved_away(files: &[FileReport]) -> BTreeSet<&PathText> {
    let origins = files.iter().filter_map(|file| file.moved_from.as_ref());
    origins.map(|origin| &origin.path).collect()
}

/// Returns the name of a file; of a moved one both.
pub fn name(file: &FileReport) -> String {
    match &file.moved_from {
        Some(from) => format!("{} → {}", path(&from.path), path(&file.path)),
        None => path(&file.path),
    }
}

/// Returns the lines that come to a file and go; of a moved one only those that an edit changed besides.
pub fn line_counts(file: &FileReport) -> (Option<u64>, Option<u64>) {
    let edited = |lines: Option<u64>| lines.filter(|lines| *lines > 0);
    match &file.moved_from {
        Some(origin) => (edited(origin.additions), edited(origin.deletions)),
        None => (file.additions, file.deletions),
    }
}

/// Returns the former path of each moved file.
fn origins<'a>(files: &'a [FileReport]) -> BTreeMap<&'a PathText, &'a Rename> {
    let origin = |file: &'a FileReport| Option::zip(Some(&file.path), file.moved_from.as_ref());
    files.iter().filter_map(origin).collect()
}

/// Returns the files that may share a row: those to which the same happened, and those that stay for the same reason. A
/// few that stay are always named, and so is a file that is removed, that failed, or that went back in part.
fn groups(files: &[&FileReport], origins: &BTreeMap<&PathText, &Rename>) -> Vec<Option<usize>> {
    let mut kept: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for file in files.iter().filter(|file| stays(file)) {
        // Behind what is done to files.
        let next = kept.len() + 3;
        let reason = file.reason.as_deref().unwrap_or_default();
        kept.entry(reason).or_insert((next, 0)).1 += 1;
    }
    let group = |file: &&FileReport| match file.reason.as_deref() {
        None if origins.contains_key(&file.path) => Some(2),
        None if is_done(file) && file.action != FileAction::Delete => {
            Some(usize::from(file.action == FileAction::Merge))
        }
        Some(reason) if stays(file) => {
            let (group, number) = kept.get(reason)?;
            (*number > NAMED).then_some(*group)
        }
        _ => None,
    };
    files.iter().map(group).collect()
}

/// How many files that stay for one reason are named.
const NAMED: usize = 10;

fn is_done(file: &FileReport) -> bool {
    let is_done = matches!(file.result, FileResult::Done | FileResult::Planned);
    let is_kept = match file.action {
        FileAction::Keep => true,
        FileAction::Write | FileAction::Delete | FileAction::Merge | FileAction::None => false,
    };
    is_done && !is_kept && !file.unclear
}

/// Returns whether a file stays as it is because others may have changed it.
fn stays(file: &FileReport) -> bool {
    file.result == FileResult::Conflict && file.reason.is_some()
}

fn git_word(result: FileResult, paint: Paint) -> String {
    match result {
        FileResult::Done => paint.good("moved"),
        FileResult::Planned => paint.id("move"),
        FileResult::Failed => paint.bad("failed"),
        FileResult::Conflict | FileResult::Gap => paint.warning("kept"),
    }
}

/// Returns the command that moves each part of git's state that stays, in a sentence on a line.
pub fn git_ways(parts: &[GitReport]) -> String {
    let way = |part: &GitReport| {
        let way = safe(part.way.as_deref()?);
        Some(format!("Kept {}: {way}.\n", git_name(part)))
    };
    parts.iter().filter_map(way).collect()
}

fn git_name(part: &GitReport) -> String {
    match part.part {
        GitPart::Branch => format!("branch {}", safe(branch_name(&part.name))),
        GitPart::Head => "HEAD".to_owned(),
        GitPart::Index => "git's index".to_owned(),
    }
}

fn git_part(part: &GitReport) -> String {
    let way = match (part.part, part.result) {
        (GitPart::Branch | GitPart::Head, FileResult::Done | FileResult::Planned) => {
            let (from, to) = (part.from.as_deref(), part.to.as_deref());
            format!(": {} → {}", git_value(from), git_value(to))
        }
        _ => String::new(),
    };
    git_name(part) + &way
}

/// The target of HEAD or a branch: the name of a branch, or the abbreviated id of a commit.
fn git_value(text: Option<&str>) -> String {
    match text.map(|text| (text, text.strip_prefix("ref: "))) {
        Some((_, Some(branch))) => safe(branch_name(branch)).into_owned(),
        Some((commit, None)) => short(commit),
        None => "none".to_owned(),
    }
}

/// Returns whether a file has a row of its own: something is done to it, or it stays for a reason.
pub fn says_something(file: &FileReport) -> bool {
    file.action != FileAction::None
        || !matches!(file.result, FileResult::Done | FileResult::Planned)
}

/// Returns whether an action writes or removes something.
pub fn changes_something(file: &FileReport) -> bool {
    !matches!(file.action, FileAction::None | FileAction::Keep)
}

/// Returns which permissions change, where nothing else does.
fn permissions(file: &FileReport) -> String {
    match (&file.old_mode, &file.new_mode) {
        (Some(old), Some(new)) if old != new && file.old_blob == file.new_blob => {
            format!(" ({})", modes(old, new))
        }
        _ => String::new(),
    }
}

/// Returns a change of permissions in words.
pub fn modes(old: &str, new: &str) -> String {
    let permissions = |mode: &str| mode[mode.len().saturating_sub(3)..].to_owned();
    format!("permissions {} → {}", permissions(old), permissions(new))
}

/// Returns the note behind a path.
fn reason(reason: Option<&str>, paint: Paint) -> String {
    reason
        .map(|reason| {
            format!(
                " {}",
                paint.faint(&format!("({})", safe(&with_ids_shortened(reason))))
            )
        })
        .unwrap_or_default()
}

/// Returns the word for what becomes of a file, in its colour.
pub fn word(file: &FileReport, paint: Paint) -> String {
    match (file.result, file.action) {
        (FileResult::Planned, _) if file.moved_from.is_some() => paint.id("move"),
        (_, _) if file.moved_from.is_some() => paint.good("moved"),
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
    use crate::time::TimeContext;
    use ckpt_schema::report::PathText;
    use expect_test::expect;

    /// Many that stay for one reason share a row and a few are named.
    #[test]
    fn files_kept_for_one_reason_share_a_row() {
        let kept = |name: String, reason: &str| {
            let path = PathText {
                path: name,
                path_hex: None,
            };
            FileReport {
                reason: Some(reason.to_owned()),
                ..FileReport::new(path, FileAction::Keep, FileResult::Conflict)
            }
        };
        let many = (0..30).map(|number| kept(format!("gen/{number}"), "shared"));
        let few = (0..3).map(|number| kept(format!("gen/few-{number}"), "edited"));
        let all: Vec<FileReport> = many.chain(few).collect();
        let view = |verbose| View {
            paint: Paint::PLAIN,
            width: None,
            times: TimeContext {
                now: 0,
                offset: time::UtcOffset::UTC,
            },
            verbose,
        };
        expect![[r#"
              30 kept      gen/ (0, 1, 2, …) (shared)
              kept         gen/few-0 (edited)
              kept         gen/few-1 (edited)
              kept         gen/few-2 (edited)
            33 files, +0 -0 (-v lists all)
        "#]]
        .assert_eq(&files(&all, &view(false)));
        assert_eq!(files(&all, &view(true)).lines().count(), 33, "all of them");
    }

    /// What is moved is one row and one file.
    #[test]
    fn moved_file_is_one_row() {
        let path = |path: &str| PathText {
            path: path.to_owned(),
            path_hex: None,
        };
        let mut all = Vec::new();
        for number in 0..33 {
            let blob = Some(format!("{number:040}"));
            let mode = Some("100644".to_owned());
            all.push(FileReport {
                old_blob: blob.clone(),
                old_mode: mode.clone(),
                deletions: Some(1),
                ..FileReport::new(
                    path(&format!("scripts/{number}")),
                    FileAction::Delete,
                    FileResult::Planned,
                )
            });
            let origin = Rename {
                path: path(&format!("scripts/{number}")),
                similarity: 100,
                additions: Some(0),
                deletions: Some(0),
            };
            all.push(FileReport {
                new_blob: blob,
                new_mode: mode,
                moved_from: Some(origin),
                additions: Some(1),
                ..FileReport::new(
                    path(&format!("tools/{number}")),
                    FileAction::Write,
                    FileResult::Planned,
                )
            });
        }
        for name in ["scripts/new", "top"] {
            let file = FileReport::new(path(name), FileAction::Delete, FileResult::Planned);
            all.push(FileReport {
                deletions: Some(2),
                ..file
            });
        }
        all.push(FileReport {
            old_mode: Some("100755".to_owned()),
            new_mode: Some("100644".to_owned()),
            ..FileReport::new(path("run"), FileAction::Write, FileResult::Planned)
        });
        let view = View {
            paint: Paint::PLAIN,
            width: None,
            times: TimeContext {
                now: 0,
                offset: time::UtcOffset::UTC,
            },
            verbose: false,
        };
        let text = files(&all, &view);
        for part in [
            "33 files",
            "scripts/ → tools/",
            "scripts/new",
            "(permissions 755 → 644)",
            "36 files, ",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.lines().count(), 5, "{text}");
    }

    /// Head is at a branch or a commit or nowhere.
    #[test]
    fn head_is_a_branch_a_commit_or_none() {
        assert_eq!(git_value(Some("ref: refs/heads/topic/a")), "topic/a");
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(git_value(Some(commit)), short(commit));
        assert_eq!(git_value(None), "none");
    }
}
