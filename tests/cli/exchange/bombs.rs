//! Trees that are small, and hold more paths than any disk.

use std::path::Path;

use testing::binary::{Sandbox, finish};
use testing::{git, rows};

use super::{in_server, machine, push, server};

/// What is said of them.
const LARGER: &str = "larger or deeper than any workspace";

/// Runs git on a bare repository, and returns what it printed.
fn git_in(world: &Sandbox, repository: &Path, arguments: &[&str], input: &str) -> String {
    let mut git = git::command(&world.path("."), &world.home());
    git.arg("--git-dir").arg(repository).args(arguments);
    let done = finish(&mut git, input.as_bytes()).exits(0);
    done.stdout.trim().to_owned()
}

/// Packs trees of which the last has 100 to the power of 10 paths into a repository, with all that was loose there. Returns
/// the last one, and the path of the pack.
fn bomb(world: &Sandbox, repository: &Path) -> (String, String) {
    let git = |arguments: &[&str], input: &str| git_in(world, repository, arguments, input);
    let blob = git(&["hash-object", "-w", "--stdin"], "x");
    let tree = |entry: &str| {
        let lines = (10..110).map(|number| format!("{entry}\tn{number}\n"));
        git(&["mktree"], &lines.collect::<String>())
    };
    let mut last = tree(&format!("100644 blob {blob}"));
    for _ in 1..10 {
        last = tree(&format!("040000 tree {last}"));
    }
    let format = "--batch-check=%(objectname)";
    let ids = git(&["cat-file", "--batch-all-objects", format], "");
    let pack = repository.join("objects/pack/pack");
    let pack = pack.to_str().expect("a plain path");
    let sum = git(&["pack-objects", "-q", pack], &ids);
    (last, format!("{pack}-{sum}.pack"))
}

/// Returns the tree of the newest snapshot.
fn newest_tree(world: &Sandbox) -> String {
    let query = "SELECT tree FROM snapshots ORDER BY id DESC LIMIT 1";
    rows::texts(&world.store().join("sessions.db"), query).remove(0)
}

/// A pushed tree that no disk holds is refused, and nothing of it comes in.
///
/// Invariant `work/other-machines-trees`: A tree with more paths than any workspace is refused where it comes in, and ends no
/// command.
#[test]
fn a_fetched_tree_without_end_is_refused() {
    let (one, other) = (machine(), Sandbox::new());
    let at = server(&one);
    push(&one, &at);
    let server = Path::new(&at);
    let git = |arguments: &[&str], input: &str| git_in(&one, server, arguments, input);
    let name = git(&["for-each-ref", "--format=%(refname)"], "");
    let rows = git(&["cat-file", "blob", &format!("{name}^:rows")], "");
    let tree = newest_tree(&one);
    assert!(rows.contains(&tree), "it was pushed: {rows}");
    let folder = one.path("forged.git");
    git::text(
        git::command(&one.path("."), &one.home())
            .args(["init", "-q", "--bare"])
            .arg(&folder),
    );
    let pushed = in_server(
        &one,
        &at,
        &["cat-file", "blob", &format!("{name}^:pack.00000")],
    );
    std::fs::write(one.path("pushed"), pushed).expect("writable");
    let mut unpack = git::command(&one.path("."), &one.home());
    unpack
        .arg("--git-dir")
        .arg(&folder)
        .args(["unpack-objects", "-q"]);
    unpack.stdin(std::fs::File::open(one.path("pushed")).expect("readable"));
    git::text(&mut unpack);
    let (bomb, pack) = bomb(&one, &folder);
    let pack = git(&["hash-object", "-w", &pack], "");
    let rows = git(
        &["hash-object", "-w", "--stdin"],
        &rows.replace(&tree, &bomb),
    );
    let files = format!("100644 blob {pack}\tpack.00000\n100644 blob {rows}\trows\n");
    let files = git(&["mktree"], &files);
    let commit = git(&["commit-tree", &files, "-m", "x"], "");
    let empty = git(&["mktree"], "");
    let end = git(&["commit-tree", &empty, "-p", &commit, "-m", "x"], "");
    git(&["update-ref", &name, &end], "");
    let refused = other.run(&["fetch", &at], b"").exits(4);
    assert!(refused.stderr.contains(LARGER), "{refused}");
    let machines = other.json(&["log"]);
    assert_eq!(
        machines["messages"].as_array().map(Vec::len),
        Some(0),
        "{machines}"
    );
}

/// A store that was handed over may hold such a tree: each command that would read all of it says so and ends.
///
/// Invariant `work/other-machines-trees`.
#[test]
fn a_planted_tree_without_end_ends_no_command() {
    let world = machine();
    let snapshots = world.store().join("snapshots");
    let folder = snapshots
        .read_dir()
        .expect("a store")
        .next()
        .expect("a workspace");
    let repository = folder.expect("readable").path().join("repository.git");
    let (bomb, _) = bomb(&world, &repository);
    let sql = format!(
        "UPDATE snapshots SET tree = '{bomb}' WHERE tree = '{}'",
        newest_tree(&world)
    );
    rows::execute(&world.store().join("sessions.db"), &sql);
    let at = server(&world);
    // What reads the whole state, and not the few files that were asked for.
    for line in [
        &["revert", "m2", "--dry-run"][..],
        &["revert", "m1", "--dry-run"],
        &["bisect", "--", "false"],
        &["branch", &bomb, "../branch"],
        &["push", &at, "--yes"],
        &["forget", "--path", "deep", "--yes"],
    ] {
        let refused = world.run(line, b"").exits(4);
        assert!(refused.stderr.contains(LARGER), "{line:?}: {refused}");
    }
    for line in [&["log"][..], &["restore", "last", "a"], &["gc"]] {
        world.run(line, b"").exits(0);
    }
}
