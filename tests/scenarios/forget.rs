//! `forget`: afterwards the bytes are nowhere in the store, and a revert says so and leaves such files alone.

use std::fs;
use std::path::PathBuf;

use ckpt_schema::report::{DifferenceDetail, FileResult, ForgetReport, Outcome, ReasonCode};
use ckpt_schema::{Event, EventKind};
use ckpt_store::{ErrorKind, Force, Forget};

use testing::scenario::{World, to};
use testing::tree::files_below;

mod hiding_places;

const SECRET: &str = "hunter2-hunter2-hunter2";

fn has(bytes: &[u8], needle: &str) -> bool {
    bytes
        .windows(needle.len())
        .any(|window| window == needle.as_bytes())
}

/// Returns where in the store something stands: in a file as it is, or in an object that git decodes.
fn places_of(world: &World, needle: &str) -> Vec<String> {
    let store = world.base().join("store");
    let mut places: Vec<String> = files_below(&store)
        .into_iter()
        .filter(|path| has(&fs::read(path).expect("ours"), needle))
        .map(|path| path.display().to_string())
        .collect();
    for folder in fs::read_dir(store.join("snapshots")).into_iter().flatten() {
        let repository = folder.expect("ours").path().join("repository.git");
        let repository = git2::Repository::open_bare(repository).expect("a repository");
        let odb = repository.odb().expect("it has objects");
        odb.foreach(|id| {
            if has(odb.read(*id).expect("it is whole").data(), needle) {
                places.push(format!("object {id}"));
            }
            true
        })
        .expect("it can be listed");
    }
    places
}

fn forget(world: &mut World, what: Forget) -> ForgetReport {
    let cwd = world.cwd.clone();
    world
        .store
        .forget(&cwd, &what, ckpt_store::DryRun::No)
        .expect("it is ours")
}

/// Two messages that write a secret, in a file that the user had and in one that the agent made, and one that does not.
fn with_secrets() -> World {
    let mut world = World::new();
    world.write("kept", "the user's\n");
    world.write("config/.env", format!("first {SECRET}\n"));
    world.turn_in("s", "m1", |world| {
        world.write("config/.env", format!("second {SECRET}\n"));
        world.write("kept", "the agent's\n");
    });
    world.turn_in("s", "m2", |world| {
        world.write("keys/deep/id", format!("a key {SECRET}\n"));
        world.write("config/.env", format!("third {SECRET}\n"));
    });
    world.turn_in("s", "m3", |world| {
        world.write("kept", "the agent's second\n")
    });
    world
}

/// The bytes of a forgotten path are nowhere in the store.
///
/// Invariant `truth/forgotten`: Forgotten content is in no file and no object of the store,
/// whatever else is damaged, and a revert leaves such files alone.
#[test]
fn forgotten_paths_bytes_are_nowhere() {
    let mut world = with_secrets();
    assert!(!places_of(&world, SECRET).is_empty(), "they were stored");
    let cwd = world.cwd.clone();
    let plan = world
        .store
        .forget(
            &cwd,
            &Forget::Path(".env".to_owned()),
            ckpt_store::DryRun::Yes,
        )
        .expect("it is ours");
    let paths = |report: &ForgetReport| -> Vec<String> {
        let files = &report.workspaces[0].files;
        files.iter().map(|file| file.path.clone()).collect()
    };
    assert_eq!(paths(&plan), ["config/.env"], "a dry run says what goes");
    assert!(
        !places_of(&world, "third").is_empty(),
        "and changes nothing"
    );
    let report = forget(&mut world, Forget::Path(".env".to_owned()));
    assert_eq!(paths(&report), paths(&plan), "a dry run is what happens");
    assert_eq!(
        report.workspaces[0].snapshots, plan.workspaces[0].snapshots,
        "in as many snapshots"
    );
    forget(&mut world, Forget::Path("/keys/".to_owned()));
    assert_eq!(places_of(&world, SECRET), Vec::<String>::new());
    assert_eq!(
        world.read("config/.env"),
        format!("third {SECRET}\n"),
        "the workspace is not touched"
    );
}

