//! Every kept file ends with its way out: the command that is printed, and the parameters that a program is given, do
//! what the sentence says.

use std::path::Path;

use serde_json::{Value, json};

use testing::binary::{Run, Sandbox, binary};

/// A kind of kept file.
pub struct Case {
    /// `kind` of the document.
    pub kind: &'static str,
    /// Makes the world.
    pub world: fn() -> Sandbox,
    /// What keeps the file.
    command: &'static [&'static str],
    /// A part of the sentence.
    why: &'static str,
    /// What the document offers for the file itself.
    pub choice: &'static str,
    /// The keys in `ui` that lead to its plan.
    pub keys: &'static str,
    /// What has to be done first.
    first: fn(&Sandbox),
    /// The file in question, and what the way makes of it; `None` if it is gone.
    pub then: (&'static str, Option<&'static str>),
}

fn nothing(_: &Sandbox) {}

/// The agent changed a line, and then the user did.
fn edited() -> Sandbox {
    let world = Sandbox::new();
    world.write("a b", "1\n");
    world.play("m1", "change it", |world| world.write("a b", "2\n"));
    world.write("a b", "mine\n");
    world
}

/// One agent changed a line, and then another one did.
fn edited_by_another() -> Sandbox {
    let world = Sandbox::new();
    world.write("both", "1\n");
    world.play("m1", "change it", |world| world.write("both", "2\n"));
    other_session(&world, "both", "theirs\n");
    world
}

/// Another session changes a file.
fn other_session(world: &Sandbox, path: &str, text: &str) {
    let tell = |event: &str| {
        let event = json!({"event": event, "session_id": "s2", "message_id": "n1"});
        world.event(event).ends_silently();
    };
    tell("user_message");
    tell("step_start");
    world.write(path, text);
    tell("step_finish");
    tell("turn_end");
}

/// Two steps were open when a file was changed.
fn shared() -> Sandbox {
    let world = Sandbox::new();
    world.write("both", "1\n");
    let tell = |session: &str, event: &str| {
        let message = format!("m{session}");
        let event = json!({"event": event, "session_id": session, "message_id": message});
        world.event(event).ends_silently();
    };
    for session in ["1", "2"] {
        tell(session, "user_message");
        tell(session, "step_start");
    }
    world.write("both", "2\n");
    for session in ["1", "2"] {
        tell(session, "step_finish");
        tell(session, "turn_end");
    }
    world
}

/// The user changed a file at a prompt for permission.
fn unclear() -> Sandbox {
    crate::permission::interrupted("codex", true)
}

/// The user put a file where the agent had removed a folder.
fn blocked() -> Sandbox {
    let world = Sandbox::new();
    world.write("place/below", "1\n");
    world.play("m1", "tidy up", |world| {
        world.remove("place/below");
        std::fs::remove_dir(world.workspace().join("place")).expect("it is empty");
    });
    world.write("place", "mine\n");
    world
}

/// A file became too large for a snapshot.
fn too_large() -> Sandbox {
    let world = Sandbox::new();
    world.configure("max_file_size = \"1 KiB\"\n");
    world.write("big", "1\n");
    world.play("m1", "change it", |world| {
        world.write("big", "2".repeat(2000))
    });
    world
}

/// The user's hour, which a restore would take.
fn an_hour() -> Sandbox {
    let world = Sandbox::new();
    world.write("notes", "1\n");
    world.play("m1", "change it", |world| world.write("made", "2\n"));
    world.write("notes", "an hour\n");
    world
}

/// The agent wrote to a database and its log, and then the user's program did to one of them.
fn database() -> Sandbox {
    let world = Sandbox::new();
    let write = |world: &Sandbox, by: &str| {
        for name in ["x.db", "x.db-wal"] {
            world.write(name, format!("SQLite format 3\0 {name} {by}"));
        }
    };
    write(&world, "first");
    world.play("m1", "change it", |world| write(world, "agent"));
    world.write("x.db", "SQLite format 3\0 mine");
    world
}

