//! One path through every sequence of kinds, back to each message and forward again, against what was there.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use ckpt_schema::report::{FileResult, OperationReport, Outcome};
use testing::scenario::World;
use testing::tree::{Node, Tree};

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Absent,
    File,
    Link,
    Empty,
    Folder,
    Special,
}

const KINDS: [Kind; 6] = [
    Kind::Absent,
    Kind::File,
    Kind::Link,
    Kind::Empty,
    Kind::Folder,
    Kind::Special,
];

/// How many messages there are.
const MESSAGES: usize = 3;

impl Kind {
    /// Puts it at a path, in the place of what is there. Bytes are those of the moment.
    #[expect(clippy::disallowed_methods, reason = "the folder is of this test")]
    fn put(self, world: &World, path: &Path, moment: usize) {
        let on_disk = world.path(path);
        match on_disk.symlink_metadata() {
            Ok(found) if found.is_dir() => std::fs::remove_dir_all(&on_disk).expect("ours"),
            Ok(_) => std::fs::remove_file(&on_disk).expect("ours"),
            Err(_) => {}
        }
        match self {
            Self::Absent => {}
            Self::File => world.write(path, format!("{}\n{moment}\n", path.display())),
            Self::Link => world.link(path, format!("to-{moment}")),
            Self::Empty => world.make_directory(path),
            Self::Folder => world.write(path.join("in"), format!("{} {moment}\n", path.display())),
            Self::Special => {
                let mode = rustix::fs::Mode::RWXU;
                rustix::fs::mkfifoat(rustix::fs::CWD, &on_disk, mode).expect("writable");
            }
        }
    }
}

/// The sequence of a number: what is there at first, and after each message.
fn sequence(number: usize) -> [Kind; MESSAGES + 1] {
    let mut rest = number;
    std::array::from_fn(|_| {
        let kind = KINDS[rest % KINDS.len()];
        rest /= KINDS.len();
        kind
    })
}

/// Every move from one position to another: 0 to 2 are just before a message, 3 is after the last.
const MOVES: [usize; 12] = [2, 1, 0, 1, 2, 3, 1, 3, 0, 2, 0, 3];

/// Returns what of a tree belongs to each sequence.
fn by_sequence(tree: &Tree) -> BTreeMap<PathBuf, Vec<(PathBuf, Node)>> {
    let mut parts: BTreeMap<PathBuf, Vec<(PathBuf, Node)>> = BTreeMap::new();
    for (path, node) in tree {
        let first = path.iter().next().expect("a name");
        let part = parts.entry(PathBuf::from(first)).or_default();
        part.push((path.clone(), node.clone()));
    }
    parts
}

/// Returns the names of what a report says that it is not as it was then.
fn named(report: &OperationReport) -> BTreeSet<PathBuf> {
    let stays = |result| {
        matches!(
            result,
            FileResult::Conflict | FileResult::Gap | FileResult::Failed
        )
    };
    let files = report.files.iter().filter(|file| stays(file.result));
    let files = files.map(|file| file.path.path.clone());
    let differences = report
        .receipt
        .iter()
        .flat_map(|receipt| &receipt.differences);
    let differences = differences.map(|difference| difference.path.path.clone());
    let notes = report.remarks.iter().flat_map(|note| note.about.clone());
    let all = files.chain(differences).chain(notes);
    all.filter_map(|path| PathBuf::from(path).iter().next().map(PathBuf::from))
        .collect()
}

/// Goes to a position, the last of which is where nothing is reverted.
fn go(world: &mut World, position: usize) -> OperationReport {
    match position {
        MESSAGES => world.unrevert(),
        _ => world.revert(&format!("m{position}")),
    }
}

/// All sequences at once, each at a path of its own. One with a pipe can only be put back as far as there is no pipe in
/// the way: then it is named.
///
/// Invariant `truth/kinds`: Whatever kinds a path goes through, each state of it comes back,
/// backward and forward.
#[test]
fn every_sequence_of_kinds_goes_back_and_forward() {
    let mut world = World::new();
    let count = KINDS.len().pow(u32::try_from(MESSAGES + 1).expect("few"));
    let path = |number: usize| PathBuf::from(format!("p{number:04}"));
    let set = |world: &World, moment: usize| {
        for number in 0..count {
            let sequence = sequence(number);
            // The same kind again stays as it is, except that a file gets other bytes.
            if moment == 0
                || sequence[moment] != sequence[moment - 1]
                || sequence[moment] == Kind::File
            {
                sequence[moment].put(world, &path(number), moment);
            }
        }
    };
    set(&world, 0);
    let mut states = vec![by_sequence(&world.tree())];
    for moment in 1..=MESSAGES {
        world.turn(&format!("m{}", moment - 1), |world| set(world, moment));
        states.push(by_sequence(&world.tree()));
    }
    let mut wrong = Vec::new();
    for (at, position) in MOVES.into_iter().enumerate() {
        let report = go(&mut world, position);
        let (found, named) = (by_sequence(&world.tree()), named(&report));
        for number in 0..count {
            let (path, sequence) = (path(number), sequence(number));
            let is_special = world.path(&path).symlink_metadata();
            let is_special = is_special.is_ok_and(|found| found.file_type().is_fifo());
            if found.get(&path) == states[position].get(&path)
                && is_special == (sequence[position] == Kind::Special)
            {
                continue;
            }
            let may_differ = sequence.contains(&Kind::Special);
            let is_told = named.contains(&path) && report.outcome == Outcome::Partial;
            if !may_differ || !is_told {
                let found = found.get(&path);
                wrong.push(format!(
                    "move {at} to {position}: {sequence:?} {path:?} named {} {found:?}",
                    named.contains(&path)
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
}

/// The folder of a submodule is captured like any other, and what it was linked to is told where it went.
#[test]
fn submodules_folder_goes_back_from_a_file() {
    let mut world = World::git(&[("a", "1\n")]);
    world.write(".git/modules/lib/HEAD", "ref: refs/heads/main\n");
    world.write("lib/.git", "gitdir: ../.git/modules/lib\n");
    world.write("lib/code", "1\n");
    world.turn("m1", |world| {
        world.write("lib/code", "2\n");
        world.write("lib/new", "2\n");
    });
    world.turn("m2", |world| {
        world.remove_tree("lib");
        world.write("lib", "a file\n");
    });
    let report = world.revert("m2");
    assert_eq!(
        report.outcome,
        Outcome::Partial,
        "its `.git` went: {report:#?}"
    );
    assert_eq!(world.read("lib/code"), "2\n", "{report:#?}");
    let report = world.revert("m1");
    assert_eq!(world.read("lib/code"), "1\n", "{report:#?}");
    assert!(!world.exists("lib/new"), "{report:#?}");
}
