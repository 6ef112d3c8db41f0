//! What is left out, compared with the real git.

use std::fs;
use std::process::Command;

use ckpt_store::snapshot::{Gap, PatchSide, Request, StoredSnapshot};

use testing::snapshot::{CapturedWorkspace, path};

/// Odd patterns and names, each in a file of its own.
const PATTERNS: [&str; 40] = [
    "a",
    "/a",
    "a/",
    "*.o",
    "!keep.o",
    "\\!odd",
    "\\#hash",
    "#comment",
    "tail  ",
    "kept\\ ",
    "a/b",
    "/a/b",
    "a/*",
    "a/**",
    "**/b",
    "a/**/b",
    "*",
    "!*/",
    "!a",
    "[ab]",
    "[!a]",
    "[^a]",
    "[a-c].o",
    "{a,b}",
    "?.o",
    "[[:digit:]]",
    "a**b",
    "*/b",
    "**",
    "/**",
    "b/",
    "[",
    "a\\",
    "x y",
    "\\*",
    "\\a",
    "a//b",
    ".*",
    "!.gitignore",
    "é*",
];
const FILES: [&str; 22] = [
    "a", "b/a", "b/b", "c/a/b", "c/a/d/b", "keep.o", "x.o", "b.o", "!odd", "#hash", "tail",
    "kept ", "{a,b}", "1", "d/1", "ab", "axb", "x y", "*", "[", ".env", "é1",
];

#[test]
fn single_patterns_are_read_as_git_reads_them() {
    for pattern in PATTERNS {
        let world = CapturedWorkspace::git();
        FILES.iter().for_each(|file| world.write(file, file));
        world.write(".git/info/exclude", format!("{pattern}\n"));
        assert_eq!(
            world.take().snapshot.tree.to_string(),
            world.git_tree(),
            "the pattern is {pattern:?}"
        );
    }
}

/// Patterns together and in nested files are read as git reads them.
#[test]
fn nested_patterns_are_read_as_by_git() {
    for (number, patterns) in PATTERNS.chunks(4).enumerate() {
        let world = CapturedWorkspace::git();
        FILES.iter().for_each(|file| world.write(file, file));
        world.write(".gitignore", patterns.join("\n"));
        world.write("b/.gitignore", "!b\n");
        world.write("c/.gitignore", PATTERNS[number * 3]);
        assert_eq!(
            world.take().snapshot.tree.to_string(),
            world.git_tree(),
            "the patterns are {patterns:?}"
        );
    }
}

#[test]
fn a_rule_that_is_not_utf8_works() {
    let world = CapturedWorkspace::git();
    world.write(".gitignore", b"\xff*\n");
    world.write("kept", "x");
    let odd = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xffx");
    fs::write(world.root.join(odd), "x").unwrap();
    assert_eq!(
        world.take().snapshot.tree.to_string(),
        world.git_tree(),
        "bytes, not text"
    );
}

#[test]
fn the_users_global_excludes_hold() {
    let world = CapturedWorkspace::git();
    ["a.global", "a.named", "kept"]
        .iter()
        .for_each(|file| world.write(file, "x"));
    fs::create_dir_all(world.home.join(".config/git")).unwrap();
    fs::write(world.home.join(".config/git/ignore"), "*.global\n").unwrap();
    assert_eq!(
        world.names(&world.take()),
        ["a.named", "kept"],
        "the default place"
    );
    fs::write(
        world.home.join(".gitconfig"),
        "[core]\n\texcludesFile = ~/mine\n",
    )
    .unwrap();
    fs::write(world.home.join("mine"), "*.named\n").unwrap();
    let taken = world.take();
    assert_eq!(
        world.names(&taken),
        ["a.global", "kept"],
        "the configured place"
    );
    assert_eq!(
        taken.snapshot.tree.to_string(),
        world.git_tree(),
        "as git has it"
    );
    assert!(taken.snapshot.rules.is_some(), "and a later patch can tell");
}

