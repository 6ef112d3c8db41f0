//! `branch` and `bisect`: recorded states in directories of their own.

use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;

use testing::binary::Sandbox;
use testing::chat::{Chat, OLD};
use testing::rows;
use testing::tree;

/// Five messages; the fourth breaks `check` by one of the three files that it changes.
fn world() -> Sandbox {
    let world = Sandbox::new();
    world.write(
        "check",
        "echo out; test ! -e broken -a ! -e blocked || exit 1\n",
    );
    for number in 1..=3 {
        let name = format!("file{number}");
        world.play(&format!("m{number}"), "go on", |world| {
            world.write(&name, "1\n");
        });
    }
    world.play("m4", "make it better", |world| {
        world.write("another", "1\n");
        world.write("broken", "1\n");
        world.write("file1", "2\n");
    });
    world.play("m5", "and better", |world| world.write("file2", "2\n"));
    world
}

/// Invariant `work/branch`: A state in a directory of its own is the state to the byte, with modes, links and empty directories.
#[test]
fn a_branch_is_the_state_to_the_byte() {
    let world = Sandbox::new();
    world.write("run", "#!/bin/sh\n");
    world.write("deep/er/odd \u{1b}[31m name\n", [0, 159, 146, 150]);
    let set = |path: &str, mode| {
        let path = world.workspace().join(path);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("ours");
    };
    std::fs::create_dir(world.workspace().join("empty")).expect("writable");
    symlink("deep/er", world.workspace().join("link")).expect("writable");
    symlink("/nowhere", world.workspace().join("dangling")).expect("writable");
    set("run", 0o750);
    set("deep/er", 0o700);
    set("empty", 0o711);
    let before = world.tree();
    world.play("m1", "spoil it", |world| {
        world.write("run", "gone\n");
        world.remove("link");
        std::fs::remove_dir(world.workspace().join("empty")).expect("it is empty");
    });
    let after = world.tree();
    set("", 0o700);
    let run = world.run(&["branch", "m1", "../other/way"], b"").exits(0);
    assert_eq!(tree::read(&world.path("other/way")), before, "{run}");
    let made = world.path("other/way").metadata().expect("it is there");
    assert_eq!(
        made.permissions().mode() & 0o777,
        0o700,
        "nobody else reads it"
    );
    assert_eq!(world.tree(), after, "the workspace is as it was");
    for (place, why) in [
        ("../other/way", "is not empty"),
        ("inside", "is in the workspace"),
        ("../workspace/a/b", "is in the workspace"),
        ("../nowhere/../workspace/a", "cannot use"),
    ] {
        let run = world.run(&["branch", "m1", place], b"").exits(1);
        assert!(run.stderr.contains(why), "{place}: {run}");
    }
    world
        .run(&["branch", "nothing-like-it", "../b"], b"")
        .exits(4);
    assert!(!world.path("b").exists(), "a refused one leaves nothing");
}

#[test]
fn a_branch_names_what_is_missing() {
    let world = Sandbox::new();
    world.configure("max_file_size = \"1 kB\"\n");
    world.write("large", vec![0; 5000]);
    world.play("m1", "go on", |world| world.write("a", "1\n"));
    let report = world.json(&["branch", "m1", "../b"]);
    assert_eq!(report["gaps"][0]["path"], "large", "{report}");
    assert_eq!(report["files"], 0, "{report}");
}

