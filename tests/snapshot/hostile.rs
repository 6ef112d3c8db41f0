//! Hostile workspace content: none of it hangs, fails, fools or harms a snapshot.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

use ckpt_store::snapshot::GapReason;

use testing::skip::skip;

use testing::nobody::as_nobody;
use testing::snapshot::CapturedWorkspace;

#[test]
fn devices_are_gaps_and_are_never_opened() {
    let world = CapturedWorkspace::git();
    world.write("file", "x");
    // The numbers of /dev/zero and of a disk; the first would be read for ever.
    for (name, kind, numbers) in [("zero", "c", ["1", "5"]), ("disk", "b", ["7", "0"])] {
        let made = Command::new("mknod")
            .arg(world.root.join(name))
            .arg(kind)
            .args(numbers)
            .output();
        if !made.is_ok_and(|output| output.status.success()) {
            skip("devices are root's to make");
            return;
        }
    }
    let taken = world.take();
    let gaps = ["disk Special(BlockDevice)", "zero Special(CharacterDevice)"];
    assert_eq!(world.gaps(&taken), gaps, "named, not captured");
    assert_eq!(world.names(&taken), ["file"], "the rest is");
}

#[test]
fn links_to_devices_and_secrets_are_their_text() {
    let world = CapturedWorkspace::git();
    let targets = [
        "/dev/zero",
        "/dev/tty",
        "/etc/shadow",
        "/proc/self/mem",
        "/proc/self/fd/0",
        "self",
        "../../../../etc",
    ];
    for (number, target) in targets.iter().enumerate() {
        let target = if *target == "self" {
            number.to_string()
        } else {
            (*target).to_owned()
        };
        symlink(target, world.root.join(number.to_string())).unwrap();
    }
    let taken = world.take();
    assert_eq!(
        taken.snapshot.tree.to_string(),
        world.git_tree(),
        "as git stores links"
    );
    assert!(taken.gaps().is_empty(), "a link can always be read");
}

/// Ignore files that are links or endless are no rules.
#[test]
fn linked_or_endless_ignore_files_are_none() {
    for target in [
        "/dev/zero",
        "/dev/tty",
        "/etc/passwd",
        "rules",
        ".gitignore",
    ] {
        let world = CapturedWorkspace::git();
        world.write("rules", "*\n");
        world.write("file", "x");
        symlink(target, world.root.join(".gitignore")).unwrap();
        assert_eq!(
            world.names(&world.take()),
            [".gitignore", "file", "rules"],
            "a link to `{target}` is not followed"
        );
    }
    let world = CapturedWorkspace::git();
    world.write("file", "x");
    fs::File::create(world.root.join(".gitignore"))
        .unwrap()
        .set_len(2 << 30)
        .unwrap();
    assert_eq!(
        world.gaps(&world.take()),
        [".gitignore TooLarge"],
        "nor are 2 GiB of holes read"
    );
}

#[test]
fn pathological_patterns_on_long_names_take_bounded_time() {
    let world = CapturedWorkspace::git();
    let patterns: String = (0..400)
        .map(|number| format!("{}{number}?*[a-z]*\n", "*a".repeat(20)))
        .collect();
    world.write(".gitignore", patterns);
    for number in 0..300 {
        world.write(&format!("{}{number}", "a".repeat(240)), "x");
    }
    assert_eq!(world.names(&world.take()).len(), 301, "and it ends");
}

/// A directory that can be listed but not entered is no deletion.
#[test]
fn unenterable_directory_is_no_deletion() {
    as_nobody("hostile::unenterable_directory_is_no_deletion", || {
        let world = CapturedWorkspace::plain();
        for file in [
            "listed/one",
            "listed/inner/two",
            "entered/three",
            "closed/four",
        ] {
            world.write(file, "x");
        }
        let before = world.take();
        for (directory, mode) in [("listed", 0o444), ("entered", 0o311), ("closed", 0o000)] {
            world.chmod(directory, mode);
        }
        for _ in 0..2 {
            let taken = world.take();
            let gaps = world.gaps(&taken);
            for directory in ["listed", "entered", "closed"] {
                assert!(
                    gaps.iter().any(|gap| gap.starts_with(directory)),
                    "`{directory}` is named: {gaps:?}"
                );
            }
            let patch = world.snapshots.patch(
                &world.root,
                ckpt_store::snapshot::PatchSide {
                    snapshot: before.snapshot,
                    gaps: &before.gaps(),
                },
                ckpt_store::snapshot::PatchSide {
                    snapshot: taken.snapshot,
                    gaps: &taken.gaps(),
                },
            );
            let deleted = patch
                .unwrap()
                .into_iter()
                .filter(|change| change.new.is_none())
                .count();
            assert_eq!(deleted, 0, "what cannot be seen is not deleted");
        }
        for directory in ["listed", "entered", "closed"] {
            world.chmod(directory, 0o755);
        }
        assert_eq!(
            world.take().snapshot.tree,
            before.snapshot.tree,
            "open again"
        );
    });
}