/// A file that is tracked although ignored is captured.
#[test]
fn tracked_ignored_file_is_captured() {
    let world = CapturedWorkspace::git();
    world.write(".gitignore", "*.log\nout/\n");
    for file in ["a.log", "b.log", "out/deep/kept", "out/other"] {
        world.write(file, "x");
    }
    world.run_git(&["add", "-f", "a.log", "out/deep/kept"]);
    let taken = world.take();
    assert_eq!(
        world.names(&taken),
        [".gitignore", "a.log", "out/deep/kept"],
        "tracked, and nothing beside it"
    );
    fs::write(world.root.join(".git/index"), "nonsense").unwrap();
    assert_eq!(
        world.names(&world.take()),
        [".gitignore"],
        "an index that cannot be read tracks nothing, and fails nothing"
    );
}

/// A path that a tool named is captured although ignored.
#[test]
fn path_named_by_a_tool_is_captured() {
    let world = CapturedWorkspace::git();
    world.write(".gitignore", ".env\n/out\n");
    ["sub/.env", "out/a/b", "out/c"]
        .iter()
        .for_each(|file| world.write(file, "x"));
    let named = [path("sub/.env"), path("out/a/b")];
    let taken = world
        .snapshots
        .take(&Request {
            named: &named,
            ..world.request()
        })
        .unwrap();
    assert_eq!(
        world.names(&taken),
        [".gitignore", "out/a/b", "sub/.env"],
        "named, and nothing beside it"
    );
    assert_eq!(
        world.names(&world.take()),
        [".gitignore"],
        "and only while it is named"
    );
}

fn side<'a>(taken: &StoredSnapshot, gaps: &'a [Gap]) -> PatchSide<'a> {
    PatchSide {
        snapshot: taken.snapshot,
        gaps,
    }
}

/// Whatever list of kept files comes or goes nobody changed anything.
#[test]
fn changed_list_of_kept_files_changes_nothing() {
    let world = CapturedWorkspace::git();
    FILES.iter().for_each(|file| world.write(file, file));
    // Files alone are ignored, but for those of one directory.
    world.write(".git/info/exclude", "*\n!*/\n/c/\n");
    let plain = world.take();
    assert_eq!(world.names(&plain), [""; 0], "all of it is ignored");
    let mut kept = 0;
    for pattern in PATTERNS {
        let keep = [pattern.to_owned()];
        let request = Request {
            keep_ignored: &keep,
            ..world.request()
        };
        let keeping = world.snapshots.take(&request).unwrap();
        let names = world.names(&keeping);
        assert!(
            names.iter().all(|name| !name.starts_with("c/")),
            "an ignored directory is not searched: {pattern:?}, {names:?}"
        );
        kept += names.len();
        for (old, new) in [(&plain, &keeping), (&keeping, &plain)] {
            let gaps = [old.gaps(), new.gaps()];
            let sides = (side(old, &gaps[0]), side(new, &gaps[1]));
            let patch = world.snapshots.patch(&world.root, sides.0, sides.1);
            assert_eq!(patch.unwrap(), [], "the list is {pattern:?}");
        }
    }
    assert!(
        kept > PATTERNS.len(),
        "most patterns keep something: {kept}"
    );
}

/// What is neither file nor link is not kept.
#[test]
fn only_files_and_links_are_kept() {
    let world = CapturedWorkspace::git();
    world.write(".gitignore", "*.local\n");
    world.write("dir.local/x", "x");
    world.write("file.local", "x");
    std::os::unix::fs::symlink("nowhere", world.root.join("link.local")).unwrap();
    let pipe = Command::new("mkfifo")
        .arg(world.root.join("pipe.local"))
        .status();
    assert!(pipe.unwrap().success(), "a pipe is there");
    let keep = ["*.local".to_owned()];
    let taken = world
        .snapshots
        .take(&Request {
            keep_ignored: &keep,
            ..world.request()
        })
        .unwrap();
    assert_eq!(
        world.names(&taken),
        [".gitignore", "file.local", "link.local"],
        "a file and a link"
    );
    assert_eq!(taken.gaps(), [], "nobody misses the rest");
}