/// A work tree is on a branch at the commit of that state, with what was not committed, and no hook of the repository runs.
#[test]
fn a_branch_may_be_a_work_tree() {
    let world = Sandbox::new();
    world.run_git(&["init", "-q"]);
    world.write("a", "1\n");
    world.write(".gitattributes", "* filter=own\n");
    world.run_git(&["add", "-A"]);
    world.run_git(&["commit", "-qm", "first"]);
    let commit = world.run_git(&["rev-parse", "HEAD"]);
    world.write("a", "2\n");
    world.play("m1", "go on", |world| {
        world.write("a", "3\n");
        world.run_git(&["commit", "-qam", "second"]);
    });
    let (ran, hooks) = (world.path("ran"), world.workspace().join(".git/hooks"));
    let script = format!("#!/bin/sh\ntouch '{}'\n", ran.display());
    std::fs::create_dir_all(&hooks).expect("writable");
    for hook in [
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ] {
        std::fs::write(hooks.join(hook), &script).expect("writable");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(hooks.join(hook), mode).expect("ours");
    }
    let program = hooks.join("post-checkout");
    let program = program.to_str().expect("a plain path");
    for name in ["filter.own.smudge", "filter.own.clean", "core.fsmonitor"] {
        world.run_git(&["config", name, program]);
    }
    let _ = std::fs::remove_file(&ran);
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(world.workspace(), private).expect("ours");
    let report = world.json(&["branch", "m1", "../way", "--worktree"]);
    let way = std::fs::metadata(world.path("way")).expect("it is there");
    assert_eq!(
        way.permissions().mode() & 0o777,
        0o700,
        "as private as the workspace"
    );
    assert_eq!(report["branch"], "way", "{report}");
    assert_eq!(report["commit"], commit.as_str(), "{report}");
    assert!(!ran.exists(), "nothing of the repository's ran");
    let there = std::fs::read_to_string(world.path("way/a")).expect("it is there");
    assert_eq!(there, "2\n", "as it was, committed or not");
    assert_eq!(world.read("a"), b"3\n", "the workspace is as it was");
    world.run_git(&["config", "--unset", "core.fsmonitor"]);
    assert_eq!(
        world.run_git(&["-C", "../way", "rev-parse", "HEAD"]),
        commit
    );
    assert_eq!(
        world.run_git(&["-C", "../way", "branch", "--show-current"]),
        "way"
    );
    let again = world
        .run(&["branch", "m1", "../b/way", "--worktree"], b"")
        .exits(1);
    assert!(again.stderr.contains("already exists"), "{again}");
}

/// What the configuration of a repository would have git run or open is neither run nor opened. Git knows hooks that stand
/// in it since 2.54.
///
/// Invariant `private/programs`.
#[test]
fn work_tree_obeys_no_repositorys_configuration() {
    let world = Sandbox::new();
    world.run_git(&["init", "-q", "-b", "main"]);
    world.write("a", "1\n");
    world.run_git(&["add", "a"]);
    world.run_git(&["commit", "-qm", "first"]);
    world.play("m1", "go on", |world| world.write("a", "2\n"));
    let (ran, pipe, seen) = (world.path("ran"), world.path("pipe"), world.path("seen"));
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("writable");
    world.write(".git/more", "[hook \"one=two\"]\n\tevent = post-checkout\n");
    let folder = world.path("bin");
    std::fs::create_dir(&folder).expect("writable");
    let noting = format!(
        "#!/bin/sh\nenv | grep -a ^GIT_CONFIG_ >> '{}'\nPATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"\n",
        seen.display()
    );
    std::fs::write(folder.join("git"), noting).expect("writable");
    std::fs::set_permissions(folder.join("git"), PermissionsExt::from_mode(0o755)).expect("ours");
    let config = std::fs::read_to_string(world.workspace().join(".git/config")).expect("ours");
    let branch = |name: &str, lines: &str| {
        world.write(".git/config", format!("{config}{lines}"));
        let target = format!("../{name}");
        let program = std::path::Path::new("/usr/bin/timeout");
        let line = [
            "60",
            testing::binary::binary(),
            "branch",
            "m1",
            &target,
            "--worktree",
        ];
        let mut command = world.command_by(program, &line);
        command.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
        testing::binary::finish(&mut command, b"")
    };
    let hooks = [
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ];
    let hooks: String = hooks
        .map(|event| {
            format!(
                "[hook \"of {event}\"]\n\tevent = {event}\n\tcommand = touch {}\n",
                ran.display()
            )
        })
        .concat();
    let files = format!(
        "[core]\n\tattributesFile = {0}\n\texcludesFile = {0}\n",
        pipe.display()
    );
    let include = "[includeIf \"onbranch:way\"]\n\tpath = more\n";
    branch("way", &format!("{hooks}{files}{include}")).exits(0);
    assert!(!ran.exists(), "a hook of the repository's ran");
    let seen = std::fs::read_to_string(seen).expect("git ran");
    for hook in [
        "of post-checkout",
        "of reference-transaction",
        "of post-index-change",
        "one=two",
    ] {
        assert!(
            seen.contains(&format!("=hook.{hook}.enabled\n")),
            "{hook}: {seen}"
        );
    }
    let named = pipe.display();
    for (number, line) in [
        format!("[include]\n\tpath = {named}\n"),
        format!("[includeIf \"onbranch:none\"]\n\tpath = {named}\n"),
        "[include]\n\tpath = ~root/x\n".to_owned(),
        "[include]\n\tpath = /dev/zero\n".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let run = branch(&format!("none{number}"), line).exits(1);
        assert!(run.stderr.contains("is no ordinary file"), "{line}: {run}");
        assert!(!world.path(&format!("none{number}")).exists(), "{line}");
    }
}

