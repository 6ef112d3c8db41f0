//! A database and its log go together, and not while a program has them open.

use std::process::{Child, Command, Stdio};

use ckpt_schema::report::{FileResult, Outcome};
use ckpt_store::RevertRequest;

use testing::intact::Intact;
use testing::scenario::{World, paths_with, to, with_result};

fn write(world: &World, state: &str) {
    for path in ["x.db", "x.db-wal", "x.db-shm"] {
        world.write(path, format!("SQLite format 3\0 {path} {state}\0"));
    }
}

fn world() -> World {
    let mut world = World::new();
    write(&world, "mine");
    world.turn("m1", |world| {
        write(world, "agent");
        world.write("a", "agent\n");
    });
    world
}

#[test]
fn a_database_and_its_log_go_back_together() {
    let mut world = world();
    let after = world.tree();
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    assert!(world.read("x.db-wal").contains("mine"), "all of it");
    world.unrevert();
    assert_eq!(world.tree(), after, "and forward");
}

/// Where the user's program wrote to a database or its log since both stay.
///
/// Invariant `work/databases`.
#[test]
fn database_or_log_written_since_keeps_both() {
    for written in ["x.db", "x.db-wal", "x.db-shm"] {
        let mut world = world();
        world.write(written, "SQLite format 3\0 mine again\0");
        let mut before = world.tree();
        let report = world.revert("m1");
        before.remove(std::path::Path::new("a"));
        assert_eq!(world.tree(), before, "none of the three: {report:?}");
        assert_eq!(
            paths_with(&report, FileResult::Conflict),
            ["x.db", "x.db-shm", "x.db-wal"],
            "each is named"
        );
        assert!(!world.exists("a"), "what has nothing to do with it goes");
    }
}

/// Invariant `work/databases`.
#[test]
fn a_log_that_nobody_captured_keeps_its_database() {
    for path in ["x.db-wal", "x.db-journal"] {
        let mut world = World::git(&[(".gitignore", "*-wal\n*-journal\n"), ("x.db", "mine\0")]);
        world.turn("m1", |world| world.write("x.db", "agent\0"));
        world.write(path, "what the user's program wrote");
        let report = world.revert("m1");
        assert_eq!(
            (
                world.read("x.db").as_str(),
                paths_with(&report, FileResult::Conflict)
            ),
            ("agent\0", vec!["x.db"]),
            "{path}: {report:?}"
        );
        let reason = report.files[0].reason.as_deref();
        assert!(
            reason.is_some_and(|reason| reason.ends_with(": `--force` takes both")),
            "the way is named: {reason:?}"
        );
        let forced = RevertRequest {
            force: ckpt_store::Force::Yes,
            ..to("m1")
        };
        let report = world.try_revert(&forced).expect("it is forced");
        assert_eq!(
            (world.read("x.db").as_str(), world.exists(path)),
            ("mine\0", false),
            "both are taken: {report:?}"
        );
        world.unrevert();
        assert_eq!(
            (world.read("x.db").as_str(), world.read(path).as_str()),
            ("agent\0", "what the user's program wrote"),
            "with their way back"
        );
    }
}

/// What the log held is neither in the database of then nor anywhere else.
#[test]
fn ignored_log_that_went_keeps_its_database() {
    for (database, log, start) in [("x.db", "x.db-wal", ""), ("things", "things.wal", "KUZU")] {
        let with = |text: &str| [start, text].concat();
        let mut world = World::git(&[(".gitignore", "*wal\n"), (database, &with("mine"))]);
        world.write(log, "mine, too");
        world.turn("m1", |world| {
            world.write(database, with("agent"));
            world.remove(log);
            world.write("other", "agent\n");
        });
        let report = world.revert("m1");
        assert_eq!(world.read(database), with("agent"), "{report:#?}");
        assert_eq!(paths_with(&report, FileResult::Conflict), [database]);
        assert!(!world.exists("other"));
    }
}

#[test]
fn an_empty_log_keeps_nothing() {
    let mut world = World::git(&[(".gitignore", "*-wal\n"), ("x.db", "mine\0")]);
    world.turn("m1", |world| world.write("x.db", "agent\0"));
    world.write("x.db-wal", "");
    world.revert("m1");
    assert_eq!(world.read("x.db"), "mine\0", "there is nothing in it");
}

/// A program that has a file open until it is dropped.
struct Program(Child);

