//! `forget` killed on its way: the next one, or `gc`, ends it, and the bytes are nowhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use testing::binary::Sandbox;
use testing::rows;
use testing::skip::has_strace;
use testing::strace::{at_each, kill_at, points, sample};
use testing::tree::files_below;

pub const SECRET: &str = "hunter2-hunter2";
pub const FORGET: [&str; 4] = ["forget", "--path", "key", "--yes"];

pub fn ready() -> Sandbox {
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.play("m1", "make it work", |world| {
        world.write("a", "1\n");
        world.write("key", format!("{SECRET}\n"));
    });
    world.play("m2", "once more", |world| {
        world.write("a", "2\n");
        world.remove("key");
    });
    world
}

fn has_secret(bytes: &[u8]) -> bool {
    bytes
        .windows(SECRET.len())
        .any(|window| window == SECRET.as_bytes())
}

pub fn is_anywhere(world: &Sandbox) -> bool {
    let is_raw = files_below(&world.store())
        .iter()
        .any(|path| has_secret(&fs::read(path).expect("ours")));
    let folders = fs::read_dir(world.store().join("snapshots")).expect("it is there");
    is_raw
        || folders.flatten().any(|folder| {
            let repository = folder.path().join("repository.git");
            let directory = format!("--git-dir={}", repository.display());
            let all = ["cat-file", "--batch-all-objects", "--batch"];
            let output = world
                .git_command(&[&[&*directory][..], &all].concat())
                .output();
            let output = output.expect("git starts");
            assert!(output.status.success(), "every object is whole");
            has_secret(&output.stdout)
        })
}

/// A forget that is killed is ended by the next command.
///
/// Invariant `work/upkeep-interrupted`.
/// Invariant `truth/forget-interrupted`.
#[test]
fn killed_forget_is_ended_next() {
    if !has_strace() {
        return;
    }
    let all = points(&ready(), &FORGET, b"");
    let points = sample(all, 24).into_iter().enumerate().collect();
    at_each(points, |(number, point)| {
        let world = ready();
        assert!(is_anywhere(&world), "it was stored");
        kill_at(&world, &point, &FORGET, b"");
        let what = format!("killed at {point:?}");
        super::assert_sound(&world, &what);
        // Where rows were forgotten already, there is nothing left to be named, and `gc` ends it.
        let plan = world.run(&["forget", "--path", "key", "--dry-run"], b"");
        let is_forgotten = !plan.stdout.contains("  key\n");
        if is_forgotten && number % 2 == 0 {
            world.run(&["gc"], b"").exits(0);
        } else {
            let run = world.run(&FORGET, b"");
            assert!(matches!(run.code, Some(0 | 4)), "{what}: {run}");
        }
        assert!(!is_anywhere(&world), "{what}: the bytes are nowhere");
        super::assert_sound(&world, &what);
        world.run(&["revert", "m2"], b"");
        assert_eq!(world.read("a"), b"1\n", "{what}: the rest goes back");
    });
}

/// What a killed forget is said to have begun gc finishes.
///
/// What every command says that `gc` finishes, it finishes.
///
/// Invariant `truth/forget-interrupted`.
#[test]
fn gc_finishes_a_killed_forget() {
    if !has_strace() {
        return;
    }
    for command in [
        ["forget", "--workspace", "--yes"],
        ["forget", "--all", "--yes"],
    ] {
        let said = AtomicUsize::new(0);
        let all = points(&ready(), &command, b"");
        at_each(sample(all, 24), |point| {
            let world = ready();
            kill_at(&world, &point, &command, b"");
            let what = format!("{command:?} killed at {point:?}");
            if !world.run(&["log"], b"").stderr.contains("was interrupted") {
                return;
            }
            said.fetch_add(1, Ordering::SeqCst);
            world.run(&["gc"], b"").exits(0);
            assert!(!is_anywhere(&world), "{what}: the bytes are nowhere");
            let log = world.run(&["log"], b"");
            assert!(!log.stderr.contains("was interrupted"), "{what}: {log}");
            super::assert_sound(&world, &what);
        });
        assert!(said.into_inner() > 0, "some had begun: {command:?}");
    }
}