#[test]
fn no_work_tree_begins_without_a_commit() {
    let world = world();
    let run = world
        .run(&["branch", "m1", "../way", "--worktree"], b"")
        .exits(4);
    assert!(run.stderr.contains("no commit"), "{run}");
    assert!(!world.path("way").exists(), "nothing was made");
}

/// Invariant `work/bisect`: `bisect` names the message, the step and just the files with which a command began to fail, and the
/// workspace stays as it is.
#[test]
fn bisect_names_message_step_and_files() {
    let world = world();
    let before = world.tree();
    let report = world.json(&["bisect", "--", "sh", "check"]);
    let shown = world.json(&["show", "m4"]);
    assert_eq!(
        report["steps"][0]["message"], shown["message"]["id"],
        "{report}"
    );
    assert_eq!(
        report["steps"][0]["step"], shown["steps"][0]["id"],
        "{report}"
    );
    assert_eq!(
        report["files"].as_array().map(Vec::len),
        Some(1),
        "{report}"
    );
    assert_eq!(report["files"][0]["path"], "broken", "{report}");
    assert_eq!(report["changed"], 3, "{report}");
    assert_eq!(world.tree(), before, "the workspace is as it was");
    let run = world
        .run(&["bisect", "--from", "m3", "--", "sh", "check"], b"")
        .exits(0);
    assert!(run.stdout.contains("make it better"), "{run}");
    assert!(run.stdout.contains("without the 2 other changes"), "{run}");
    assert!(run.stderr.contains("out\n"), "the command's output: {run}");
    let quiet = world
        .run(&["-q", "bisect", "--", "sh", "check"], b"")
        .exits(0);
    assert_eq!(quiet.stderr, "", "only the answer");
}

#[test]
fn bisect_names_what_no_step_changed() {
    let world = Sandbox::new();
    world.play("m1", "go on", |world| world.write("a", "1\n"));
    world.write("broken", "mine\n");
    world.play("m2", "go on", |world| world.write("a", "2\n"));
    let report = world.json(&["bisect", "--", "test", "!", "-e", "broken"]);
    assert_eq!(report["steps"], serde_json::json!([]), "{report}");
    assert_eq!(report["files"][0]["path"], "broken", "{report}");
}

/// What fails only with two files of one step is named with both; a file in the place of a directory goes
/// along with what was in that.
#[test]
fn bisect_names_files_that_fail_together() {
    let world = Sandbox::new();
    world.write("d/a", "1\n");
    world.play("m1", "go on", |world| {
        world.remove("d/a");
        std::fs::remove_dir(world.workspace().join("d")).expect("it is empty");
        for path in ["b", "c", "d", "e"] {
            world.write(path, "1\n");
        }
    });
    world.play("m2", "go on", |world| world.write("f", "1\n"));
    let search = ["bisect", "--", "sh", "-c", "! test -f d -a -e c"];
    let report = world.json(&search);
    let files = report["files"].as_array().expect("a list");
    let paths: Vec<_> = files
        .iter()
        .filter_map(|file| file["path"].as_str())
        .collect();
    assert_eq!(paths, ["c", "d", "d/a"], "{report}");
    // All that is said of changes counts files, whatever can only be made together.
    assert_eq!(report["changed"], 5, "{report}");
    let run = world.run(&search, b"").exits(0);
    let is_counted = |line: &str| {
        !line.contains(" of ") || line.contains("state ") || line.contains(" of 5 changes")
    };
    assert!(run.stderr.lines().all(is_counted), "{run}");
    assert!(run.stderr.contains(" of 5 changes"), "{run}");
    assert!(run.stdout.contains("without the 2 other changes"), "{run}");
}

