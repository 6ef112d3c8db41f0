//! Nothing of the user's repository is ever written, and nothing that it names is ever run.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::json;

use testing::binary::Sandbox;

/// Each of them leaves a mark where it is run.
const CONFIGURED: [&str; 17] = [
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshCommand",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "diff.external",
    "diff.canary.textconv",
    "diff.canary.command",
    "merge.canary.driver",
    "credential.helper",
    "gpg.program",
    "sequence.editor",
    "filter.canary.clean",
    "filter.canary.smudge",
    "filter.canary.process",
];

const HOOKS: [&str; 8] = [
    "pre-commit",
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "fsmonitor-watchman",
    "post-rewrite",
    "pre-auto-gc",
    "post-commit",
];

/// All that can be told of a file but when it was read, and how many names it has: packs may be linked.
type State = (u32, u64, i64, i64, Vec<u8>);

/// A repository with history, a linked worktree, packed refs and a dirty index, of which everything that could run is a trap.
fn armed() -> Sandbox {
    let world = Sandbox::new();
    world.write("tracked", "one\n");
    world.write("dir/attributes.canary", "one\n");
    world.write(
        ".gitattributes",
        "* filter=canary diff=canary merge=canary text=auto ident\n",
    );
    world.write("inner/file", "of a nested repository\n");
    world.run_git(&["init", "-q", "-b", "main"]);
    world.run_git(&[
        "-c",
        "core.attributesFile=/dev/null",
        "add",
        "tracked",
        "dir",
    ]);
    world.run_git(&["commit", "-qm", "one"]);
    world.run_git(&["tag", "t"]);
    world.run_git(&["repack", "-adq"]);
    world.run_git(&["pack-refs", "--all"]);
    world.run_git(&["worktree", "add", "-q", "../linked"]);
    world.run_git(&["init", "-q", "inner"]);
    world.write("tracked", "staged\n");
    world.run_git(&["add", "tracked"]);
    world.write("tracked", "and edited\n");
    world.write("untracked", "x\n");
    for repository in [".git", "inner/.git"] {
        arm(&world, repository);
    }
    world
}

/// Fills a repository with traps.
fn arm(world: &Sandbox, repository: &str) {
    let mark = format!("touch {}", world.path("mark").display());
    for hooks in ["hooks", "other-hooks"] {
        for name in HOOKS {
            let file = format!("{repository}/{hooks}/{name}");
            world.write(&file, format!("#!/bin/sh\n{mark}\n"));
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(world.workspace().join(file), executable).expect("it is ours");
        }
    }
    let mut config = String::from_utf8(world.read(&format!("{repository}/config"))).expect("text");
    for key in CONFIGURED {
        let (section, name) = key.rsplit_once('.').expect("a key has a section");
        let section = section
            .split_once('.')
            .map_or(format!("[{section}]"), |(one, two)| {
                format!("[{one} \"{two}\"]")
            });
        config.push_str(&format!("{section}\n\t{name} = {mark}\n"));
    }
    config.push_str(
        "[core]\n\thooksPath = .git/other-hooks\n[gc]\n\tauto = 1\n[alias]\n\tstatus = !",
    );
    config.push_str(&format!(
        "{mark}\n[include]\n\tpath = {}\n",
        world.path("included").display()
    ));
    std::fs::write(world.path("included"), "[core]\n\tworktree = /etc\n").expect("writable");
    world.write(&format!("{repository}/config"), config);
}

/// Everything below the repositories, with the directories themselves.
fn repositories(world: &Sandbox) -> BTreeMap<PathBuf, State> {
    let mut all = BTreeMap::new();
    for repository in [".git", "inner/.git", "../linked/.git"] {
        look(&world.workspace().join(repository), &mut all);
    }
    assert!(all.len() > 50, "there is a lot to look at");
    all
}