/// A command line that quotes what is forgotten is forgotten too.
#[test]
fn command_line_with_forgotten_text_goes() {
    for forgotten in [
        Forget::Path(".env".to_owned()),
        Forget::Message("m1".to_owned()),
    ] {
        let mut world = World::new();
        world.message_in("s", "m1");
        world.start_in("s");
        for (id, line) in [
            ("1", format!("echo {SECRET} > .env")),
            ("2", "cat .env".to_owned()),
        ] {
            let event = Event {
                tool_use_id: Some(id.to_owned()),
                tool_command: Some(line),
                ..world.event(EventKind::ToolStart, "s")
            };
            world.send(&event);
        }
        world.write(".env", format!("{SECRET}\n"));
        world.finish_in("s");
        assert!(!places_of(&world, SECRET).is_empty(), "it was recorded");
        forget(&mut world, forgotten);
        assert_eq!(places_of(&world, SECRET), Vec::<String>::new());
    }
}

/// A revert names what was forgotten and leaves it alone.
///
/// Invariant `truth/forgotten`.
#[test]
fn revert_leaves_forgotten_files_alone() {
    let mut world = with_secrets();
    forget(&mut world, Forget::Path("config/.env".to_owned()));
    let report = world.revert("m1");
    let file = report
        .files
        .iter()
        .find(|file| file.path.path == "config/.env")
        .expect("it is named");
    assert_eq!(file.result, FileResult::Gap);
    assert!(
        file.reason
            .as_deref()
            .is_some_and(|reason| reason.starts_with("forgotten")),
        "{file:?}"
    );
    assert_eq!(world.read("config/.env"), format!("third {SECRET}\n"));
    assert_eq!(world.read("kept"), "the user's\n", "the rest goes back");
    assert!(!world.path("keys/deep/id").exists(), "the rest goes back");
    world.unrevert();
    assert_eq!(world.read("kept"), "the agent's second\n");
    assert_eq!(world.read("keys/deep/id"), format!("a key {SECRET}\n"));
}

/// A restore and a recovery say that what is gone was forgotten.
#[test]
fn restore_says_what_was_forgotten() {
    let mut world = World::new();
    world.write("key", SECRET);
    world.turn_in("s", "m1", |world| world.remove("key"));
    forget(&mut world, Forget::Path("key".to_owned()));
    let cwd = world.cwd.clone();
    let paths = [PathBuf::from("key")];
    let recovered = world
        .store
        .recover(&cwd, &paths, ckpt_store::DryRun::No, Force::No);
    let recovered = recovered.expect("it is named").operation;
    for report in [
        recovered.expect("it has one"),
        world.restore("m1", &["key"]),
    ] {
        assert_eq!(report.outcome, Outcome::Partial, "{report:?}");
        let reasons: Vec<_> = report.files.iter().map(|file| file.reason_code).collect();
        assert_eq!(reasons, [Some(ReasonCode::Forgotten)], "{report:?}");
    }
    assert!(!world.path("key").exists(), "nothing brings it back");
}

/// A pattern for directories leaves a file of that name.
#[test]
fn directory_pattern_leaves_a_file() {
    let mut world = World::new();
    world.turn_in("s", "m1", |world| {
        world.write("keys", SECRET);
        world.write("d/keys/one", "another-one-another-one\n");
    });
    world.turn_in("s", "m2", |world| world.write("other", "x"));
    forget(&mut world, Forget::Path("keys/".to_owned()));
    assert_eq!(
        places_of(&world, "another-one-another-one"),
        [] as [&str; 0]
    );
    world.write("keys", "changed");
    world.restore("m2", &["keys"]);
    assert_eq!(world.read("keys"), SECRET, "the file's bytes are there");
}

