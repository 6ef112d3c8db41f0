//! What keys do, without a terminal and without a store.

use ckpt_schema::report::{
    FileAction, FileReport, FileResult, KeptKind, KeptReport, OperationKind, PathText, PlanChoice,
    ReasonCode, WayOut, WayParameters,
};

mod idle;
pub mod sample;

use super::keys::UiKey;
use super::model::{Model, PORTION, Pane, Popup, Typing, UiAction};
use super::plan_choice::{FileChoice, PlanKind, PlanScreen, PlanTerms};
use ckpt_output::graph;
use sample::{file, message, model, operation, outside};

fn three() -> Model {
    model(vec![
        message('a', "third", None),
        operation(),
        message('b', "first", Some("its snapshot was pruned")),
    ])
}

fn press(model: &mut Model, keys: &str) -> Vec<UiAction> {
    keys.chars()
        .map(|key| model.update(UiKey::Char(key)))
        .collect()
}

#[test]
fn the_files_follow_the_cursor() {
    let mut model = three();
    assert_eq!(press(&mut model, "j"), [UiAction::Files]);
    assert_eq!(model.id(), Some("oooooooo"), "one row down");
    assert_eq!(model.update(UiKey::End), UiAction::Files);
    assert_eq!(
        model.update(UiKey::Down),
        UiAction::Nothing,
        "it is the last"
    );
    assert_eq!(model.update(UiKey::Home), UiAction::Files);
    assert_eq!(
        model.update(UiKey::Up),
        UiAction::Nothing,
        "it is the first"
    );
    model.update(UiKey::Enter);
    assert_eq!(
        model.update(UiKey::Down),
        UiAction::Patch,
        "of the second file"
    );
    assert_eq!(model.file, 1);
}

/// What cannot be done says why and does nothing.
#[test]
fn impossible_action_says_why() {
    let mut model = three();
    model.no_undo = Some("there is nothing to undo".to_owned());
    model.update(UiKey::End);
    model.show_files(Vec::new());
    for (key, why) in [
        ('r', "its snapshot was pruned"),
        ('u', "there is nothing to undo"),
        ('b', "there is no file here"),
    ] {
        assert_eq!(
            model.update(UiKey::Char(key)),
            UiAction::Nothing,
            "of {key}"
        );
        assert_eq!(model.notice.as_deref(), Some(why), "of {key}");
    }
    model.update(UiKey::Up);
    assert_eq!(model.update(UiKey::Char('r')), UiAction::Nothing);
    assert!(
        model
            .notice
            .is_some_and(|why| why.contains("u plans to undo")),
        "an operation is no message"
    );
    let mut outside = sample::model(vec![outside()]);
    assert_eq!(
        press(&mut outside, "ry"),
        [UiAction::Nothing, UiAction::Nothing]
    );
}

/// What a plan offers for a file that stays for a reason.
fn choice(code: Option<ReasonCode>) -> Option<PlanChoice> {
    Some(match code? {
        ReasonCode::NotCaptured | ReasonCode::Forgotten | ReasonCode::Failed => return None,
        ReasonCode::Blocked | ReasonCode::Moved => PlanChoice::Again,
        ReasonCode::Unclear | ReasonCode::Shared | ReasonCode::Database => PlanChoice::Take,
        _ => PlanChoice::Overwrite,
    })
}

/// What a plan says of a file that stays.
fn kept(file: &FileReport) -> KeptReport {
    let first =
        (file.reason_code == Some(ReasonCode::Blocked)).then(|| "move that away".to_owned());
    KeptReport {
        kind: KeptKind::Conflict,
        paths: vec![file.path.clone()],
        why: "a reason".to_owned(),
        way: (!file.choices.is_empty()).then(|| WayOut {
            first,
            does: "takes it back".to_owned(),
            parameters: WayParameters::of(OperationKind::Revert),
        }),
    }
}