/// The same, with a log that is in no snapshot.
fn database_with_a_new_log() -> Sandbox {
    let world = Sandbox::new();
    world.write("x.db", "SQLite format 3\0 x.db first");
    world.play("m1", "change it", |world| {
        world.write("x.db", "SQLite format 3\0 agent");
    });
    world.write("x.db", "SQLite format 3\0 mine");
    world.write("x.db-wal", "log");
    world
}

/// A file that the agent's own rule ignores, and that the user changed since. Once it is in view, it is unclear who did.
fn ignored_now() -> Sandbox {
    let world = Sandbox::new();
    world.run_git(&["init", "--quiet"]);
    world.write("hidden", "1\n");
    world.play("m1", "ignore it", |world| {
        world.write("hidden", "2\n");
        world.write(".gitignore", "hidden\n");
    });
    world.write("hidden", "mine\n");
    world
}

pub const CASES: [Case; 11] = [
    Case {
        kind: "database",
        world: database,
        command: &["revert", "m1"],
        why: "a database goes back as a whole or not at all",
        choice: "take",
        keys: "r",
        first: nothing,
        then: ("x.db", Some("SQLite format 3\0 x.db first")),
    },
    Case {
        kind: "database",
        world: database_with_a_new_log,
        command: &["revert", "m1"],
        why: "a database and its log go back together",
        choice: "take",
        keys: "r",
        first: nothing,
        then: ("x.db", Some("SQLite format 3\0 x.db first")),
    },
    Case {
        kind: "conflict",
        world: edited,
        command: &["revert", "m1"],
        why: "changed since by you or another program",
        choice: "overwrite",
        keys: "r",
        first: nothing,
        then: ("a b", Some("1\n")),
    },
    Case {
        kind: "other_agent",
        world: edited_by_another,
        command: &["revert", "m1"],
        why: "changed since by generic",
        choice: "overwrite",
        keys: "jr",
        first: nothing,
        then: ("both", Some("1\n")),
    },
    Case {
        kind: "shared",
        world: shared,
        command: &["revert", "m1"],
        why: "was at work as well, and may have",
        choice: "take",
        keys: "r",
        first: nothing,
        then: ("both", Some("1\n")),
    },
    Case {
        kind: "unclear",
        world: unclear,
        command: &["revert", "last~1"],
        why: "it is unclear whose changes these are",
        choice: "take",
        keys: "jr",
        first: nothing,
        then: ("menu", Some("soup\n")),
    },
    Case {
        kind: "not_captured",
        world: too_large,
        command: &["revert", "m1"],
        why: "no snapshot holds what the agent left",
        choice: "overwrite",
        keys: "r",
        first: nothing,
        then: ("big", Some("1\n")),
    },
    Case {
        kind: "conflict",
        world: ignored_now,
        command: &["revert", "m1"],
        why: "changed since by you or another program",
        choice: "overwrite",
        keys: "r",
        first: nothing,
        then: ("hidden", Some("1\n")),
    },
    Case {
        kind: "blocked",
        world: blocked,
        command: &["revert", "m1"],
        why: "something else that stays is in the way",
        choice: "again",
        keys: "r",
        first: |world| {
            let place = world.workspace().join("place");
            std::fs::rename(place, world.workspace().join("mine")).expect("it is there");
        },
        then: ("place/below", Some("1\n")),
    },
    Case {
        kind: "yours",
        world: an_hour,
        command: &["restore", "m1"],
        why: "yours, changed since that state",
        choice: "overwrite",
        keys: "R",
        first: nothing,
        then: ("notes", Some("1\n")),
    },
    Case {
        kind: "other_message",
        world: || {
            let world = Sandbox::new();
            world.play("m1", "make one", |world| world.write("made", "1\n"));
            other_session(&world, "theirs", "2\n");
            world
        },
        command: &["revert", "m1"],
        why: " for another message",
        choice: "",
        keys: "",
        first: nothing,
        then: ("theirs", None),
    },
];