#[test]
fn names_that_mean_something_elsewhere_are_names() {
    let world = CapturedWorkspace::git();
    let names: [&[u8]; 18] = [
        b":(glob)x",
        b":!x",
        b"a\\..\\b",
        b"C:x",
        b"\\\\srv\\x",
        b"con",
        b"nul.txt",
        b"...",
        b"~",
        b"$HOME",
        b"`id`",
        b"\x1b[31mred",
        b"\x07\x9b2J",
        b"HEAD",
        b"refs",
        b"x\r",
        b"\xc0\xae\xc0\xae",
        b".gitmodules",
    ];
    for name in names {
        fs::write(world.root.join(std::ffi::OsStr::from_bytes(name)), name).unwrap();
    }
    let taken = world.take();
    assert_eq!(
        taken.snapshot.tree.to_string(),
        world.git_tree(),
        "byte for byte"
    );
    assert!(
        taken.gaps().is_empty(),
        "none of them is left out: {:?}",
        world.gaps(&taken)
    );
}

#[test]
fn paths_longer_than_the_kernel_takes_are_captured() {
    let world = CapturedWorkspace::plain();
    let (name, mut length) = ("n".repeat(200), 0);
    let flags = rustix::fs::OFlags::DIRECTORY;
    let open =
        |at: &OwnedFd| rustix::fs::openat(at, &name, flags, rustix::fs::Mode::empty()).unwrap();
    let mut directory = rustix::fs::open(&world.root, flags, rustix::fs::Mode::empty()).unwrap();
    for _ in 0..30 {
        rustix::fs::mkdirat(&directory, &name, rustix::fs::Mode::from(0o755)).unwrap();
        directory = open(&directory);
        length += name.len() + 1;
        let file = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
        let file =
            rustix::fs::openat(&directory, "file", file, rustix::fs::Mode::from(0o644)).unwrap();
        rustix::io::write(&file, b"x").unwrap();
    }
    assert!(
        length > 4096 + 1024,
        "the last path is longer than any call takes"
    );
    for _ in 0..2 {
        let taken = world.take();
        assert_eq!(
            (world.names(&taken).len(), taken.gaps().len()),
            (30, 0),
            "opened piece by piece"
        );
    }
}

/// A `.git` that is a link counts as for git.
///
/// Git follows it, so that its rules and what it tracks count here, as they do for `git status`.
#[test]
fn linked_dot_git_counts_as_for_git() {
    let (world, other) = (CapturedWorkspace::plain(), CapturedWorkspace::git());
    other.write("a.log", "x");
    other.write(".git/info/exclude", "*\n");
    other.run_git(&["add", "-f", "a.log"]);
    symlink(other.root.join(".git"), world.root.join(".git")).unwrap();
    world.write("file", "x");
    world.write("a.log", "y");
    symlink("../.git", world.root.join("inner")).unwrap();
    let taken = world.take();
    assert_eq!(world.names(&taken), ["a.log"], "all else is excluded");
    assert!(taken.git.is_some(), "its HEAD is known");
}

/// Submodules are plain files and nothing of them is fetched or made.
#[test]
fn submodules_are_plain_files() {
    let world = CapturedWorkspace::git();
    world.write("file", "x");
    let ran = world.home.join("ran");
    let module = format!(
        "[submodule \"../../evil\"]\n\tpath = ../evil\n\turl = {0}\n\tupdate = !touch {1}\n[submodule \"sub\"]\n\tpath = sub\n\turl = {0}\n",
        world.home.display(),
        ran.display()
    );
    world.write(".gitmodules", module);
    world.write("sub/file", "of a submodule");
    world.write("sub/.git", "gitdir: ../../../../etc\n");
    // A gitlink whose directory is not there, and one whose is.
    for path in ["gone", "sub"] {
        let link = format!("160000,{},{path}", "1".repeat(40));
        world.run_git(&["update-index", "--add", "--cacheinfo", &link]);
    }
    let taken = world.take();
    assert_eq!(
        world.names(&taken),
        [".gitmodules", "file", "sub/file"],
        "what is on the disk"
    );
    assert!(
        !ran.exists() && !world.root.join("gone").exists(),
        "nothing was run or made"
    );
    assert!(taken.gaps().is_empty(), "nothing is missing");
}

#[test]
fn nested_repositories_three_deep_are_plain_files() {
    let world = CapturedWorkspace::git();
    let mut expected = vec!["file".to_owned()];
    world.write("file", "x");
    for inner in ["a", "a/b", "a/b/c", "vendor/x"] {
        world.write(&format!("{inner}/file"), inner);
        let command = |arguments: &[&str]| {
            let output = world
                .git_command(&world.root.join(inner))
                .args(arguments)
                .output()
                .unwrap();
            assert!(output.status.success(), "git {arguments:?}");
        };
        command(&["init", "-q"]);
        if inner != "a/b" {
            command(&["add", "file"]);
            command(&["commit", "-qm", "one"]);
        }
        expected.push(format!("{inner}/file"));
    }
    expected.sort();
    let taken = world.take();
    assert_eq!(world.names(&taken), expected, "with and without commits");
    world.write("a/b/c/file", "edited by the agent");
    assert_eq!(
        world.content(&world.take(), "a/b/c/file"),
        "edited by the agent",
        "an edit inside is seen"
    );
}

