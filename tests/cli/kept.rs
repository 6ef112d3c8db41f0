//! Every kept file ends with its way out: the command that is printed, and the parameters that a program is given, do
//! what the sentence says. `tests/fixtures/kept.json` has a case for each kind of kept file, and every surface goes through
//! all of them: the terminal, the keys of `ui`, `serve` and the calls of the page here, and the buttons of the page in
//! `tests/page`.

use std::cell::RefCell;
use std::fs::{File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use testing::binary::{Run, Sandbox, binary};
use testing::nobody::as_nobody;

use crate::page::Page;
use crate::screen::Screen;

/// A kind of kept file.
#[derive(Deserialize)]
struct Case {
    name: String,
    /// `kind` of the document.
    kind: String,
    /// What happened.
    world: Vec<Step>,
    /// The operation that keeps the file, as parameters.
    asked: Value,
    /// Whether no plan foresees it.
    #[serde(default)]
    unforeseen: bool,
    /// A part of the sentence.
    why: String,
    /// What the document offers for the file itself.
    choice: String,
    /// The keys in `ui` that lead to its plan.
    keys: String,
    /// What has to be done first. What had a file open ends in any case.
    #[serde(default)]
    first: Vec<Step>,
    /// The file in question.
    file: String,
    /// What the way makes of it; `None` if it is gone.
    then: Option<String>,
}

/// Something that happens.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    Write(String, String),
    Remove(String),
    Rename(String, String),
    Mode(String, u32),
    /// A program opens a file for writing, and has it open until the way out is followed.
    Open(String),
    Settings(String),
    Git(Vec<String>),
    Event(Value),
    /// What Codex tells.
    Hook(Value),
    /// A message with one step.
    Message {
        id: String,
        session: String,
        prompt: String,
        work: Vec<Step>,
    },
}

/// A case that was played.
struct Played {
    world: Sandbox,
    open: RefCell<Vec<File>>,
}

/// Returns the case of each kind of kept file.
fn cases() -> Vec<Case> {
    let table = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/fixtures/kept.json"
    ));
    serde_json::from_str(table).expect("a table of cases")
}

/// Returns the world of the first case of a kind.
fn world_of(kind: &str) -> Sandbox {
    let case = cases().into_iter().find(|case| case.kind == kind);
    case.expect("one of the kinds").play().world
}

impl Case {
    fn play(&self) -> Played {
        let played = Played {
            world: Sandbox::new(),
            open: RefCell::default(),
        };
        played.play(&self.world);
        played
    }

    /// Does what the way out asks for.
    fn clear(&self, played: &Played) {
        played.open.borrow_mut().clear();
        played.play(&self.first);
    }

    /// Checks that the way out did what it says.
    fn is_done(&self, played: &Played, done: &str) {
        let found = content(&played.world, &self.file);
        assert_eq!(found, self.then, "{}: {done}", self.name);
    }

    /// Returns the command line that asks.
    fn command(&self) -> Vec<&str> {
        let words = ["operation", "message", "id"].map(|name| self.asked[name].as_str());
        words.into_iter().flatten().collect()
    }
}

impl Played {
    fn play(&self, steps: &[Step]) {
        for step in steps {
            self.step(step);
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the agent of a test does what the product never does"
    )]
    fn step(&self, step: &Step) {
        let world = &self.world;
        let place = |path: &str| world.workspace().join(path);
        match step {
            Step::Write(path, text) => world.write(path, text),
            Step::Remove(path) => std::fs::remove_dir_all(place(path)).expect("it is there"),
            Step::Rename(from, to) => {
                std::fs::rename(place(from), place(to)).expect("it is there");
            }
            Step::Mode(path, mode) => {
                let mode = Permissions::from_mode(*mode);
                std::fs::set_permissions(place(path), mode).expect("it is there");
            }
            Step::Open(path) => {
                let file = OpenOptions::new().append(true).open(place(path));
                self.open.borrow_mut().push(file.expect("it is there"));
            }
            Step::Settings(text) => world.configure(text),
            Step::Git(words) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                world.run_git(&words);
            }
            Step::Event(event) => {
                world.event(event.clone()).ends_silently();
            }
            Step::Hook(event) => {
                let mut event = event.clone();
                event["cwd"] = json!(world.workspace());
                let name = event["hook_event_name"].as_str().expect("a name");
                let words = ["event", "--agent", "codex", "--event", name];
                world
                    .run(&words, event.to_string().as_bytes())
                    .ends_silently();
            }
            Step::Message {
                id,
                session,
                prompt,
                work,
            } => {
                let tell = |event: &str| {
                    let event = json!({"event": event, "session_id": session, "message_id": id, "prompt": prompt});
                    world.event(event).ends_silently();
                };
                tell("user_message");
                tell("step_start");
                self.play(work);
                for event in ["step_finish", "turn_end"] {
                    let event = json!({"event": event, "session_id": session});
                    self.world.event(event).ends_silently();
                }
            }
        }
    }
}

