//! What keeps the store, killed at its system calls and with an error in each: what it says of itself is so, what is needed stays, and
//! the next one does the rest, so that no space is lost for good.

use std::fs::File;
use std::time::{Duration, SystemTime};

use serde_json::json;

use testing::binary::{Run, Sandbox, finish};
use testing::rows;
use testing::skip::has_strace;
use testing::strace::{
    Point, at_each, command as strace_command, fail_at, kill_at, points, sample,
};

use super::assert_sound;
use super::errors::{ERRORS, takes_room, touches_files};
use testing::tree::files_below;

use super::forget::{SECRET, is_anywhere};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn turn(world: &Sandbox, session: &str, message: &str, work: impl FnOnce(&Sandbox)) {
    let send = |event: &str| {
        let event = json!({"event": event, "session_id": session, "message_id": message, "prompt": message});
        world.event(event).ends_silently();
    };
    send("user_message");
    send("step_start");
    work(world);
    send("step_finish");
    send("turn_end");
}

/// The settings, with a comment of the user's, and what they are once `config set` was done.
const SETTINGS: [&str; 2] = [
    "# mine\nkeep = \"30 days\" # a month\n",
    "# mine\nkeep = \"90 days\" # a month\n",
];

/// A session of forty days ago, of which the file `key` with a secret is, and one of today.
fn ready() -> Sandbox {
    let world = Sandbox::new();
    world.configure(SETTINGS[0]);
    world.write("a", "0\n");
    for number in 1..4 {
        turn(&world, "old", &format!("o{number}"), |world| {
            world.write("a", format!("old {number}\n"));
            world.write("key", format!("{SECRET} {number}\n"));
        });
    }
    let forty_days = DAY * 40;
    let milliseconds = i64::try_from(forty_days.as_millis()).expect("a small number");
    let database = world.store().join("sessions.db");
    rows::age(&database, milliseconds);
    // The agent whose process this is ended long ago.
    rows::execute(
        &database,
        "UPDATE sessions SET process = NULL, process_seen = 0",
    );
    age_files(&world, forty_days);
    turn(&world, "young", "y1", |world| world.write("a", "young\n"));
    world
}

/// Makes the files of the store's objects so much older.
fn age_files(world: &Sandbox, by: Duration) {
    for path in files_below(&world.store().join("snapshots")) {
        let then = SystemTime::now() - by;
        let file = File::open(path).expect("ours");
        file.set_modified(then).expect("ours");
    }
}

/// Something that keeps the store.
struct Upkeep {
    command: &'static [&'static str],
    /// Whether it does one thing, wholly or not at all.
    is_one: bool,
    /// Whether what it was asked for is so.
    is_done: fn(&Sandbox) -> bool,
}

static ALL: [Upkeep; 4] = [
    Upkeep {
        command: &["gc"],
        is_one: false,
        is_done: |world| {
            let show = world.run(&["restore", "o1", "a", "--dry-run"], b"");
            show.code == Some(4) && show.stderr.contains("pruned")
        },
    },
    Upkeep {
        command: &["forget", "--path", "key", "--yes"],
        is_one: false,
        is_done: |world| !is_anywhere(world),
    },
    Upkeep {
        command: &["label", "o2", "tests pass"],
        is_one: true,
        is_done: |world| {
            world
                .run(&["label", "--list"], b"")
                .stdout
                .contains("tests pass")
        },
    },
    Upkeep {
        command: &["config", "set", "keep", "90 days"],
        is_one: true,
        is_done: |world| settings(world) == SETTINGS[1],
    },
];

/// Those that are tried: all, or the one whose first word `CKPT_CASE` names.
fn all() -> impl Iterator<Item = &'static Upkeep> {
    let only = std::env::var("CKPT_CASE").ok();
    let is_meant =
        move |upkeep: &&Upkeep| only.as_ref().is_none_or(|only| upkeep.command[0] == only);
    ALL.iter().filter(is_meant)
}

fn settings(world: &Sandbox) -> String {
    let path = world.home().join(".config/ckpt-hook/config.toml");
    std::fs::read_to_string(path).expect("it is there at any time")
}

/// The bytes of all packs once nobody may be writing what crashes left.
fn size_in_the_end(world: &Sandbox) -> u64 {
    age_files(world, DAY * 2);
    world.run(&["gc"], b"").exits(0);
    let packs = files_below(&world.store().join("snapshots"));
    let packs = packs
        .iter()
        .filter(|path| path.to_string_lossy().contains("objects/pack"));
    packs
        .map(|path| path.metadata().map_or(0, |file| file.len()))
        .sum()
}

