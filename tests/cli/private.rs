//! What is written for its user is for nobody else, whatever the umask.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use testing::binary::{Sandbox, binary, finish};
use testing::skip::skip;

/// A world with a folder of its own for temporary files.
fn world() -> (Sandbox, PathBuf) {
    let world = Sandbox::new();
    let temporary = world.path("temporary");
    fs::create_dir(&temporary).expect("writable");
    world.play("m1", "a secret", |world| {
        world.write("notes/secret", "hunter2\n")
    });
    (world, temporary)
}

/// Runs the binary with umask 000.
fn open_to_all(world: &Sandbox, temporary: &Path, arguments: &[&str]) -> Command {
    let mut command = world.command_by(
        Path::new("/bin/sh"),
        &[
            &["-c", "umask 000; exec \"$0\" \"$@\"", binary()],
            arguments,
        ]
        .concat(),
    );
    command.env("TMPDIR", temporary);
    command
}

/// Returns what others may read or write below a folder that they may enter.
fn exposed(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("readable").flatten() {
        let metadata = entry.path().symlink_metadata().expect("it is there");
        if metadata.is_symlink() || metadata.mode() & 0o077 == 0 {
            continue;
        }
        found.push(entry.path());
        if metadata.is_dir() {
            found.extend(exposed(&entry.path()));
        }
    }
    found
}

/// A diff tool's sides are for their user alone.
///
/// Invariant `private/temporary`: What is written for its user is for nobody else, and is
/// swept.
#[test]
fn diff_tools_sides_are_private() {
    let (world, temporary) = world();
    let seen = world.path("seen");
    // The tool lists the modes of all that it is given.
    let line = format!(
        "find .. \"$(pwd)\" -printf '%m %y %p\\n' > {}; true",
        seen.display()
    );
    let mut command = open_to_all(&world, &temporary, &["diff", "m1", "--tool"]);
    finish(command.env("CKPT_HOOK_DIFFTOOL", &line), b"").exits(0);
    let seen = fs::read_to_string(seen).expect("the tool ran");
    let below = seen.lines().filter(|line| line.contains("/ckpt-hook-"));
    let modes: Vec<&str> = below.map(|line| &line[..5]).collect();
    assert!(modes.contains(&"600 f"), "the secret is there: {seen}");
    let is_private = |mode: &&str| ["700 d", "600 f"].contains(mode);
    assert!(modes.iter().all(is_private), "{seen}");
    let left = fs::read_dir(&temporary).expect("readable").count();
    assert_eq!(left, 0, "nothing is left");
}

/// Starts a diff tool that waits for its end, and waits until it runs.
fn waiting(world: &Sandbox, temporary: &Path) -> Child {
    let mut command = open_to_all(world, temporary, &["diff", "m1", "--tool"]);
    let line = "echo runs; exec sleep 600 #";
    let mut child = command
        .env("CKPT_HOOK_DIFFTOOL", line)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let stdout = child.stdout.as_mut().expect("it is piped");
    let mut said = String::new();
    BufReader::new(stdout)
        .read_line(&mut said)
        .expect("it runs");
    assert_eq!(said, "runs\n");
    child
}

/// A signal leaves no side of a diff behind.
///
/// Invariant `private/temporary`.
#[test]
fn signal_leaves_no_side_of_a_diff() {
    let (world, temporary) = world();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        let mut child = waiting(&world, &temporary);
        let process = Pid::from_child(&child);
        // A terminal sends these to the tool, too.
        match signal {
            Signal::INT | Signal::QUIT => rustix::process::kill_process_group(process, signal),
            other => kill_process(process, other),
        }
        .expect("it runs");
        child.wait().expect("it ends");
        let left = fs::read_dir(&temporary).expect("readable").count();
        assert_eq!(left, 0, "after {signal:?}");
    }
}

/// Invariant `private/temporary`.
#[test]
fn what_a_killed_diff_left_is_swept() {
    let (world, temporary) = world();
    let mut child = waiting(&world, &temporary);
    let process = Pid::from_child(&child);
    kill_process(process, Signal::KILL).expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(fs::read_dir(&temporary).expect("readable").count(), 1);
    let mut other = waiting(&world, &temporary);
    let left = || fs::read_dir(&temporary).expect("readable").count();
    assert_eq!(left(), 1, "the killed one's is gone, the other's is not");
    // The tool of the killed one still runs.
    let _ = rustix::process::kill_process_group(process, Signal::KILL);
    let mut third = open_to_all(&world, &temporary, &["diff", "m1", "--tool"]);
    finish(third.env("CKPT_HOOK_DIFFTOOL", "true"), b"").exits(0);
    assert_eq!(left(), 1, "one that is in use is left alone");
    rustix::process::kill_process_group(Pid::from_child(&other), Signal::TERM).expect("it runs");
    other.wait().expect("it ends");
    assert_eq!(left(), 0);
}