fn content(world: &Sandbox, path: &str) -> Option<String> {
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
    as_nobody("kept::printed_way_out_takes_the_file_along", || {
        for case in cases() {
            for is_plan in [true, false] {
                if is_plan && case.unforeseen {
                    continue;
                }
                let played = case.play();
                let plan = is_plan.then_some("--dry-run");
                let command: Vec<&str> = case.command().into_iter().chain(plan).collect();
                let before = content(&played.world, &case.file);
                let run = played.world.run(&command, b"");
                let after = content(&played.world, &case.file);
                assert_eq!(after, before, "{}: it is kept: {run}", case.name);
                let way = printed(&run, &case.why);
                case.clear(&played);
                let done = in_shell(&played.world, &way);
                case.is_done(&played, &format!("`{way}`: {done}\nof: {run}"));
            }
        }
    });
}

/// The parameters that a front end is given for a kept file do what the sentence says, by `serve` and by the page.
///
/// Invariant `truth/way-out`.
#[test]
fn programs_way_out_takes_the_file_along() {
    as_nobody("kept::programs_way_out_takes_the_file_along", || {
        for case in cases() {
            let played = case.play();
            let world = &played.world;
            let serve = |method: &str, asked: &Value| {
                let asked = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": asked});
                let run = world.run(&["serve", "--stdio"], format!("{asked}\n").as_bytes());
                let mut lines = run.stdout.lines();
                let line = lines.find(|line| !line.contains("\"method\""));
                let answer = line.unwrap_or_else(|| panic!("it answers: {run}"));
                serde_json::from_str(answer).expect("a document")
            };
            follow(&case, &played, &serve);
            let played = case.play();
            let page = Page::start(&played.world, &[]);
            follow(&case, &played, &|method, asked| page.rpc(method, asked));
        }
    });
}

/// Plans, and follows the way out of the plan, or of its outcome where no plan foresees it.
fn follow(case: &Case, played: &Played, ask: &dyn Fn(&str, &Value) -> Value) {
    let ask = |method: &str, asked: &Value| {
        let answer = ask(method, asked);
        assert!(answer.get("error").is_none(), "{}: {answer:#}", case.name);
        answer["result"].clone()
    };
    let planned = ask("plan", &case.asked);
    let report = match case.unforeseen {
        true => ask("apply", &json!({"plan": planned["plan"]})),
        false => planned["report"].clone(),
    };
    let kept = report["kept"].as_array();
    let kept = kept.unwrap_or_else(|| panic!("{}: {report:#}", case.name));
    let kept = kept.iter().find(|kept| kept["kind"] == case.kind);
    let kept = kept.unwrap_or_else(|| panic!("{}: {report:#}", case.name));
    assert_eq!(kept["paths"][0]["path"], case.file, "{kept:#}");
    let why = kept["why"].as_str().unwrap_or_default();
    assert!(why.contains(&case.why), "{kept:#}");
    let files = report["files"].as_array().expect("a list");
    let file = files.iter().find(|file| file["path"] == case.file);
    let choice = file.and_then(|file| file["choices"][0].as_str());
    assert_eq!(choice.unwrap_or_default(), case.choice, "{report:#}");
    case.clear(played);
    let planned = ask("plan", &kept["way"]["parameters"]);
    let done = ask("apply", &json!({"plan": planned["plan"]}));
    case.is_done(played, &format!("{done:#}"));
}

