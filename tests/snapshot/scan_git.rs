//! The state of the user's repository, read and never written.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use testing::snapshot::CapturedWorkspace;

#[test]
fn head_branch_and_index_are_recorded() {
    let world = CapturedWorkspace::git();
    world.write("a", "x");
    let unborn = world.take().git.unwrap();
    assert_eq!(
        (unborn.head, unborn.branch.as_deref(), unborn.index),
        (None, Some("refs/heads/main"), None),
        "no commit"
    );
    world.run_git(&["add", "a"]);
    world.run_git(&["commit", "-qm", "one"]);
    let commit = world.run_git(&["rev-parse", "HEAD"]);
    let state = world.take().git.unwrap();
    assert_eq!(
        (state.head.as_ref(), state.branch.as_deref()),
        (Some(&commit), Some("refs/heads/main")),
        "a loose ref"
    );
    let stored = world.our_git(&["cat-file", "-s", &state.index.unwrap().to_string()]);
    let size = fs::metadata(world.root.join(".git/index")).unwrap().len();
    assert_eq!(stored.trim(), size.to_string(), "the raw index");
    world.run_git(&["pack-refs", "--all"]);
    assert_eq!(world.take().git.unwrap(), state, "a packed ref");
    world.run_git(&["checkout", "-q", "--detach"]);
    let detached = world.take().git.unwrap();
    assert_eq!(
        (detached.head, detached.branch),
        (Some(commit), None),
        "no branch"
    );
}

#[test]
fn a_linked_worktree_is_a_repository_too() {
    let world = CapturedWorkspace::git();
    world.write("a.log", "x");
    world.run_git(&["add", "a.log"]);
    world.run_git(&["commit", "-qm", "one"]);
    world.write(".git/info/exclude", "*.tmp\n");
    world.run_git(&["worktree", "add", "-q", "../linked"]);
    let linked = world.root.parent().unwrap().join("linked");
    fs::write(linked.join("x.tmp"), "x").unwrap();
    let request = ckpt_store::snapshot::Request {
        root: &linked,
        ..world.request()
    };
    let taken = world.snapshots.take(&request).unwrap();
    assert_eq!(
        world.names(&taken),
        ["a.log"],
        "the shared `info/exclude` holds"
    );
    let git = taken.git.unwrap();
    assert_eq!(
        git.branch.as_deref(),
        Some("refs/heads/linked"),
        "its own HEAD"
    );
    assert_eq!(
        git.head,
        Some(world.run_git(&["rev-parse", "HEAD"])),
        "a ref of the common folder"
    );
    assert!(git.index.is_some(), "its own index");
}

/// Invariant `agent/hostile-workspace`.
#[test]
fn nonsense_in_dot_git_fails_nothing() {
    let world = CapturedWorkspace::git();
    world.write("a", "x");
    for file in ["HEAD", "index", "packed-refs", "config", "commondir"] {
        fs::write(world.root.join(".git").join(file), b"\xff\0ref: ../../x\n[").unwrap();
        assert_eq!(
            world.names(&world.take()),
            ["a"],
            "with nonsense in `{file}`"
        );
    }
    fs::write(
        world.root.join(".git/HEAD"),
        "ref: refs/heads/../../../etc/passwd\n",
    )
    .unwrap();
    assert_eq!(
        world.take().git.and_then(|git| git.head),
        None,
        "no path out of the repository is read"
    );
}

/// Invariant `work/git-untouched`: Your repository is never written to without `--git`.
#[test]
fn every_byte_and_time_below_dot_git_stays() {
    let world = CapturedWorkspace::git();
    world.write("a", "x");
    world.run_git(&["add", "a"]);
    world.run_git(&["commit", "-qm", "one"]);
    let before = everything(&world.root.join(".git"));
    world.take();
    world.write("b", "y");
    world.take();
    assert_eq!(
        everything(&world.root.join(".git")),
        before,
        "it is only read"
    );
}

fn everything(directory: &Path) -> BTreeMap<String, (i64, i64, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let content = if metadata.is_dir() {
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            all.insert(
                path.display().to_string(),
                (metadata.mtime_nsec(), metadata.ctime_nsec(), content),
            );
            if metadata.is_dir() {
                directories.push(path);
            }
        }
    }
    all
}

/// Invariant `truth/raw-bytes`: A snapshot holds raw bytes and all permission bits.
#[test]
fn conversions_of_git_do_not_change_a_byte() {
    let world = CapturedWorkspace::git();
    fs::write(
        world.home.join(".gitconfig"),
        "[core]\n\tautocrlf = true\n[filter \"f\"]\n\tclean = touch ran\n",
    )
    .unwrap();
    world.write(
        ".gitattributes",
        "* text=auto eol=crlf ident\n*.f filter=f\n*.u working-tree-encoding=UTF-16\n",
    );
    let contents = [
        ("a", "one\r\ntwo\n"),
        ("b", "$Id: x$\n"),
        ("c.f", "raw"),
        ("d.u", "no utf-16"),
    ];
    contents
        .iter()
        .for_each(|(file, content)| world.write(file, content));
    let taken = world.take();
    for (file, content) in contents {
        assert_eq!(world.content(&taken, file), content, "`{file}` is raw");
    }
    assert!(!world.root.join("ran").exists(), "no filter was started");
}

/// Whatever the index says the bytes of the work tree are captured.
#[test]
fn work_trees_bytes_are_captured() {
    let world = CapturedWorkspace::git();
    let files = ["modified", "deleted", "assumed", "skipped", "staged"];
    files.iter().for_each(|file| world.write(file, "old"));
    world.run_git(&["add", "."]);
    world.run_git(&["commit", "-qm", "one"]);
    world.run_git(&["update-index", "--assume-unchanged", "assumed"]);
    world.run_git(&["update-index", "--skip-worktree", "skipped"]);
    files
        .iter()
        .filter(|file| **file != "deleted")
        .for_each(|file| world.write(file, "new"));
    fs::remove_file(world.root.join("deleted")).unwrap();
    world.run_git(&["rm", "-q", "--cached", "staged"]);
    world.write("intended", "new");
    world.run_git(&["add", "-N", "intended"]);
    let taken = world.take();
    assert_eq!(
        world.names(&taken),
        ["assumed", "intended", "modified", "skipped", "staged"],
        "what is there"
    );
    for file in world.names(&taken) {
        assert_eq!(
            world.content(&taken, &file),
            "new",
            "`{file}` as it is on the disk"
        );
    }
}

#[test]
fn a_split_index_still_tells_what_is_tracked() {
    let world = CapturedWorkspace::git();
    world.write(".gitignore", "*.log\n");
    world.write("a.log", "x");
    world.write("b.log", "x");
    world.run_git(&["add", "-f", "a.log"]);
    world.run_git(&["update-index", "--split-index"]);
    world.run_git(&["add", "-f", "b.log"]);
    assert_eq!(
        world.names(&world.take()),
        [".gitignore", "a.log", "b.log"],
        "both halves count"
    );
}