fn planned(name: &str, result: FileResult, code: Option<ReasonCode>) -> FileReport {
    let path = PathText {
        path: name.to_owned(),
        path_hex: None,
    };
    let action = match result {
        FileResult::Planned => FileAction::Write,
        _ => FileAction::Keep,
    };
    FileReport {
        reason: code.map(|_| "a reason".to_owned()),
        reason_code: code,
        unclear: code == Some(ReasonCode::Unclear),
        choices: choice(code).into_iter().collect(),
        ..FileReport::new(path, action, result)
    }
}

/// A plan with two files that go back, the first of two hunks, and one that stays.
fn plan(kind: PlanKind) -> PlanScreen {
    PlanScreen {
        kind,
        terms: PlanTerms::default(),
        head: "Would go back".to_owned(),
        notes: String::new(),
        text: "Would go back, file by file".to_owned(),
        is_text: false,
        scrolled: 0,
        files: vec![
            planned("yours", FileResult::Conflict, Some(ReasonCode::SameLines)),
            planned("one", FileResult::Planned, None),
            planned("two", FileResult::Planned, None),
        ],
        kept: Vec::new(),
        choices: std::collections::BTreeMap::default(),
        file: 0,
        patch: ["@@ -1 +1 @@", "-1", "@@ -9 +9 @@", "-9"]
            .map(str::to_owned)
            .to_vec(),
        hunks: vec![0..4, 5..12],
        line: 0,
        is_in_patch: false,
        token: Ok("token".to_owned()),
        is_busy: false,
    }
}

fn lay(plan: PlanScreen) -> Model {
    let mut model = three();
    model.lay(Popup::Plan(Box::new(plan)));
    model
}

fn shown(model: &Model) -> &PlanScreen {
    match &model.overlay {
        Some(Popup::Plan(plan)) => plan,
        other => panic!("a plan is shown: {other:?}"),
    }
}

/// Everything that changes files shows its plan first.
#[test]
fn operation_takes_one_key_more_than_its_plan() {
    let mut model = three();
    let kinds = [
        PlanKind::Revert,
        PlanKind::Alone,
        PlanKind::Undo,
        PlanKind::Forward,
        PlanKind::AllForward,
        PlanKind::Restore,
    ];
    assert_eq!(press(&mut model, "raufFR"), kinds.map(UiAction::Plan));
    let mut model = lay(plan(PlanKind::Revert));
    press(&mut model, "rRuaf");
    assert_eq!(
        model.update(UiKey::Enter),
        UiAction::Nothing,
        "no other key"
    );
    assert_eq!(press(&mut model, "y"), [UiAction::Apply]);
}

/// What stays in a restore or on the way forward is taken along by a key as well.
#[test]
fn restore_and_redo_overwrite_by_a_key() {
    let mut model = lay(plan(PlanKind::Restore));
    assert_eq!(press(&mut model, "o"), [UiAction::PlanAgain]);
    assert!(shown(&model).terms.overwrite, "all that stay");
    for kind in [PlanKind::Forward, PlanKind::AllForward] {
        let mut model = lay(plan(kind));
        assert!(
            press(&mut model, "o")
                .iter()
                .all(|it| *it == UiAction::Nothing)
        );
        let says = model.notice.clone().unwrap_or_default();
        assert!(says.contains("O takes all that stay along"), "{says}");
        assert_eq!(press(&mut model, "O"), [UiAction::PlanAgain]);
        assert!(shown(&model).terms.overwrite);
    }
    let mut model = lay(plan(PlanKind::Undo));
    press(&mut model, "O");
    assert!(!shown(&model).terms.overwrite, "an undo is exact");
}

