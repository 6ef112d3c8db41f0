//! What a revert, redo or restore did or would do, and how to undo it.

use std::path::PathBuf;

use ckpt_schema::report::{
    NoteCode, OperationEntry, OperationKind, OperationReport, Outcome, RootOperation,
};

use ckpt_store::revert::PriorState;

use super::View;
use super::files::{git_ways, moved};
pub use super::footer::also_reverted;
use super::footer::{closing, conversation, hidden};
use super::history::operation_word;
pub use super::kept::PlanKeys;
use super::kept::{differing, others_in_short, reasons_to_keep};
use super::paint::Paint;
use super::text::{fit, safe, short, title, with_ids_shortened};

/// Information for people that is not in the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// What the user wrote in the message that is undone alone, else in the one that is now the revert point.
    pub prompt: Option<String>,
    /// The state just before it; the default if nothing was done.
    pub before: PriorState,
    /// What it takes back, if it is the undo of an operation.
    pub undoes: Option<OperationUndone>,
    /// Whether a plan without files would move the revert point.
    pub moves_point: bool,
    /// The current directory, from the workspace's on, or the nearest above it that is still there.
    pub below: PathBuf,
    /// How many directories further down the current directory was.
    pub gone: usize,
    /// The keys that take what stays, in a browser that shows a plan.
    pub keys: Option<PlanKeys>,
}

/// Returns the outcome as lines.
pub fn render(report: &OperationReport, around: &Around, view: &View) -> String {
    let mut text = format!("{}\n", headline(report, around, view.paint));
    text.push_str(&moved(&report.files, &report.git, view));
    text.push_str(&notes(report, view.paint));
    text.push_str(&in_roots(report, around, view));
    text.push_str(&differing(report, around, view.paint));
    text.push_str(&closing(report, around, view.paint));
    text
}

/// Returns the outcome without its files and ways out, which a browser of the files has itself: what it does as a whole,
/// and what else there is to know.
pub fn head(report: &OperationReport, around: &Around, view: &View) -> (String, String) {
    let mut head = format!("{}\n", headline(report, around, view.paint));
    if !report.messages_hidden.is_empty() {
        head.push_str(&format!("{}\n", hidden(report, around)));
    }
    (
        head,
        moved(&[], &report.git, view)
            + &git_ways(&report.git)
            + &notes(report, view.paint)
            + &others_in_short(report)
            + &conversation(report, view.paint),
    )
}

/// What an operation does in the other roots of its session, each below the name of the root.
fn in_roots(report: &OperationReport, around: &Around, view: &View) -> String {
    // A command about another root takes its paths from there on, and a browser shows the files of one root.
    let mut around = around.clone();
    around.below = PathBuf::new();
    around.keys = None;
    let root = |root: &RootOperation| {
        let report = &root.report;
        let mut text = format!("{}\n", view.paint.strong(&safe(&root.workspace)));
        text.push_str(&(moved(&report.files, &report.git, view) + &notes(report, view.paint)));
        text.push_str(&differing(report, &around, view.paint));
        let kept = reasons_to_keep(report, &around, view.paint);
        text.extend(kept.into_iter().map(|line| line + "\n"));
        text + &git_ways(&report.git)
    };
    let has_news = |root: &&RootOperation| {
        let report = &root.report;
        !report.files.is_empty() || !report.notes.is_empty() || !report.git.is_empty()
    };
    report.roots.iter().filter(has_news).map(root).collect()
}

fn notes(report: &OperationReport, paint: Paint) -> String {
    let note = |note: &String| {
        format!(
            "{} {}\n",
            paint.warning("note:"),
            safe(&with_ids_shortened(note))
        )
    };
    report.notes.iter().map(note).collect()
}

fn headline(report: &OperationReport, around: &Around, paint: Paint) -> String {
    let done = what(report, around, paint);
    match report.outcome {
        Outcome::Restored => paint.good("✓ ") + &done,
        Outcome::Partial if report.operation.is_none() && !report.dry_run => {
            paint.warning("! ") + "Nothing was changed: everything that differs stays"
        }
        Outcome::Partial => paint.warning("! ") + &done + &paint.warning(", but not everything"),
        // The revert point moved, so something was done.
        Outcome::Nothing if report.operation.is_some() => {
            format!("{}{done}; no file had to change", paint.good("✓ "))
        }
        Outcome::Nothing if around.moves_point => {
            format!("{}{done}; no file would have to change", paint.good("✓ "))
        }
        Outcome::Nothing if !report.notes.is_empty() => "Nothing to do".to_owned(),
        Outcome::Nothing => format!("Nothing to do: {}", nothing(report.kind)),
        Outcome::Unavailable => {
            paint.bad("✗ ") + "What you asked for cannot be restored; nothing was changed"
        }
    }
}