/// The key that a kept file ends with does what it says. What has to be done first is done, and a new plan is asked for.
///
/// Invariant `truth/way-out`.
#[test]
fn key_of_way_out_takes_the_file() {
    as_nobody("kept::key_of_way_out_takes_the_file", || {
        // What another message changed is that message's own, which is the one above.
        for case in cases().iter().filter(|case| !case.choice.is_empty()) {
            let played = case.play();
            let line = "stty rows 30; ckpt-hook ui";
            let Some(mut screen) = Screen::open(&played.world, 110, line) else {
                return;
            };
            screen.wait_for("? keys");
            screen.press(&case.keys);
            // A line may be broken anywhere.
            let says = |contents: &str, text: &str| {
                let words: Vec<&str> = contents.split_whitespace().collect();
                words.join(" ").contains(text)
            };
            let offer = match case.choice.as_str() {
                "again" if case.unforeseen => "then a new plan goes ahead",
                "again" => "and plan again",
                _ => "o takes it back all the same",
            };
            if case.unforeseen {
                screen.press("y");
            }
            screen.wait_until(offer, |contents| says(contents, offer));
            if case.choice == "again" {
                case.clear(&played);
                screen.press("\u{1b}");
                screen.wait_until("the plan is left", |contents| !says(contents, offer));
                screen.press(&case.keys);
                screen.wait_for("y do it");
            } else {
                screen.press("o");
            }
            screen.wait_until("it goes back", |contents| !says(contents, offer));
            screen.press("y");
            screen.wait_until("it is done", |contents| {
                contents.to_lowercase().contains("to undo")
            });
            case.is_done(&played, &screen.contents());
        }
    });
}

/// Runs a command line as a person does who copied it.
fn in_shell(world: &Sandbox, command: &str) -> Run {
    let mut shell = world.command_by(Path::new("/bin/sh"), &["-c", command]);
    let folder = Path::new(binary()).parent().expect("a folder");
    Run::of(shell.env("PATH", format!("{}:/usr/bin:/bin", folder.display())))
}

/// A file that the agent made too large to be captured has a state before it, and the way out leads there and back.
#[test]
fn state_before_an_uncaptured_file_is_offered() {
    let world = world_of("not_captured");
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

/// A file that was renamed and stays is one, by the name that it has now.
#[test]
fn renamed_file_that_stays_is_one() {
    let world = Sandbox::new();
    world.write("old", "1\n");
    world.write("mine", "2\n");
    world.play("m1", "make one", |world| world.write("made", "1\n"));
    let rename = |from: &str, to: &str| {
        let place = |name: &str| world.workspace().join(name);
        std::fs::rename(place(from), place(to)).expect("it is there");
    };
    rename("mine", "mine too");
    let tell = |event: &str| {
        let event = json!({"event": event, "session_id": "s2", "message_id": "n1"});
        world.event(event).ends_silently();
    };
    tell("user_message");
    tell("step_start");
    rename("old", "new");
    tell("step_finish");
    tell("turn_end");
    let run = world.run(&["revert", "m1"], b"").exits(0);
    for line in ["new stays, changed by generic ", "Yours stays: mine too.\n"] {
        assert!(run.stdout.contains(line), "{line}: {run}");
    }
    let done = in_shell(&world, &printed(&run, "new stays"));
    assert_eq!(content(&world, "old").as_deref(), Some("1\n"), "{done}");
}

/// What is left of the user's own is said to be theirs in a word.
#[test]
fn files_of_ones_own_are_said_to_stay() {
    let world = world_of("yours");
    let run = world.run(&["revert", "m1"], b"").exits(0);
    assert!(run.stdout.contains("Yours stays: notes.\n"), "{run}");
}

/// A way out asks again with the options that were given, and for what was asked for.
#[test]
fn way_out_keeps_what_was_given() {
    let world = world_of("conflict");
    let run = world.run(&["revert", "m1", "--unclear", "take"], b"");
    let way = "--only 'a b' --on-conflict overwrite --unclear take puts";
    assert!(run.stdout.contains(way), "{run}");
    let world = world_of("unclear");
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