/// What was forgotten and stays is told to be forgotten and not to be changed since.
///
/// Invariant `truth/forgotten`.
#[test]
fn kept_forgotten_file_is_called_forgotten() {
    for is_edited in [false, true] {
        let mut world = with_secrets();
        forget(&mut world, Forget::Path("config/.env".to_owned()));
        if is_edited {
            world.write("config/.env", "edited by the user\n");
        }
        // The next look finds the file that the snapshots before it no longer hold.
        world.turn_in("s", "m4", |world| {
            world.write("kept", "the agent's fourth\n")
        });
        let before = world.read("config/.env");
        let report = world.revert("m3");
        assert_eq!(world.read("config/.env"), before, "it is left alone");
        let mut told = report
            .receipt
            .expect("a revert has one")
            .differences
            .into_iter();
        let told = told
            .find(|difference| difference.path.path == "config/.env")
            .expect("it is named");
        assert_eq!(told.detail, Some(DifferenceDetail::Forgotten), "{told:?}");
    }
}

/// A forgotten message takes its prompt and what it wrote with it.
///
/// Invariant `truth/forgotten`.
#[test]
fn forgotten_message_takes_its_prompt_along() {
    let mut world = with_secrets();
    forget(&mut world, Forget::Message("m2".to_owned()));
    for gone in ["please do m2", "a key", "third"] {
        assert_eq!(places_of(&world, gone), Vec::<String>::new(), "{gone}");
    }
    assert!(!places_of(&world, "please do m1").is_empty(), "others stay");
    let report = world.revert("m1");
    assert_eq!(world.read("kept"), "the user's\n", "others go back");
    assert_eq!(
        world.read("config/.env"),
        format!("third {SECRET}\n"),
        "what came of it is left alone: {report:?}"
    );
}

/// A forgotten session leaves another one's work as it is.
#[test]
fn forgotten_session_leaves_others_alone() {
    let mut world = with_secrets();
    world.turn_in("other", "m4", |world| {
        world.write("theirs", "the other's\n")
    });
    forget(&mut world, Forget::Session("s".to_owned()));
    for gone in [
        "please do m1",
        "please do m3",
        "second hunter2",
        "third",
        "a key",
    ] {
        assert_eq!(places_of(&world, gone), Vec::<String>::new(), "{gone}");
    }
    assert!(!places_of(&world, "the other's").is_empty(), "it stays");
    world.revert("m4");
    assert!(!world.path("theirs").exists(), "and goes back");
    assert_eq!(world.read("kept"), "the agent's second\n");
}

/// A forgotten workspace leaves nothing and is recorded anew.
#[test]
fn forgotten_workspace_is_recorded_anew() {
    for what in [Forget::Workspace, Forget::All] {
        let mut world = with_secrets();
        forget(&mut world, what);
        for gone in [SECRET, "please do m", "the agent's second", "config/.env"] {
            assert_eq!(places_of(&world, gone), Vec::<String>::new(), "{gone}");
        }
        world.turn_in("s", "m5", |world| world.write("kept", "new\n"));
        world.revert("m5");
        assert_eq!(world.read("kept"), "the agent's second\n");
    }
}

/// Leaves what a `forget` of all workspaces leaves that is killed before its first row goes.
fn kill_before_the_first_row(world: &World, last: &str) {
    let store = world.base().join("store");
    let sql = "SELECT key || ' ' || last_snapshot_id FROM workspaces";
    let mut lines = testing::rows::texts(&store.join("sessions.db"), sql);
    lines.push(last.to_owned());
    fs::write(store.join("forgetting"), lines.join("\n")).expect("ours");
}

/// A forget killed before its first row is finished.
///
/// Invariant `truth/forget-interrupted`.
#[test]
fn forget_killed_before_a_row_is_finished() {
    for last in ["", "all"] {
        let mut world = with_secrets();
        kill_before_the_first_row(&world, last);
        assert!(world.store.is_forgetting().expect("readable"));
        world.store.gc(ckpt_store::DryRun::No).expect("it is ours");
        for gone in [SECRET, "please do m", "the agent's second", "config/.env"] {
            assert_eq!(places_of(&world, gone), Vec::<String>::new(), "{gone}");
        }
        assert!(!world.store.is_forgetting().expect("readable"));
    }
}