/// A file is taken, left or overwritten by a key.
#[test]
fn file_is_taken_left_or_overwritten() {
    let mut model = lay(plan(PlanKind::Revert));
    press(&mut model, " ");
    assert!(
        model
            .notice
            .as_deref()
            .is_some_and(|why| why.contains("o takes it back")),
        "what stays says the key that takes it: {:?}",
        model.notice
    );
    press(&mut model, "j ");
    assert_eq!(shown(&model).taken(), 1, "one of two");
    assert!(!shown(&model).is_whole());
    press(&mut model, "k ");
    assert!(shown(&model).is_whole(), "and taken again");
    model.update(UiKey::Home);
    assert_eq!(press(&mut model, "o"), [UiAction::PlanAgain]);
    let overwritten = &shown(&model).terms.overwritten;
    assert!(
        overwritten.is_empty() && shown(&model).terms.overwrite,
        "all that stay: it is whole"
    );
    press(&mut model, "o");
    assert!(!shown(&model).terms.overwrite, "and back");
    let mut model = lay(plan(PlanKind::Revert));
    if let Some(Popup::Plan(plan)) = &mut model.overlay {
        plan.files
            .push(planned("z", FileResult::Conflict, Some(ReasonCode::Shared)));
    }
    assert_eq!(press(&mut model, "o"), [UiAction::PlanAgain]);
    let overwritten = &shown(&model).terms.overwritten;
    assert!(
        overwritten.iter().any(|path| path.path == "yours"),
        "one of two"
    );
    assert!(!shown(&model).is_whole());
    press(&mut model, "o");
    assert!(shown(&model).terms.overwritten.is_empty(), "and back");
    press(&mut model, "O");
    assert!(shown(&model).terms.overwrite && shown(&model).terms.unclear);
}

/// Nothing is carried out where nothing is taken.
#[test]
fn nothing_taken_is_not_carried_out() {
    let mut model = lay(plan(PlanKind::Revert));
    press(&mut model, "j  ");
    assert_eq!(shown(&model).taken(), 0);
    assert_eq!(press(&mut model, "y"), [UiAction::Nothing]);
    assert_eq!(model.notice.as_deref(), Some("nothing is taken"));
}

/// Hunks of a plan are left and taken one by one.
/// The choice of one run of lines.
fn lines_of(lines: std::ops::Range<usize>) -> FileChoice {
    FileChoice::Lines(std::iter::once(lines).collect())
}

#[test]
fn hunks_of_a_plan_are_chosen_singly() {
    let mut model = lay(plan(PlanKind::Revert));
    press(&mut model, "j");
    model.update(UiKey::Enter);
    press(&mut model, " ");
    let lines = Some(lines_of(5..12));
    let choice = |model: &Model| shown(model).choices.values().next().cloned();
    assert_eq!(choice(&model), lines, "the second is left to take");
    assert_eq!(shown(&model).line, 2, "then the next");
    press(&mut model, " ");
    assert_eq!(choice(&model), Some(FileChoice::Nothing));
    model.update(UiKey::Home);
    press(&mut model, " ");
    assert_eq!(choice(&model), Some(lines_of(0..4)));
    assert_eq!(shown(&model).taken(), 2, "a part of it is something");
}

/// A plan that an agent at work stands in the way of says the key that goes ahead.
#[test]
fn busy_plan_names_its_key() {
    let mut model = lay(PlanScreen {
        is_busy: true,
        ..plan(PlanKind::Revert)
    });
    assert_eq!(press(&mut model, "y"), [UiAction::Nothing]);
    assert!(
        model
            .notice
            .as_deref()
            .is_some_and(|why| why.contains("! goes ahead"))
    );
    press(&mut model, "!");
    assert_eq!(press(&mut model, "y"), [UiAction::Apply]);
}