/// What is so whatever became of it: the store is sound, the settings are the old or the new ones, and what the young session needs
/// is there.
fn assert_kept(world: &Sandbox, what: &str) {
    assert!(
        SETTINGS.contains(&settings(world).as_str()),
        "{what}: the settings are whole"
    );
    assert_sound(world, what);
    world.run(&["revert", "y1"], b"").exits(0);
    assert_eq!(world.read("a"), b"old 3\n", "{what}: what is needed stays");
    world.run(&["unrevert"], b"").exits(0);
    assert_eq!(world.read("a"), b"young\n", "{what}: both ways");
}

/// Ends what was cut off, and checks that nothing of it is left.
fn assert_ends(world: &Sandbox, upkeep: &Upkeep, in_peace: u64, what: &str) {
    let again = world.run(upkeep.command, b"");
    // What is forgotten already cannot be named any more.
    let is_forgotten = upkeep.command[0] == "forget" && again.code == Some(4);
    assert!(
        again.code == Some(0) || is_forgotten,
        "{what}: the next one ends it\n{again}"
    );
    assert!((upkeep.is_done)(world), "{what}: it is done\n{again}");
    let size = size_in_the_end(world);
    assert!(
        size <= in_peace + in_peace / 10 + 1024,
        "{what}: {size} bytes of packs are left, and {in_peace} in peace"
    );
    assert_kept(world, what);
}

/// The calls of a command, and what its packs take when all went well.
fn in_peace(upkeep: &Upkeep) -> (Vec<Point>, u64) {
    in_peace_of(ready, upkeep)
}

fn in_peace_of(ready: impl Fn() -> Sandbox, upkeep: &Upkeep) -> (Vec<Point>, u64) {
    let world = ready();
    assert!(!(upkeep.is_done)(&world), "there is something to do");
    world.run(upkeep.command, b"").exits(0);
    assert!(
        (upkeep.is_done)(&world),
        "and it is done in peace: {:?}",
        upkeep.command
    );
    assert_kept(&world, "in peace");
    let size = size_in_the_end(&world);
    (points(&ready(), upkeep.command, b""), size)
}

/// Kills upkeep at points of its work, and checks what is so then.
fn kill(ready: impl Fn() -> Sandbox + Sync, upkeep: &Upkeep, quick: usize) {
    let (points, bytes) = in_peace_of(&ready, upkeep);
    at_each(sample(points, quick), |point| {
        let world = ready();
        kill_at(&world, &point, upkeep.command, b"");
        let what = format!("{:?} killed at {point:?}", upkeep.command);
        assert_kept(&world, &what);
        assert_ends(&world, upkeep, bytes, &what);
    });
}

/// Upkeep that is killed loses nothing and the next one ends it.
///
/// Invariant `work/upkeep-interrupted`: Upkeep that is interrupted or fails loses no needed
/// object, and the next run does the rest.
#[test]
fn killed_upkeep_loses_nothing() {
    if !has_strace() {
        return;
    }
    all().for_each(|upkeep| kill(ready, upkeep, 16));
}

/// Upkeep that is killed on a file server loses nothing and the next one ends it.
///
/// Invariant `work/network-file-system`.
#[test]
fn killed_upkeep_on_a_file_server_loses_nothing() {
    if !has_strace() {
        return;
    }
    let served = || {
        let world = ready();
        world.serve();
        world
    };
    let writes_rows = |upkeep: &&Upkeep| upkeep.command[0] != "config";
    all()
        .filter(writes_rows)
        .for_each(|upkeep| kill(served, upkeep, 8));
}

/// An error in any system call of upkeep is told and the next one ends it.
///
/// Invariant `work/upkeep-interrupted`.
#[test]
fn upkeeps_system_call_error_is_reported() {
    if !has_strace() {
        return;
    }
    for upkeep in all() {
        let (points, bytes) = in_peace(upkeep);
        let mut tasks = Vec::new();
        for (number, point) in points.into_iter().filter(touches_files).enumerate() {
            let errors = errors_at(upkeep, &point, number);
            tasks.extend(errors.into_iter().map(|error| (point.clone(), error)));
        }
        at_each(sample(tasks, 24), |(point, error)| {
            let world = ready();
            let run = fail_at(&world, &point, error, upkeep.command, b"");
            let what = format!("{:?} with {error} at {point:?}", upkeep.command);
            assert_honest(&world, upkeep, &run, &what);
            if upkeep.is_one {
                assert_one(&world, upkeep, &run, &what);
            } else if run.code == Some(1) {
                assert_untouched(&world, &run, &what);
            }
            assert_kept(&world, &what);
            assert_ends(&world, upkeep, bytes, &what);
        });
    }
}