/// What was used since a killed forget stays and is told.
///
/// Somebody worked on after the command was killed: nobody agreed that this goes, too.
///
/// Invariant `truth/forget-interrupted`.
#[test]
fn content_used_since_a_killed_forget_stays() {
    for last in ["", "all"] {
        let mut world = with_secrets();
        kill_before_the_first_row(&world, last);
        world.turn_in("s", "m5", |world| world.write("kept", "new\n"));
        world.store.gc(ckpt_store::DryRun::No).expect("it is ours");
        let told = world.store.notices().sentences;
        assert!(
            told.iter()
                .any(|sentence| sentence.contains("was to be forgotten, and is not")),
            "{told:?}"
        );
        assert!(
            !world.store.is_forgetting().expect("readable"),
            "it is said"
        );
        world.revert("m5");
        assert_eq!(world.read("kept"), "the agent's second\n");
        forget(&mut world, Forget::Workspace);
        assert_eq!(places_of(&world, SECRET), Vec::<String>::new());
    }
}

#[test]
fn nothing_is_forgotten_while_a_step_is_open() {
    let mut world = with_secrets();
    world.message_in("s", "m4");
    world.start_in("s");
    let cwd = world.cwd.clone();
    for what in [
        Forget::Path("kept".to_owned()),
        Forget::Message("m1".to_owned()),
        Forget::Session("s".to_owned()),
        Forget::Workspace,
        Forget::All,
    ] {
        let error = world
            .store
            .forget(&cwd, &what, ckpt_store::DryRun::No)
            .expect_err("an agent is at work");
        assert_eq!(error.kind, ErrorKind::Busy, "{error}");
    }
    assert!(!places_of(&world, SECRET).is_empty(), "all is there");
    world.finish_in("s");
    world.revert("m1");
    assert_eq!(world.read("kept"), "the user's\n");
}

/// What matches nothing is said and what is forgotten may be captured again.
#[test]
fn unmatched_is_reported_and_forgotten_recapturable() {
    let mut world = with_secrets();
    let cwd = world.cwd.clone();
    let error = world
        .store
        .forget(
            &cwd,
            &Forget::Path("*.pem".to_owned()),
            ckpt_store::DryRun::No,
        )
        .expect_err("there is none");
    assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
    forget(&mut world, Forget::Path("kept".to_owned()));
    world.turn_in("s", "m4", |world| world.write("kept", "m4\n"));
    world.revert("m4");
    assert_eq!(
        world.read("kept"),
        "the agent's second\n",
        "what was there before the message was captured again"
    );
    world.try_revert(&to("m1")).expect("it is known");
}

/// An ignore file that ignores itself is forgotten too.
#[test]
fn self_ignoring_ignore_file_is_forgotten() {
    let mut world = World::new();
    world.write("kept", "the user's\n");
    world.write("d/.gitignore", format!(".gitignore\n{SECRET}\n"));
    world.turn_in("s", "m1", |world| {
        world.write("d/file", "the agent's\n");
    });
    assert!(
        !places_of(&world, SECRET).is_empty(),
        "its lines were stored"
    );
    fs::remove_file(world.path("d/.gitignore")).expect("ours");
    let report = forget(&mut world, Forget::Path("d/.gitignore".to_owned()));
    assert_eq!(report.workspaces[0].files[0].path, "d/.gitignore");
    assert_eq!(places_of(&world, SECRET), Vec::<String>::new(), "nowhere");
    let report = world.revert("m1");
    assert!(!world.exists("d/file"), "the rest goes back: {report:?}");
    assert_eq!(world.read("kept"), "the user's\n");
}