/// What a killed forget began to take is not known again where the session store is lost then.
///
/// Invariant `truth/rows-recovered`.
#[test]
fn forgotten_stays_away_without_a_session_store() {
    if !has_strace() {
        return;
    }
    let all = points(&ready(), &FORGET, b"");
    at_each(sample(all, 30), |point| {
        let world = ready();
        kill_at(&world, &point, &FORGET, b"");
        let plan = world.run(&["forget", "--path", "key", "--dry-run"], b"");
        let is_forgotten = !plan.stdout.contains("  key\n");
        for name in ["sessions.db", "sessions.db-wal", "sessions.db-shm"] {
            let _ = fs::remove_file(world.store().join(name));
        }
        world.run(&["doctor", "--repair"], b"").exits(0);
        world.run(&["gc"], b"").exits(0);
        let what = format!("killed at {point:?}");
        assert!(
            !is_forgotten || !is_anywhere(&world),
            "{what}: nothing is back"
        );
        super::assert_sound(&world, &what);
        let report = world.json(&["log", "--snapshots"]);
        let known = report["snapshots"].as_array().expect("a list");
        let oldest = known.last().expect("it is known again")["snapshot"].as_str();
        // Whose each state is went with the rows.
        let oldest = oldest.expect("an id");
        let all = ["restore", oldest, "--on-conflict", "overwrite"];
        world.run(&all, b"").exits(0);
        assert_eq!(world.read("a"), b"0\n", "{what}: and the rest is there");
    });
}

/// Puts the session store of before in the place of the one that is there, with a page of it damaged.
fn put_back_damaged(world: &Sandbox, before: &Path) {
    let database = world.store().join("sessions.db");
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(world.store().join(format!("sessions.db{ending}")));
    }
    let root = "SELECT CAST(rootpage AS TEXT) FROM sqlite_schema WHERE name = 'hook_runs'";
    let page: usize = rows::texts(before, root)[0].parse().expect("a number");
    let mut bytes = fs::read(before).expect("ours");
    bytes[(page - 1) * 4096..page * 4096].fill(0xa5);
    fs::write(database, bytes).expect("ours");
}

