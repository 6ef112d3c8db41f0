//! Whether an event would arrive: what `log`, `status` and `doctor` say of it, before and after an upgrade.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use testing::binary::{Run, Sandbox, binary, finish};
use testing::executable;

const MANAGED: &str = "machine/etc/claude-code/managed-settings.json";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
    fs::write(path, text).expect("writable");
}

fn installed() -> Sandbox {
    let world = Sandbox::new();
    world.run(&["install", "claude-code"], b"").exits(0);
    world
}

fn said(world: &Sandbox, command: &str) -> String {
    world.run(&[command], b"").stdout.replace('\n', " ")
}

/// As Homebrew upgrades: a new folder, the links to it, and the old folder goes.
///
/// Invariant `agent/installed`: Installed means that an event would arrive, also after an
/// upgrade.
#[test]
fn after_an_upgrade_the_hook_is_still_called() {
    let world = Sandbox::new();
    let prefix = world.path("brew");
    let cellar = |version: &str| prefix.join("Cellar/ckpt-hook").join(version);
    let upgrade = |version: &str| {
        let program = cellar(version).join("bin/ckpt-hook");
        fs::create_dir_all(program.parent().expect("a folder")).expect("writable");
        executable::copy(Path::new(binary()), &program);
        for (link, target) in [
            (
                "bin/ckpt-hook",
                format!("../Cellar/ckpt-hook/{version}/bin/ckpt-hook"),
            ),
            ("opt/ckpt-hook", format!("../Cellar/ckpt-hook/{version}")),
        ] {
            let link = prefix.join(link);
            fs::create_dir_all(link.parent().expect("a folder")).expect("writable");
            let _ = fs::remove_file(&link);
            symlink(target, link).expect("new");
        }
    };
    upgrade("1.0.0");
    let path = format!("{}:/usr/bin:/bin", prefix.join("bin").display());
    let run = |arguments: &[&str]| {
        let mut command = world.command_by(&prefix.join("bin/ckpt-hook"), arguments);
        finish(command.env("PATH", &path), b"")
    };
    run(&["install", "claude-code"]).exits(0);
    let settings = world.home().join(".claude/settings.json");
    let text = fs::read_to_string(&settings).expect("written");
    assert!(!text.contains("Cellar"), "no version's folder: {text}");
    assert!(
        text.contains("/brew/bin/ckpt-hook "),
        "the name on the PATH: {text}"
    );
    upgrade("1.1.0");
    fs::remove_file(cellar("1.0.0").join("bin/ckpt-hook")).expect("it was there");
    let shown = run(&["log"]).stdout;
    assert!(shown.contains("is installed for claude-code"), "{shown}");
    let line = text
        .lines()
        .find(|line| line.contains("--event UserPromptSubmit"));
    let line: String = serde_json::from_str(
        line.expect("a hook")
            .trim()
            .trim_start_matches("\"command\":")
            .trim()
            .trim_end_matches(','),
    )
    .expect("a command");
    let payload = json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "hello", "cwd": world.workspace()});
    let mut hook = world.command_by(Path::new("/bin/sh"), &["-c", &line]);
    finish(&mut hook, payload.to_string().as_bytes()).exits(0);
    assert!(run(&["log"]).stdout.contains("hello"), "the event arrived");
}

/// A hook that calls a versions folder is not what would be written.
#[test]
fn call_of_a_versions_folder_is_outdated() {
    let world = Sandbox::new();
    let program = world.path("opt/tool/1.0.0/bin/ckpt-hook");
    fs::create_dir_all(program.parent().expect("a folder")).expect("writable");
    executable::copy(Path::new(binary()), &program);
    let install = || {
        let mut command = world.command_by(&program, &["install", "claude-code"]);
        finish(&mut command, b"").exits(0).stdout.replace('\n', " ")
    };
    let is_told = |shown: &str| shown.contains("in a folder of one version");
    let shown = install();
    assert!(is_told(&shown), "{shown}");
    symlink(world.path("opt/tool/1.0.0"), world.path("opt/tool/current")).expect("new");
    let doctor = || finish(&mut world.command_by(&program, &["doctor"]), b"");
    let shown = doctor().stdout;
    assert!(shown.contains("it calls a different ckpt-hook"), "{shown}");
    let shown = install();
    assert!(!is_told(&shown), "{shown}");
    let text = fs::read_to_string(world.home().join(".claude/settings.json")).expect("written");
    assert!(text.contains("/opt/tool/current/bin/ckpt-hook"), "{text}");
}

