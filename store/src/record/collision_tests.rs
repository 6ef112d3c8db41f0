//! Files with one SHA-1: the second is not captured and is named, and no operation hands out or overwrites one for the
//! other.

use std::fs;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{FileResult, OperationReport, Outcome};
use ckpt_schema::{Event, EventKind};
use tempfile::TempDir;

use crate::model::request::RevertRequest;
use crate::objects::hash::COLLIDES;
use crate::settings::Settings;
use crate::store::{Store, Surroundings};

/// What is said of the second one.
const OTHER: &str = "another content with the same SHA-1 is stored";

struct CollidingFiles {
    _directory: TempDir,
    root: PathBuf,
    store: Store,
}

/// The contents of a file that collides with every other such file.
fn colliding(which: &str) -> String {
    format!("{COLLIDES}{which}\n")
}

impl CollidingFiles {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let base = directory.path().canonicalize().expect("it is there");
        let root = base.join("code");
        fs::create_dir_all(&root).expect("it is writable");
        let store = Store::open(Surroundings {
            directory: base.join("store"),
            settings: Settings::default(),
            home: None,
            config_home: None,
            clock: || crate::file_clock() / 1_000_000,
            file_clock: crate::file_clock,
            file_times: crate::same_time,
            agent_process: || None,
            conversations: &crate::model::conversation::NoConversations,
        });
        Self {
            _directory: directory,
            root,
            store: store.expect("a fresh store"),
        }
    }

    fn send(&mut self, kind: EventKind, message: &str) -> u64 {
        let event = Event {
            cwd: Some(self.root.clone()),
            message_id: Some(message.to_owned()),
            ..Event::new(kind, "generic", "s")
        };
        let report = self.store.record(&event).expect("it is no failure");
        report.gaps.unwrap_or_default()
    }

    /// Plays a message whose step does something. Returns how many paths could not be captured then.
    fn turn(&mut self, message: &str, work: impl FnOnce(&Path)) -> u64 {
        self.send(EventKind::UserMessage, message);
        self.send(EventKind::StepStart, message);
        work(&self.root);
        let gaps = self.send(EventKind::StepFinish, message);
        self.send(EventKind::TurnEnd, message);
        gaps
    }

    fn revert(&mut self, message: &str) -> OperationReport {
        let request = RevertRequest {
            message: message.to_owned(),
            ..RevertRequest::default()
        };
        let report = self.store.revert(&self.root, &request);
        report.expect("it is no failure")
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root.join(name)).expect("it is there")
    }

    fn reasons(&mut self) -> Vec<(String, String)> {
        let status = self.store.status(&self.root, None).expect("readable");
        let gaps = status.gaps.into_iter();
        gaps.map(|gap| (gap.path.path, gap.reason)).collect()
    }
}

fn write(root: &Path, name: &str, text: &str) {
    fs::write(root.join(name), text).expect("it is writable");
}

/// A second file of one SHA-1 is a gap and a revert goes back in part.
///
/// Invariant `work/sha1-collisions`: Of two files with one SHA-1, the second is a gap: neither
/// is taken, or overwritten, for the other.
#[test]
fn second_file_of_one_sha1_is_a_gap() {
    let mut world = CollidingFiles::new();
    write(&world.root, "first", &colliding("one"));
    let gaps = world.turn("m1", |root| {
        write(root, "second", &colliding("two"));
        write(root, "new", "new\n");
    });
    assert_eq!(gaps, 1, "the snapshot is taken, and says what it lacks");
    let reasons = world.reasons();
    let [(path, reason)] = &reasons[..] else {
        panic!("{reasons:?}");
    };
    assert_eq!(path, "second");
    assert!(reason.contains(OTHER), "{reason}");
    let report = world.revert("m1");
    assert_eq!(report.outcome, Outcome::Partial, "{report:#?}");
    assert!(!world.root.join("new").exists(), "the rest goes back");
    assert_eq!(world.read("first"), colliding("one"));
    assert_eq!(world.read("second"), colliding("two"), "no byte is lost");
    let named = |path: &str| report.notes.iter().any(|note| note.contains(path));
    let is_left = |result| matches!(result, FileResult::Gap | FileResult::Conflict);
    let file = report.files.iter().find(|file| file.path.path == "second");
    assert!(
        named("second") || file.is_some_and(|file| is_left(file.result)),
        "it is named: {report:#?}"
    );
}

/// Two files of one SHA-1 in one snapshot are told apart.
///
/// Invariant `work/sha1-collisions`.
#[test]
fn two_files_of_one_sha1_differ() {
    let mut world = CollidingFiles::new();
    write(&world.root, "first", &colliding("one"));
    write(&world.root, "second", &colliding("two"));
    world.turn("m1", |root| {
        write(root, "first", "1\n");
        write(root, "second", "2\n");
    });
    world.revert("m1");
    let found = [world.read("first"), world.read("second")];
    let back = [
        [colliding("one"), "2\n".to_owned()],
        ["1\n".to_owned(), colliding("two")],
    ];
    assert!(
        back.contains(&found),
        "the one that was captured is back, and the other is as it is: {found:?}"
    );
}

/// Contents of one SHA-1 that take the place of each other are never taken for each other.
///
/// Invariant `work/sha1-collisions`.
#[test]
fn contents_of_one_sha1_are_never_confused() {
    let mut world = CollidingFiles::new();
    write(&world.root, "a", &colliding("one"));
    let gaps = world.turn("m1", |root| write(root, "a", &colliding("two")));
    assert_eq!(gaps, 1);
    let report = world.revert("m1");
    assert_ne!(report.outcome, Outcome::Restored, "{report:#?}");
    assert_eq!(
        world.read("a"),
        colliding("two"),
        "it is in no snapshot, so it is not overwritten: {report:#?}"
    );
    // Once it is gone, what is stored under the id is what was there.
    world.turn("m2", |root| write(root, "a", "plain\n"));
    world.turn("m3", |root| write(root, "b", "plain\n"));
    let reasons = world.reasons();
    assert!(reasons.is_empty(), "{reasons:?}");
    world.revert("m3");
    assert_eq!(world.read("a"), "plain\n");
}
