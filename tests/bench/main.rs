//! The trees of the benchmarks: a snapshot of each is the tree that git makes of it.

use std::path::Path;

use ckpt_bench::process::git;
use ckpt_bench::tree::{self, Size};
use ckpt_store::snapshot::{Request, Snapshots};

fn compare(size: Size) {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let base = folder.path().canonicalize().expect("it is there");
    let [root, store] = ["work", "store"].map(|name| base.join(name));
    for directory in [&root, &store] {
        std::fs::create_dir(directory).expect("writable");
    }
    tree::build(&root, size).expect("git is there");
    git(&root, &["add", "-A"]).expect("the untracked files are in view, too");
    let expected = git(&root, &["write-tree"]).expect("a tree");
    for seed in [true, false] {
        let snapshots =
            Snapshots::open(&store.join(format!("snapshots/{seed}"))).expect("a fresh folder");
        for round in ["first", "second"] {
            let taken = snapshots
                .take(&request(&root, &store, seed))
                .expect("a snapshot");
            let tree = taken.snapshot.tree.to_string();
            assert_eq!(
                tree,
                expected.trim(),
                "{}, the {round}, seed {seed}: as git has it",
                size.name()
            );
            assert_eq!(taken.gaps(), [], "and nothing is left out");
        }
    }
}

fn request<'a>(root: &'a Path, store: &'a Path, seed: bool) -> Request<'a> {
    Request {
        root,
        named: &[],
        whatever_size: &[],
        include: &[],
        exclude: &[],
        keep_ignored: &[],
        max_file_size: 256 << 20,
        seed,
        home: None,
        config_home: None,
        store,
        only_around: None,
        anew: false,
        takes_hints: false,
        now: ckpt_store::file_clock(),
        deadline: None,
        origin: None,
        progress: None,
    }
}

#[test]
fn the_tree_s_is_that_of_git() {
    compare(Size::S);
}

#[test]
#[ignore = "a minute in a debug build"]
fn the_tree_m_is_that_of_git() {
    compare(Size::M);
}

#[test]
#[ignore = "minutes, and 3 GB of disk"]
fn the_tree_l_is_that_of_git() {
    compare(Size::L);
}

#[test]
#[ignore = "many minutes, and 5 GB of disk"]
fn the_tree_xl_is_that_of_git() {
    compare(Size::Xl);
}
