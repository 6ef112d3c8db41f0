//! What keys do, without a terminal and without a store.

use super::keys::Key;
use super::model::{Action, Model, Overlay, PORTION, Pane};
use super::sample::{file, message, model, operation, outside};
use crate::output::graph;

fn three() -> Model {
    model(vec![
        message('a', "third", None),
        operation(),
        message('b', "first", Some("its snapshot was pruned")),
    ])
}

fn press(model: &mut Model, keys: &str) -> Vec<Action> {
    keys.chars()
        .map(|key| model.update(Key::Char(key)))
        .collect()
}

#[test]
fn the_files_follow_the_cursor() {
    let mut model = three();
    assert_eq!(press(&mut model, "j"), [Action::Files]);
    assert_eq!(model.id(), Some("oooooooo"), "one row down");
    assert_eq!(model.update(Key::End), Action::Files);
    assert_eq!(model.update(Key::Down), Action::Nothing, "it is the last");
    assert_eq!(model.update(Key::Home), Action::Files);
    assert_eq!(model.update(Key::Up), Action::Nothing, "it is the first");
    model.update(Key::Enter);
    assert_eq!(model.update(Key::Down), Action::Patch, "of the second file");
    assert_eq!(model.file, 1);
}

#[test]
fn what_cannot_be_done_says_why_and_does_nothing() {
    let mut model = three();
    model.no_undo = Some("there is nothing to undo".to_owned());
    model.update(Key::End);
    model.show_files(Vec::new());
    for (key, why) in [
        ('r', "its snapshot was pruned"),
        ('u', "there is nothing to undo"),
        ('b', "there is no file here"),
    ] {
        assert_eq!(model.update(Key::Char(key)), Action::Nothing, "of {key}");
        assert_eq!(model.notice.as_deref(), Some(why), "of {key}");
    }
    model.update(Key::Up);
    assert_eq!(model.update(Key::Char('r')), Action::Nothing);
    assert!(
        model.notice.is_some_and(|why| why.contains("u undoes")),
        "an operation is no message"
    );
    let mut outside = super::sample::model(vec![outside()]);
    assert_eq!(
        press(&mut outside, "ry"),
        [Action::Nothing, Action::Nothing]
    );
}

#[test]
fn a_revert_takes_one_key_more_than_its_plan() {
    let mut model = three();
    let plan = |alone| Action::Plan {
        take_unclear: false,
        alone,
    };
    assert_eq!(press(&mut model, "ra"), [plan(false), plan(true)]);
    model.lay(Overlay::Plan {
        text: "Would go back".to_owned(),
        token: Ok("token".to_owned()),
        has_unclear: false,
        alone: false,
    });
    assert_eq!(
        press(&mut model, "rt"),
        [Action::Nothing, Action::Nothing],
        "no other key does it"
    );
    assert_eq!(model.update(Key::Enter), Action::Nothing, "nor this one");
    assert_eq!(press(&mut model, "y"), [Action::Apply("token".to_owned())]);
    assert_eq!(model.overlay, None, "and once");
}

#[test]
fn a_plan_that_cannot_be_carried_out_stays_one() {
    let mut model = three();
    model.lay(Overlay::Plan {
        text: "Would go back".to_owned(),
        token: Err("an agent is at work".to_owned()),
        has_unclear: true,
        alone: true,
    });
    assert_eq!(press(&mut model, "y"), [Action::Nothing]);
    assert_eq!(model.notice.as_deref(), Some("an agent is at work"));
    assert_eq!(
        press(&mut model, "t"),
        [Action::Plan {
            take_unclear: true,
            alone: true
        }],
        "the same plan again"
    );
    assert_eq!(press(&mut model, "n"), [Action::Nothing]);
    assert_eq!(model.overlay, None, "no is an answer");
}

#[test]
fn a_filter_takes_every_letter_and_escape_takes_it_away() {
    let mut model = three();
    assert_eq!(
        press(&mut model, "/ru"),
        [Action::Nothing, Action::List, Action::List],
        "the list follows, and nothing is reverted or undone"
    );
    assert_eq!(model.filter, "ru");
    assert_eq!(model.update(Key::Backspace), Action::List);
    assert_eq!(model.update(Key::Enter), Action::Nothing, "it stays");
    assert_eq!((model.filter.as_str(), model.is_typing), ("r", false));
    assert_eq!(model.update(Key::Escape), Action::List, "everything again");
    assert_eq!(model.filter, "");
    assert_eq!(model.update(Key::Escape), Action::Quit);
}