fn is_in_a_file(world: &Sandbox, text: &str) -> bool {
    let has_text = |path: &PathBuf| {
        let bytes = fs::read(path).expect("ours");
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    files_below(&world.store()).iter().any(has_text)
}

/// Whether a killed command left a note in the folder of its workspace. One in which nothing stands yet says nothing, and
/// no row was changed before it was written; that a workspace goes is said by the file alone.
fn is_noted(world: &Sandbox, name: &str) -> bool {
    let folders = fs::read_dir(world.store().join("snapshots")).into_iter();
    let mut folders = folders.flatten().flatten();
    folders.any(|folder| {
        let note = folder.path().join(name).metadata();
        note.is_ok_and(|note| name == "going" || note.len() > 0)
    })
}

/// What a killed forget began to take does not come back with the rows of a damaged session
/// store.
///
/// Invariant `truth/forgotten`.
#[test]
fn forgotten_stays_away_from_a_damaged_store() {
    if !has_strace() {
        return;
    }
    let message = ["forget", "--message", "m1", "--yes"];
    let workspace = ["forget", "--workspace", "--yes"];
    let cases: [(&[&str], &str); 3] = [
        (&FORGET, "forgetting"),
        (&message, "forgetting"),
        (&workspace, "going"),
    ];
    for (command, note) in cases {
        let begun = AtomicUsize::new(0);
        let all = points(&ready(), command, b"");
        at_each(sample(all, 32), |point| {
            let world = ready();
            let before = world.path("before.db");
            let copy = format!("VACUUM INTO '{}'", before.display());
            rows::execute(&world.store().join("sessions.db"), &copy);
            kill_at(&world, &point, command, b"");
            let is_begun = is_noted(&world, note);
            if !is_begun && !is_anywhere(&world) {
                // It had ended: the former rows are nowhere, and cannot come back.
                return;
            }
            put_back_damaged(&world, &before);
            let what = format!("{command:?} killed at {point:?}");
            let run = world.run(&["doctor", "--repair"], b"").exits(0);
            assert!(
                run.stdout.contains("session store was damaged"),
                "{what}: {run}"
            );
            assert_eq!(
                run.stdout.contains("a killed `forget` or `gc` had begun"),
                is_begun,
                "{what}: it is said: {run}"
            );
            if !is_begun {
                return;
            }
            begun.fetch_add(1, Ordering::SeqCst);
            let log = world.run(&["log"], b"");
            assert!(
                command[1] == "--path" || !log.stdout.contains("make it work"),
                "{what}: no prompt is back: {log}"
            );
            // What is damaged is not removed with a workspace alone: it is the only copy of others' rows.
            fs::remove_file(world.store().join("sessions.db.damaged-1")).expect("it is aside");
            world.run(&["gc"], b"").exits(0);
            assert!(!is_anywhere(&world), "{what}: the bytes are nowhere");
            assert!(
                command[1] == "--path" || !is_in_a_file(&world, "make it work"),
                "{what}: nor is the prompt"
            );
            super::assert_sound(&world, &what);
        });
        assert!(begun.into_inner() > 0, "some had begun: {command:?}");
    }
}

/// What no byte of which may be left, by the place that it is put into.
const PLACES: [&str; 20] = [
    "prompt",
    "command",
    "content",
    "filename",
    "dirname",
    "linktarget",
    "subject",
    "branch",
    "tag",
    "remark",
    "label",
    "diagnostic",
    "cachename",
    "ignoredname",
    "rules",
    "attributes",
    "backup",
    "setaside",
    "wal",
    "lost",
];

fn secret(place: &str) -> String {
    format!("hunter2-{place}-hunter2")
}

/// A store with a secret in each place.
fn with_secrets() -> Sandbox {
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.write(
        ".gitignore",
        format!(".gitignore\n*{}*\n", secret("ignoredname")),
    );
    world.run_git(&["init", "-q", "-b", "main"]);
    world.run_git(&["add", "a"]);
    world.run_git(&["commit", "-qm", "first"]);
    let event = |name: &str, rest: serde_json::Value| {
        let mut event = serde_json::json!({"event": name, "session_id": "s", "message_id": "m1"});
        let rest = rest.as_object().expect("an object").clone();
        event.as_object_mut().expect("an object").extend(rest);
        world.event(event).ends_silently();
    };
    event(
        "user_message",
        serde_json::json!({"prompt": secret("prompt")}),
    );
    let tool = serde_json::json!({"tool_name": "bash", "tool_use_id": "t", "tool_command": format!("echo {}", secret("command"))});
    event("tool_start", tool.clone());
    world.write("a", format!("1 {}\n", secret("content")));
    world.write(&secret("filename"), "1\n");
    world.write(&format!("{}/x", secret("dirname")), "1\n");
    world.write(&format!("{}.log", secret("ignoredname")), "1\n");
    world.write(&format!("{}/y", secret("cachename")), "1\n");
    world.write(
        ".gitignore",
        format!(
            ".gitignore\n*{}*\n*.{}\n",
            secret("ignoredname"),
            secret("rules")
        ),
    );
    std::os::unix::fs::symlink(secret("linktarget"), world.workspace().join("link")).expect("ours");
    let bare = world.workspace().join(secret("attributes"));
    fs::create_dir(&bare).expect("ours");
    fs::set_permissions(&bare, std::os::unix::fs::PermissionsExt::from_mode(0o750)).expect("ours");
    world.run_git(&["checkout", "-q", "-b", &secret("branch")]);
    world.run_git(&["commit", "-qam", &secret("subject")]);
    world.run_git(&["tag", &secret("tag")]);
    event("tool_finish", tool);
    event("turn_end", serde_json::json!({}));
    world.run(&["label", "m1", &secret("label")], b"").exits(0);
    world.play("m2", "once more", |world| {
        world.write("a", "2\n");
        world.run_git(&["checkout", "-q", "-f", "main"]);
        world.run_git(&["branch", "-q", "-D", &secret("branch")]);
        world.run_git(&["tag", "-d", &secret("tag")]);
        world.run_git(&["commit", "-q", "--allow-empty", "-m", &secret("remark")]);
    });
    world.run(&["revert", "m2"], b"");
    // What a revert notes of commits, branches and tags that it leaves.
    let notes = ["subject", "tag", "remark"].map(secret).join(" ");
    rows::execute(
        &world.store().join("sessions.db"),
        &format!(
            "UPDATE operations SET notes = json_array(json_object('code', 'tags', 'text', '{notes}', 'about', json_array()))"
        ),
    );
    let store = world.store();
    let database = store.join("sessions.db");
    let path = world.workspace().display().to_string();
    rows::execute(
        &database,
        &format!(
            "INSERT INTO diagnostics (level, session, workspace, message, at) VALUES ('info', 's', '{path}', '{}', 1)",
            secret("diagnostic")
        ),
    );
    event("session_end", serde_json::json!({}));
    for (name, place) in [
        ("sessions.db.backup-9", "backup"),
        ("sessions.db.damaged-1", "setaside"),
    ] {
        let copy = store.join(name);
        let _ = fs::remove_file(&copy);
        rows::execute(&database, &format!("VACUUM INTO '{}'", copy.display()));
        rows::execute(
            &copy,
            &format!("UPDATE messages SET turn_id = '{}'", secret(place)),
        );
    }
    for name in ["log", "sessions.db.damaged-1-wal"] {
        let mut bytes = fs::read(store.join(name)).unwrap_or_default();
        bytes.extend(secret("wal").as_bytes());
        fs::write(store.join(name), bytes).expect("ours");
    }
    let lost = format!("1 {}", secret("lost"));
    let mut reserve = fs::read(store.join("reserve")).unwrap_or_else(|_| vec![0; 16 << 10]);
    reserve[..lost.len()].copy_from_slice(lost.as_bytes());
    fs::write(store.join("reserve"), reserve).expect("ours");
    world
}

/// The places of which a byte is left in the store: as it is, or in an object.
fn places_left(world: &Sandbox) -> Vec<&'static str> {
    let mut all: Vec<Vec<u8>> = files_below(&world.store())
        .iter()
        .map(|path| {
            [
                path.to_string_lossy().as_bytes(),
                &fs::read(path).unwrap_or_default(),
            ]
            .concat()
        })
        .collect();
    let folders = fs::read_dir(world.store().join("snapshots")).into_iter();
    for folder in folders.flatten().flatten() {
        let repository = folder.path().join("repository.git");
        if !repository.join("objects").exists() {
            continue;
        }
        let directory = format!("--git-dir={}", repository.display());
        let objects = ["cat-file", "--batch-all-objects", "--batch"];
        let output = world
            .git_command(&[&[&*directory][..], &objects].concat())
            .output();
        all.push(output.expect("git starts").stdout);
    }
    let is_left = |place: &&str| {
        let secret = secret(place);
        let secret = secret.as_bytes();
        all.iter()
            .any(|bytes| bytes.windows(secret.len()).any(|part| part == secret))
    };
    PLACES.iter().copied().filter(is_left).collect()
}