impl Program {
    fn opens(world: &World, path: &str) -> Self {
        Self::holds(std::fs::File::open(world.path(path)).expect("it is there"))
    }

    fn writes(world: &World, path: &str) -> Self {
        let file = std::fs::OpenOptions::new()
            .append(true)
            .open(world.path(path));
        Self::holds(file.expect("it is there"))
    }

    fn holds(file: std::fs::File) -> Self {
        let child = Command::new("sleep")
            .arg("1000")
            .stdin(Stdio::from(file))
            .spawn()
            .expect("a program");
        Self(child)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it ends");
    }
}

/// A database that a program has open is not exchanged under it.
///
/// With `--force` as well: what it writes next would go to files without a name, and a log beside the new file is shared
/// with programs that open that.
///
/// Invariant `work/databases`.
#[test]
fn open_database_is_not_exchanged() {
    let forced = RevertRequest {
        force: ckpt_store::Force::Yes,
        ..to("m1")
    };
    for path in ["x.db", "x.db-wal", "x.db-shm"] {
        for open in [Program::opens, Program::writes] {
            for request in [to("m1"), forced.clone()] {
                let mut world = world();
                let before = world.read("x.db-wal");
                let program = open(&world, path);
                let report = world.try_revert(&request).expect("it can be planned");
                drop(program);
                assert!(world.read("x.db").contains("agent"), "{report:?}");
                assert_eq!(world.read("x.db-wal"), before, "{report:?}");
                assert_eq!(
                    paths_with(&report, FileResult::Conflict),
                    ["x.db", "x.db-shm", "x.db-wal"],
                    "kept and named"
                );
                for file in with_result(&report, FileResult::Conflict) {
                    let reason = file.reason.as_deref().unwrap_or_default();
                    assert!(reason.contains("open: sleep"), "and by whom: {reason}");
                }
            }
        }
    }
}

/// An open writer in wal mode keeps its database and is named.
///
/// The user's program writes a row after the agent, and goes on: its log is in no item of the plan.
///
/// Invariant `work/databases`.
#[test]
fn open_wal_writer_keeps_its_database() {
    for force in [ckpt_store::Force::No, ckpt_store::Force::Yes] {
        let mut world = World::new();
        drop(sqlite_that_tidies(&world, "odd"));
        world.turn("m1", |world| {
            let database = sqlite_that_tidies(world, "odd");
            let row = "INSERT INTO words VALUES ('agent')";
            database.execute_batch(row).expect("a row");
        });
        let users = sqlite_that_tidies(&world, "odd");
        let row = "INSERT INTO words VALUES ('user')";
        users.execute_batch(row).expect("a row");
        // The lock that tells of it is of this process, which never tells its own: another one has the log open.
        let program = Program::opens(&world, "odd-wal");
        for dry_run in [true, false] {
            let request = RevertRequest {
                force,
                dry_run,
                ..to("m1")
            };
            let reason = loop {
                let report = world.try_revert(&request).expect("it can be planned");
                let kept = with_result(&report, FileResult::Conflict);
                let reason = kept[0].reason.clone().unwrap_or_default();
                // A program that another test is just starting has the files of this process until it runs.
                if !reason.contains("open: databases::") {
                    break reason;
                }
            };
            assert!(reason.contains("open: sleep"), "{force:?}: {reason}");
            assert!(!reason.contains("--force"), "it is no way: {reason}");
        }
        let row = "INSERT INTO words VALUES ('later')";
        users.execute_batch(row).expect("it goes on");
        drop((users, program));
        assert_eq!(said(&world, "odd"), "agent user later");
    }
}

/// A database that was open goes back when it is closed.
#[test]
fn closed_database_goes_back() {
    let mut world = world();
    let program = Program::opens(&world, "x.db");
    world.revert("m1");
    drop(program);
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:?}");
    assert!(world.read("x.db").contains("mine"), "it is asked again");
}

/// A restore leaves an open database alone as well.
#[test]
fn restore_leaves_an_open_database_alone() {
    let mut world = World::new();
    write(&world, "mine");
    let snapshot = world.snapshot();
    write(&world, "later");
    let program = Program::opens(&world, "x.db");
    let report = world.restore(&snapshot, &[]);
    drop(program);
    assert!(world.read("x.db").contains("later"), "{report:?}");
    assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
}

