//! What a command that only reads says of a store whose indexes or tables are damaged, as after a power cut.

use std::fs;
use std::path::{Path, PathBuf};

use testing::binary::Sandbox;
use testing::rows;
use testing::tree;

const READING: [&[&str]; 6] = [
    &["cat", "m2:src/a.txt"],
    &["diff", "m1", "m2", "-p"],
    &["show", "m2", "-p"],
    &["show", "m2", "--json"],
    &["log", "-p"],
    &["log", "-S", "two"],
];

/// Commands that look at the workspace, and may mend what they meet.
const LOOKING: [&[&str]; 4] = [
    &["diff", "m1", "-p"],
    &["blame", "src/a.txt", "--json"],
    &["recover", "notes.md", "--dry-run", "--json"],
    &["revert", "m1", "--dry-run", "--contents", "--json"],
];

fn world() -> Sandbox {
    let world = Sandbox::new();
    world.write("src/a.txt", "one\n");
    world.write("notes.md", "mine\n");
    world.play("m1", "add two", |world| {
        world.write("src/a.txt", "one\ntwo\n");
    });
    world.play("m2", "add three", |world| {
        world.write("src/a.txt", "one\ntwo\nthree\n");
        world.remove("notes.md");
    });
    world
}

/// The folder of the packs of the only workspace.
fn packs(world: &Sandbox) -> PathBuf {
    let mut folders = fs::read_dir(world.store().join("snapshots")).expect("there");
    let folder = folders.next().expect("one workspace").expect("readable");
    folder.path().join("repository.git/objects/pack")
}

/// What the commands print. Ages of messages, and what time and process ids differ in, are left out.
fn answers(world: &Sandbox, commands: &[&[&str]]) -> Vec<String> {
    let answer = |arguments: &&[&str]| {
        let run = world.run(arguments, b"").exits(0);
        let text = world.redact(&run.stdout);
        let plain = text
            .lines()
            .filter(|line| !line.contains("\"plan\"") && !line.contains("\"tree\""));
        plain.collect::<Vec<_>>().join("\n")
    };
    commands.iter().map(answer).collect()
}

/// A name, and what does harm to the bytes of an index.
type Harm = (&'static str, fn(&mut Vec<u8>));

/// Harms every index, and removes what was derived from them.
fn harm(packs: &Path, act: impl Fn(&mut Vec<u8>)) {
    for entry in fs::read_dir(packs).expect("there") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|ending| ending == "idx") {
            let mut bytes = fs::read(&path).expect("ours");
            act(&mut bytes);
            fs::remove_file(&path).expect("ours");
            fs::write(&path, bytes).expect("ours");
        }
    }
    let _ = fs::remove_file(packs.join("multi-pack-index"));
}

/// What only reads reads by the packs where their indexes are damaged and writes nothing.
///
/// Invariant `truth/damaged-index`: A damaged index of an intact pack is rebuilt, by `doctor`
/// and by whoever needs it; a command that only reads does it in memory.
#[test]
fn readers_manage_without_damaged_indexes() {
    let harms: [Harm; 3] = [
        ("empty", Vec::clear),
        ("cut off", |bytes| bytes.truncate(bytes.len() / 2)),
        ("zeros after the fan-out table", |bytes| {
            bytes[1032..].fill(0)
        }),
    ];
    let world = world();
    let packs = packs(&world);
    let (reading, looking) = (answers(&world, &READING), answers(&world, &LOOKING));
    for (what, act) in harms {
        harm(&packs, act);
        let before = tree::read(&packs);
        assert_eq!(answers(&world, &READING), reading, "{what}");
        assert_eq!(tree::read(&packs), before, "{what}: nothing is written");
        for (command, answer) in LOOKING.iter().zip(&looking) {
            harm(&packs, act);
            let again = answers(&world, &[command]);
            assert_eq!(again.first(), Some(answer), "{what}: {command:?}");
        }
    }
}

/// A column that something renamed is met with what to do, and costs nothing: a repair mends it, and so does the next
/// event, of which nothing is lost.
#[test]
fn a_renamed_column_is_mended() {
    for is_repaired in [true, false] {
        let world = world();
        let database = world.store().join("sessions.db");
        let log = world.run(&["log"], b"").exits(0).stdout;
        rows::execute(
            &database,
            "ALTER TABLE messages RENAME COLUMN prompt TO other",
        );
        let run = world.run(&["log"], b"");
        assert_ne!(run.code, Some(0), "{run}");
        let way = "`ckpt-hook doctor --repair`";
        assert!(run.stderr.contains(way), "{run}");
        let told = "the session store was damaged and is set aside";
        if is_repaired {
            world.run(&["doctor", "--repair"], b"");
            assert_eq!(world.run(&["log"], b"").exits(0).stdout, log);
        } else {
            world.play("m9", "go on", |world| world.write("a", "9\n"));
            let run = world.run(&["log"], b"").exits(0);
            let lines: Vec<&str> = log.lines().skip(1).collect();
            assert!(run.stdout.contains("go on"), "{run}");
            for line in &lines[..lines.len() - 1] {
                assert!(run.stdout.contains(line), "{line}: {run}");
            }
        }
        let doctor = world.run(&["doctor"], b"");
        assert!(doctor.stdout.contains(told), "{doctor}");
    }
}

/// A damaged table is met with what to do.
///
/// Each table loses the page at which it begins. What a command cannot read then, it says how to mend.
#[test]
fn damaged_table_comes_with_advice() {
    let world = world();
    let database = world.store().join("sessions.db");
    rows::execute(&database, "PRAGMA wal_checkpoint(TRUNCATE)");
    let whole = fs::read(&database).expect("ours");
    let mut refused = 0;
    for table in [
        "workspaces",
        "sessions",
        "messages",
        "steps",
        "snapshots",
        "changes",
    ] {
        let root = format!("SELECT rootpage || '' FROM sqlite_schema WHERE name = '{table}'");
        // The log of the one that was made anew is not this one's.
        for beside in ["-wal", "-shm"] {
            let _ = fs::remove_file(world.store().join(format!("sessions.db{beside}")));
        }
        fs::write(&database, &whole).expect("ours");
        let page: usize = rows::texts(&database, &root)[0].parse().expect("a number");
        let mut bytes = whole.clone();
        bytes[(page - 1) * 4096..page * 4096].fill(0);
        for words in [
            &["log"][..],
            &["status"],
            &["show", "m2"],
            &["revert", "--dry-run", "m1"],
        ] {
            for beside in ["-wal", "-shm"] {
                let _ = fs::remove_file(world.store().join(format!("sessions.db{beside}")));
            }
            fs::write(&database, &bytes).expect("ours");
            let run = world.run(words, b"");
            if run.code == Some(0) {
                continue;
            }
            refused += 1;
            assert!(
                run.stderr.contains("`ckpt-hook doctor --repair`"),
                "{table} {words:?}: {run}"
            );
        }
        world.run(&["doctor", "--repair"], b"");
        for words in [&["log"][..], &["status"]] {
            world.run(words, b"").exits(0);
        }
    }
    assert!(refused > 6, "{refused}");
}