const WHOLE: [&[&str]; 2] = [
    &["forget", "--workspace", "--yes"],
    &["forget", "--all", "--yes"],
];

/// Invariant `truth/forgotten`.
#[test]
fn a_secret_in_any_place_is_forgotten() {
    for command in WHOLE {
        let world = with_secrets();
        let before = places_left(&world);
        // Where an event was lost is told of, and goes, as soon as there is room.
        assert!(before.len() >= PLACES.len() - 2, "{before:?}");
        let run = world.run(command, b"").exits(0);
        let left = places_left(&world);
        let is_of_store = |place: &&str| command[1] == "--all" || *place != "lost";
        let left: Vec<_> = left.into_iter().filter(is_of_store).collect();
        assert_eq!(left, [] as [&str; 0], "{command:?}: {run}");
        super::assert_sound(&world, "afterwards");
    }
}

/// What a message said of git is forgotten with it.
///
/// Invariant `truth/forgotten`.
#[test]
fn messages_words_of_git_are_forgotten_too() {
    for command in [
        ["forget", "--message", "m1", "--yes"],
        ["forget", "--session", "s", "--yes"],
    ] {
        let world = with_secrets();
        world.run(&command, b"").exits(0);
        let left = places_left(&world);
        for place in [
            "prompt", "command", "content", "subject", "branch", "tag", "label", "backup",
            "setaside",
        ] {
            assert!(!left.contains(&place), "{command:?} leaves {left:?}");
        }
        super::assert_sound(&world, "afterwards");
    }
}

/// A killed forget is said and never called done.
///
/// Invariant `truth/forget-interrupted`: A `forget` that is interrupted is told of by every
/// command until it is finished.
#[test]
fn killed_forget_is_never_called_done() {
    if !has_strace() {
        return;
    }
    for command in WHOLE {
        let all = points(&with_secrets(), command, b"");
        at_each(sample(all, 24), |point| {
            let world = with_secrets();
            let before = places_left(&world);
            kill_at(&world, &point, command, b"");
            let what = format!("{command:?} killed at {point:?}");
            let left = places_left(&world);
            let said = world.run(&["status"], b"");
            let is_said = said.stderr.contains("`forget` was interrupted");
            let gone = before.iter().filter(|place| !left.contains(place));
            let gone: Vec<_> = gone
                .filter(|place| !["lost", "setaside", "wal"].contains(place))
                .collect();
            assert!(
                is_said || gone.is_empty() || left.iter().all(|place| *place == "lost"),
                "{what}: of {left:?}, {gone:?} went: {said}"
            );
            let again = world.run(command, b"");
            // Killed when all was done, and before that was printed.
            let was_done =
                again.code == Some(4) && !is_said && left.iter().all(|place| *place == "lost");
            assert!(again.code == Some(0) || was_done, "{what}: {again}");
            let mut left = places_left(&world);
            left.retain(|place| *place != "lost" || command[1] == "--all");
            assert_eq!(left, [] as [&str; 0], "{what}: {again}");
            let said = world.run(&["status"], b"");
            assert!(
                !said.stderr.contains("interrupted"),
                "{what}: it is finished: {said}"
            );
            super::assert_sound(&world, &what);
        });
    }
}
