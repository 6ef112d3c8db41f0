//! `push` and `fetch`: one history on several machines, each with a store of its own, and real repositories between them.

mod addresses;
mod bombs;
mod encrypted;
mod forgotten;
mod hostile;
mod hosts;
mod many;
mod names;
mod random;
mod servers;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::binary::Sandbox;
use testing::{git, tree};

/// Makes a bare repository that checks what it gets, as the big servers do, and returns its path.
fn server(world: &Sandbox) -> String {
    let path = world.path("server.git");
    let path = path.to_str().expect("a plain path").to_owned();
    let run = |arguments: &[&str]| {
        let mut git = git::command(&world.path("."), &world.home());
        git::text(git.args(arguments))
    };
    run(&["init", "-q", "--bare", &path]);
    for name in [
        "transfer.fsckObjects",
        "receive.fsckObjects",
        "daemon.receivepack",
    ] {
        run(&["--git-dir", &path, "config", name, "true"]);
    }
    path
}

fn in_server(world: &Sandbox, server: &str, arguments: &[&str]) -> Vec<u8> {
    let mut git = git::command(&world.path("."), &world.home());
    git::bytes(git.args(["--git-dir", server]).args(arguments))
}

/// A machine on which two messages were sent.
fn machine() -> Sandbox {
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.play("m1", "make it work", |world| {
        world.write("a", "1\n");
        world.write("deep/b", "1\n");
    });
    world.play("m2", "make it fast", |world| world.write("a", "2\n"));
    world
}

fn push(world: &Sandbox, server: &str) -> serde_json::Value {
    world.json(&["push", server, "--yes"])
}

fn fetch(world: &Sandbox, server: &str) -> serde_json::Value {
    let report = world.json(&["fetch", server]);
    assert!(report["machines"].is_array(), "{report}");
    report
}

/// Returns the name of the only machine that was fetched.
fn only(report: &serde_json::Value) -> String {
    assert_eq!(
        report["machines"].as_array().map(Vec::len),
        Some(1),
        "{report}"
    );
    report["machines"][0]["machine"]
        .as_str()
        .expect("a name")
        .to_owned()
}

