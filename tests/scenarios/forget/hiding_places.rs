//! What is forgotten stands nowhere in the store, in no kind of file and in nothing that a crash left.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use ckpt_schema::report::FileResult;
use ckpt_schema::{Event, EventKind};
use ckpt_store::Forget;
use ckpt_store::query::LogFilter;

use testing::scenario::World;
use testing::tree::{files_below, replace};

use super::{SECRET, forget, has, places_of};

/// Returns whether a text stands in bytes, also in what is compressed anywhere in them: a pack that nobody lists, or what a crash
/// left.
fn hides(bytes: &[u8], needle: &str) -> bool {
    let begins = |at: usize| {
        let header = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        bytes[at] == 0x78 && header.is_multiple_of(31)
    };
    has(bytes, needle)
        || (0..bytes.len().saturating_sub(1))
            .filter(|at| begins(*at))
            .any(|at| {
                let mut text = Vec::new();
                // What can be decoded of it counts, whatever follows.
                let _ = flate2::read::ZlibDecoder::new(&bytes[at..])
                    .take(1_000_000)
                    .read_to_end(&mut text);
                has(&text, needle)
            })
}

fn hiding_places(world: &World, needle: &str) -> Vec<String> {
    let mut places = places_of(world, needle);
    let all = files_below(&world.base().join("store")).into_iter();
    let hiding = all.filter(|path| hides(&fs::read(path).expect("ours"), needle));
    places.extend(hiding.map(|path| path.display().to_string()));
    places.sort();
    places.dedup();
    places
}

/// Every kind of file and of history that may hold a secret below one directory.
fn with_secrets_of_every_kind() -> World {
    let mut world = World::git(&[("kept", "the user's\n"), (".gitignore", "*.log\n.env\n")]);
    world.write("secret/committed", format!("committed {SECRET}\n"));
    world.run_git(&["add", "-A"]);
    world.run_git(&["commit", "-q", "-m", "with a secret"]);
    let lines = |first: &str| format!("{first} {SECRET}\n{}", "a line of text\n".repeat(400));
    world.turn_in("s", "m1", |world| {
        world.write("secret/deep/text", lines("first"));
        world.write("secret/binary", [b"\0\x01\xff", SECRET.as_bytes()].concat());
        world.write("secret/run", format!("#!/bin/sh\necho {SECRET}\n"));
        world.chmod("secret/run", 0o700);
        world.link("secret/link", SECRET);
        world.write("secret/.env", format!("KEY={SECRET}\n"));
        world.write("secret/.gitignore", format!(".gitignore\n# {SECRET}\n"));
        world.write("kept", "the agent's\n");
    });
    world.turn_in("s", "m2", |world| {
        world.write("secret/deep/text", lines("second"));
        world.remove("secret/binary");
    });
    world.write(
        "secret/deep/text",
        format!("{}the user's {SECRET}\n", lines("second")),
    );
    world.revert("m2");
    world.unrevert();
    world.revert("m2");
    // What was reverted is discarded, and stays on a branch of its own.
    world.turn_in("s", "m3", |world| {
        world.write("secret/late", format!("late {SECRET}\n"));
    });
    world.store.gc(ckpt_store::DryRun::No).expect("it is ours");
    world.turn_in("s", "m4", |world| {
        world.write("secret/deep/text", lines("fourth"));
    });
    world
}

/// Puts down what a crash may leave anywhere in the store, with what the store holds now.
fn leave_leftovers(world: &World) {
    let store = world.base().join("store");
    let copy = |from: &Path, to: &str| {
        let to = from.with_file_name(to);
        // Packs may not be written to, nor may their copies.
        let _ = fs::remove_file(&to);
        fs::copy(from, to).expect("there is room");
    };
    for name in [
        "sessions.db.version-2",
        "sessions.db.version-2.new",
        "sessions.db.damaged-1",
        "sessions.db.damaged-1-wal",
        "sessions.db.damaged-1-journal",
        "sessions.db.repaired",
        "sessions.db.repaired-wal",
        "sessions.db.repaired-journal",
    ] {
        copy(&store.join("sessions.db"), name);
        let mut rows = fs::read(store.join(name)).expect("ours");
        rows.extend_from_slice(SECRET.as_bytes());
        fs::write(store.join(name), rows).expect("ours");
    }
    for name in ["log", "log.old"] {
        fs::write(
            store.join(name),
            format!("secret/{SECRET}: cannot be read\n"),
        )
        .expect("ours");
    }
    for path in files_below(&store.join("snapshots")) {
        let name = path.file_name().expect("a file").to_string_lossy();
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("pack") => {
                copy(&path, "pack-0123456789012345678901234567890123456789.pack");
                copy(&path, "tmp_pack_x1");
                copy(&path, "borrowed-unread-0123.pack");
            }
            _ if name == "cache" => copy(&path, "cache.12345"),
            _ => {}
        }
    }
}

/// No kind of file and nothing that a crash left keeps what is forgotten.
#[test]
fn no_file_keeps_what_is_forgotten() {
    let mut world = with_secrets_of_every_kind();
    let packs = |world: &World| {
        let all = files_below(&world.base().join("store")).into_iter();
        all.filter(|path| path.extension().is_some_and(|ending| ending == "pack"))
            .filter(|path| hides(&fs::read(path).expect("ours"), SECRET))
            .count()
    };
    assert!(packs(&world) > 0, "the packs hold it, compressed");
    leave_leftovers(&world);
    forget(&mut world, Forget::Path("/secret/".to_owned()));
    assert_eq!(hiding_places(&world, SECRET), Vec::<String>::new());
    let report = world.revert("m1");
    assert_eq!(world.read("kept"), "the user's\n", "the rest goes back");
    let of_secrets = |report: &ckpt_schema::report::OperationReport| {
        let files = report.files.iter();
        files
            .filter(|file| file.path.path.starts_with("secret"))
            .all(|file| file.result == FileResult::Gap)
    };
    assert!(of_secrets(&report), "and says what it left: {report:?}");
    assert!(
        world.read("secret/deep/text").contains("fourth"),
        "that stays as it is"
    );
}