pub fn content(world: &Sandbox, path: &str) -> Option<String> {
    std::fs::read_to_string(world.workspace().join(path)).ok()
}

/// Returns the command of the line with a text.
fn printed(run: &Run, why: &str) -> String {
    // The row of the file says why as well.
    let mut lines = run.stdout.lines();
    let line = lines.find(|line| line.contains(why) && line.contains("ckpt-hook "));
    let line = line.unwrap_or_else(|| panic!("`{why}` is said: {run}"));
    let from = line.find("ckpt-hook ").unwrap_or_else(|| panic!("{line}"));
    let rest = &line[from..];
    let ends = [" puts ", " takes ", " removes ", " goes ahead", " tries "];
    let end = ends.iter().filter_map(|end| rest.find(end)).min();
    rest[..end.unwrap_or_else(|| panic!("{line}"))].to_owned()
}

/// The commands that an outcome names act on the workspace that was given.
#[test]
fn hints_name_the_given_workspace() {
    let world = Sandbox::new();
    world.write("a", "1\n");
    world.play("m1", "change it", |world| world.write("a", "2\n"));
    world.write("a", "mine\n");
    world.write("b", "1\n");
    world.play("m2", "and more", |world| world.write("b", "2\n"));
    let place = world.path("it's here");
    std::os::unix::fs::symlink(world.workspace(), &place).expect("writable");
    let given = r"--workspace '../it'\''s here'";
    let run = world.run(&["revert", "m1", "--workspace", "../it's here"], b"");
    for command in [
        format!("To undo this: ckpt-hook undo {given}"),
        format!("--only a --on-conflict overwrite {given} puts"),
    ] {
        assert!(run.stdout.contains(&command), "{command}: {run}");
    }
    let status = world.run(&["status", "--workspace", "../it's here"], b"");
    let redo = format!("`ckpt-hook redo {given}`");
    assert!(status.stdout.contains(&redo), "{status}");
    let here = world.run(&["undo"], b"");
    assert!(here.stdout.contains("ckpt-hook undo;"), "{here}");
}

/// A way out of many files names their folder where the revert has nothing else in it, and says what `FILE` stands for
/// where it has.
#[test]
fn way_out_of_many_files_names_folders() {
    let world = Sandbox::new();
    let all = |text: &str| {
        for number in 0..25 {
            world.write(&format!("src/deep/{number}"), format!("{number} {text}"));
        }
    };
    all("1\n");
    world.play("m1", "change them", |world| {
        all("2\n");
        world.write("made", "of the agent\n");
    });
    all("mine\n");
    let run = world.run(&["revert", "m1"], b"").exits(3);
    let way = printed(&run, "25 files kept: changed since by you");
    assert!(way.ends_with("--only src --on-conflict overwrite"), "{way}");
    let done = in_shell(&world, &way);
    assert_eq!(
        content(&world, "src/deep/24").as_deref(),
        Some("24 1\n"),
        "{done}"
    );
    world.run(&["undo"], b"").exits(0);
    world.run(&["undo"], b"");
    world.play("m2", "and one more", |world| {
        all("2\n");
        world.write("src/deep/more", "of the agent\n");
    });
    all("mine\n");
    let run = world.run(&["revert", "m2"], b"").exits(3);
    let each = "with the name of each for FILE, ckpt-hook revert ";
    assert!(run.stdout.contains(each), "`src` would take more: {run}");
}

