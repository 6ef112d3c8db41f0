//! Notes of every case.

use ckpt_schema::report::{DifferenceReason, OperationKind, PathText};

use super::*;
use crate::model::gap::GapReason;

fn text() -> String {
    "a1b2c3d4e5".to_owned()
}

fn texts(number: usize) -> Vec<String> {
    (0..number).map(|number| format!("f{number}")).collect()
}

fn gaps() -> Vec<Gap> {
    let gap = |name: String| Gap {
        path: name.into_bytes(),
        reason: GapReason::TooLarge,
        size: None,
        is_directory: false,
    };
    texts(6).into_iter().map(gap).collect()
}

fn head_at(branch: Option<&str>) -> Heads {
    Heads {
        branch: branch.map(str::to_owned),
        commit: branch.map(|_| text()),
        doing: None,
    }
}

fn operation() -> NamedOperation {
    let kind = OperationKind::Revert;
    NamedOperation { kind, id: text() }
}

fn other(prompt: Option<&str>) -> OtherMessage {
    OtherMessage {
        id: text(),
        prompt: prompt.map(str::to_owned),
        session: text(),
        name: "codex".to_owned(),
    }
}

fn differences() -> Vec<Difference> {
    vec![Difference {
        path: PathText {
            path: text(),
            path_hex: None,
        },
        moved_from: None,
        reason: DifferenceReason::Unexplained,
        detail: None,
        words: text(),
        by: Vec::new(),
    }]
}

/// Notes on messages, steps, other agents and what was finished.
fn of_the_history() -> Vec<Note> {
    let (why, message) = (text(), text());
    vec![
        Note::BorrowedLost { files: texts(4) },
        Note::BorrowedNotCopied { why: text() },
        Note::LeftOpen {
            operation: operation(),
        },
        Note::Finished {
            operation: operation(),
            files: 2,
            moves_git: true,
            failed: Some(FailedFiles {
                number: 1,
                path: text(),
                why: text(),
            }),
            result: Some(Box::new(Note::Differs {
                differences: differences(),
            })),
        },
        Note::TakenBack {
            remains: ForkRemains::Unnamed,
        },
        Note::NothingReverted,
        Note::NothingRevertedHere,
        Note::NothingRevertedOfSession,
        Note::MessageNotCaptured {
            message: text(),
            why: text(),
        },
        Note::StepNotRecorded { step: text(), why },
        Note::NoStep {
            message,
            files: texts(6),
        },
        Note::OtherMessage {
            message: other(Some("\n do it \n")),
        },
        Note::OtherMessages {
            messages: vec![other(None); 2],
        },
        Note::Discarded {
            message: text(),
            point: text(),
        },
        Note::UnknownSinceMessage { paths: texts(2) },
        Note::UnknownInMessage { paths: texts(1) },
        Note::UnknownInStep { paths: texts(1) },
        Note::UnknownInState { paths: texts(1) },
        Note::Unread {
            directories: gaps(),
        },
        Note::AtWork { agents: texts(2) },
        Note::JoinedLater { message: text() },
        Note::StillReverted { roots: texts(2) },
        Note::RootsAway { roots: texts(2) },
        Note::RootForgotten,
        Note::StaysOpen { why: text() },
        Note::NotCompared { why: text() },
        Note::Differs {
            differences: differences(),
        },
    ]
}