/// What stays has a way out that is true of it, or says that there is none.
///
/// Here the way out is a key.
///
/// Invariant `truth/way-out`.
#[test]
fn kept_file_has_a_way_out() {
    let cases = [
        (
            FileResult::Conflict,
            ReasonCode::SameLines,
            "o takes it back",
        ),
        (FileResult::Conflict, ReasonCode::Unclear, "o takes it back"),
        (FileResult::Conflict, ReasonCode::Shared, "o takes it back"),
        (
            FileResult::Conflict,
            ReasonCode::Database,
            "o takes it back",
        ),
        (
            FileResult::Conflict,
            ReasonCode::Blocked,
            "move that away, and plan again",
        ),
        (FileResult::Conflict, ReasonCode::Moved, "plan again"),
        (
            FileResult::Conflict,
            ReasonCode::NotCaptured,
            "there is no way back",
        ),
        (
            FileResult::Gap,
            ReasonCode::Forgotten,
            "there is no way back",
        ),
        (
            FileResult::Failed,
            ReasonCode::Failed,
            "the next operation tries again",
        ),
    ];
    for (result, code, way) in cases {
        let file = planned("x", result, Some(code));
        let said = |kind, file: FileReport| {
            let plan = PlanScreen {
                kept: vec![kept(&file)],
                files: vec![file],
                ..plan(kind)
            };
            plan.about_file().unwrap_or_default()
        };
        for kind in [PlanKind::Revert, PlanKind::Restore, PlanKind::Undo] {
            let about = said(kind, file.clone());
            assert!(about.contains(way), "{code:?}: {about}");
        }
    }
}

/// A plan that cannot be carried out stays one.
#[test]
fn unusable_plan_stays_a_plan() {
    let mut model = lay(PlanScreen {
        token: Err("there is nothing to do".to_owned()),
        files: vec![planned(
            "x",
            FileResult::Conflict,
            Some(ReasonCode::Unclear),
        )],
        ..plan(PlanKind::Alone)
    });
    assert_eq!(press(&mut model, "y"), [UiAction::Nothing]);
    assert_eq!(model.notice.as_deref(), Some("there is nothing to do"));
    assert_eq!(press(&mut model, "t"), [UiAction::PlanAgain]);
    assert!(shown(&model).terms.unclear, "the same plan again");
    press(&mut model, "i");
    assert!(shown(&model).is_text);
    model.update(UiKey::Escape);
    assert!(!shown(&model).is_text, "back to its files");
    assert_eq!(press(&mut model, "n"), [UiAction::Nothing]);
    assert_eq!(model.overlay, None, "no is an answer");
}

/// A label is typed over the one that is there.
#[test]
fn label_is_typed() {
    let mut model = three();
    press(&mut model, "lru");
    assert_eq!(
        (model.typing, model.label.as_str()),
        (Some(Typing::Label), "ru")
    );
    assert_eq!(model.update(UiKey::Enter), UiAction::Label("ru".to_owned()));
    press(&mut model, "lx");
    assert_eq!(model.update(UiKey::Escape), UiAction::Nothing);
    assert_eq!((model.typing, model.label.as_str()), (None, ""));
    press(&mut model, "jl");
    assert_eq!(model.notice.as_deref(), Some("only messages have labels"));
}

/// A filter takes every letter and escape takes it away.
#[test]
fn filter_takes_letters_and_escape_removes_it() {
    let mut model = three();
    assert_eq!(
        press(&mut model, "/ru"),
        [UiAction::Nothing, UiAction::List, UiAction::List],
        "the list follows, and nothing is reverted or undone"
    );
    assert_eq!(model.filter, "ru");
    assert_eq!(model.update(UiKey::Backspace), UiAction::List);
    assert_eq!(model.update(UiKey::Enter), UiAction::Nothing, "it stays");
    assert_eq!((model.filter.as_str(), model.typing), ("r", None));
    assert_eq!(
        model.update(UiKey::Escape),
        UiAction::List,
        "everything again"
    );
    assert_eq!(model.filter, "");
    assert_eq!(
        model.update(UiKey::Escape),
        UiAction::Nothing,
        "it never leaves"
    );
    assert_eq!(model.notice.as_deref(), Some("q leaves"));
}

#[test]
fn what_is_pasted_presses_no_key() {
    let mut model = three();
    assert_eq!(model.paste("ry"), UiAction::Nothing);
    assert_eq!((model.overlay.clone(), model.filter.as_str()), (None, ""));
    press(&mut model, "/");
    assert_eq!(model.paste("cart\nq"), UiAction::List);
    assert_eq!(model.filter, "cart", "the first line of it");
}