/// A way out that leads to no file says that it removes the file.
#[test]
fn way_out_to_no_file_removes_it() {
    let world = Sandbox::new();
    world.play("m1", "make one", |world| world.write("made", "1\n"));
    world.write("notes", "an hour\n");
    let run = world.run(&["restore", "m1"], b"").exits(3);
    let way = "--on-conflict overwrite removes it as well, and";
    assert!(run.stdout.contains(way), "what is only the user's: {run}");
    let done = in_shell(&world, &printed(&run, "yours, changed since"));
    assert_eq!(content(&world, "notes"), None, "it does so: {done}");
    let world = Sandbox::new();
    world.play("m1", "make one", |world| world.write("new", "1\n2\n3\n"));
    world.write("new", "1\nmine\n3\n");
    world.play("m2", "go on", |world| world.write("new", "1\nits\n3\n"));
    let run = world.run(&["revert", "m1"], b"").exits(3);
    let way = printed(&run, "changed since by you");
    assert!(run.stdout.contains("overwrite removes it."), "{run}");
    let done = in_shell(&world, &way);
    assert_eq!(content(&world, "new"), None, "and that is true: {done}");
    let world = Sandbox::new();
    world.write("old", "1\n");
    world.play("m1", "make one and change one", |world| {
        world.write("new", "1\n");
        world.write("old", "2\n");
    });
    world.write("new", "mine\n");
    world.write("old", "mine\n");
    let run = world.run(&["revert", "m1"], b"");
    for way in [
        "--only new --on-conflict overwrite removes it.",
        "--only old --on-conflict overwrite puts the earlier version there.",
    ] {
        assert!(run.stdout.contains(way), "{way}: {run}");
    }
}

/// The command that is printed for a kept file does what its sentence says.
///
/// Invariant `truth/way-out`: Every kept file is named with a way out that does what it says, or with that there is none.
#[test]
fn printed_way_out_takes_the_file_along() {
    for case in CASES {
        for is_plan in [true, false] {
            let world = (case.world)();
            let command = match is_plan {
                true => [case.command, &["--dry-run"]].concat(),
                false => case.command.to_vec(),
            };
            let (path, then) = case.then;
            let before = content(&world, path);
            let run = world.run(&command, b"");
            assert_eq!(
                content(&world, path),
                before,
                "{}: it is kept: {run}",
                case.kind
            );
            let way = printed(&run, case.why);
            (case.first)(&world);
            let done = in_shell(&world, &way);
            assert_eq!(
                content(&world, path).as_deref(),
                then,
                "{}: `{way}`: {done}\nof: {run}",
                case.kind
            );
        }
    }
}

/// The parameters that a front end is given for a kept file do what the sentence says.
#[test]
fn programs_way_out_takes_the_file_along() {
    for case in CASES {
        let world = (case.world)();
        let report = world.json(&[case.command, &["--dry-run"]].concat());
        let kept = report["kept"].as_array().expect("a list");
        let kept = kept.iter().find(|kept| kept["kind"] == case.kind);
        let kept = kept.unwrap_or_else(|| panic!("{}: {report:#}", case.kind));
        assert_eq!(kept["paths"][0]["path"], case.then.0, "{kept:#}");
        let files = report["files"].as_array().expect("a list");
        let file = files.iter().find(|file| file["path"] == case.then.0);
        let choice = file.and_then(|file| file["choices"][0].as_str());
        assert_eq!(choice.unwrap_or_default(), case.choice, "{report:#}");
        (case.first)(&world);
        let mut parameters = kept["way"]["parameters"].clone();
        parameters["workspace"] = json!(world.workspace());
        let done = asked(&world, &parameters);
        let (path, then) = case.then;
        assert_eq!(
            content(&world, path).as_deref(),
            then,
            "{}: {done:#}",
            case.kind
        );
    }
}

/// Runs a command line as a person does who copied it.
fn in_shell(world: &Sandbox, command: &str) -> Run {
    let mut shell = world.command_by(Path::new("/bin/sh"), &["-c", command]);
    let folder = Path::new(binary()).parent().expect("a folder");
    Run::of(shell.env("PATH", format!("{}:/usr/bin:/bin", folder.display())))
}

