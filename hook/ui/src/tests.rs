//! What keys do, without a terminal and without a store.

use ckpt_output::graph;
use ckpt_store::Unclear;

use super::keys::UiKey;
use super::model::{LaterMessages, Model, PORTION, Pane, Popup, UiAction};
use super::sample::{file, message, model, operation, outside};

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
        model.notice.is_some_and(|why| why.contains("u undoes")),
        "an operation is no message"
    );
    let mut outside = super::sample::model(vec![outside()]);
    assert_eq!(
        press(&mut outside, "ry"),
        [UiAction::Nothing, UiAction::Nothing]
    );
}

#[test]
fn revert_takes_one_key_more_than_its_plan() {
    let mut model = three();
    let plan = |later| UiAction::Plan {
        unclear: None,
        later,
    };
    assert_eq!(
        press(&mut model, "ra"),
        [plan(LaterMessages::GoBack), plan(LaterMessages::Stay)]
    );
    model.lay(Popup::Plan {
        text: "Would go back".to_owned(),
        token: Ok("token".to_owned()),
        has_unclear: false,
        later: LaterMessages::GoBack,
    });
    assert_eq!(
        press(&mut model, "rt"),
        [UiAction::Nothing, UiAction::Nothing],
        "no other key does it"
    );
    assert_eq!(
        model.update(UiKey::Enter),
        UiAction::Nothing,
        "nor this one"
    );
    assert_eq!(
        press(&mut model, "y"),
        [UiAction::Apply("token".to_owned())]
    );
    assert_eq!(model.overlay, None, "and once");
}

/// A plan that cannot be carried out stays one.
#[test]
fn unusable_plan_stays_a_plan() {
    let mut model = three();
    model.lay(Popup::Plan {
        text: "Would go back".to_owned(),
        token: Err("an agent is at work".to_owned()),
        has_unclear: true,
        later: LaterMessages::Stay,
    });
    assert_eq!(press(&mut model, "y"), [UiAction::Nothing]);
    assert_eq!(model.notice.as_deref(), Some("an agent is at work"));
    assert_eq!(
        press(&mut model, "t"),
        [UiAction::Plan {
            unclear: Some(Unclear::Take),
            later: LaterMessages::Stay
        }],
        "the same plan again"
    );
    assert_eq!(press(&mut model, "n"), [UiAction::Nothing]);
    assert_eq!(model.overlay, None, "no is an answer");
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
    assert_eq!((model.filter.as_str(), model.is_typing), ("r", false));
    assert_eq!(
        model.update(UiKey::Escape),
        UiAction::List,
        "everything again"
    );
    assert_eq!(model.filter, "");
    assert_eq!(model.update(UiKey::Escape), UiAction::Quit);
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
    let rows = graph::rows(&entries, &super::sample::view(false));
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