/// Other files with such names have nothing to do with each other.
#[test]
fn files_of_such_names_are_unrelated() {
    let mut world = World::new();
    world.turn("m1", |world| {
        world.write("my", "agent\n");
        world.write("my-journal", "agent\n");
    });
    world.write("my-journal", "mine\n");
    let report = world.revert("m1");
    assert!(!world.exists("my"), "it is a text: {report:?}");
}

/// Opens a real database in WAL mode, whose log goes when it is closed.
pub(super) fn sqlite_that_tidies(world: &World, path: &str) -> rusqlite::Connection {
    let database = rusqlite::Connection::open(world.path(path)).expect("it is one, or a new one");
    database
        .pragma_update(None, "journal_mode", "wal")
        .expect("it can");
    database
        .execute_batch("CREATE TABLE IF NOT EXISTS words (word TEXT)")
        .expect("a table");
    database
}

/// Opens a real database in WAL mode, whose log stays when it is closed.
fn sqlite(world: &World, path: &str) -> rusqlite::Connection {
    let database = sqlite_that_tidies(world, path);
    database
        .set_db_config(
            rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
            true,
        )
        .expect("it knows that");
    database
}

pub(super) fn say(world: &World, path: &str, word: &str) {
    let database = sqlite(world, path);
    database
        .execute("INSERT INTO words VALUES (?1)", [word])
        .expect("a row");
}

/// What a database says, which is whole.
pub(super) fn said(world: &World, path: &str) -> String {
    let database = sqlite(world, path);
    let check: String = database
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("it opens");
    assert_eq!(check, "ok", "{path}");
    let all = "SELECT group_concat(word, ' ') FROM words";
    database
        .query_row(all, [], |row| row.get(0))
        .expect("it can be read")
}

const REAL: [&str; 6] = [
    "state.vscdb",
    ".coverage",
    "map.gpkg",
    "Cookies",
    "d/no ending",
    "x.db",
];

/// A database of any name keeps what the user wrote after.
///
/// Invariant `work/databases`: A database and its log, or the folder of one, go together or not
/// at all, and never under a program that has them open.
#[test]
fn database_of_any_name_keeps_users_writes() {
    let mut world = World::new();
    world.make_directory("d");
    for path in REAL {
        say(&world, path, "mine");
    }
    world.turn("m1", |world| {
        for path in REAL {
            let database = sqlite(world, path);
            database
                .execute("INSERT INTO words VALUES ('agent')", [])
                .expect("a row");
            // Into the file itself, so that the log that comes next is another one.
            let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
            database
                .query_row(truncate, [], |_| Ok(()))
                .expect("written");
        }
    });
    for path in REAL {
        say(&world, path, "later");
    }
    let report = world.revert("m1");
    for path in REAL {
        assert_eq!(
            said(&world, path),
            "mine agent later",
            "{path}: {report:#?}"
        );
    }
    let kept = paths_with(&report, FileResult::Conflict);
    for path in REAL {
        assert!(kept.contains(&path), "{path} is named: {kept:?}");
    }
}

/// A database of any name goes back with its log.
#[test]
fn database_of_any_name_takes_its_log() {
    let mut world = World::new();
    world.make_directory("d");
    for path in REAL {
        say(&world, path, "mine");
    }
    world.turn("m1", |world| {
        for path in REAL {
            say(world, path, "agent");
        }
    });
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Restored, "{report:#?}");
    for path in REAL {
        assert_eq!(said(&world, path), "mine", "{path}");
    }
}

#[test]
fn an_open_database_of_any_name_stays() {
    let mut world = World::new();
    say(&world, "Cookies", "mine");
    world.turn("m1", |world| say(world, "Cookies", "agent"));
    let open = Program::opens(&world, "Cookies");
    let report = world.revert("m1");
    drop(open);
    assert_eq!(said(&world, "Cookies"), "mine agent", "{report:#?}");
    assert!(paths_with(&report, FileResult::Conflict).contains(&"Cookies-wal"));
}

/// The harness of these tests opens every database after an operation.
#[test]
#[should_panic(expected = "is whole")]
fn harness_sees_a_torn_database() {
    let world = World::new();
    drop(sqlite_that_tidies(&world, "state"));
    let intact = Intact::of(&world.root);
    let half = world.path("state").metadata().expect("there").len() / 2;
    let file = std::fs::File::options()
        .write(true)
        .open(world.path("state"));
    file.and_then(|file| file.set_len(half)).expect("ours");
    intact.assert_still(false);
}