/// Carries out an operation as a front end does, with the parameters as they were given.
fn asked(world: &Sandbox, parameters: &Value) -> Value {
    let method = parameters["operation"].as_str().expect("an operation");
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters});
    let run = world.run(&["serve", "--stdio"], format!("{request}\n").as_bytes());
    let line = run.stdout.lines().find(|line| line.contains("\"id\":1"));
    let answer = line.unwrap_or_else(|| panic!("it answers: {run}"));
    let answer: Value = serde_json::from_str(answer).expect("a document");
    assert!(answer.get("error").is_none(), "{answer:#}");
    answer["result"].clone()
}

/// A file that the agent made too large to be captured has a state before it, and the way out leads there and back.
#[test]
fn state_before_an_uncaptured_file_is_offered() {
    let world = too_large();
    let run = world.run(&["revert", "m1"], b"").exits(3);
    let command = run
        .stdout
        .lines()
        .find_map(|line| line.split_once("edits since cannot be told from it; "));
    let (_, way) = command.unwrap_or_else(|| panic!("it says a way: {run}"));
    let command = way.split(" puts the earlier version there").next();
    let done = in_shell(&world, command.expect("a command"));
    assert_eq!(world.read("big"), b"1\n", "{done}");
}

/// The way out of a file in a subdirectory is written for where one stands.
#[test]
fn way_out_is_written_for_the_current_directory() {
    let world = Sandbox::new();
    world.run_git(&["init", "--quiet"]);
    world.write("src/a", "1\n");
    world.play("m1", "change it", |world| world.write("src/a", "2\n"));
    world.write("src/a", "mine\n");
    let mut command = world.command(&["revert", "m1"]);
    let run = Run::of(command.current_dir(world.workspace().join("src")));
    assert!(
        run.stdout.contains(" --only a --on-conflict overwrite"),
        "{run}"
    );
}

/// What is left of the user's own is said to be theirs in a word.
#[test]
fn files_of_ones_own_are_said_to_stay() {
    let world = an_hour();
    let run = world.run(&["revert", "m1"], b"").exits(0);
    assert!(run.stdout.contains("Yours stays: notes.\n"), "{run}");
}

/// A way out asks again with the options that were given, and for what was asked for.
#[test]
fn way_out_keeps_what_was_given() {
    let world = edited();
    let run = world.run(&["revert", "m1", "--unclear", "take"], b"");
    let way = "--only 'a b' --on-conflict overwrite --unclear take puts";
    assert!(run.stdout.contains(way), "{run}");
    let world = unclear();
    let run = world.run(&["revert", "last~1", "--on-conflict", "keep"], b"");
    let way = "--on-conflict keep --unclear take takes";
    assert!(run.stdout.contains(way), "{run}");
    let world = Sandbox::new();
    world.write("mine/notes", "1\n");
    world.write("other", "1\n");
    world.play("m1", "change it", |world| world.write("made", "2\n"));
    world.write("mine/notes", "an hour\n");
    world.write("other", "an hour\n");
    let run = world.run(&["restore", "m1", "mine"], b"").exits(3);
    let done = in_shell(&world, &printed(&run, "yours, changed since"));
    let files = ["mine/notes", "other"].map(|path| content(&world, path).unwrap_or_default());
    assert_eq!(files, ["1\n", "an hour\n"], "the folder alone: {done}");
}

/// A way out names many files, however they are called, and takes all of them along.
#[test]
fn way_out_names_many_odd_files() {
    let world = Sandbox::new();
    let names = ["-rf", "a b", "it's", "$HOME", "*", "#", "ü"];
    let write = |world: &Sandbox, text: &str| {
        names.iter().for_each(|name| world.write(name, text));
    };
    write(&world, "1\n");
    world.play("m1", "change them", |world| write(world, "2\n"));
    write(&world, "mine\n");
    let run = world.run(&["revert", "m1"], b"").exits(3);
    let done = in_shell(&world, &printed(&run, "7 files kept"));
    for name in names {
        assert_eq!(
            content(&world, name).as_deref(),
            Some("1\n"),
            "{name}: {done}"
        );
    }
}