/// Installed is said only where an event would arrive.
///
/// Invariant `agent/installed`.
#[test]
fn installed_means_an_event_would_arrive() {
    let world = installed();
    let is_said = |what: &str| {
        for command in ["log", "status"] {
            let shown = said(&world, command);
            assert!(shown.contains(what), "{command}: {shown}");
        }
    };
    is_said("The hook is installed for claude-code");
    write(&world.path(MANAGED), r#"{"allowManagedHooksOnly": true}"#);
    is_said("no event arrives: `allowManagedHooksOnly`");
    let run = world.run(&["doctor"], b"").exits(0);
    assert!(!run.stdout.contains("claude-code: installed"), "{run}");
    assert!(
        run.stdout.contains("no event arrives from the hook in"),
        "{run}"
    );
    assert!(
        run.stdout.contains("docs/administrators.md"),
        "what to do: {run}"
    );
    let listed = world.json(&["install", "--list"]);
    let agents = listed["agents"].as_array().expect("agents").iter();
    let claude = agents
        .clone()
        .find(|row| row["agent"] == "claude-code")
        .expect("a row");
    assert_eq!(
        (&claude["works"], &claude["settings"][0]["state"]),
        (&json!(false), &json!("blocked"))
    );
    fs::remove_file(world.path(MANAGED)).expect("it was there");
    is_said("The hook is installed for claude-code");
}

/// A program that is gone or cannot be executed is not installed.
#[test]
fn missing_or_unexecutable_program_is_not_installed() {
    let world = Sandbox::new();
    let program = world.path("bin/ckpt-hook");
    fs::create_dir_all(world.path("bin")).expect("writable");
    executable::copy(Path::new(binary()), &program);
    finish(
        &mut world.command_by(&program, &["install", "claude-code"]),
        b"",
    )
    .exits(0);
    assert!(
        said(&world, "log").contains("The hook is installed"),
        "another program asks"
    );
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).expect("ours");
    for _ in 0..2 {
        let shown = said(&world, "log");
        assert!(
            shown.contains("no event arrives") && shown.contains("cannot be executed"),
            "{shown}"
        );
        let _ = fs::remove_file(&program);
    }
}

fn claude_worked_here(world: &Sandbox, directory: &Path) {
    let slug: String = (world.workspace().to_string_lossy().chars())
        .map(|it| if it.is_ascii_alphanumeric() { it } else { '-' })
        .collect();
    let entry = |time: &str| json!({"type": "user", "sessionId": "c0ffee00-0000-4000-8000-000000000001", "cwd": directory, "timestamp": time, "message": {"role": "user"}});
    let text = format!(
        "{}\n{}\n",
        entry("2026-11-20T10:02:03.004Z"),
        entry("2026-11-20T10:12:13.014Z")
    );
    let folder = world.home().join(".claude/projects").join(slug);
    write(
        &folder.join("c0ffee00-0000-4000-8000-000000000001.jsonl"),
        &text,
    );
}

/// A session of which no event came is named.
///
/// Invariant `agent/installed`.
#[test]
fn session_without_events_is_named() {
    let world = installed();
    let sentence = "Claude Code worked here at 2026-11-20 10:12, and nothing was recorded";
    claude_worked_here(&world, Path::new("/elsewhere"));
    assert!(
        !said(&world, "log").contains("worked here"),
        "in another folder"
    );
    claude_worked_here(&world, &world.workspace().join("src"));
    for command in ["log", "status", "doctor"] {
        let shown = said(&world, command);
        assert!(shown.contains(sentence), "{command}: {shown}");
    }
    let status = world.json(&["status"]);
    assert_eq!(
        status["unrecorded"][0]["agent"], "claude-code",
        "{status:#}"
    );
    let event = json!({"session_id": "later", "hook_event_name": "UserPromptSubmit", "prompt": "x", "cwd": world.workspace()});
    world
        .run(
            &["event", "--agent", "claude-code"],
            event.to_string().as_bytes(),
        )
        .exits(0);
    for command in ["status", "doctor"] {
        let shown = said(&world, command);
        assert!(
            !shown.contains("worked here"),
            "what came later was recorded: {shown}"
        );
    }
}

