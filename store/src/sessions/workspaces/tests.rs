//! Every sequence of five moves among three directories and two paths, with a hook at a path, or one that is killed, after
//! each of them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::*;
use crate::sessions::Database;

const PATHS: [&str; 2] = ["/projects/p", "/projects/q"];

/// What is at each of the paths: the number of a directory.
type Disk = [Option<usize>; 2];

/// What happens to the directories.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// A directory is renamed to a path. What is there goes away, and may come back.
    Rename(usize, usize),
    /// A directory is mounted at a path, too.
    Mount(usize, usize),
    /// What is at a path goes away.
    Clear(usize),
}

fn moves() -> Vec<Move> {
    let pairs = || (0..3).flat_map(|directory| (0..2).map(move |path| (directory, path)));
    let renames = pairs().map(|(directory, path)| Move::Rename(directory, path));
    let mounts = pairs().map(|(directory, path)| Move::Mount(directory, path));
    let clears = (0..2).map(Move::Clear);
    renames.chain(mounts).chain(clears).collect()
}

fn moved(mut disk: Disk, this: Move) -> Disk {
    match this {
        Move::Rename(directory, path) => {
            disk = disk.map(|there| there.filter(|there| *there != directory));
            disk[path] = Some(directory);
        }
        Move::Mount(directory, path) => disk[path] = Some(directory),
        Move::Clear(path) => disk[path] = None,
    }
    disk
}

/// A store, and which row the history of each directory is in.
struct Play {
    directories: [Identity; 3],
    /// How many moves are played.
    length: usize,
    database: Database,
    /// The states that were played on from already, and for how many moves.
    seen: HashMap<String, usize>,
}

impl Play {
    fn new(directories: [Identity; 3], length: usize) -> Self {
        Self {
            directories,
            length,
            database: Database::empty().expect("there is memory"),
            seen: HashMap::new(),
        }
    }

    fn connection(&self) -> &Connection {
        self.database.connection()
    }

    fn run(&self, sql: &str) {
        self.connection().execute_batch(sql).expect("it is valid");
    }

    /// Lets an agent's hook come at a path.
    fn hook(&self, disk: Disk, path: usize, histories: &mut BTreeMap<usize, i64>, moves: &[Move]) {
        let Some(directory) = disk[path] else { return };
        let identity = self.directories[directory];
        let is_there = |row: &WorkspaceRow| {
            let at = PATHS.iter().position(|path| row.path == Path::new(path));
            let there = at
                .and_then(|at| disk[at])
                .map(|there| self.directories[there]);
            row.replaced_at.is_none() && there.is_some_and(|there| row.is(&there))
        };
        let now = i64::try_from(moves.len()).expect("a few");
        let row = claim(
            self.connection(),
            Path::new(PATHS[path]),
            &identity,
            now,
            is_there,
        );
        let row = row.unwrap_or_else(|error| panic!("{moves:?}: {}", error.with_causes()));
        assert_eq!(row.path, PathBuf::from(PATHS[path]), "{moves:?}");
        let known = *histories.entry(directory).or_insert(row.id);
        assert_eq!(row.id, known, "its history goes with it: {moves:?}");
        let owners = histories.values().filter(|id| **id == row.id).count();
        assert_eq!(owners, 1, "no other directory has it: {moves:?}");
        let found = find_workspace(self.connection(), Path::new(PATHS[path]), &identity);
        let found = found.expect("it can be read").expect("it was claimed");
        assert_eq!((found.id, found.replaced_at), (row.id, None), "{moves:?}");
    }

    fn state(&self, disk: Disk, histories: &BTreeMap<usize, i64>) -> String {
        let sql = format!("SELECT {COLUMNS} FROM workspaces ORDER BY used_at, id");
        let rows = read::all(self.connection(), &sql, [], WorkspaceRow::read);
        let rows = rows.expect("they can be read").into_iter();
        let rows = rows.map(|row| {
            (
                row.id,
                row.path,
                row.inode,
                row.born,
                row.replaced_at.is_some(),
            )
        });
        format!("{disk:?} {histories:?} {:?}", rows.collect::<Vec<_>>())
    }

    fn play(&mut self, disk: Disk, histories: &BTreeMap<usize, i64>, moves: &mut Vec<Move>) {
        let left = self.length - moves.len();
        if left == 0 {
            return;
        }
        let known = self.seen.entry(self.state(disk, histories)).or_default();
        if *known >= left {
            return;
        }
        *known = left;
        for this in self::moves() {
            moves.push(this);
            let after = moved(disk, this);
            // A hook that is killed before its commit is one that never came.
            for hooks in [&[][..], &[0], &[1], &[0, 1]] {
                let mut histories = histories.clone();
                self.run("SAVEPOINT before");
                for path in hooks {
                    self.hook(after, *path, &mut histories, moves);
                }
                self.play(after, &histories, moves);
                self.run("ROLLBACK TO before; RELEASE before");
            }
            moves.pop();
        }
    }
}

fn play(directories: [Identity; 3], length: usize) {
    let mut play = Play::new(directories, length);
    play.play([None; 2], &BTreeMap::new(), &mut Vec::new());
    assert!(play.seen.len() > 100, "the moves differ");
}

/// The third directory has the inode of the first, which is deleted by then or is on another device.
///
/// Invariant `truth/directory-moves`: A directory keeps its history wherever it is moved, also
/// where it comes back to a path that another one had meanwhile.
#[test]
fn histories_follow_directories_through_all_moves() {
    let directories = [(1, Some(10)), (2, Some(20)), (1, Some(30))];
    play(
        directories.map(|(inode, born)| Identity::invented(inode, born)),
        5,
    );
}

/// Invariant `truth/directory-moves`.
#[test]
fn histories_follow_directories_without_times_of_birth() {
    play([1, 2, 3].map(|inode| Identity::invented(inode, None)), 4);
}
