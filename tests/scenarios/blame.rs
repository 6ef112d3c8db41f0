//! Which prompt wrote each line: through reverts, renames and edits by hand.

use std::collections::HashMap;
use std::path::Path;

use ckpt_schema::report::LineAuthor;
use ckpt_store::ErrorKind;
use proptest::prelude::*;
use proptest::sample::Index;

use testing::scenario::World;

/// Returns each line of a file with who wrote it: the agent's name of the message, `you`, or `before`.
fn blame(world: &mut World, path: &str) -> Vec<(String, String)> {
    let cwd = world.cwd.clone();
    let names: HashMap<String, String> = world
        .log()
        .messages
        .into_iter()
        .map(|message| (message.id, message.agent_id.expect("the tests give one")))
        .collect();
    let blamed = world.store.blame(&cwd, Path::new(path)).expect("a file");
    let text = String::from_utf8(blamed.bytes).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(blamed.report.lines, lines.len() as u64, "every line");
    let mut all = Vec::new();
    for hunk in &blamed.report.hunks {
        assert_eq!(hunk.start, all.len() as u64 + 1, "hunks follow each other");
        let name = match hunk.by {
            LineAuthor::Agent => names[&hunk.steps[0].message].clone(),
            LineAuthor::Outside | LineAuthor::Uncaptured => "you".to_owned(),
            LineAuthor::Unrecorded => "before".to_owned(),
            other => format!("{other:?}"),
        };
        for _ in 0..hunk.lines {
            all.push((lines[all.len()].to_owned(), name.clone()));
        }
    }
    all
}

fn authors(world: &mut World, path: &str) -> Vec<String> {
    blame(world, path)
        .into_iter()
        .map(|(_, name)| name)
        .collect()
}

/// Each line is of the prompt that wrote it or yours.
#[test]
fn line_is_of_its_prompt_or_yours() {
    let mut world = World::new();
    world.write("a", "one\ntwo\n");
    world.turn("m1", |world| world.write("a", "one\n2\n"));
    world.write("a", "one\n2\nmine\n");
    world.turn("m2", |world| world.write("a", "one\n2\nmine\nfour\n"));
    world.write("a", "zero\none\n2\nmine\nfour\n");
    assert_eq!(
        authors(&mut world, "a"),
        ["you", "before", "m1", "you", "m2"],
        "the last edit is in no snapshot yet"
    );
}

#[test]
fn what_was_reverted_is_never_named() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "1\n2\n3\n"));
    world.turn("m2", |world| world.write("a", "1\nx\n3\n"));
    world.turn("m3", |world| world.write("a", "1\nx\n3\n4\n"));
    world.revert("m2");
    assert_eq!(
        authors(&mut world, "a"),
        ["m1", "m1", "m1"],
        "as the first left it"
    );
    world.redo();
    assert_eq!(authors(&mut world, "a"), ["m1", "m2", "m1"], "one forward");
    world.unrevert();
    assert_eq!(
        authors(&mut world, "a"),
        ["m1", "m2", "m1", "m3"],
        "all forward"
    );
    world.revert("m2");
    world.turn("m4", |world| world.write("a", "1\n2\n3\nx\n"));
    assert_eq!(
        authors(&mut world, "a"),
        ["m1", "m1", "m1", "m4"],
        "for good"
    );
}

#[test]
fn a_merged_revert_keeps_your_lines_yours() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "1\n2\n3\n4\n5\n"));
    world.turn("m2", |world| world.write("a", "1\nx\n3\n4\n5\n"));
    world.write("a", "1\nx\n3\n4\n5\nmine\n");
    world.revert("m2");
    assert_eq!(world.read("a"), "1\n2\n3\n4\n5\nmine\n", "merged");
    let expected = ["m1", "m1", "m1", "m1", "m1", "you"];
    assert_eq!(
        authors(&mut world, "a"),
        expected,
        "nothing is the revert's"
    );
}

#[test]
fn a_restored_file_belongs_to_who_wrote_it() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("a", "1\n"));
    world.turn("m2", |world| world.remove("a"));
    world.restore("m2", &["a"]);
    assert_eq!(authors(&mut world, "a"), ["m1"], "not to who put it back");
}

#[test]
fn a_rename_is_followed() {
    let mut world = World::new();
    world.turn("m1", |world| world.write("old", "1\n2\n3\n4\n"));
    world.turn("m2", |world| {
        world.remove("old");
        world.write("src/new", "1\n2\n3\nfour\n");
    });
    assert_eq!(
        authors(&mut world, "src/new"),
        ["m1", "m1", "m1", "m2"],
        "and edited"
    );
    let cwd = world.cwd.clone();
    let blamed = world
        .store
        .blame(&cwd, Path::new("src/new"))
        .expect("a file");
    let from = blamed.report.hunks[0]
        .renamed_from
        .as_ref()
        .expect("its old name");
    assert_eq!(from.path, "old", "said");
    world.revert("m2");
    assert_eq!(authors(&mut world, "old"), ["m1"; 4], "and back");
    world.unrevert();
    assert_eq!(
        authors(&mut world, "src/new"),
        ["m1", "m1", "m1", "m2"],
        "and forth"
    );
}