/// Returns every byte of every object of the bare repositories below a directory, or of one.
fn objects(world: &Sandbox, directory: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(folder) = left.pop() {
        if folder.join("objects").is_dir() {
            let name = folder.to_str().expect("a plain path");
            let list = ["cat-file", "--batch-all-objects", "--batch"];
            all.extend(in_server(world, name, &list));
        } else {
            let entries = folder.read_dir().into_iter().flatten().flatten();
            left.extend(
                entries
                    .map(|entry| entry.path())
                    .filter(|path| path.is_dir()),
            );
        }
    }
    all
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

/// Invariant `truth/other-machines`: What came from another machine is shown as that machine's, beside this one's own history.
#[test]
fn what_one_machine_pushed_another_sees() {
    let (one, other) = (machine(), Sandbox::new());
    let server = server(&one);
    let pushed = push(&one, &server);
    assert_eq!(pushed["pushed"], true, "{pushed}");
    assert_eq!(pushed["messages"], 2, "{pushed}");
    other.write("a", "mine\n");
    other.play("o1", "my own", |world| world.write("a", "mine, too\n"));
    let report = fetch(&other, &server);
    let name = only(&report);
    let of = |arguments: &[&str]| other.json(&[&["--machine", &name], arguments].concat());
    let (here, there) = (of(&["log"]), one.json(&["log"]));
    for (at, id) in [(0, "m2"), (1, "m1")] {
        for field in ["id", "agent_id", "prompt", "files", "additions"] {
            assert_eq!(
                here["messages"][at][field], there["messages"][at][field],
                "{id}: {here}"
            );
        }
    }
    assert_eq!(
        of(&["show", "m1"])["changes"],
        one.json(&["show", "m1"])["changes"],
        "show"
    );
    assert_eq!(
        of(&["diff", "m1", "m2"])["files"],
        one.json(&["diff", "m1", "m2"])["files"],
        "diff"
    );
    let cat = other
        .run(&["--machine", &name, "cat", "m2:a"], b"")
        .exits(0);
    assert_eq!(cat.stdout, "1\n", "{cat}");
    let own = other.json(&["log"]);
    assert_eq!(
        own["messages"].as_array().map(Vec::len),
        Some(1),
        "its own: {own}"
    );
    let refused = other
        .run(&["--machine", &name, "revert", "m1"], b"")
        .exits(2);
    assert!(refused.stderr.contains("workspace adopt ID"), "{refused}");
    let unknown = other.run(&["--machine", "nobody", "log"], b"").exits(4);
    assert!(unknown.stderr.contains(&name), "{unknown}");
    assert_eq!(other.read("a"), b"mine, too\n", "nothing was changed");
}

#[test]
fn a_file_of_another_machine_is_restored_here() {
    let (one, other) = (machine(), Sandbox::new());
    let server = server(&one);
    push(&one, &server);
    other.write("a", "mine\n");
    other.write("only here", "mine\n");
    let name = only(&fetch(&other, &server));
    other
        .run(&["--machine", &name, "restore", "m2", "a"], b"")
        .exits(0);
    assert_eq!(other.read("a"), b"1\n", "as it was there");
    assert_eq!(other.read("only here"), b"mine\n");
    other.run(&["undo"], b"").exits(0);
    assert_eq!(other.read("a"), b"mine\n", "and back");
}

/// Invariant `work/other-machines`: Every state comes to another machine to the byte, whatever its names, whatever a server checks.
#[test]
fn states_come_to_another_machine_to_the_byte() {
    let (one, other) = (Sandbox::new(), Sandbox::new());
    one.write("run", "#!/bin/sh\n");
    one.write("odd \u{1b}[31m name\n", [0, 159, 146, 150]);
    one.write(
        ".gitmodules",
        "[submodule \"--x\"]\n\turl = -u./payload\n\tpath = ../..\n",
    );
    one.write("git~2/.GITATTRIBUTES", "x".repeat(3000));
    one.write("sub/dir/.gitignore", "");
    std::fs::create_dir(one.workspace().join("empty")).expect("writable");
    symlink(
        "../../../etc/passwd",
        one.workspace().join(".gitattributes"),
    )
    .expect("writable");
    let mode = |path: &str, bits| {
        let bits = std::fs::Permissions::from_mode(bits);
        std::fs::set_permissions(one.workspace().join(path), bits).expect("it is ours");
    };
    mode("run", 0o750);
    mode("empty", 0o711);
    let before = one.tree();
    one.play("m1", "spoil it", |world| {
        world.remove("run");
        world.write("empty/x", "1\n");
    });
    let server = server(&one);
    push(&one, &server);
    let name = only(&fetch(&other, &server));
    let way = other.path("way");
    let branch = ["--machine", &name, "branch", "m1", "../way"];
    other.run(&branch, b"").exits(0);
    assert_eq!(tree::read(&way), before);
}

/// Invariant `private/ignored-stays`: No ignored file leaves this machine, by name or by content.
#[test]
fn ignored_files_are_not_pushed() {
    let (one, other) = (Sandbox::new(), Sandbox::new());
    one.run_git(&["init", "-q"]);
    one.write(".gitignore", ".env\n/private/\n");
    one.write(".env", "KEY=0-very-secret\n");
    one.write("later.pem", "2-very-secret\n");
    one.write("a", "0\n");
    one.play("m1", "go on", |world| {
        world.write(".env", "KEY=1-very-secret\n");
        world.write("a", "1-public\n");
    });
    one.write(".gitignore", ".env\n/private/\n*.pem\n");
    one.play("m2", "go on", |world| world.write("a", "2\n"));
    let cat = one.run(&["cat", "m1:.env"], b"").exits(0);
    assert!(
        cat.stdout.contains("0-very-secret"),
        "it is captured here: {cat}"
    );
    let server = server(&one);
    let report = push(&one, &server);
    let ignored: Vec<_> = report["ignored"].as_array().into_iter().flatten().collect();
    assert_eq!(ignored.len(), 2, "{report}");
    other.write(".env", "KEY=mine\n");
    other.play("o1", "go on", |world| world.write("a", "3\n"));
    let name = only(&fetch(&other, &server));
    let bytes = [
        objects(&one, Path::new(&server)),
        objects(&other, &other.store().join("snapshots")),
    ]
    .concat();
    assert!(holds(&bytes, "1-public"), "what is not ignored came");
    assert!(!holds(&bytes, "very-secret"), "what is ignored did not");
    // Nor does what was left out count as gone.
    other.run(&["--machine", &name, "restore", "m2", "--force"], b"");
    assert_eq!(other.read(".env"), b"KEY=mine\n", "it stays");
}

#[test]
fn pushed_twice_is_pushed_once() {
    let (one, other) = (machine(), Sandbox::new());
    let server = server(&one);
    push(&one, &server);
    let refs = in_server(&one, &server, &["for-each-ref"]);
    let again = push(&one, &server);
    assert_eq!(again["pushed"], false, "{again}");
    assert_eq!(
        in_server(&one, &server, &["for-each-ref"]),
        refs,
        "nothing new there"
    );
    fetch(&other, &server);
    let again = fetch(&other, &server);
    assert_eq!(again["machines"][0]["pushes"], 0, "{again}");
    assert_eq!(again["machines"][0]["messages"], 2, "{again}");
}

/// A push sends what is new, however much there is already.
#[test]
fn a_later_push_is_small() {
    let (one, other) = (Sandbox::new(), Sandbox::new());
    for number in 0..300 {
        // Of no use to a compressor.
        let line = format!("{number}{}", "x1y2".repeat(number));
        one.write(&format!("d{}/f{number}", number % 7), line.repeat(5));
    }
    one.play("m1", "go on", |world| world.write("a", "1\n"));
    let server = server(&one);
    push(&one, &server);
    let size = || objects(&one, Path::new(&server)).len();
    let before = size();
    one.play("m2", "go on", |world| world.write("d1/f1", "new\n"));
    let report = one.json(&["push"]);
    assert_eq!(report["messages"], 1, "{report}");
    assert!(size() - before < 8 << 10, "{} bytes", size() - before);
    assert!(before > 20 << 10, "{before} bytes");
    let name = only(&fetch(&other, &server));
    let cat = other
        .run(&["--machine", &name, "cat", "m2:d3/f3"], b"")
        .exits(0);
    assert!(cat.stdout.starts_with("3x1y2"), "{cat}");
}

#[test]
fn a_project_remote_is_refused_by_name() {
    let world = machine();
    world.run_git(&["init", "-q"]);
    let server = server(&world);
    world.run_git(&["remote", "add", "origin", &server]);
    world.play("m3", "go on", |world| world.write("a", "3\n"));
    let refused = world.run(&["push", "origin", "--yes"], b"").exits(1);
    let how = "`git remote get-url origin`";
    assert!(refused.stderr.contains(how), "it says how: {refused}");
    assert_eq!(
        in_server(&world, &server, &["for-each-ref"]),
        b"",
        "nothing went"
    );
    for address in ["--upload-pack=touch x", "ext::sh -c true", ""] {
        world.run(&["push", "--yes", "--", address], b"").exits(2);
    }
    assert_eq!(
        push(&world, &server)["pushed"],
        true,
        "by its address it is meant"
    );
}

/// Invariant `private/nothing-leaves`: Nothing is pushed to a repository before the user has named it, seen what would go, and agreed.
#[test]
fn the_first_push_asks() {
    let world = machine();
    let server = server(&world);
    let run = world.run(&["push"], b"").exits(2);
    assert!(run.stderr.contains("no remote was named"), "{run}");
    world.run(&["push", &server], b"").exits(2);
    let dry = world.json(&["push", &server, "--dry-run"]);
    assert_eq!(dry["messages"], 2, "{dry}");
    assert_eq!(dry["pushed"], false, "{dry}");
    assert_eq!(
        in_server(&world, &server, &["for-each-ref"]),
        b"",
        "nothing went"
    );
    push(&world, &server);
    world.play("m3", "go on", |world| world.write("a", "3\n"));
    let run = world.run(&["push"], b"").exits(0);
    assert!(run.stdout.contains("1 message"), "named once: {run}");
}

#[test]
fn secrets_are_named_before_a_push() {
    let world = Sandbox::new();
    world.write("a", "0\n");
    world.play(
        "m1",
        "use ghp_0123456789abcdefghijABCDEFGHIJ012345",
        |world| {
            world.write("key", "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n");
            world.write("not", "-----BEGIN of a story\n");
        },
    );
    let server = server(&world);
    let report = world.json(&["push", &server, "--dry-run"]);
    assert_eq!(report["secrets"][0]["path"], "key", "{report}");
    assert_eq!(
        report["secrets"].as_array().map(Vec::len),
        Some(1),
        "{report}"
    );
    assert_eq!(report["secret_prompts"], 1, "{report}");
}

/// Invariant `private/forgotten-goes`: What is forgotten goes from the remote and from other machines with the next push and fetch.
#[test]
fn what_is_forgotten_goes_elsewhere() {
    let (one, other) = (machine(), Sandbox::new());
    one.play("m3", "unspeakable words", |world| {
        world.write("b", "unspeakable bytes\n")
    });
    let server = server(&one);
    push(&one, &server);
    fetch(&other, &server);
    one.remove("b");
    one.play("m4", "go on", |world| world.write("a", "4\n"));
    // A second repository, which the first one's name does not stand for.
    let second = one.path("second.git").display().to_string();
    one.run_git(&["init", "-q", "--bare", &second]);
    push(&one, &second);
    let forgot = one.run(&["forget", "--message", "m3", "--yes"], b"");
    let forgot = forgot.exits(0).stdout;
    let behind = |server: &str| {
        let findings = one.run(&["doctor"], b"").stdout;
        findings.contains(&format!("`{server}` still has what was forgotten"))
    };
    for there in [&server, &second] {
        let until = format!("{there} still has it, until the next `ckpt-hook push {there}`");
        assert!(forgot.contains(&until), "{forgot}");
        assert!(behind(there), "{there}");
    }
    let report = push(&one, &server);
    assert_eq!(report["anew"], true, "{report}");
    assert_eq!((behind(&server), behind(&second)), (false, true));
    in_server(
        &one,
        &server,
        &["reflog", "expire", "--expire=now", "--all"],
    );
    in_server(&one, &server, &["gc", "-q", "--prune=now"]);
    assert!(
        !holds(&objects(&one, Path::new(&server)), "unspeakable"),
        "not in the rows"
    );
    let fetched = fetch(&other, &server);
    let name = only(&fetched);
    other.run(&["gc"], b"").exits(0);
    let bytes = objects(&other, &other.store().join("snapshots"));
    assert!(!holds(&bytes, "unspeakable"), "not in objects");
    let log = other
        .run(&["--machine", &name, "--json", "log"], b"")
        .exits(0);
    assert!(!log.stdout.contains("unspeakable"), "nor in rows: {log}");
    let cat = other
        .run(&["--machine", &name, "cat", "m4:a"], b"")
        .exits(0);
    assert_eq!(cat.stdout, "2\n", "the rest is there: {cat}");
}

#[test]
fn a_copied_store_is_noticed() {
    let (one, copy) = (machine(), Sandbox::new());
    let server = server(&one);
    push(&one, &server);
    let status = Command::new("cp")
        .arg("-a")
        .args([one.store(), copy.store()])
        .status();
    assert!(status.expect("cp is there").success());
    one.play("m3", "go on", |world| world.write("a", "3\n"));
    push(&one, &server);
    // The copy's home: the same workspace, as another home has it.
    for words in [&["push", "--yes"][..], &["fetch"]] {
        let mut command = one.command(words);
        command.env("CKPT_HOOK_HOME", copy.store());
        let run = testing::binary::finish(&mut command, b"").exits(4);
        assert!(run.stderr.contains("a copy of this store"), "{run}");
    }
}

/// A push that did not come to its end is made up for by the next one, wherever it ended.
#[test]
fn an_interrupted_push_goes_on() {
    let (one, other) = (machine(), Sandbox::new());
    let server = server(&one);
    let hook = PathBuf::from(&server).join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().expect("it has one")).expect("writable");
    let refuse = |script: &str| {
        std::fs::write(&hook, format!("#!/bin/sh\n{script}\n")).expect("writable");
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("ours");
    };
    refuse("echo full >&2; exit 1");
    let run = one.run(&["push", &server, "--yes"], b"").exits(1);
    assert!(run.stderr.contains("full"), "it says why: {run}");
    assert_eq!(in_server(&one, &server, &["for-each-ref"]), b"");
    std::fs::remove_file(&hook).expect("it is there");
    // It arrives, but this end is killed before it hears of that.
    let post = PathBuf::from(&server).join("hooks/post-receive");
    let kill = "kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $(ps -o ppid= -p $PPID)))";
    std::fs::write(&post, format!("#!/bin/sh\n{kill}\nsleep 1\n")).expect("writable");
    std::fs::set_permissions(&post, std::fs::Permissions::from_mode(0o755)).expect("ours");
    one.run(&["push", &server, "--yes"], b"");
    assert_ne!(
        in_server(&one, &server, &["for-each-ref"]),
        b"",
        "it arrived"
    );
    std::fs::remove_file(&post).expect("it is there");
    one.play("m3", "go on", |world| world.write("a", "3\n"));
    push(&one, &server);
    let name = only(&fetch(&other, &server));
    let log = other.json(&["--machine", &name, "log"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(3), "{log}");
}

#[test]
fn a_fetched_history_is_adopted() {
    let (one, other) = (machine(), Sandbox::new());
    let server = server(&one);
    push(&one, &server);
    other.write("a", "2\n");
    other.write("deep/b", "changed since\n");
    let report = fetch(&other, &server);
    let id = report["machines"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    other.run(&["workspace", "adopt", &id], b"").exits(0);
    let run = other.run(&["revert", "m2"], b"").exits(0);
    assert_eq!(other.read("a"), b"1\n", "{run}");
    assert_eq!(other.read("deep/b"), b"changed since\n", "the user's");
    other.run(&["undo"], b"").exits(0);
    one.play("m3", "go on", |world| world.write("a", "3\n"));
    push(&one, &server);
    let again = fetch(&other, &server);
    assert_eq!(
        again["machines"].as_array().map(Vec::len),
        Some(1),
        "{again}"
    );
    assert_eq!(again["machines"][0]["adopted"], true, "{again}");
    // Both have it, and push it: no id stands in the other's way.
    other.play("o1", "go on", |world| world.write("a", "4\n"));
    push(&other, &server);
    let name = only(&fetch(&one, &server));
    let log = one.json(&["--machine", &name, "log"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(3), "{log}");
    assert_eq!(
        one.json(&["log"])["messages"].as_array().map(Vec::len),
        Some(3),
        "its own"
    );
}

/// A command that runs in a container pushes what it did at its end, and its exit code stays its own.
#[test]
fn a_run_pushes_what_it_did() {
    let world = machine();
    let server = server(&world);
    let run = [
        "run",
        "--push",
        &server,
        "--push-name",
        "app",
        "--",
        "sh",
        "-c",
    ];
    let words = [&run[..], &["echo 3 > a; exit 7"]].concat();
    world.run(&words, b"").exits(7);
    let refs = in_server(&world, &server, &["for-each-ref", "--format=%(refname)"]);
    let refs = String::from_utf8(refs).expect("names are text");
    assert!(refs.starts_with("refs/ckpt-hook/app/"), "{refs}");
    let unreachable = ["run", "--push", "/nowhere.git", "--", "true"];
    let run = world.run(&unreachable, b"").exits(0);
    assert!(run.stderr.contains("error:"), "{run}");
}

/// After `push --auto`, the end of a turn pushes what is new, in the background.
#[test]
fn a_turn_pushes_by_itself_if_told() {
    let world = machine();
    let server = server(&world);
    let tip = || in_server(&world, &server, &["for-each-ref", "--format=%(objectname)"]);
    world.run(&["push", &server, "--yes"], b"").exits(0);
    let first = tip();
    let turn = |message: &str, text: &str| {
        world.play(message, "go on", |world| world.write("a", text));
        let end = serde_json::json!({"event": "turn_end", "session_id": "s"});
        world.event(end).ends_silently();
    };
    turn("m3", "3\n");
    assert_eq!(tip(), first, "nothing leaves by itself");
    let run = world.run(&["push", "--auto"], b"").exits(0);
    assert!(run.stdout.contains("pushed after each turn"), "{run}");
    let second = tip();
    assert_ne!(second, first);
    turn("m4", "4\n");
    while tip() == second {
        std::thread::yield_now();
    }
    let setting = world.json(&["config", "get", "auto_push", "--workspace", "."]);
    assert!(setting.to_string().contains("true"), "{setting}");
    let again = world.run(&["push", "--auto"], b"").exits(0);
    assert!(again.stdout.contains("pushed after each turn"), "{again}");
    world.run(&["push", "--no-auto"], b"").exits(0);
}

/// `push --no-auto` only changes the setting, and says so.
#[test]
fn pushing_no_more_sends_nothing() {
    let world = machine();
    let server = server(&world);
    let tip = || in_server(&world, &server, &["for-each-ref", "--format=%(objectname)"]);
    world
        .run(&["push", &server, "--yes", "--auto"], b"")
        .exits(0);
    let first = tip();
    world.play("m3", "go on", |world| world.write("a", "3\n"));
    let run = world.run(&["push", "--no-auto"], b"").exits(0);
    assert_eq!(
        run.stdout,
        "Nothing was sent, and nothing is pushed by itself here from now on.\n"
    );
    assert_eq!(tip(), first);
    let setting = world.json(&["config", "get", "auto_push", "--workspace", "."]);
    assert!(setting.to_string().contains("false"), "{setting}");
    assert_eq!(world.json(&["push", "--no-auto"])["pushed"], false);
}