/// Notes on git, and on other repositories.
fn of_repositories() -> Vec<Note> {
    vec![
        Note::Commits {
            commits: vec![(text(), "subject".to_owned()); 6],
            is_old_there: false,
        },
        Note::HeadStays {
            then: head_at(Some("refs/heads/main")),
            now: head_at(None),
        },
        Note::Staged {
            changes: vec![(None, text()), (Some(text()), text())],
            paths: texts(2),
            moves_with_git: true,
        },
        Note::GitUnderWay { doing: text() },
        Note::CommitGone { id: text() },
        Note::RepositoryRemoved,
        Note::RepositoryMade,
        Note::RepositoryMadeAnew,
        Note::NoRepository,
        Note::BranchRenamed {
            old: text(),
            new: text(),
        },
        Note::BranchMoved {
            name: text(),
            from: None,
            to: Some(text()),
        },
        Note::BranchUntraced { name: text() },
        Note::BranchGone {
            name: text(),
            was: None,
            comes_with_git: true,
        },
        Note::BranchesMade { names: texts(2) },
        Note::Tags { names: texts(1) },
        Note::Stashed { names: texts(1) },
        Note::Pushed { names: texts(1) },
        Note::StashDropped,
        Note::TagsLost,
        Note::BranchesLost,
        Note::Submodules { names: texts(4) },
        Note::RepositoriesGone { folders: texts(5) },
        Note::RepositoriesBelow { folders: texts(5) },
        Note::RepositoriesMoved { folders: texts(5) },
        Note::MetadataChanged { paths: texts(5) },
        Note::MetadataTouched { folders: texts(5) },
        Note::MetadataRecorded { folders: texts(5) },
    ]
}

/// Notes on paths that no snapshot holds.
fn of_paths() -> Vec<Note> {
    let (paths, files) = (texts(5), texts(7));
    vec![
        Note::WorkedElsewhere { roots: texts(4) },
        Note::Outside { files: texts(4) },
        Note::OutsideInRepository { files: texts(4) },
        Note::LeftAlone { gaps: gaps() },
        Note::Lost { gaps: gaps() },
        Note::IgnoredGone { paths: texts(1) },
        Note::IgnoredReplaced { paths: texts(2) },
        Note::IgnoredPutBack { paths: texts(1) },
        Note::IgnoredCame {
            paths: texts(1),
            files: texts(2),
        },
        Note::IgnoreFilesDiffer { paths: texts(1) },
        Note::IgnoredChanged { paths, files },
        Note::IgnoredUnsearched { folders: texts(1) },
        Note::IgnoredUnremembered {
            remembered: 64,
            folders: texts(1),
        },
        Note::FoldersStay {
            crowded: vec![CrowdedFolder {
                path: text(),
                first: text(),
                files: texts(2),
            }],
        },
        Note::MovedIn { paths: texts(1) },
        Note::PermissionsStay {
            directories: vec![(text(), [0o755, 0o700])],
        },
        Note::AclsLost {
            directories: texts(1),
        },
    ]
}

fn all() -> Vec<Note> {
    [of_the_history(), of_repositories(), of_paths()].concat()
}

/// The list of this test has every case once.
#[test]
fn every_case_is_said() {
    let mut said: Vec<&str> = all().iter().map(Note::case).collect();
    let mut cases = CASES.to_vec();
    said.sort_unstable();
    cases.sort_unstable();
    assert_eq!(said, cases);
}

/// A note is one sentence without a full stop, so that it can stand in another one.
#[test]
fn note_is_a_sentence_without_full_stop() {
    for note in all() {
        let said = note.to_string();
        let is_plain = !said.is_empty() && said.trim() == said && !said.contains('\n');
        let is_open = !said.ends_with('.') && !said.contains("  ") && !said.contains("``");
        assert!(is_plain && is_open, "{}: {said:?}", note.case());
    }
}

/// A row gives back what a note said.
#[test]
fn row_keeps_notes_as_said() {
    let reports = reports(&all());
    assert_eq!(from_json(&to_json(&reports)), reports);
    assert_eq!(from_json("damaged"), []);
}

/// A sentence names the first things only, and is about all.
#[test]
fn sentence_names_first_things_only() {
    let (paths, files) = (texts(5), vec!["f0/g".to_owned()]);
    let report = Note::IgnoredChanged { paths, files }.report();
    let text = "5 ignored paths changed while the agent worked, and stay as they are: \
        `f0`, `f1`, `f2`, `f3`, and 1 more";
    assert_eq!(report.text, text);
    assert_eq!(report.about, ["f0", "f1", "f2", "f3", "f4", "f0/g"]);
}