/// The errors to try at a call: those of a full disk at each that can give them, the others in turns; what does one thing has so few
/// calls that it meets all that are likely.
fn errors_at(upkeep: &Upkeep, point: &Point, number: usize) -> Vec<&'static str> {
    let mut errors = vec![ERRORS[number % ERRORS.len()]];
    if takes_room(point) {
        errors.extend(["ENOSPC", "EDQUOT"]);
    }
    if upkeep.is_one {
        errors.extend(["EIO", "EACCES"]);
    }
    errors.sort_unstable();
    errors.dedup();
    let places = errors.len();
    errors.rotate_left(number % places);
    errors
}

/// What is so where a command says that it failed and nothing was changed, and where it says that it is done.
fn assert_one(world: &Sandbox, upkeep: &Upkeep, run: &Run, what: &str) {
    let is_done = (upkeep.is_done)(world);
    match run.code {
        Some(0) => assert!(is_done, "{what}: it said that it was done\n{run}"),
        Some(1) => assert!(!is_done, "{what}: it said that it failed\n{run}"),
        _ => {}
    }
}

/// Where `gc` or `forget` says that it failed and nothing was changed, nothing was pruned or forgotten.
fn assert_untouched(world: &Sandbox, run: &Run, what: &str) {
    let plan = world.run(&["forget", "--path", "key", "--dry-run"], b"");
    assert!(
        plan.stdout.contains("  key\n"),
        "{what}: it said that nothing was changed\n{run}\n{plan}"
    );
    let pruned = "SELECT CAST(count(*) AS TEXT) FROM snapshots WHERE pruned_at IS NOT NULL";
    let pruned = rows::texts(&world.store().join("sessions.db"), pruned);
    assert_eq!(
        pruned,
        ["0"],
        "{what}: it said that nothing was changed\n{run}"
    );
}

/// What it says of itself is so.
fn assert_honest(world: &Sandbox, upkeep: &Upkeep, run: &Run, what: &str) {
    match run.code {
        Some(0) => assert!(
            (upkeep.is_done)(world),
            "{what}: it said that it was done\n{run}"
        ),
        Some(1..=5) => assert!(
            run.stdout.len() + run.stderr.len() > 0,
            "{what}: a failure says why\n{run}"
        ),
        // The loader could not read a library: it never began.
        Some(127) if run.stderr.contains("shared libraries") => {}
        other => panic!("{what}: it ended with {other:?}\n{run}"),
    }
}

/// A session store that another process makes at this moment is written to.
#[test]
fn session_store_in_the_making_is_written_to() {
    if !has_strace() {
        return;
    }
    let world = ready();
    let database = world.store().join("sessions.db");
    // The first try finds no file, and the second does, as if another process had just made it.
    let options = [
        "-o",
        "/dev/null",
        "-P",
        database.to_str().expect("a plain path"),
        "-e",
        "inject=openat:error=ENOENT:when=1",
    ];
    let message = ["message", "--strict", "--session", "new", "--prompt", "go"];
    finish(&mut strace_command(&world, &options, &message), b"").exits(0);
    let log = world.json(&["log", "--session", "new"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(1), "{log}");
}

/// A folder that cannot be seen for a moment is not taken for one that is gone.
///
/// Invariant `truth/error-not-absence`: An error is not an absence: a folder of the store that
/// cannot be read is not taken for one that is not there.
#[test]
fn unseen_folder_is_not_a_missing_one() {
    if !has_strace() {
        return;
    }
    let [gc, forget, ..] = &ALL;
    let folders = ["", "repository.git", "repository.git/objects/pack"];
    let calls = ["statx", "getdents64", "openat"];
    for upkeep in [gc, forget] {
        let (_, bytes) = in_peace(upkeep);
        let mut tasks = Vec::new();
        for folder in folders {
            for call in calls {
                tasks.extend((1..=2).map(|time| (folder, call, time)));
            }
        }
        // The note there names rows: after they were forgotten, the next event would take them for lost.
        tasks.push(("lock", "ftruncate", 1));
        at_each(tasks, |(folder, call, time)| {
            let world = ready();
            let mut of_workspaces = std::fs::read_dir(world.store().join("snapshots"))
                .expect("there are some")
                .flatten();
            let path = of_workspaces.next().expect("one").path().join(folder);
            let path = path.to_str().expect("a plain path").trim_end_matches('/');
            let (trace, inject) = (
                format!("trace={call}"),
                format!("inject={call}:error=ESTALE:when={time}"),
            );
            let options = ["-o", "/dev/null", "-P", path, "-e", &trace, "-e", &inject];
            let run = finish(&mut strace_command(&world, &options, upkeep.command), b"");
            let what = format!("{:?} with {call} {time} of `{folder}`", upkeep.command);
            assert_honest(&world, upkeep, &run, &what);
            assert_kept(&world, &what);
            assert_ends(&world, upkeep, bytes, &what);
        });
    }
}
