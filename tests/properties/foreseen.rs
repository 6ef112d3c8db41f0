//! The receipt of a dry run is that of what then happens, also where ignore files come, go and change.

use ckpt_schema::report::OperationReport;
use ckpt_store::{RedoRequest, RestoreRequest, RevertRequest};
use proptest::prelude::*;

use testing::scenario::{World, explained, wait_ms};

const FILES: [&str; 8] = [
    "a",
    "x.log",
    "out/x",
    "out/deep/y",
    "out/z.log",
    "d/a",
    "d/x.log",
    "d/out/w",
];

const IGNORE_FILES: [&str; 3] = [".gitignore", "d/.gitignore", "out/.gitignore"];

const RULES: [&str; 8] = [
    "",
    "*.log\n",
    "out/\n",
    "out/*\n",
    "x*\n",
    "!x.log\n",
    "d/\n",
    "out\n*.log\n",
];

#[derive(Clone, Debug)]
enum Edit {
    Write(&'static str, u8),
    Remove(&'static str),
    /// A folder, with all that is in it.
    RemoveFolder(&'static str),
    MakeFolder(&'static str),
    Rules(&'static str, &'static str),
    NoRules(&'static str),
}

#[derive(Clone, Debug)]
enum Action {
    /// A message, and what its step does.
    Turn(Vec<Edit>),
    User(Vec<Edit>),
    /// To one of the messages, counted from the oldest, round and round.
    Revert(usize, bool),
    Unrevert,
    Restore(usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let file = || prop::sample::select(&FILES[..]);
    let ignore_file = || prop::sample::select(&IGNORE_FILES[..]);
    let rules = prop::sample::select(&RULES[..]);
    let edit = prop_oneof![
        4 => (file(), 0..3u8).prop_map(|(path, text)| Edit::Write(path, text)),
        1 => file().prop_map(Edit::Remove),
        1 => prop::sample::select(vec!["out", "d", "out/deep"]).prop_map(Edit::RemoveFolder),
        1 => prop::sample::select(vec!["out", "d", "out/deep"]).prop_map(Edit::MakeFolder),
        3 => (ignore_file(), rules).prop_map(|(path, rules)| Edit::Rules(path, rules)),
        2 => ignore_file().prop_map(Edit::NoRules),
    ];
    prop::collection::vec(edit, 1..4)
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let past =
        prop_oneof![3 => edits().prop_map(Action::Turn), 1 => edits().prop_map(Action::User)];
    let command = prop_oneof![
        4 => (0..4usize, any::<bool>()).prop_map(|(number, only)| Action::Revert(number, only)),
        1 => Just(Action::Unrevert),
        1 => (0..4usize).prop_map(Action::Restore),
        1 => edits().prop_map(Action::User),
        1 => edits().prop_map(Action::Turn),
    ];
    let past = prop::collection::vec(past, 1..5);
    let then = prop::collection::vec(command, 1..4);
    (edits(), past, then).prop_map(|(first, past, then)| {
        let first = std::iter::once(Action::User(first));
        first.chain(past).chain(then).collect()
    })
}

fn apply(world: &World, edits: &[Edit]) {
    for edit in edits {
        match edit {
            Edit::Write(path, text) => world.write(path, format!("{text}\n")),
            Edit::Remove(path) | Edit::NoRules(path) if world.exists(path) => world.remove(path),
            Edit::RemoveFolder(path) if world.exists(path) => world.remove_tree(path),
            Edit::MakeFolder(path) => world.make_directory(path),
            Edit::Rules(path, rules) => world.write(path, rules),
            Edit::Remove(_) | Edit::NoRules(_) | Edit::RemoveFolder(_) => {}
        }
    }
    wait_ms(60_000);
}

fn assert_foreseen(planned: &OperationReport, done: &OperationReport, actions: &[Action]) {
    assert_eq!(
        planned.receipt, done.receipt,
        "what is told is what happens: {done:#?} after {actions:#?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// A dry run has the receipt of what then happens whatever ignore files it changes.
    ///
    /// Invariant `truth/dry-run`.
    #[test]
    fn dry_run_foresees_the_receipt(
        actions in actions(), is_git in any::<bool>(),
    ) {
        let mut world = if is_git { World::git(&[("a", "0\n")]) } else { World::new() };
        let mut messages: Vec<String> = Vec::new();
        for action in &actions {
            match action {
                Action::Turn(edits) => {
                    let name = format!("m{}", messages.len());
                    world.turn(&name, |world| apply(world, edits));
                    messages.push(name);
                }
                Action::User(edits) => apply(&world, edits),
                Action::Revert(number, is_part) => {
                    if messages.is_empty() { continue; }
                    let request = |dry_run| RevertRequest {
                        message: messages[number % messages.len()].clone(),
                        only: if *is_part { vec![world.path("d")] } else { Vec::new() },
                        dry_run,
                        ..RevertRequest::default()
                    };
                    let (dry, wet) = (request(true), request(false));
                    let (Ok(planned), Ok(done)) = (world.try_revert(&dry), world.try_revert(&wet)) else { continue };
                    assert_foreseen(&planned, &done, &actions);
                }
                Action::Unrevert => {
                    let request = |dry_run| RedoRequest { all: true, dry_run, ..RedoRequest::default() };
                    let cwd = world.cwd.clone();
                    let planned = world.store.redo(&cwd, &request(true)).map(explained);
                    let done = world.store.redo(&cwd, &request(false)).map(explained);
                    if let (Ok(planned), Ok(done)) = (planned, done) {
                        assert_foreseen(&planned, &done, &actions);
                    }
                }
                Action::Restore(number) => {
                    if messages.is_empty() { continue; }
                    let request = |dry_run| RestoreRequest {
                        id: messages[number % messages.len()].clone(),
                        dry_run,
                        ..RestoreRequest::default()
                    };
                    let cwd = world.cwd.clone();
                    let planned = world.store.restore(&cwd, &request(true)).map(explained);
                    let done = world.store.restore(&cwd, &request(false)).map(explained);
                    if let (Ok(planned), Ok(done)) = (planned, done) {
                        assert_foreseen(&planned, &done, &actions);
                    }
                }
            }
        }
    }
}