/// No file that is written is open to others.
///
/// Invariant `private/temporary`.
#[test]
fn no_written_file_is_open_to_others() {
    let (world, temporary) = world();
    let pages = world.path("pages");
    fs::create_dir(&pages).expect("writable");
    let page = |name: &str| pages.join(name).to_str().expect("a plain path").to_owned();
    let lines: [Vec<String>; 9] = [
        vec![
            "show".into(),
            "last".into(),
            "--html".into(),
            page("show.html"),
        ],
        vec![
            "diff".into(),
            "last".into(),
            "--html".into(),
            page("diff.html"),
        ],
        vec!["doctor".into(), "--report".into(), page("report.json")],
        vec![
            "config".into(),
            "set".into(),
            "keep".into(),
            "9 days".into(),
        ],
        vec!["install".into(), "claude-code".into()],
        vec!["snapshot".into()],
        vec!["revert".into(), "last".into()],
        vec!["gc".into()],
        vec!["demo".into()],
    ];
    for line in &lines {
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let run = finish(&mut open_to_all(&world, &temporary, &line), b"");
        assert!(matches!(run.code, Some(0 | 3)), "{line:?}: {run}");
    }
    assert_eq!(exposed(&pages), [] as [PathBuf; 0], "pages and reports");
    assert_eq!(exposed(&world.store()), [] as [PathBuf; 0], "the store");
    assert_eq!(fs::read_dir(&temporary).expect("readable").count(), 0);
    for path in exposed(&world.home()) {
        let mode = path.metadata().expect("it is there").mode();
        assert_eq!(mode & 0o022, 0, "others may not write `{}`", path.display());
    }
}

/// Invariant `private/temporary`.
#[test]
fn another_user_reads_nothing_while_a_tool_runs() {
    if !rustix::process::geteuid().is_root() {
        skip("root alone can become somebody else");
        return;
    }
    let (world, temporary) = world();
    for folder in [world.path(""), temporary.clone()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("ours");
    }
    let mut child = waiting(&world, &temporary);
    let mut find = Command::new("/usr/bin/find");
    find.arg(&temporary)
        .args(["-type", "f"])
        .uid(65534)
        .gid(65534);
    let seen = finish(&mut find, b"");
    rustix::process::kill_process_group(Pid::from_child(&child), Signal::TERM).expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(seen.stdout, "", "{seen}");
    assert!(seen.stderr.contains("Permission denied"), "{seen}");
}

/// Invariant `private/temporary`.
#[test]
fn a_page_replaces_a_link_in_a_clone() {
    let (world, temporary) = world();
    let mine = world.home().join("mine");
    fs::write(&mine, "mine\n").expect("writable");
    let page = world.workspace().join("page.html");
    symlink(&mine, &page).expect("writable");
    for _ in 0..2 {
        let line = ["show", "last", "--html", "page.html", "--force"];
        finish(&mut open_to_all(&world, &temporary, &line), b"").exits(0);
        assert_eq!(fs::read(&mine).expect("it is there"), b"mine\n");
        let found = page.symlink_metadata().expect("it is there");
        assert!(found.is_file() && found.mode() & 0o777 == 0o600);
    }
    let line = ["show", "last", "--html", "/dev/stdout"];
    let run = finish(&mut open_to_all(&world, &temporary, &line), b"").exits(0);
    assert!(run.stdout.contains("<html"), "a stream is a stream: {run}");
}

/// A folder that others may exchange is not used.
///
/// Invariant `private/temporary`.
#[test]
fn exchangeable_folder_is_not_used() {
    let (world, temporary) = world();
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o777)).expect("ours");
    let mut command = open_to_all(&world, &temporary, &["diff", "m1", "--tool"]);
    let run = finish(command.env("CKPT_HOOK_DIFFTOOL", "pwd #"), b"").exits(0);
    assert!(run.stdout.starts_with("/tmp/ckpt-hook-"), "{run}");
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o1777)).expect("ours");
    let mut command = open_to_all(&world, &temporary, &["diff", "m1", "--tool"]);
    let run = finish(command.env("CKPT_HOOK_DIFFTOOL", "pwd #"), b"").exits(0);
    let there = format!("{}/ckpt-hook-", temporary.display());
    assert!(run.stdout.starts_with(&there), "{run}");
}

/// The folder of the settings is its owners whatever the umask is.
#[test]
fn settings_folder_is_its_owners() {
    let world = Sandbox::new();
    let program = world.command(&["x"]).get_program().to_owned();
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", "umask 000; exec \"$0\" config set keep 40d"])
        .arg(&program)
        .env_clear()
        .env("HOME", world.home())
        .env("CKPT_HOOK_HOME", world.store())
        .current_dir(world.workspace());
    finish(&mut shell, b"").exits(0);
    let folder = world.home().join(".config/ckpt-hook");
    let mode = folder.metadata().expect("it was made").permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}
