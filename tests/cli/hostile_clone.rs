//! A clone that names programs, in its own configuration, in a folder that looks like a repository, and by the names of
//! programs: no command runs one of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use testing::binary::{Sandbox, binary, finish};
use testing::skip::{has_program, has_strace};

/// What a person might type, with every command of the help in it. `[` and `]` hold what is typed then; without them, `q`
/// leaves the pager.
const LINES: &[&str] = &[
    "revert last --dry-run",
    "revert last -p [e\nq\n]",
    "undo --dry-run",
    "redo --dry-run",
    "unrevert --dry-run",
    "status",
    "log",
    "log -v",
    "ui [q]",
    "page --idle 1s",
    "show last",
    "sessions",
    "diff",
    "diff last",
    "diff last --stat",
    "diff last --tool",
    "blame long",
    "cat last:long",
    "recover",
    "run -- true",
    "acp -- true",
    "export last",
    "export",
    "snapshot",
    "label --list",
    "restore last long --dry-run",
    "workspace",
    "branch last ../tree --worktree",
    "bisect -- true",
    "push ../history.git --name ours --yes",
    "fetch ../history.git --name ours",
    "install --dry-run claude-code",
    "uninstall --dry-run claude-code",
    "config",
    "doctor",
    "gc --dry-run",
    "du",
    "forget --path long --dry-run",
    "demo",
    "event [{}\n\u{4}]",
    "step-start --session s",
    "step-finish --session s",
    "message --session s --prompt p",
    "serve --stdio [\u{4}]",
    "mcp [\u{4}]",
    "watch",
    "schema",
    "completions bash",
    "man",
    "help",
    "inside revert",
    "inside status",
    "candidates ids",
];

/// How long a command may take, in seconds; it is generous, because machines that run tests are busy.
const PATIENCE: &str = "120";

/// What git and its users let a configuration name.
const KEYS: &[&str] = &[
    "core.pager",
    "core.editor",
    "core.fsmonitor",
    "core.sshCommand",
    "core.askPass",
    "core.hooksPath",
    "pager.diff",
    "pager.log",
    "pager.show",
    "sequence.editor",
    "diff.external",
    "diff.x.textconv",
    "diff.x.command",
    "filter.x.clean",
    "filter.x.smudge",
    "filter.x.process",
    "merge.x.driver",
    "difftool.x.cmd",
    "mergetool.x.cmd",
    "difftool.vimdiff.path",
    "alias.config",
    "alias.difftool",
    "credential.helper",
    "interactive.diffFilter",
    "web.browser",
    "browser.x.cmd",
    "gpg.program",
    "delta.pager",
];

/// Names under which programs are started, by us or by those that we start.
const NAMES: &[&str] = &[
    "git",
    "sh",
    "less",
    "cat",
    "vi",
    "xdg-open",
    "open",
    "watchman",
    "systemctl",
    "launchctl",
    "claude",
    "codex",
    "gemini",
    "qwen",
    "opencode",
    "copilot",
    "pi",
    "cline",
    "env",
    "command",
];

/// A workspace in which everything that can name a program names one that notes its name in a file, which is returned.
fn hostile(world: &Sandbox) -> std::path::PathBuf {
    let ran = world.path("ran");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\n", ran.display());
    let program = |path: &Path| {
        fs::create_dir_all(path.parent().expect("it has one")).expect("writable");
        fs::write(path, &script).expect("writable");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    };
    let evil = world.workspace().join("evil");
    program(&evil);
    for folder in ["", "bin", "node_modules/.bin", "inner"] {
        for name in NAMES {
            program(&world.workspace().join(folder).join(name));
        }
    }
    world.write(".gitattributes", "* diff=x filter=x merge=x\n");
    world.run_git(&["init", "--quiet"]);
    for key in KEYS {
        let evil = evil.to_str().expect("a plain path");
        world.run_git(&["config", key, &format!("{evil} {key}")]);
    }
    world.run_git(&["config", "diff.tool", "x"]);
    world.run_git(&["config", "merge.tool", "x"]);
    world.write("inner/HEAD", "ref: refs/heads/main\n");
    world.write("inner/objects/.keep", "");
    world.write("inner/refs/.keep", "");
    let config = fs::read(world.workspace().join(".git/config")).expect("it is there");
    world.write("inner/config", config);
    ran
}

/// Invariant `private/programs`: No program runs that a clone names, and no pipe or device is
/// opened that it names.
#[test]
fn no_command_runs_a_program_of_a_clone() {
    if !has_program("/usr/bin/script") {
        return;
    }
    let world = Sandbox::new();
    let ran = hostile(&world);
    world.play("m1", "first", |world| {
        world.write("inner/long", "1\n".repeat(100))
    });
    let help = world.run(&["help"], b"").exits(0).stdout;
    let commands = help.split("Take back:\n").nth(1).expect("the first group");
    let is_command = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    for command in commands.lines().filter(is_command) {
        let name = command.split_whitespace().next().expect("a name");
        let is_tried = LINES
            .iter()
            .any(|line| line.split(' ').next() == Some(name));
        assert!(is_tried, "`{name}` is tried");
    }
    for folder in ["", "inner"] {
        for line in LINES {
            let (words, keys) = line.split_once('[').unwrap_or((line, "q]"));
            let words = words.replace(
                "long",
                if folder.is_empty() {
                    "inner/long"
                } else {
                    "long"
                },
            );
            // It watches until it is told to end.
            let limit = match *line {
                "watch" => "/usr/bin/timeout --foreground --preserve-status -s INT 2 ",
                _ => "",
            };
            let typed = format!(
                "stty rows 3 cols 80; exec env PATH=.:bin::node_modules/.bin:/usr/bin:/bin EDITOR=true {limit}{} {words}",
                binary()
            );
            let mut command = Command::new("/usr/bin/timeout");
            command
                .args([
                    PATIENCE,
                    "/usr/bin/script",
                    "--quiet",
                    "--return",
                    "--command",
                    &typed,
                    "/dev/null",
                ])
                .env_clear()
                .env("HOME", world.home())
                .env("CKPT_HOOK_HOME", world.store())
                .env("PATH", "/usr/bin:/bin")
                .env("TERM", "xterm-256color")
                .env("SHELL", "/bin/sh")
                .current_dir(world.workspace().join(folder));
            let run = finish(&mut command, keys.trim_end_matches(']').as_bytes());
            assert_ne!(run.code, Some(124), "`{words}` in `{folder}` ends: {run}");
            let ran = fs::read_to_string(&ran).unwrap_or_default();
            assert_eq!(ran, "", "`{words}` in `{folder}`: {run}");
        }
    }
}