/// The records of other agents are read as well.
#[test]
fn records_of_other_agents_are_read() {
    let world = Sandbox::new();
    let cwd = world.workspace();
    let id = "c0ffee00-0000-4000-8000-000000000002";
    let line = |rest: serde_json::Value| format!("{rest}\n");
    let codex = json!({"timestamp": "2026-11-20T10:12:13Z", "type": "session_meta", "payload": {"id": id, "cwd": cwd}});
    let user = json!({"timestamp": "2026-11-20T10:12:13Z", "type": "event_msg", "payload": {"type": "user_message"}});
    let copilot = json!({"type": "session.start", "timestamp": "2026-11-20T10:12:13Z", "data": {"context": {"cwd": cwd}}});
    let typed = json!({"type": "user.message", "timestamp": "2026-11-20T10:12:13Z"});
    let slug = cwd
        .to_string_lossy()
        .replace(|it: char| !it.is_ascii_alphanumeric(), "-");
    let qwen =
        json!({"sessionId": id, "cwd": cwd, "type": "user", "timestamp": "2026-11-20T10:12:13Z"});
    let hashed = Command::new("sh")
        .args(["-c", "printf %s \"$1\" | sha256sum", "sh"])
        .arg(cwd.canonicalize().expect("it is there"))
        .output();
    let hashed = String::from_utf8(hashed.expect("sha256sum").stdout).expect("text");
    let hash = hashed.split_whitespace().next().expect("a hash");
    let gemini = json!({"sessionId": id, "projectHash": hash, "startTime": "2026-11-20T10:12:13Z"});
    let typed_there = json!({"type": "user", "timestamp": "2026-11-20T10:12:13Z"});
    let pi = json!({"type": "session", "id": id, "timestamp": "2026-11-20T10:12:13Z", "cwd": cwd});
    let typed_to_pi = json!({"type": "message", "timestamp": "2026-11-20T10:12:13Z", "message": {"role": "user"}});
    for (file, text) in [
        (
            format!(".gemini/tmp/{hash}/chats/session-2026-11-20T10-12-c0ffee00.jsonl"),
            line(gemini) + &line(typed_there),
        ),
        (
            format!(".pi/agent/sessions/--here--/2026-11-20T10-12-13_{id}.jsonl"),
            line(pi) + &line(typed_to_pi),
        ),
        (
            format!(".codex/sessions/2026/11/20/rollout-2026-11-20T10-12-13-{id}.jsonl"),
            line(codex) + &line(user),
        ),
        (
            format!(".copilot/session-state/{id}/events.jsonl"),
            line(copilot) + &line(typed),
        ),
        (
            format!(".qwen/projects/{slug}/chats/{id}.jsonl"),
            line(qwen),
        ),
    ] {
        write(&world.home().join(file), &text);
    }
    let shown = said(&world, "status");
    for agent in ["Codex", "Copilot CLI", "Gemini CLI", "Pi", "Qwen Code"] {
        let sentence = format!("{agent} worked here at 2026-11-20 10:12");
        assert!(shown.contains(&sentence), "{sentence}: {shown}");
    }
}

/// A pipe where an agent keeps its records keeps nobody waiting, nor does what only looks like a file.
#[test]
fn pipe_among_records_keeps_nobody_waiting() {
    let world = Sandbox::new();
    let slug = world.workspace().to_string_lossy().replace('/', "-");
    for folder in [
        ".codex/sessions/2026/11/20".to_owned(),
        ".copilot/session-state/x".to_owned(),
        ".pi/agent/sessions/x".to_owned(),
        format!(".claude/projects/{slug}"),
        format!(".qwen/projects/{slug}/chats"),
    ] {
        let folder = world.home().join(folder);
        fs::create_dir_all(&folder).expect("writable");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        for name in ["events.jsonl", "session.json"] {
            rustix::fs::mkfifoat(rustix::fs::CWD, folder.join(name), mode).expect("writable");
        }
    }
    // Reading it waits for a message of the kernel's; but for root, opening it fails.
    let start = json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "x",
                       "transcript_path": "/proc/kmsg", "cwd": world.workspace()});
    let start = start.to_string();
    world
        .run(&["event", "--agent", "claude-code"], start.as_bytes())
        .exits(0);
    for command in ["status", "log", "doctor"] {
        let line = ["60", testing::binary::binary(), command];
        let mut command = world.command_by(Path::new("/usr/bin/timeout"), &line);
        testing::binary::finish(&mut command, b"").exits(0);
    }
}