/// What has no lines or is not there is refused.
#[test]
fn blame_without_lines_is_refused() {
    let mut world = World::new();
    world.turn("m1", |world| {
        world.write("binary", b"a\0b");
        world.write("gone", "1\n");
        world.link("link", "gone");
        world.make_directory("folder");
    });
    world.remove("gone");
    let cwd = world.cwd.clone();
    for (path, kind) in [
        ("binary", ErrorKind::Failed),
        ("link", ErrorKind::Failed),
        ("folder", ErrorKind::Failed),
        (".", ErrorKind::Usage),
        ("../outside", ErrorKind::Usage),
        ("gone", ErrorKind::Unavailable),
        ("never", ErrorKind::Unavailable),
    ] {
        let error = world.store.blame(&cwd, Path::new(path)).expect_err(path);
        assert_eq!(error.kind, kind, "{path}: {error}");
    }
    world.write("empty", "");
    assert_eq!(blame(&mut world, "empty"), [], "nothing to tell");
}

/// What happens in a random history.
#[derive(Clone, Debug)]
enum Event {
    Turn {
        at: Index,
        removed: usize,
        added: usize,
        rename: bool,
    },
    ByHand {
        at: Index,
        removed: usize,
        added: usize,
    },
    Revert(Index),
    Unrevert,
}

fn event() -> impl Strategy<Value = Event> {
    let edit = || (any::<Index>(), 0..3_usize, 0..4_usize);
    prop_oneof![
        4 => (edit(), proptest::bool::weighted(0.2)).prop_map(|((at, removed, added), rename)| {
            Event::Turn { at, removed, added, rename }
        }),
        2 => edit().prop_map(|(at, removed, added)| Event::ByHand { at, removed, added }),
        2 => any::<Index>().prop_map(Event::Revert),
        1 => Just(Event::Unrevert),
    ]
}

const NAMES: [&str; 2] = ["first", "second"];

/// Every line ever written is another one, so that who wrote it is who wrote it first, whatever happened since.
#[derive(Default)]
struct Lines(HashMap<String, String>);

impl Lines {
    fn edit(
        &mut self,
        text: &str,
        author: &str,
        at: Index,
        removed: usize,
        added: usize,
    ) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let start = at.index(lines.len() + 1);
        let end = lines.len().min(start + removed);
        let first = self.0.len();
        let new: Vec<String> = (first..first + added)
            .map(|number| format!("line {number}"))
            .collect();
        for line in &new {
            self.0.insert(line.clone(), author.to_owned());
        }
        lines.splice(start..end, new);
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn it_equals_a_model_that_replays_every_change(events in prop::collection::vec(event(), 1..16)) {
        let mut world = World::new();
        let mut lines = Lines::default();
        let begin: Vec<String> = (0..8).map(|number| format!("line {number}")).collect();
        lines.0.extend(begin.iter().map(|line| (line.clone(), "before".to_owned())));
        world.write(NAMES[0], begin.join("\n") + "\n");
        let mut sent = 0;
        for event in events {
            let name = NAMES.into_iter().find(|name| world.exists(name));
            match event {
                Event::Turn { at, removed, added, rename } => {
                    sent += 1;
                    let message = format!("m{sent}");
                    let before = name.map(|name| world.read(name)).unwrap_or_default();
                    let is_renamed = rename && name.is_some() && before.lines().count() > 6;
                    let removed = if is_renamed { removed.min(1) } else { removed };
                    let added = if is_renamed { added.min(1) } else { added };
                    let after = lines.edit(&before, &message, at, removed, added);
                    let old = name.unwrap_or(NAMES[0]);
                    let new = if is_renamed && old == NAMES[0] { NAMES[1] } else if is_renamed { NAMES[0] } else { old };
                    world.turn(&message, |world| {
                        if new != old && !world.exists(new) {
                            world.remove(old);
                            world.write(new, &after);
                        } else {
                            world.write(old, &after);
                        }
                    });
                }
                Event::ByHand { at, removed, added } => {
                    let Some(name) = name else { continue };
                    // What was there at the first message was there before.
                    let author = if sent == 0 { "before" } else { "you" };
                    let after = lines.edit(&world.read(name), author, at, removed, added);
                    world.write(name, after);
                }
                Event::Revert(which) if sent > 0 => {
                    let message = format!("m{}", which.index(sent) + 1);
                    // One that was reverted for good is no message to go back to.
                    let _ = world.try_revert(&testing::scenario::to(&message));
                }
                Event::Revert(_) => {}
                Event::Unrevert => {
                    let cwd = world.cwd.clone();
                    let all = ckpt_store::RedoRequest { all: true, ..Default::default() };
                    let _ = world.store.redo(&cwd, &all);
                }
            }
        }
        for name in NAMES.into_iter().filter(|name| sent > 0 && world.exists(name)).collect::<Vec<_>>() {
            for (line, author) in blame(&mut world, name) {
                prop_assert_eq!(&author, &lines.0[&line], "{} of {}", line, name);
            }
        }
    }
}