/// Back goes from pane to pane and then leaves.
#[test]
fn back_leaves_panes_one_by_one() {
    let mut model = three();
    model.update(UiKey::Enter);
    model.update(UiKey::Enter);
    assert_eq!(model.pane, Pane::Patch);
    for pane in [Pane::Files, Pane::List] {
        assert_eq!(press(&mut model, "q"), [UiAction::Nothing]);
        assert_eq!(model.pane, pane);
    }
    assert_eq!(press(&mut model, "o"), [UiAction::List]);
    assert_eq!(
        press(&mut model, "q"),
        [UiAction::List],
        "from the operations"
    );
    assert!(!model.are_operations);
    assert_eq!(press(&mut model, "q"), [UiAction::Quit]);
}

#[test]
fn marks_are_of_one_message() {
    let mut model = three();
    assert_eq!(
        press(&mut model, " "),
        [UiAction::Nothing],
        "not in the list"
    );
    model.update(UiKey::Enter);
    assert_eq!(model.update(UiKey::Tab), UiAction::Patch, "the next file");
    press(&mut model, " ");
    assert_eq!(model.marked.len(), 2, "one after the other");
    press(&mut model, " ");
    assert_eq!(model.marked.len(), 1, "and off again");
    press(&mut model, "qj");
    assert!(model.marked.is_empty(), "of another entry");
}

/// The cursor stays at its message when a hook records another.
#[test]
fn cursor_stays_when_a_hook_records() {
    let mut model = three();
    model.update(UiKey::End);
    let mut entries = model.entries.clone();
    entries.insert(0, message('c', "new", None));
    let rows = graph::rows(
        &entries,
        &Default::default(),
        graph::RowNames::Times,
        &sample::view(false),
    );
    model.list(entries, rows);
    assert_eq!(model.id(), Some("bbbbbbbb"), "though it is a row lower");
    model.list(Vec::new(), Vec::new());
    assert_eq!((model.chosen, model.id()), (0, None), "nothing is left");
}

/// More is read when the cursor comes to the last row.
#[test]
fn last_row_reads_more() {
    let entries = (0..PORTION).map(|_| message('a', "x", None)).collect();
    let mut model = model(entries);
    assert_eq!(model.update(UiKey::End), UiAction::List);
    assert_eq!(model.limit, 2 * PORTION);
    assert_eq!(
        model.update(UiKey::End),
        UiAction::Nothing,
        "there was no more"
    );
}

/// Files keep their cursor and marks when they are read again.
#[test]
fn files_keep_cursor_and_marks() {
    let mut model = three();
    model.update(UiKey::Right);
    press(&mut model, "j ");
    model.show_files(vec![file("new"), file("src/cart.rs"), file("src/main.rs")]);
    assert_eq!(model.file, 2, "at the same file");
    assert_eq!(model.marked.len(), 1);
    model.show_files(Vec::new());
    assert!(model.marked.is_empty() && model.chosen_file().is_none());
}

/// In a patch hunks are marked one by one.
#[test]
fn hunks_of_a_patch_are_marked_singly() {
    let mut model = three();
    model.update(UiKey::Enter);
    model.update(UiKey::Enter);
    let patch = [
        "--- a/x",
        "+++ b/x",
        "@@ -1 +1 @@",
        "-1",
        "+one",
        "@@ -9 +9 @@",
        "-9",
        "+nine",
    ];
    model.show_patch(patch.map(str::to_owned).to_vec());
    let marked = |model: &Model| {
        let hunks = model.marked_hunks().into_iter().flatten();
        hunks.copied().collect::<Vec<usize>>()
    };
    model.update(UiKey::Tab);
    assert_eq!((marked(&model), model.line), (vec![0], 5), "then the next");
    model.update(UiKey::Down);
    model.update(UiKey::Tab);
    assert_eq!(marked(&model), [0, 1]);
    model.update(UiKey::Home);
    model.update(UiKey::Tab);
    assert_eq!(marked(&model), [1], "and off again");
    model.update(UiKey::Left);
    model.update(UiKey::Tab);
    assert_eq!(
        (marked(&model), model.marked.len()),
        (vec![], 1),
        "all of it"
    );
}