/// Damages every few bytes behind the first object of a pack.
fn scratch(pack: &Path) {
    let mut bytes = fs::read(pack).expect("ours");
    let length = bytes.len();
    for at in (length * 2 / 3..length - 20).step_by(7) {
        bytes[at] ^= 0x55;
    }
    replace(pack, &bytes);
}

/// A name, and what does harm to the packs.
type Harm = (&'static str, fn(&[PathBuf]));

const HARMS: [Harm; 5] = [
    ("the first pack is empty", |packs| replace(&packs[0], &[])),
    ("the first pack is gone", |packs| {
        for ending in ["idx", "pack"] {
            fs::remove_file(packs[0].with_extension(ending)).expect("ours");
        }
    }),
    ("the pack with the secret is damaged", |packs| {
        scratch(&packs[1])
    }),
    ("and has no index", |packs| {
        scratch(&packs[1]);
        fs::remove_file(packs[1].with_extension("idx")).expect("ours");
    }),
    ("and its index is empty", |packs| {
        scratch(&packs[1]);
        replace(&packs[1].with_extension("idx"), &[]);
    }),
];

/// What is lost for good keeps nothing from being forgotten.
///
/// Invariant `truth/forgotten`.
#[test]
fn lost_objects_stop_no_forgetting() {
    for (what, act) in HARMS {
        let mut world = World::new();
        world.write("kept", "as it was\n");
        world.write("lost", "as it was, too\n");
        world.turn("m1", |world| {
            world.write("key", format!("{SECRET}\n"));
            world.write("lost", "no file has these bytes any more\n");
        });
        world.turn("m2", |world| {
            world.remove("key");
            world.write("lost", "now\n");
        });
        act(&world.packs());
        world.reopen(ckpt_store::Settings::default());
        forget(&mut world, Forget::Path("key".to_owned()));
        assert_eq!(
            hiding_places(&world, SECRET),
            Vec::<String>::new(),
            "{what}"
        );
        world.reopen(ckpt_store::Settings::default());
        world.turn("m3", |world| world.write("kept", "by m3\n"));
        world.revert("m3");
        assert_eq!(
            world.read("kept"),
            "as it was\n",
            "{what}: the store goes on"
        );
    }
}

/// Names in a forgotten directory go also where nothing of the files was stored.
#[test]
fn names_of_what_was_only_seen_go() {
    const NAME: &str = "codename-halibut";
    let mut world = World::git(&[("kept", "1\n"), (".gitignore", "*.log\n")]);
    world.write(format!("secret/{NAME}.log"), "ignored\n");
    world.write(format!("secret/deep/{NAME}.log"), "ignored\n");
    world.write("secret/a", "stored\n");
    let pipe = world.path(format!("secret/{NAME}"));
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe, mode).expect("writable");
    world.turn("m1", |world| world.write("kept", "2\n"));
    assert!(
        !hiding_places(&world, NAME).is_empty(),
        "it is there at first"
    );
    world.remove_tree("secret");
    forget(&mut world, Forget::Path("secret/".to_owned()));
    assert_eq!(hiding_places(&world, NAME), [""; 0]);
    let report = world.revert("m1");
    assert_eq!(world.read("kept"), "1\n", "{report:#?}");
}

/// The words of a message that was for several roots go with the history of any of them; the files of the others stay.
///
/// Invariant `truth/forgotten`.
#[test]
fn words_for_several_roots_go_with_one() {
    for is_main in [true, false] {
        let mut world = World::new();
        let other = world.base().join("other");
        fs::create_dir(&other).expect("writable");
        fs::write(other.join("b"), "1\n").expect("writable");
        let message = Event {
            message_id: Some("m1".to_owned()),
            prompt: Some(format!("use {SECRET}")),
            roots: vec![other.clone()],
            ..world.event(EventKind::UserMessage, "s1")
        };
        world.send(&message);
        let tool = |world: &World, kind| Event {
            tool_use_id: Some("t1".to_owned()),
            tool_command: Some(format!("login {SECRET}")),
            ..world.event(kind, "s1")
        };
        world.start();
        let start = tool(&world, EventKind::ToolStart);
        world.send(&start);
        world.write("a", "2\n");
        fs::write(other.join("b"), "2\n").expect("writable");
        let finish = tool(&world, EventKind::ToolFinish);
        world.send(&finish);
        world.finish();
        let end = world.event(EventKind::SessionEnd, "s1");
        world.send(&end);
        assert_ne!(places_of(&world, SECRET), [] as [String; 0], "it is stored");
        let root = world.root.clone();
        let (gone, stays) = if is_main {
            (root, other)
        } else {
            (other, root)
        };
        world.cwd = gone;
        forget(&mut world, Forget::Workspace);
        assert_eq!(places_of(&world, SECRET), [] as [String; 0], "{is_main}");
        let log = world.store.log(&stays, &LogFilter::default());
        let log = log.expect("its history is there");
        assert_eq!(log.messages.len(), 1, "{log:#?}");
        assert_eq!(log.messages[0].prompt, None, "{log:#?}");
    }
}