fn what(report: &OperationReport, around: &Around, paint: Paint) -> String {
    let message = report
        .message
        .as_deref()
        .map(|id| message(id, around.prompt.as_deref(), paint));
    let would = if report.dry_run { "Would go" } else { "Went" };
    let done = if report.dry_run {
        "Would undo"
    } else {
        "Undid"
    };
    if let Some(OperationUndone {
        operation,
        is_done_again,
    }) = &around.undoes
    {
        let name = operation_name(operation, around.prompt.as_deref(), paint);
        return match (is_done_again, report.dry_run) {
            (false, _) => format!("{done} {name}"),
            (true, false) => format!("Did {name} again"),
            (true, true) => format!("Would do {name} again"),
        };
    }
    let part = report.part.as_deref();
    let part = part.map(|id| self::message(id, around.prompt.as_deref(), paint));
    match (report.kind, message) {
        (OperationKind::Revert, Some(message)) if !around.before.is_part => {
            format!("{would} back to just before {message}")
        }
        (OperationKind::Revert, _) if report.alone.is_some() => {
            let alone = report.alone.as_deref().unwrap_or_default();
            let alone = self::message(alone, around.prompt.as_deref(), paint);
            format!("{done} {alone} alone")
        }
        (OperationKind::Revert, _) => match part {
            Some(message) => format!("{done} a part of the changes since {message}"),
            None => format!("{done} this part"),
        },
        (OperationKind::Redo | OperationKind::Unrevert, Some(message)) => {
            format!("{would} forward, to just before {message}")
        }
        (OperationKind::Redo | OperationKind::Unrevert, None) => {
            let mut codes = report.remarks.iter().map(|remark| remark.code);
            let is_elsewhere = codes.any(|code| code == NoteCode::OtherDirectories);
            let nothing = match (report.also_reverted.is_empty(), is_elsewhere) {
                (true, false) => "nothing is reverted",
                (true, true) => "nothing is reverted here",
                (false, false) => "nothing of this session is reverted",
                (false, true) => "nothing of this session is reverted here",
            };
            format!("{would} all the way forward; {nothing} any more")
        }
        (OperationKind::Restore, _) if report.conversation.is_some() => {
            format!("{would} back in the conversation; every file stays")
        }
        (OperationKind::Restore, _) => match (part, report.dry_run) {
            (Some(message), _) if around.before.is_part => {
                format!("{done} a part of the changes since {message}")
            }
            (Some(message), true) => format!("Would restore to just before {message}"),
            (Some(message), false) => format!("Restored to just before {message}"),
            (None, true) => "Would restore".to_owned(),
            (None, false) => "Restored".to_owned(),
        },
    }
}

/// What an undo takes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationUndone {
    /// The operation that is no undo itself.
    pub operation: OperationEntry,
    /// Whether it had been undone, and now that is undone.
    pub is_done_again: bool,
}

impl OperationUndone {
    /// Returns the state that an undo of one of these operations, newest first, leads to.
    pub fn of(mut operation: OperationEntry, all: &[OperationEntry]) -> Self {
        let mut is_done_again = false;
        while let Some(undone) = operation
            .undoes
            .as_ref()
            .and_then(|id| all.iter().find(|entry| entry.id == *id))
        {
            operation = undone.clone();
            is_done_again = !is_done_again;
        }
        Self {
            operation,
            is_done_again,
        }
    }
}

/// Returns the name of a message in a sentence: people know it by their text.
pub fn message(id: &str, prompt: Option<&str>, paint: Paint) -> String {
    match title(prompt) {
        prompt if prompt.is_empty() => format!("message {}", paint.id(&short(id))),
        prompt => format!("“{}” ({})", fit(&prompt, TITLE), paint.id(&short(id))),
    }
}

/// The name of an operation in a sentence: one that undid a single message by that, others by their id and the message
/// that they went to.
fn operation_name(operation: &OperationEntry, prompt: Option<&str>, paint: Paint) -> String {
    let kind = operation_word(operation);
    let id = paint.id(&short(&operation.id));
    let title = title(prompt);
    match (operation.alone.as_deref(), &operation.part) {
        (Some(alone), _) => format!("the {kind} of {} alone", message(alone, prompt, paint)),
        _ if title.is_empty() || operation.subject().is_none() => format!("the {kind} {id}"),
        (None, Some(_)) => format!("the {kind} {id} (a part, since “{}”)", fit(&title, TITLE)),
        (None, None) => format!("the {kind} {id} (“{}”)", fit(&title, TITLE)),
    }
}

/// How many columns of a prompt a sentence shows.
const TITLE: usize = 50;

