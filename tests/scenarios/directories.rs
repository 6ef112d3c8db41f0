//! Directories that are moved, replaced and come back: each keeps its own history, on a disk and through whole turns. All
//! sequences of moves and kills, without a disk: `store/src/sessions/workspaces/tests.rs`.

use std::fs;
use std::path::PathBuf;

use ckpt_schema::report::Outcome;
use ckpt_store::DryRun;

use testing::scenario::{World, set_clock_from_files, to};

const DAY: i64 = 24 * 60 * 60 * 1000;

/// Three directories, of which two at most are at the paths `p` and `q`, and the others away.
struct Directories {
    world: World,
    at: [Option<usize>; 2],
    turns: usize,
}

impl Directories {
    fn new() -> Self {
        let world = World::new();
        for directory in 0..3 {
            let away = world.base().join(format!("away/{directory}"));
            fs::create_dir_all(away.join("own")).expect("writable");
        }
        Self {
            world,
            at: [None; 2],
            turns: 0,
        }
    }

    fn path(&self, path: usize) -> PathBuf {
        self.world.base().join(["p", "q"][path])
    }

    /// Moves a directory to a path. What is there goes away.
    fn rename(&mut self, directory: usize, path: usize) {
        let away = |directory: usize| self.world.base().join(format!("away/{directory}"));
        let from = match self.at.iter().position(|there| *there == Some(directory)) {
            Some(other) if other == path => return,
            Some(other) => self.path(other),
            None => away(directory),
        };
        if let Some(there) = self.at[path] {
            fs::rename(self.path(path), away(there)).expect("it is free");
        }
        fs::rename(&from, self.path(path)).expect("it is free");
        self.at = self
            .at
            .map(|there| there.filter(|there| *there != directory));
        self.at[path] = Some(directory);
    }

    /// An agent works there, and what it did is taken back and brought back.
    fn turn(&mut self, path: usize, what: &str) {
        self.turns += 1;
        let (file, message) = (format!("file{}", self.turns), format!("m{}", self.turns));
        self.world.root = self.path(path);
        self.world.cwd = self.path(path);
        let before = self.world.tree();
        self.world
            .turn(&message, |world| world.write(&file, "the agent's\n"));
        let after = self.world.tree();
        let report = self.world.try_revert(&to(&message));
        let report = report.unwrap_or_else(|error| panic!("{what}: {}", error.with_causes()));
        assert_eq!(report.outcome, Outcome::Restored, "{what}: {report:#?}");
        assert_eq!(
            self.world.tree(),
            before,
            "{what}: the agent's change is known"
        );
        self.world.unrevert();
        assert_eq!(self.world.tree(), after, "{what}");
        let own = self.world.log().messages.len();
        let theirs = fs::read_dir(&self.world.root).expect("readable").count() - 1;
        assert_eq!(
            own, theirs,
            "{what}: one message for each file, and none of another's"
        );
    }
}

/// Invariant `truth/directory-moves`.
#[test]
fn directories_that_trade_places_keep_their_histories() {
    let moves: Vec<(usize, usize)> = (0..3).flat_map(|one| [(one, 0), (one, 1)]).collect();
    for first in &moves {
        for second in &moves {
            let mut all = Directories::new();
            for (directory, path) in [(0, 0), *first, *second, (0, 0)] {
                all.rename(directory, path);
                all.turn(
                    path,
                    &format!("{first:?} {second:?}, then {directory} at {path}"),
                );
            }
        }
    }
}

/// A history whose directory was replaced, and is back or elsewhere, is not pruned as one of a directory that is gone.
///
/// Invariant `truth/directory-moves`.
#[test]
#[expect(clippy::disallowed_methods, reason = "the folder is of this test")]
fn gc_spares_a_replaced_directory_that_still_exists() {
    for back in [Some(0), Some(1), None] {
        set_clock_from_files(0);
        let mut all = Directories::new();
        all.rename(0, 0);
        all.turn(0, "first");
        all.rename(1, 0);
        all.turn(0, "another");
        match back {
            Some(path) => all.rename(0, path),
            None => {
                let away = all.world.base().join("away/0");
                fs::remove_dir_all(away).expect("ours");
            }
        }
        // No run believes a clock that was set, but by request.
        let keep = std::time::Duration::from_secs(30 * 24 * 3600);
        for days in [1, 100] {
            set_clock_from_files(days * DAY);
            all.world
                .store
                .gc_keeping(DryRun::No, Some(keep))
                .expect("it is ours");
        }
        let left = all.world.base().join("store/snapshots");
        let left = fs::read_dir(left).expect("readable").count();
        assert_eq!(left, if back.is_some() { 2 } else { 1 }, "{back:?}");
    }
}