/// Another store in the usual place is found and named.
///
/// A snap's terminal has another `$XDG_DATA_HOME` than all others.
#[test]
fn another_store_in_the_usual_place_is_named() {
    let world = Sandbox::new();
    let run = |data: Option<&Path>, arguments: &[&str], input: &[u8]| -> Run {
        let mut command = world.command(arguments);
        command.env_remove("CKPT_HOOK_HOME");
        data.map(|data| command.env("XDG_DATA_HOME", data));
        finish(&mut command, input)
    };
    let snap = world.home().join("snap/code/171/.local/share");
    let event = json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "x", "cwd": world.workspace()});
    let event = event.to_string();
    run(
        Some(&snap),
        &["event", "--agent", "claude-code"],
        event.as_bytes(),
    )
    .exits(0);
    let shown = run(None, &["log"], b"").stdout;
    assert!(shown.contains("There is another store in `"), "{shown}");
    assert!(
        shown.contains("/snap/code/171/.local/share/ckpt-hook"),
        "{shown}"
    );
    run(None, &["event", "--agent", "claude-code"], event.as_bytes()).exits(0);
    let shown = run(Some(&snap), &["doctor"], b"").stdout;
    assert!(shown.contains("there is another one in `"), "{shown}");
}

/// A store on a container's own layer is said to go with it.
#[test]
fn store_on_a_containers_layer_is_named() {
    let world = Sandbox::new();
    let sentence = "goes with the container";
    assert!(!said(&world, "doctor").contains(sentence), "no container");
    write(&world.path("machine/.dockerenv"), "");
    assert!(said(&world, "doctor").contains(sentence));
    let run = world.run(&["install", "claude-code"], b"").exits(0);
    assert!(run.stdout.contains(sentence), "{run}");
}

/// Purging takes the hook out of other profiles too.
#[test]
fn purge_takes_the_hook_from_other_profiles() {
    let world = installed();
    let work = world.home().join(".claude-work");
    let mut command = world.command(&["install", "claude-code"]);
    finish(command.env("CLAUDE_CONFIG_DIR", &work), b"").exits(0);
    let run = world
        .run(&["uninstall", "claude-code", "--dry-run"], b"")
        .exits(0);
    assert!(
        run.stdout.contains("still in the profile `"),
        "it is named: {run}"
    );
    let run = world
        .run(&["uninstall", "--purge", "--yes", "-v"], b"")
        .exits(0);
    assert!(run.stdout.contains(".claude-work/settings.json"), "{run}");
    assert!(
        !work.join("settings.json").exists(),
        "it was ours alone: {run}"
    );
}

/// The test holds the stdin of the server, as another child of the starter may. A wrapper gives its own stdin to the
/// server, or puts a program between; it goes on without its starter.
///
/// Invariant `agent/server-ends`: A server ends with the process that started it, also if a wrapper stands between them.
#[test]
fn a_server_ends_with_its_starter() {
    let wrapped = |shell: &str| format!("sh -c '{shell}' wrapper \"$@\" <&3 & wait");
    for script in [
        "\"$@\" <&3 >/dev/null & echo $!; wait".to_owned(),
        wrapped("\"$@\" <&3 >/dev/null & echo $!; wait"),
        wrapped("tail -f /dev/null | \"$@\" >/dev/null & echo $!; wait"),
    ] {
        for server in [&["serve", "--stdio"][..], &["mcp"]] {
            ends_with_its_starter(&script, server);
        }
    }
}

fn ends_with_its_starter(script: &str, server: &[&str]) {
    let world = installed();
    let script = format!("exec 3<&0; {script}");
    let arguments = [&["-c", &script, "starter", binary()], server].concat();
    let mut starter = world.command_by(Path::new("/bin/sh"), &arguments);
    let mut starter = starter
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("a shell");
    let _held = starter.stdin.take();
    let mut lines = BufReader::new(starter.stdout.take().expect("piped")).lines();
    let served = lines.next().expect("a line").expect("text");
    let is_alive = || {
        let state = Command::new("ps")
            .args(["-o", "stat=", "-p", &served])
            .output();
        let state = String::from_utf8(state.expect("ps").stdout).expect("text");
        !state.trim().is_empty() && !state.starts_with('Z')
    };
    let what = format!("`{server:?}` of `{script}`");
    // It has to know its starter before that is gone.
    let descriptors = Path::new("/proc").join(&served).join("fd");
    let knows_it = || {
        let open = std::fs::read_dir(&descriptors).into_iter().flatten();
        let mut targets = open
            .flatten()
            .flat_map(|open| std::fs::read_link(open.path()));
        targets.any(|target| target == Path::new("anon_inode:[pidfd]"))
    };
    while cfg!(target_os = "linux") && is_alive() && !knows_it() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(is_alive(), "{what} waits for its starter");
    starter.kill().expect("it runs");
    starter.wait().expect("it ended");
    let mut looks = 0;
    while is_alive() {
        std::thread::sleep(std::time::Duration::from_millis(50));
        looks += 1;
        assert!(looks < 1200, "{what} outlives its starter");
    }
    let group = format!("-{}", starter.id());
    let _ = Command::new("kill").args(["--", &group]).status();
}