#[test]
fn states_that_cannot_be_tested_are_left_out() {
    let world = world();
    let script = "test -e file3 -a ! -e broken && exit 125; sh check";
    let report = world.json(&["bisect", "--", "sh", "-c", script]);
    assert_eq!(report["untested"], 1, "{report}");
    assert_eq!(
        report["steps"].as_array().map(Vec::len),
        Some(2),
        "{report}"
    );
    let run = world
        .run(&["bisect", "--", "sh", "-c", script], b"")
        .exits(0);
    assert!(run.stdout.contains("1 state in between"), "{run}");
}

/// The command may be a program that came with a later state: those before it are left out. Of one that is there and cannot
/// be started, it is said why.
#[test]
fn bisect_begins_where_its_program_is() {
    let world = Sandbox::new();
    world.write("a", "1\n");
    let play = |number: usize, name: &str, text: &str| {
        world.play(&format!("m{number}"), &format!("add {name}"), |world| {
            world.write(name, text);
            let path = world.workspace().join(name);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("ours");
        });
    };
    for number in 1..=5 {
        play(number, &format!("f{number}"), "1\n");
    }
    play(6, "check", "#!/bin/sh\ntest ! -e broken\n");
    play(7, "bad", "#!/no/such/program\n");
    play(8, "broken", "1\n");
    play(9, "f9", "1\n");
    let report = world.json(&["bisect", "--", "./check"]);
    assert_eq!(report["steps"][0]["prompt"], "add broken", "{report}");
    assert_eq!(report["files"][0]["path"], "broken", "{report}");
    let run = world.run(&["bisect", "--", "./bad"], b"").exits(4);
    assert!(run.stderr.contains("cannot start"), "{run}");
    assert!(run.stderr.contains("interpreter"), "{run}");
    let run = world.run(&["bisect", "--", "./never"], b"").exits(4);
    assert!(
        run.stderr.contains("cannot be tested in the newest"),
        "{run}"
    );
    // It fails wherever it can be tested.
    let script = "test -e check || exit 125; exit 1";
    let run = world
        .run(&["bisect", "--", "sh", "-c", script], b"")
        .exits(4);
    assert!(run.stderr.contains("does not succeed"), "{run}");
}

/// A message that was forgotten, and one at which nothing was captured, keep the search from nothing.
#[test]
fn bisect_passes_over_gaps() {
    let world = world();
    let forget = ["forget", "--message", "m2", "--yes"];
    world.run(&forget, b"").exits(0);
    let sql = "UPDATE messages SET snapshot_id = NULL, unprotected = 'the disk is full' WHERE agent_id = 'm3';
               UPDATE steps SET start_snapshot_id = NULL, finish_snapshot_id = NULL, unprotected = 'the disk is full'
                WHERE message_id IN (SELECT id FROM messages WHERE agent_id IN ('m2', 'm3'))";
    rows::execute(&world.store().join("sessions.db"), sql);
    let report = world.json(&["bisect", "--", "sh", "check"]);
    assert_eq!(report["steps"][0]["prompt"], "make it better", "{report}");
    assert_eq!(report["files"][0]["path"], "broken", "{report}");
}

/// Ctrl-C ends the command that is run, and leaves nothing of it.
#[test]
fn interrupted_bisect_leaves_nothing_behind() {
    let world = world();
    let before = world.tree();
    let (folder, pid) = (world.path("tmp"), world.path("pid"));
    std::fs::create_dir_all(&folder).expect("writable");
    let script = format!("echo $$ > '{}'; exec sleep 600", pid.display());
    let mut command = world.command(&["bisect", "--", "sh", "-c", &script]);
    command.env("TMPDIR", &folder).process_group(0);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    while !std::fs::read(&pid).is_ok_and(|text| text.ends_with(b"\n")) {
        assert!(child.try_wait().expect("it is ours").is_none(), "it runs");
        std::thread::yield_now();
    }
    let group = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process_group(group, rustix::process::Signal::INT).expect("it runs");
    let mut said = String::new();
    let stderr = child.stderr.as_mut().expect("it is read");
    stderr.read_to_string(&mut said).expect("text");
    // A signal that comes before the start has returned ends both.
    let ended = child.wait().expect("it ends");
    let is_told = ended.code() == Some(1) && said.contains("without a verdict");
    assert!(is_told || ended.signal() == Some(2), "{ended}: {said}");
    assert_eq!(folder.read_dir().expect("readable").count(), 0);
    assert_eq!(world.tree(), before);
}