/// Invariant `private/programs`.
#[test]
fn the_users_own_configuration_still_names_programs() {
    let world = Sandbox::new();
    hostile(&world);
    world.play("m1", "first", |world| {
        world.write("long", "1\n".repeat(100))
    });
    world.run_git(&["config", "--global", "include.path", "more"]);
    let conditional = format!("gitdir:{}/", world.workspace().display());
    world.run_git(&[
        "config",
        "--global",
        &format!("includeIf.{conditional}.path"),
        "evil",
    ]);
    fs::write(world.home().join("more"), "[diff]\n\ttool = mine\n").expect("writable");
    fs::write(world.home().join("evil"), "[diff]\n\ttool = x\n").expect("writable");
    world.run_git(&["config", "--global", "difftool.mine.cmd", "echo mine"]);
    let run = world.run(&["diff", "last", "--tool"], b"").exits(0);
    assert_eq!(run.stdout, "mine\n", "{run}");
}

/// What a repository may name or hold in the place of a file; `%` is what stands there.
const PLACES: [(&str, &str); 27] = [
    (".git/config", "[include]\n\tpath = %\n"),
    (".git/config", "[includeIf \"gitdir:/**\"]\n\tpath = %\n"),
    (".git/config", "[core]\n\texcludesFile = %\n"),
    (".git/config", "[core]\n\tattributesFile = %\n"),
    (".git/objects/info/alternates", "%\n"),
    (".git/commondir", "%\n"),
    (".git/commondir", ""),
    (".git/objects/info/alternates", ""),
    (".git/info/exclude", ""),
    (".git/packed-refs", ""),
    (".git/logs/HEAD", ""),
    (".git/index", ""),
    (".git/HEAD", ""),
    (".git/config", ""),
    (".git/config.worktree", ""),
    (".git/refs/heads/main", ""),
    (".git/refs/stash", ""),
    (".git/shallow", ""),
    (".git/MERGE_HEAD", ""),
    (".git/rebase-merge/head-name", ""),
    (".git/info/attributes", ""),
    (".git/objects/info/commit-graph", ""),
    (".git/objects/pack/pack-1.idx", ""),
    (".git/objects/pack/multi-pack-index", ""),
    (".gitignore", ""),
    (".gitattributes", ""),
    (".gitmodules", ""),
];

/// No pipe or device that a repository names is opened.
///
/// A pipe lets its writer go on when it is opened, and opening a device is an act.
///
/// Invariant `private/programs`.
#[test]
fn repositorys_pipe_or_device_is_not_opened() {
    if !has_strace() {
        return;
    }
    for (file, text) in PLACES {
        let world = Sandbox::new();
        world.run_git(&["init", "--quiet", "--initial-branch", "main"]);
        world.write("kept", "1\n");
        world.run_git(&["add", "."]);
        world.run_git(&["commit", "--quiet", "-m", "first"]);
        let pipe = world
            .path("pipe")
            .to_str()
            .expect("a plain path")
            .to_owned();
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::Mode::from_raw_mode(0o600),
        )
        .expect("writable");
        for named in [&*pipe, "/dev/zero", "/dev/tty"] {
            let path = world.workspace().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("ours");
            let _ = fs::remove_file(&path);
            match text {
                "" if named == pipe => fs::hard_link(&pipe, &path).expect("one file system"),
                "" => std::os::unix::fs::symlink(named, &path).expect("writable"),
                text => fs::write(&path, text.replace('%', named)).expect("writable"),
            }
            for arguments in [
                &["snapshot"][..],
                &["status"],
                &["revert", "last", "--git", "--dry-run"],
            ] {
                let trace = world.path("trace");
                let mut command = world.command_by(
                    Path::new("/usr/bin/strace"),
                    &["-f", "-y", "-e", "trace=open,openat,openat2", "-o"],
                );
                command.arg(&trace).arg(binary()).args(arguments);
                finish(&mut command, b"");
                let trace = fs::read_to_string(trace).expect("it ran");
                let opened = |line: &&str| {
                    let stands_here = format!("<{}>", path.display());
                    let found = line.rsplit_once(" = ").is_some_and(|(_, found)| {
                        found.contains(&format!("<{named}"))
                            || text.is_empty() && found.contains(&stands_here)
                    });
                    found && !line.contains("O_PATH")
                };
                let opened: Vec<&str> = trace.lines().filter(opened).collect();
                assert!(opened.is_empty(), "`{file}` and `{named}`: {opened:?}");
            }
        }
    }
}
