//! Every operation but a first revert, killed: the next command ends it, and the way back is still there.

use testing::chat::{Chat, assert_agreed};
use testing::scripted::{ANSWER, Scripted, answering};
use testing::skip::has_strace;

use super::{REVERT, Sandbox, Tree, assert_sound, assert_whole, leftovers, played};
use testing::strace::{Point, at_each, kill_at, killed_at, points, points_of, sample};

/// An operation, what comes before it, and what is done when it was killed.
pub struct Case {
    pub name: &'static str,
    /// The workspace just before the command.
    pub ready: fn() -> Sandbox,
    pub command: &'static [&'static str],
    /// A command that comes to the same, whether the killed one had begun or not.
    pub again: &'static [&'static str],
    /// The way back to what was there before the command; `None` if it is that of the last operation.
    pub back: Option<&'static [&'static str]>,
}

pub static CASES: [Case; 8] = [
    Case {
        name: "revert",
        ready: played,
        command: &REVERT,
        again: &REVERT,
        back: Some(&["unrevert"]),
    },
    Case {
        name: "unrevert",
        ready: reverted,
        command: &["unrevert"],
        again: &["unrevert"],
        back: Some(&REVERT),
    },
    Case {
        name: "redo",
        ready: twice_reverted,
        command: &["redo"],
        again: &["revert", "--message", "m2"],
        back: Some(&REVERT),
    },
    Case {
        name: "undo",
        ready: reverted,
        command: &["undo"],
        again: &["unrevert"],
        back: Some(&REVERT),
    },
    Case {
        name: "revert of one message alone",
        ready: followed,
        command: &["revert", "m1", "--alone"],
        again: &["revert", "m1", "--alone"],
        back: None,
    },
    Case {
        name: "restore",
        ready: played,
        command: &["restore", "m1"],
        again: &["restore", "m1"],
        back: None,
    },
    Case {
        name: "revert with its conversation",
        ready: chatted,
        command: &FORK,
        again: &FORK,
        back: Some(&["unrevert"]),
    },
    Case {
        name: "way back of both",
        ready: forked,
        command: &["undo"],
        again: &["unrevert"],
        back: Some(&FORK),
    },
];

/// A revert of files and conversation.
const FORK: [&str; 4] = ["revert", "prompt-2", "--conversation", "fork"];

fn chatted() -> Sandbox {
    Chat::of_three().world
}

fn forked() -> Sandbox {
    let world = chatted();
    world.run(&FORK, b"").exits(0);
    world
}

/// Returns the operations that are tried: all, or the one that `CKPT_CASE` names.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    let only = std::env::var("CKPT_CASE").ok();
    let is_meant = move |case: &&Case| only.as_ref().is_none_or(|only| case.name == only);
    CASES.iter().filter(is_meant)
}

fn reverted() -> Sandbox {
    let world = played();
    world.run(&REVERT, b"").exits(0);
    world
}

/// Two messages, both reverted: a redo goes forward to just before the second.
fn twice_reverted() -> Sandbox {
    let world = played();
    world.play("m2", "go on", |world| {
        world.write("edited", "three\n");
        world.write("made/by/agent", "again\n");
        world.remove("link");
    });
    world.run(&REVERT, b"").exits(0);
    world
}

/// Two messages: the first is undone alone.
fn followed() -> Sandbox {
    let world = played();
    world.play("m2", "go on", |world| world.write("of m2", "more\n"));
    world
}

impl Case {
    /// The trees before the command and after it, in peace.
    pub fn trees(&self) -> (Tree, Tree) {
        let world = (self.ready)();
        let before = world.tree();
        world.run(self.command, b"").exits(0);
        (before, world.tree())
    }