#[test]
fn the_settings_win_over_ignore_files() {
    let world = CapturedWorkspace::git();
    world.write(".gitignore", ".env\n");
    ["sub/.env", "data/x.bin", "data/y"]
        .iter()
        .for_each(|file| world.write(file, "x"));
    let (include, exclude) = ([".env".to_owned()], ["*.bin".to_owned()]);
    let taken = world
        .snapshots
        .take(&Request {
            include: &include,
            exclude: &exclude,
            ..world.request()
        })
        .unwrap();
    assert_eq!(
        world.names(&taken),
        [".gitignore", "data/y", "sub/.env"],
        "included and excluded"
    );
}

/// Outside a repository dependency and build folders are left out too.
#[test]
fn without_a_repository_build_folders_are_out() {
    let world = CapturedWorkspace::plain();
    [
        "node_modules/x/y",
        "a/target/x",
        "src/x",
        "x.log",
        ".gitignore",
    ]
    .iter()
    .for_each(|file| world.write(file, "*.log\n"));
    assert_eq!(
        world.names(&world.take()),
        [".gitignore", "src/x"],
        "the built-in list and ignore files"
    );
    world.run_git(&["init", "-q"]);
    let names = world.names(&world.take());
    assert_eq!(
        names,
        [".gitignore", "a/target/x", "node_modules/x/y", "src/x"],
        "a repository says itself what it ignores"
    );
}

/// A pipe with the name of an ignore file is not opened.
///
/// Opening a pipe is an act: its other end goes on.
#[test]
fn pipe_named_like_an_ignore_file_stays_unopened() {
    use rustix::fs::inotify;

    let world = CapturedWorkspace::git();
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    world.write("a/file", "x");
    for name in ["a/.gitignore", "a/.gitattributes"] {
        let pipe = world.root.join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        inotify::add_watch(&watch, &pipe, inotify::WatchFlags::OPEN).unwrap();
    }
    world.take();
    world.write("a/other", "x");
    world.take();
    world.write(".gitignore", "*.log\n");
    world.write("a/x.log", "x");
    world.take();
    let mut room = [std::mem::MaybeUninit::uninit(); 512];
    let read = rustix::io::read(&watch, &mut room);
    assert_eq!(read.err(), Some(rustix::io::Errno::AGAIN), "it was opened");
}

/// Invariant `agent/hostile-workspace`: Nothing in a workspace makes it hang or fail.
#[test]
fn hostile_ignore_files_neither_hang_nor_fail_anything() {
    let world = CapturedWorkspace::git();
    for directory in ["a", "b", "c", "d"] {
        world.write(&format!("{directory}/file"), "x");
    }
    assert!(
        Command::new("mkfifo")
            .arg(world.root.join("a/.gitignore"))
            .status()
            .unwrap()
            .success()
    );
    std::os::unix::fs::symlink("/dev/zero", world.root.join("b/.gitignore")).unwrap();
    fs::File::create(world.root.join("c/.gitignore"))
        .unwrap()
        .set_len(2 << 20)
        .unwrap();
    fs::create_dir(world.root.join("d/.gitignore")).unwrap();
    fs::remove_file(world.root.join(".git/info/exclude")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(world.root.join(".git/info/exclude"))
            .status()
            .unwrap()
            .success()
    );
    assert!(
        Command::new("mkfifo")
            .arg(world.home.join(".gitconfig"))
            .status()
            .unwrap()
            .success()
    );
    let taken = world.take();
    // Git itself would wait for the pipe.
    fs::remove_file(world.home.join(".gitconfig")).unwrap();
    let names = world.names(&taken);
    assert_eq!(
        names,
        [
            "a/file",
            "b/.gitignore",
            "b/file",
            "c/.gitignore",
            "c/file",
            "d/file"
        ],
        "none of them is a rule"
    );
    assert_eq!(
        world.gaps(&taken),
        ["a/.gitignore Special(Pipe)"],
        "a pipe is named"
    );
}

#[test]
fn pathological_patterns_take_bounded_time() {
    let world = CapturedWorkspace::git();
    let pattern = format!("{}b\n", "*a".repeat(30));
    world.write(".gitignore", pattern.repeat(300));
    for number in 0..20 {
        world.write(&format!("{}{number}", "a".repeat(200)), "x");
    }
    assert_eq!(world.names(&world.take()).len(), 21, "and it ends");
}