fn look(path: &Path, all: &mut BTreeMap<PathBuf, State>) {
    let metadata = path.symlink_metadata().expect("it is there");
    let content = if metadata.is_file() {
        std::fs::read(path).expect("readable")
    } else {
        Vec::new()
    };
    let state = (
        metadata.mode(),
        metadata.ino(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        content,
    );
    all.insert(path.to_owned(), state);
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path).expect("readable") {
            look(&entry.expect("an entry").path(), all);
        }
    }
}

fn assert_untouched(world: &Sandbox, before: &BTreeMap<PathBuf, State>, what: &str) {
    let now = repositories(world);
    let differs = |path: &&PathBuf| before.get(*path) != now.get(*path);
    let differing: Vec<_> = before.keys().chain(now.keys()).filter(differs).collect();
    assert_eq!(
        differing,
        Vec::<&PathBuf>::new(),
        "{what}: every byte, time and inode below `.git` stays"
    );
    assert!(
        !world.path("mark").exists(),
        "{what}: nothing that the repository names was run"
    );
}

/// No command writes to the user's repository or runs what it names.
#[test]
fn no_command_writes_to_the_users_repository() {
    let world = armed();
    let before = repositories(&world);
    for event in ["session_start", "user_message", "step_start"] {
        let payload = json!({"event": event, "session_id": "s", "message_id": "m1"});
        world.event(payload).ends_silently();
        assert_untouched(&world, &before, event);
    }
    world.write("tracked", "of the agent\n");
    world.write("inner/file", "of the agent\n");
    world.write("dir/new.canary", "of the agent\n");
    world.remove("untracked");
    for event in ["step_finish", "turn_end"] {
        world
            .event(json!({"event": event, "session_id": "s"}))
            .ends_silently();
        assert_untouched(&world, &before, event);
    }
    let commands: [&[&str]; 14] = [
        &["status"],
        &["log"],
        &["show", "m1"],
        &["diff", "m1"],
        &["snapshot"],
        &["doctor"],
        &["revert", "--message", "m1", "--dry-run"],
        &["revert", "--message", "m1"],
        &["status"],
        &["redo"],
        &["revert", "--message", "m1"],
        &["unrevert"],
        &["restore", "m1", "inner/file", "untracked"],
        &["sessions"],
    ];
    for command in commands {
        world.run(command, b"").exits(0);
        assert_untouched(&world, &before, &command.join(" "));
    }
    assert_eq!(
        world.read("inner/file"),
        b"of a nested repository\n",
        "the files of a nested repository are restored"
    );
    assert_eq!(world.read("untracked"), b"x\n", "and it was no empty show");
}

/// A repository that only the environment names is not the workspaces.
///
/// Invariant `work/other-repository`: What moves is the workspace's repository, whichever one git's variables name.
#[test]
fn another_repository_of_the_environment_is_untouched() {
    let world = Sandbox::new();
    let other = world.path("other");
    std::fs::create_dir(&other).expect("writable");
    let commit = |text: &str| {
        world.write("a", text);
        world.run_git(&["add", "a"]);
        world.run_git(&["commit", "-qm", text]);
        world.run_git(&["rev-parse", "HEAD"])
    };
    world.run_git(&["init", "-q", "-b", "main"]);
    let first = commit("first");
    let place = other.to_str().expect("text");
    world.run_git(&["clone", "-q", ".", place]);
    let run = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env("GIT_DIR", other.join(".git"));
        command.env("GIT_WORK_TREE", &other);
        command.env("GIT_INDEX_FILE", other.join(".git/index"));
        testing::binary::finish(&mut command, b"").exits(0)
    };
    let session = ["--session", "s", "--strict"];
    run(&[&["message"], &session[..]].concat());
    run(&[&["step-start"], &session[..]].concat());
    commit("agent");
    run(&[&["step-finish"], &session[..]].concat());
    let states = || {
        let mut all = BTreeMap::new();
        look(&other, &mut all);
        all
    };
    let before = states();
    run(&["revert", "last", "--git"]);
    assert_eq!(world.run_git(&["rev-parse", "HEAD"]), first);
    assert_eq!(world.read("a"), b"first");
    assert_eq!(states(), before);
}