    /// The tree is what the command gives, nothing is left beside, all is sound, and there is a way back.
    pub fn assert_ended(&self, world: &Sandbox, before: &Tree, after: &Tree, what: &str) {
        assert_eq!(&world.tree(), after, "{what}: as if nobody had killed it");
        assert_eq!(
            leftovers(world),
            Vec::<std::path::PathBuf>::new(),
            "{what}: nothing is left beside"
        );
        assert_sound(world, what);
        assert_agreed(world, what);
        match self.back {
            Some(back) => _ = world.run(back, b"").exits(0),
            // A file that could not be read then, and was left alone, is named.
            None => {
                assert!(
                    matches!(
                        world.run(&["restore", &first_operation(world)], b"").code,
                        Some(0 | 3)
                    ),
                    "{what}"
                )
            }
        }
        assert_eq!(&world.tree(), before, "{what}: and back to the byte");
        assert_agreed(world, what);
    }
}

/// The id of the oldest operation: one that failed in part is followed by another.
fn first_operation(world: &Sandbox) -> String {
    let log = world.json(&["log", "--operations"]);
    let operations = log["operations"].as_array().expect("a list");
    operations.last().expect("one at least")["id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

/// Every operation that is killed is ended by the next command.
///
/// Invariant `work/crash-operation`: The next command finishes any operation, or its recovery,
/// that a crash or an error cut off.
#[test]
fn every_killed_operation_is_ended_next() {
    if !has_strace() {
        return;
    }
    // The first revert has tests of its own.
    for case in cases().filter(|case| case.name != "revert") {
        let (before, after) = case.trees();
        let all: Vec<Point> = points(&(case.ready)(), case.command, b"");
        at_each(sample(all, 20), |point| {
            let world = (case.ready)();
            kill_at(&world, &point, case.command, b"");
            let what = format!("{} killed at {point:?}", case.name);
            assert_whole(&world, &before, &after, &what);
            let killed = world.tree();
            world.run(&["status"], b"").exits(0);
            assert_eq!(
                world.tree(),
                killed,
                "{what}: `status` looks and does not act"
            );
            world.run(case.again, b"").exits(0);
            case.assert_ended(&world, &before, &after, &what);
        });
    }
}

/// A killed fork by an agent's program is told.
///
/// Files and conversation go back together, or neither does, and what the program was asked for is not passed over in
/// silence. The program is killed, too, as it is traced with the revert.
///
/// Invariant `work/killed-fork`.
#[test]
fn killed_fork_by_a_program_is_told() {
    if !has_strace() {
        return;
    }
    const REVERT: [&str; 4] = ["revert", "last", "--conversation", "fork"];
    let ready = || {
        let heard = r#"echo asked >> "$0.heard""#;
        Scripted::new(&answering(&format!("{heard}\n{ANSWER}")))
    };
    let peace = ready();
    let all = points_of(&peace.world, &REVERT, |command| {
        let path = format!("{}:/usr/bin:/bin", peace.folder().display());
        testing::binary::finish(command.env("PATH", path), b"").exits(0);
    });
    assert!(!peace.is_made(2), "in peace it goes back");
    at_each(sample(all, 40), |point| {
        let chat = ready();
        let killed = chat.finish(killed_at(&chat.world, &point, &REVERT));
        let next = chat.world.run(&["snapshot"], b"").exits(0);
        let told = format!("{killed}{next}");
        let sessions = chat.world.json(&["sessions"]);
        let session = sessions["sessions"][0]["agent_id"].as_str();
        let what = format!("killed at {point:?}: {told}");
        assert!(chat.is_made(1), "{what}");
        assert_eq!(
            session,
            Some(if chat.is_made(2) { "old" } else { "new" }),
            "{what}"
        );
        let was_asked = chat.folder().join("codex.heard").exists();
        let is_told = [
            "is taken back",
            "could not be forked",
            "it is not known whether",
        ];
        let is_told = is_told.iter().any(|words| told.contains(words));
        assert!(is_told || !was_asked || !chat.is_made(2), "{what}");
        // And it can be done then.
        if chat.is_made(2) {
            chat.revert().exits(0);
            assert!(!chat.is_made(2), "{what}");
        }
    });
}