/// A server is about the project that the agent names.
#[test]
fn server_is_about_the_agents_project() {
    let world = Sandbox::new();
    let mut server = world.command(&["serve", "--stdio"]);
    let mut server = server
        .current_dir("/")
        .env("CLAUDE_PROJECT_DIR", world.workspace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "status"});
    let mut stdin = server.stdin.take().expect("piped");
    writeln!(stdin, "{asked}").expect("it reads");
    drop(stdin);
    let output = server.wait_with_output().expect("it ends");
    let answer = String::from_utf8(output.stdout).expect("text");
    let workspace = world.workspace().canonicalize().expect("it is there");
    assert!(answer.contains(&*workspace.to_string_lossy()), "{answer}");
}

/// A Codex that lists the hooks of its settings, each with this status.
fn codex_that_lists(world: &Sandbox, members: &str) -> String {
    let hooks = world.path("home/.codex/hooks.json");
    let table: serde_json::Value =
        serde_json::from_slice(&fs::read(&hooks).expect("installed")).expect("JSON");
    let table = table["hooks"].as_object().expect("events");
    let listed: Vec<String> = table
        .iter()
        .map(|(event, groups)| {
            let command = &groups[0]["hooks"][0]["command"];
            let key = json!(format!("{}:{event}:0:0", hooks.display()));
            format!("{{\"key\": {key}, \"command\": {command}, {members}}}")
        })
        .collect();
    let answer = format!(
        "{{\"id\": 1, \"result\": {{\"data\": [{{\"hooks\": [{}]}}]}}}}\n",
        listed.join(", ")
    );
    write(&world.path("answer"), &answer);
    let script = format!(
        "#!/bin/sh\ntest \"$1\" = app-server || {{ echo codex-cli 0.171.0; exit; }}\nwhile read -r line; do\ncase $line in\n\
         *hooks/list*) cat '{}'; exit ;;\n*'\"initialize\"'*) echo '{{\"id\": 0, \"result\": {{}}}}' ;;\nesac\ndone\n",
        world.path("answer").display()
    );
    fs::create_dir_all(world.path("bin")).expect("writable");
    executable::write(&world.path("bin/codex"), &script);
    format!("{}:/usr/bin:/bin", world.path("bin").display())
}

/// What Codex says of its trust counts more than what its settings let expect, and `doctor` alone asks for it.
#[test]
fn codex_is_asked_for_its_trust() {
    const UNTRUSTED: &str = "Codex skips a hook until you trust it";
    const OFF: &str = "Codex skips hooks of ours that are switched off";
    for (install, members, expected) in [
        (
            "--trust",
            "\"trustStatus\": \"trusted\", \"enabled\": true",
            None,
        ),
        ("--trust", "\"trustStatus\": \"modified\"", Some(UNTRUSTED)),
        ("--trust", "\"trustStatus\": \"untrusted\"", Some(UNTRUSTED)),
        ("--user", "\"trustStatus\": \"trusted\"", None),
        ("--user", "\"trustStatus\": \"managed\"", None),
        (
            "--user",
            "\"trustStatus\": \"trusted\", \"enabled\": false",
            Some(OFF),
        ),
        ("--user", "\"trustStatus\": \"another\"", Some(UNTRUSTED)),
        ("--user", "\"trust\": 1", Some(UNTRUSTED)),
    ] {
        let world = Sandbox::new();
        world.run(&["install", "codex", install], b"").exits(0);
        let path = codex_that_lists(&world, members);
        let doctor = finish(world.command(&["doctor"]).env("PATH", &path), b"");
        let what = format!("{install} and {members}: {doctor}");
        for advice in [UNTRUSTED, OFF] {
            let is_said = doctor.stdout.contains(advice);
            assert_eq!(is_said, expected == Some(advice), "{what}");
        }
        let is_blocked = doctor.stdout.contains("no event arrives from the hook");
        assert_eq!(is_blocked, expected.is_some(), "{what}");
        fs::remove_file(world.path("answer")).expect("it is there");
        let doctor = finish(world.command(&["doctor"]).env("PATH", &path), b"");
        let is_said = doctor.stdout.contains(UNTRUSTED);
        assert_eq!(is_said, install == "--user", "without an answer: {doctor}");
    }
}