fn nothing(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Revert => "every file is already as it was then",
        OperationKind::Redo | OperationKind::Unrevert => "nothing is reverted",
        OperationKind::Restore => "every file is already as it is in that state",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::TimeContext;
    use ckpt_schema::report::{
        self, Difference, DifferenceReason, FileAction, FileReport, FileResult, GitPart, GitReport,
        KeptKind, KeptReport, PathText, Receipt, WayOut, WayParameters,
    };
    use expect_test::expect;

    fn file(
        name: &str,
        action: FileAction,
        result: FileResult,
        reason: Option<&str>,
    ) -> FileReport {
        let path = PathText {
            path: name.to_owned(),
            path_hex: None,
        };
        FileReport {
            reason: reason.map(str::to_owned),
            additions: (action != FileAction::None).then_some(10),
            deletions: (action != FileAction::None).then_some(2),
            ..FileReport::new(path, action, result)
        }
    }

    fn operation(files: Vec<FileReport>, outcome: Outcome) -> OperationReport {
        OperationReport {
            version: report::VERSION,
            operation: Some("0123456789".to_owned()),
            kind: OperationKind::Revert,
            session: Some("s".to_owned()),
            message: Some("abcdefghij".to_owned()),
            alone: None,
            part: None,
            undoes: None,
            outcome,
            dry_run: false,
            plan: None,
            busy: false,
            messages_hidden: vec!["abcdefghij".to_owned()],
            files,
            kept: Vec::new(),
            git: Vec::new(),
            also_reverted: Vec::new(),
            receipt: None,
            conversation: None,
            finished: Vec::new(),
            notes: Vec::new(),
            remarks: Vec::new(),
            roots: Vec::new(),
        }
    }

    fn shown(report: &OperationReport) -> String {
        let times = TimeContext {
            now: 0,
            offset: time::UtcOffset::UTC,
        };
        let before = PriorState {
            is_unreverted: true,
            ..PriorState::default()
        };
        let around = Around {
            prompt: Some("tidy up\nplease".to_owned()),
            before,
            ..Around::default()
        };
        render(
            report,
            &around,
            &View {
                paint: Paint::PLAIN,
                width: None,
                times,
                verbose: false,
            },
        )
    }

    /// An outcome names every file with what became of it.
    #[test]
    fn outcome_names_every_file_and_its_fate() {
        let files = vec![
            file("back", FileAction::Write, FileResult::Done, None),
            file("gone\u{1b}", FileAction::Delete, FileResult::Done, None),
            file("same", FileAction::None, FileResult::Done, None),
            file(
                "yours",
                FileAction::Keep,
                FileResult::Conflict,
                Some("changed after the agent"),
            ),
        ];
        let mut report = operation(files, Outcome::Partial);
        report.notes.push("commits were made".to_owned());
        expect![[r#"
            ! Went back to just before “tidy up” (abcdefgh), but not everything
              restored  +10  -2  back
              removed   +10  -2  gone\u{1b}
              kept      +10  -2  yours (changed after the agent)
            note: commits were made
            1 message is hidden until you redo, or send a new one.
            To undo this: ckpt-hook undo
        "#]]
        .assert_eq(&shown(&report));
    }

    /// Many files are folded and what stayed is named.
    #[test]
    fn many_files_are_folded_but_kept_ones_named() {
        let done = |number| {
            file(
                &format!("src/{number:03}"),
                FileAction::Write,
                FileResult::Done,
                None,
            )
        };
        let mut files: Vec<FileReport> = (0..150).map(done).collect();
        let why = Some("changed after the agent");
        files.push(file(
            "src/yours",
            FileAction::Keep,
            FileResult::Conflict,
            why,
        ));
        let shown = shown(&operation(files, Outcome::Partial));
        let rows = "  150 restored  +1,500  -300  src/ (000, 001, 002, …)\n  kept             +10    -2  src/yours (changed after the agent)\n";
        assert!(
            shown.contains(rows) && shown.contains("151 files, +1,510 -302 (-v lists all)\n"),
            "two rows and their sum: {shown}"
        );
    }

    /// What stays ends with the command that takes it along, or with that there is none.
    #[test]
    fn kept_files_end_with_their_way_out() {
        let path = |name: &str| PathText {
            path: name.to_owned(),
            path_hex: None,
        };
        let way = |only: &[&str]| WayOut {
            first: None,
            does: "puts the earlier version there".to_owned(),
            parameters: WayParameters {
                message: Some("abcdefghij".to_owned()),
                only: only.iter().map(|name| path(name)).collect(),
                on_conflict: Some("overwrite".to_owned()),
                ..WayParameters::of(OperationKind::Revert)
            },
        };
        let kept = |kind, why: &str, names: &[&str], way| KeptReport {
            kind,
            paths: names.iter().map(|name| path(name)).collect(),
            why: why.to_owned(),
            way,
        };
        let closed = WayOut {
            first: Some("close that program".to_owned()),
            does: "goes ahead".to_owned(),
            ..way(&["x.db"])
        };
        let report = OperationReport {
            kept: vec![
                kept(KeptKind::Conflict, "since", &["a b"], Some(way(&["a b"]))),
                kept(
                    KeptKind::Conflict,
                    "many",
                    &["a", "b", "c", "d"],
                    Some(way(&["a", "b", "c", "d"])),
                ),
                kept(KeptKind::Database, "open", &["x.db"], Some(closed)),
                kept(KeptKind::NotCaptured, "no snapshot", &["c"], None),
                kept(
                    KeptKind::OtherMessage,
                    "changed by codex for another message",
                    &["d"],
                    Some(way(&["d"])),
                ),
            ],
            receipt: Some(Receipt {
                tree: String::new(),
                differences: Vec::new(),
            }),
            ..operation(Vec::new(), Outcome::Partial)
        };
        let shown = shown(&report);
        for line in [
            "d stays, changed by codex for another message; ckpt-hook revert abcdefgh --only d --on-conflict overwrite puts",
            "1 file kept: since; ckpt-hook revert abcdefgh --only 'a b' --on-conflict overwrite puts the earlier",
            "4 files kept: many; ckpt-hook revert abcdefgh --only a --only b --only c --only d --on-conflict overwrite puts",
            "1 file kept: open; close that program, then ckpt-hook revert abcdefgh --only x.db",
            "1 file kept: no snapshot; nothing takes that back.\n",
        ] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
    }

    #[test]
    fn a_plan_says_that_it_is_one() {
        let files = vec![file("new", FileAction::Delete, FileResult::Planned, None)];
        let report = OperationReport {
            dry_run: true,
            operation: None,
            ..operation(files, Outcome::Restored)
        };
        expect![[r#"
            ✓ Would go back to just before “tidy up” (abcdefgh)
              remove  +10  -2  new
            1 message would be hidden until you redo, or send a new one.
            This is a plan; nothing was changed.
        "#]]
        .assert_eq(&shown(&report));
    }

    /// A branch that nobody knows who moved is said to stay with the way to move it.
    #[test]
    fn unclear_branch_stays_with_its_way_out() {
        let branch = GitReport {
            part: GitPart::Branch,
            name: "refs/heads/main".to_owned(),
            from: Some("b".repeat(40)),
            to: Some("a".repeat(40)),
            result: FileResult::Conflict,
            reason: Some("unclear whose: changed 40 minutes later".to_owned()),
            unclear: true,
            way: None,
        };
        let offer = "Git's own state stays where it is unclear who moved it; --unclear take moves it as well.";
        let mut report = operation(Vec::new(), Outcome::Partial);
        assert!(!shown(&report).contains(offer), "no branch was in question");
        report.git.push(branch);
        let text = shown(&report);
        assert!(text.contains(offer), "{text}");
    }

    /// What differs from then is one line by reason without what has a line.
    #[test]
    fn differences_are_one_line_by_reason() {
        let named = |name: &str| PathText {
            path: name.to_owned(),
            path_hex: None,
        };
        let difference = |name: &str, reason| Difference {
            path: named(name),
            moved_from: None,
            reason,
            detail: None,
            words: reason.phrase().to_owned(),
            by: Vec::new(),
        };
        let mine = ["a", "b", "c", "d", "e"].map(|name| difference(name, DifferenceReason::Yours));
        let others = [
            difference("kept", DifferenceReason::Yours),
            difference("x.log", DifferenceReason::Ignored),
        ];
        let kept = file("kept", FileAction::Keep, FileResult::Conflict, Some("why"));
        let report = OperationReport {
            receipt: Some(Receipt {
                tree: String::new(),
                differences: mine.into_iter().chain(others).collect(),
            }),
            ..operation(vec![kept], Outcome::Partial)
        };
        expect![[r#"
            ! Went back to just before “tidy up” (abcdefgh), but not everything
              kept  +10  -2  kept (why)
            Yours stay: a, b, c, and 2 more.
            1 other path differs from that state: ignored now or then (x.log).
            1 message is hidden until you redo, or send a new one.
            To undo this: ckpt-hook undo
        "#]]
        .assert_eq(&shown(&report));
    }

    #[test]
    fn a_plan_that_would_be_refused_says_so() {
        let report = OperationReport {
            dry_run: true,
            busy: true,
            operation: None,
            ..operation(Vec::new(), Outcome::Nothing)
        };
        assert!(
            shown(&report).ends_with("or use --force.\n"),
            "as the last word: {}",
            shown(&report)
        );
    }
}