#[test]
fn what_is_pasted_presses_no_key() {
    let mut model = three();
    assert_eq!(model.paste("ry"), Action::Nothing);
    assert_eq!((model.overlay.clone(), model.filter.as_str()), (None, ""));
    press(&mut model, "/");
    assert_eq!(model.paste("cart\nq"), Action::List);
    assert_eq!(model.filter, "cart", "the first line of it");
}

#[test]
fn back_goes_from_pane_to_pane_and_then_leaves() {
    let mut model = three();
    model.update(Key::Enter);
    model.update(Key::Enter);
    assert_eq!(model.pane, Pane::Patch);
    for pane in [Pane::Files, Pane::List] {
        assert_eq!(press(&mut model, "q"), [Action::Nothing]);
        assert_eq!(model.pane, pane);
    }
    assert_eq!(press(&mut model, "o"), [Action::List]);
    assert_eq!(
        press(&mut model, "q"),
        [Action::List],
        "from the operations"
    );
    assert!(!model.are_operations);
    assert_eq!(press(&mut model, "q"), [Action::Quit]);
}

#[test]
fn marks_are_of_one_message() {
    let mut model = three();
    assert_eq!(press(&mut model, " "), [Action::Nothing], "not in the list");
    model.update(Key::Enter);
    assert_eq!(model.update(Key::Tab), Action::Patch, "the next file");
    press(&mut model, " ");
    assert_eq!(model.marked.len(), 2, "one after the other");
    press(&mut model, " ");
    assert_eq!(model.marked.len(), 1, "and off again");
    press(&mut model, "qj");
    assert!(model.marked.is_empty(), "of another entry");
}

#[test]
fn the_cursor_stays_at_its_message_when_a_hook_records_another() {
    let mut model = three();
    model.update(Key::End);
    let mut entries = model.entries.clone();
    entries.insert(0, message('c', "new", None));
    let rows = graph::rows(&entries, &super::sample::view(false));
    model.list(entries, rows);
    assert_eq!(model.id(), Some("bbbbbbbb"), "though it is a row lower");
    model.list(Vec::new(), Vec::new());
    assert_eq!((model.chosen, model.id()), (0, None), "nothing is left");
}

#[test]
fn more_is_read_when_the_cursor_comes_to_the_last_row() {
    let entries = (0..PORTION).map(|_| message('a', "x", None)).collect();
    let mut model = model(entries);
    assert_eq!(model.update(Key::End), Action::List);
    assert_eq!(model.limit, 2 * PORTION);
    assert_eq!(model.update(Key::End), Action::Nothing, "there was no more");
}

#[test]
fn files_keep_their_cursor_and_marks_when_they_are_read_again() {
    let mut model = three();
    model.update(Key::Right);
    press(&mut model, "j ");
    model.show_files(vec![file("new"), file("src/cart.rs"), file("src/main.rs")]);
    assert_eq!(model.file, 2, "at the same file");
    assert_eq!(model.marked.len(), 1);
    model.show_files(Vec::new());
    assert!(model.marked.is_empty() && model.chosen_file().is_none());
}

#[test]
fn in_a_patch_hunks_are_marked_one_by_one() {
    let mut model = three();
    model.update(Key::Enter);
    model.update(Key::Enter);
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
    model.update(Key::Tab);
    assert_eq!((marked(&model), model.line), (vec![0], 5), "then the next");
    model.update(Key::Down);
    model.update(Key::Tab);
    assert_eq!(marked(&model), [0, 1]);
    model.update(Key::Home);
    model.update(Key::Tab);
    assert_eq!(marked(&model), [1], "and off again");
    model.update(Key::Left);
    model.update(Key::Tab);
    assert_eq!(
        (marked(&model), model.marked.len()),
        (vec![], 1),
        "all of it"
    );
}