#[test]
fn a_search_without_an_end_is_refused() {
    let world = world();
    for (arguments, why) in [
        (&["bisect", "--", "true"][..], "does not fail in the newest"),
        (&["bisect", "--", "false"], "does not succeed in the oldest"),
        (&["bisect", "--", "no-such-program"], "cannot start"),
        (
            &["bisect", "--from", "nothing-like-it", "--", "true"],
            "nothing-like-it",
        ),
    ] {
        let run = world.run(arguments, b"").exits(4);
        assert!(run.stderr.contains(why), "{run}");
    }
    for script in ["kill -TERM $$", "kill -SEGV $$", "exit 128", "exit 255"] {
        let run = world
            .run(&["bisect", "--", "sh", "-c", script], b"")
            .exits(1);
        assert!(run.stderr.contains("ended without a verdict"), "{run}");
    }
    let script = "sh check || kill -SEGV $$";
    let wrapped = ["bisect", "--", "sh", "-c", "sh -c \"$0\" || exit 1", script];
    assert_eq!(world.json(&wrapped)["files"][0]["path"], "broken");
}

/// With the state comes the conversation up to there, where the agent can fork it: in the directory in which the state is.
#[test]
fn branch_forks_the_conversation() {
    let chat = Chat::of_three();
    let old = std::fs::read(chat.transcript(OLD)).expect("it is there");
    let way = chat.world.path("way.of mine");
    let words = ["branch", "last~1", "../way.of mine"];
    let report = chat.world.json(&words);
    let conversation = &report["conversation"];
    let new = conversation["session"].as_str().expect("an id");
    assert_eq!(conversation["argv"][2], new, "{report:#}");
    assert_eq!(conversation["directory"], way.to_str().expect("plain"));
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '-'
        }
    };
    let folder: String = way.to_str().expect("plain").chars().map(plain).collect();
    let projects = chat.folder.parent().expect("it has one");
    let copy = std::fs::read_to_string(projects.join(folder).join(format!("{new}.jsonl")));
    let copy = copy.expect("where the agent looks for it");
    assert!(
        copy.contains("answer 1") && !copy.contains("message 2"),
        "{copy}"
    );
    assert_eq!(
        std::fs::read(chat.transcript(OLD)).expect("it is there"),
        old
    );
    let text = chat
        .world
        .run(&["branch", "last", "../other"], b"")
        .exits(0);
    assert!(text.stdout.contains(" && claude --resume "), "{text}");
    let none = world().json(&["branch", "m2", "../way"]);
    assert!(none["conversation"].is_null(), "{none:#}");
}

/// Where an agent looks for a conversation in the directory alone in which it began, that is said.
#[test]
fn branch_says_why_no_conversation_comes_along() {
    let world = Sandbox::new();
    let record = world.home().join(".qwen/projects/-w/chats/s.jsonl");
    std::fs::create_dir_all(record.parent().expect("it has one")).expect("writable");
    let cwd = world.workspace();
    let mut lines = String::new();
    for number in 1..=2 {
        let prompt = format!("message {number}");
        let payload = serde_json::json!({
            "hook_event_name": "UserPromptSubmit", "session_id": "s", "transcript_path": record,
            "cwd": cwd, "prompt": prompt,
        });
        let words = ["event", "--agent", "qwen-code", "--strict"];
        world.run(&words, payload.to_string().as_bytes()).exits(0);
        let entry = serde_json::json!({
            "type": "user", "uuid": number.to_string(), "parentUuid": (number > 1).then_some("1"),
            "sessionId": "s", "version": "0.24.4", "cwd": cwd,
            "message": {"role": "user", "parts": [{"text": prompt}]},
        });
        lines.push_str(&format!("{entry}\n"));
        std::fs::write(&record, &lines).expect("writable");
    }
    let text = world
        .run(&["branch", "last", "../way"], b"")
        .exits(0)
        .stdout;
    assert!(text.contains("the directory in which it began"), "{text}");
}