#[test]
fn repositories_of_any_kind_do_not_matter() {
    let kinds: [&[&str]; 4] = [
        &["init", "-q", "--object-format=sha256"],
        &["init", "-q", "--ref-format=reftable"],
        &["init", "-q", "--separate-git-dir=../elsewhere"],
        &["init", "-q", "--shared=all"],
    ];
    for kind in kinds {
        let world = CapturedWorkspace::plain();
        world.run_git(kind);
        world.write("a", "x");
        world.write("b.log", "x");
        world.write(".gitignore", "*.log\n");
        assert_eq!(
            world.names(&world.take()),
            [".gitignore", "a"],
            "unborn: {kind:?}"
        );
        world.run_git(&["add", "-f", "b.log"]);
        world.run_git(&["commit", "-qm", "one"]);
        assert_eq!(
            world.names(&world.take()),
            [".gitignore", "a", "b.log"],
            "with a commit: {kind:?}"
        );
    }
}

#[test]
fn a_damaged_repository_does_not_matter() {
    let damage: [(&str, &[u8]); 12] = [
        ("index", b"DIRC\0\0\0\x63\0\0\0\x01"),
        ("index", b"DIRC\0\0\0\x02\xff\xff\xff\xff"),
        ("index", b""),
        ("HEAD", b""),
        ("HEAD", b"ref: refs/heads/\x1b]0;x\x07\n"),
        ("packed-refs", b"\0\0\0"),
        ("config", b"[core]\n\tbare = true\n\tworktree = /etc\n"),
        (
            "config",
            b"[extensions]\n\tnoSuchExtension = true\n[core]\n\trepositoryformatversion = 99\n",
        ),
        (
            "config",
            b"[include]\n\tpath = /dev/zero\n[include]\n\tpath = config\n",
        ),
        ("objects/info/alternates", b"/dev/zero\n../objects\n"),
        ("commondir", b"../../../../../etc\n"),
        ("info/attributes", b"\xff\xff[attr]\n"),
    ];
    for (file, bytes) in damage {
        let world = CapturedWorkspace::git();
        world.write("a", "x");
        world.run_git(&["add", "a"]);
        world.run_git(&["commit", "-qm", "one"]);
        let tree = world.git_tree();
        world.write(&format!(".git/{file}"), bytes);
        for _ in 0..2 {
            assert_eq!(
                world.take().snapshot.tree.to_string(),
                tree,
                "`{file}` is {:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}

/// Pipes and directories in `.git` do not hang.
#[test]
fn pipes_in_dot_git_do_not_hang() {
    let files = [
        "HEAD",
        "index",
        "config",
        "packed-refs",
        "info/exclude",
        "commondir",
        "objects/info/alternates",
        "info/attributes",
    ];
    for file in files {
        for kind in ["mkfifo", "mkdir"] {
            let world = CapturedWorkspace::git();
            world.write("a", "x");
            let path = world.root.join(".git").join(file);
            let _ = fs::remove_file(&path);
            assert!(
                Command::new(kind).arg(&path).status().unwrap().success(),
                "{kind} {file}"
            );
            assert_eq!(world.names(&world.take()), ["a"], "`{file}` by {kind}");
        }
    }
}

/// Directories named like `.git` are gaps at every depth.
#[test]
fn directories_like_dot_git_are_gaps() {
    let world = CapturedWorkspace::plain();
    for directory in ["", "a/", "a/b/c/"] {
        for name in [
            ".GIT",
            "git~1",
            ".git.",
            ".git::$INDEX_ALLOCATION",
            ".g\u{200c}it",
            ".git\\config",
        ] {
            world.write(&format!("{directory}{name}"), "x");
        }
        world.write(&format!("{directory}file"), "x");
    }
    let taken = world.take();
    let (captured, gaps) = (world.names(&taken), world.gaps(&taken));
    for directory in ["", "a/", "a/b/c/"] {
        assert!(
            captured.contains(&format!("{directory}file")),
            "their neighbours are captured"
        );
    }
    assert_eq!(
        captured.len() + gaps.len(),
        21,
        "each is captured or named: {captured:?} {gaps:?}"
    );
    assert!(
        taken
            .gaps()
            .iter()
            .all(|gap| gap.reason == GapReason::ReservedName),
        "by why: {gaps:?}"
    );
    world.our_git(&["fsck", "--full", "--strict", "--no-dangling"]);
}
