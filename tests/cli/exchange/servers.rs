//! Servers of several kinds, connections that break, and what is not meant for us.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use testing::binary::Sandbox;
use testing::git;
use testing::mount::Mount;

use super::hostile::Forger;
use super::hosts::{Served, free_port};
use super::random::is_full;
use super::{fetch, in_server, machine, only, push, server};

/// A server of git's own protocol on this machine, and its port.
struct Daemon(#[expect(dead_code, reason = "it ends with it")] Served, u16);

impl Daemon {
    fn serve(world: &Sandbox) -> Option<Self> {
        let port = free_port();
        let mut git = git::command(&world.path("."), &world.home());
        git.args(["daemon", "--export-all", "--reuseaddr"]);
        git.args(["--listen=127.0.0.1", &format!("--port={port}")]);
        git.arg(format!("--base-path={}", world.path(".").display()));
        Some(Self(Served::start(&mut git, port)?, port))
    }
}

#[test]
fn a_server_of_gits_protocol_takes_a_history() {
    let (one, other) = (machine(), Sandbox::new());
    server(&one);
    let Some(daemon) = Daemon::serve(&one) else {
        return testing::skip::skip("`git daemon` is not there");
    };
    let address = format!("git://127.0.0.1:{}/server.git", daemon.1);
    push(&one, &address);
    let name = only(&fetch(&other, &address));
    one.play("m3", "go on", |world| world.write("a", "3\n"));
    push(&one, &address);
    fetch(&other, &address);
    let log = other.json(&["--machine", &name, "log"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(3), "{log}");
}

#[test]
fn what_is_no_bundle_harms_nothing() {
    let (one, other) = (machine(), Sandbox::new());
    let server = server(&one);
    push(&one, &server);
    let refs = String::from_utf8(in_server(
        &one,
        &server,
        &["for-each-ref", "--format=%(refname)"],
    ));
    let name = refs.expect("text").trim().to_owned();
    other.play("o1", "my own", |world| world.write("a", "1\n"));
    for rows in ["", "nonsense", "{\"format\":9}", "{\"format\":1}\n{}"] {
        let mut store = git::command(&one.path("."), &one.home());
        store.args(["--git-dir", &server, "hash-object", "-w", "--stdin"]);
        let blob = testing::binary::finish(&mut store, rows.as_bytes())
            .exits(0)
            .stdout;
        let mut tree = git::command(&one.path("."), &one.home());
        tree.args(["--git-dir", &server, "mktree"]);
        let line = format!("100644 blob {}\trows\n", blob.trim());
        let tree = testing::binary::finish(&mut tree, line.as_bytes())
            .exits(0)
            .stdout;
        let commit = in_server(&one, &server, &["commit-tree", tree.trim(), "-m", "x"]);
        let commit = String::from_utf8(commit).expect("text");
        in_server(&one, &server, &["update-ref", &name, commit.trim()]);
        let run = other.run(&["fetch", &server], b"");
        assert!(
            run.code.is_some_and(|code| [1, 4].contains(&code)),
            "{rows}: {run}"
        );
        let own = other.json(&["log"]);
        assert_eq!(own["messages"].as_array().map(Vec::len), Some(1), "{own}");
    }
    let refused = one.run(&["push"], b"").exits(4);
    assert!(
        refused.stderr.contains("not what this store has pushed"),
        "{refused}"
    );
}

/// What is pushed in the place of a machine is data: no name of a commit becomes an option or another name for git, and
/// rows that contradict each other are called that.
///
/// Invariant `private/programs`.
#[test]
fn forged_rows_are_data_and_refused() {
    let (one, other) = (machine(), Sandbox::new());
    for world in [&one, &other] {
        world.run_git(&["init", "-q"]);
        world.run_git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    }
    let head = one.run_git(&["rev-parse", "HEAD"]);
    one.play("m3", "go on", |world| world.write("a", "3\n"));
    let server = server(&one);
    push(&one, &server);
    let forger = Forger::at(&one, &server);
    let rows = &forger.rows;
    assert!(rows.contains(head.trim()), "it is recorded: {rows}");
    forger.push(&rows.replace(head.trim(), "HEAD"), None);
    let machine = only(&fetch(&other, &server));
    let line = [
        "--machine",
        &machine,
        "branch",
        "last",
        "../new",
        "--worktree",
    ];
    let refused = other.run(&line, b"").exits(4);
    assert!(
        refused.stderr.contains("no commit was checked out"),
        "{refused}"
    );
    forger.push(&rows.replace("\"live\"", "\"odd\""), None);
    let refused = other.run(&["fetch", &server], b"").exits(4);
    assert!(refused.stderr.contains("contradicts itself"), "{refused}");
}

/// An address of SSH is reached by the command that the user has set for git.
#[test]
fn ssh_goes_by_the_users_command() {
    let (one, other) = (machine(), Sandbox::new());
    server(&one);
    let ssh = one.path("ssh");
    let script = format!(
        "#!/bin/sh\ncd '{}'\nfor last; do :; done\neval \"$last\"\n",
        one.path(".").display()
    );
    std::fs::write(&ssh, script).expect("writable");
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).expect("ours");
    for (world, command) in [(&one, "push"), (&other, "fetch")] {
        let mut words = vec![command, "me@example.org:server.git"];
        words.extend((command == "push").then_some("--yes"));
        let mut command = world.command(&words);
        command.env("GIT_SSH_COMMAND", &ssh);
        testing::binary::finish(&mut command, b"").exits(0);
    }
    let listed = other.json(&["workspace", "list"]);
    assert!(
        listed.to_string().contains("\"machine\":\"host-"),
        "{listed}"
    );
}

/// Passes on what goes to a port, and after so many bytes to the server, and from it, cuts a connection, or passes on
/// nothing more.
struct Cutter(u16, [Arc<AtomicUsize>; 2]);

impl Cutter {
    fn before(port: u16) -> Self {
        Self::new(port, true)
    }

    fn new(port: u16, cuts: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let own = listener.local_addr().expect("it has one").port();
        let limits: [Arc<AtomicUsize>; 2] = Default::default();
        let kept = limits.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
                    continue;
                };
                let ways = [(&client, &server), (&server, &client)];
                for ((from, to), limit) in ways.into_iter().zip(&kept) {
                    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else {
                        continue;
                    };
                    let mut left = limit.load(Ordering::SeqCst);
                    std::thread::spawn(move || {
                        let mut buffer = [0; 4096];
                        while let Ok(read @ 1..) = from.read(&mut buffer) {
                            let passed = read.min(left);
                            left -= passed;
                            if passed < read && !cuts {
                                std::thread::park();
                            }
                            if to.write_all(&buffer[..passed]).is_err() || passed < read {
                                let _ = from.shutdown(Shutdown::Both);
                                break;
                            }
                        }
                        let _ = to.shutdown(match left {
                            0 => Shutdown::Both,
                            _ => Shutdown::Write,
                        });
                    });
                }
            }
        });
        Self(own, limits)
    }

    fn allow(&self, bytes: [usize; 2]) {
        for (limit, bytes) in self.1.iter().zip(bytes) {
            limit.store(bytes, Ordering::SeqCst);
        }
    }
}

/// Invariant `work/cut-connections`: A push or fetch whose connection is cut anywhere is made up for by the next.
#[test]
fn cut_connections_are_made_up_for() {
    const ALL: usize = usize::MAX;
    let (one, other) = (machine(), Sandbox::new());
    server(&one);
    let Some(daemon) = Daemon::serve(&one) else {
        return testing::skip::skip("`git daemon` is not there");
    };
    let cutter = Cutter::before(daemon.1);
    let address = format!("git://127.0.0.1:{}/server.git", cutter.0);
    let after: &[usize] = match is_full() {
        true => &[0, 20, 90, 150, 300, 500, 800, 1000, 1300, 1800, 2500, 4000],
        false => &[0, 150, 700, 1300],
    };
    let mut messages = 2;
    for bytes in after
        .iter()
        .flat_map(|bytes| [[*bytes, ALL], [ALL, *bytes]])
    {
        messages += 1;
        one.play(&format!("m{messages}"), "go on", |world| {
            world.write("a", format!("{messages}\n"));
        });
        cutter.allow(bytes);
        one.run(&["push", &address, "--yes"], b"");
        other.run(&["fetch", &address], b"");
        cutter.allow([ALL, ALL]);
        push(&one, &address);
        cutter.allow(bytes);
        other.run(&["fetch", &address], b"");
        cutter.allow([ALL, ALL]);
        let name = only(&fetch(&other, &address));
        let log = other.json(&["--machine", &name, "log"]);
        let here = one.json(&["log"]);
        let ids = |log: &serde_json::Value| -> Vec<String> {
            let all = log["messages"].as_array().into_iter().flatten();
            all.map(|one| one["id"].to_string()).collect()
        };
        assert_eq!(ids(&log), ids(&here), "{bytes:?}");
    }
}

/// A server from which nothing comes any more is not waited for without end, at any stage, and the next push goes on.
///
/// Invariant `agent/stalled-servers`: No `push` or `fetch` waits without end for a server that says nothing.
#[test]
fn a_stalled_server_is_given_up() {
    const ALL: usize = usize::MAX;
    let (one, other) = (machine(), Sandbox::new());
    server(&one);
    let Some(daemon) = Daemon::serve(&one) else {
        return testing::skip::skip("`git daemon` is not there");
    };
    let cutter = Cutter::new(daemon.1, false);
    let address = format!("git://127.0.0.1:{}/server.git", cutter.0);
    let stalls = |world: &Sandbox, words: &[&str]| {
        let mut command = world.command(words);
        command.env("CKPT_HOOK_TEST_PATIENCE", "1000");
        let run = testing::binary::finish(&mut command, b"").exits(1);
        assert!(run.stderr.contains("nothing has come from"), "{run}");
        assert!(run.stderr.contains("give the same command again"), "{run}");
    };
    for limit in [[0, ALL], [ALL, 0], [400, ALL], [ALL, 100]] {
        cutter.allow(limit);
        stalls(&one, &["push", &address, "--yes"]);
    }
    cutter.allow([ALL, ALL]);
    push(&one, &address);
    cutter.allow([ALL, 300]);
    stalls(&other, &["fetch", &address]);
    cutter.allow([ALL, ALL]);
    let name = only(&fetch(&other, &address));
    let log = other.json(&["--machine", &name, "log"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(2), "{log}");
}

/// Ctrl-C ends git, says that the command can be given again, and leaves nothing behind.
#[test]
fn an_interrupted_connection_says_what_to_do() {
    let world = machine();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it has one").port();
    let address = format!("git://127.0.0.1:{port}/server.git");
    let mut command = world.command(&["push", &address, "--yes"]);
    let folder = world.path("tmp");
    std::fs::create_dir_all(&folder).expect("writable");
    command.env("TMPDIR", &folder).process_group(0);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let (mut asking, _) = listener.accept().expect("git connects");
    let mut first = [0];
    asking.read_exact(&mut first).expect("git asks");
    let group = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process_group(group, rustix::process::Signal::INT).expect("it runs");
    let mut said = String::new();
    let stderr = child.stderr.as_mut().expect("it is read");
    stderr.read_to_string(&mut said).expect("text");
    // A signal that comes before the start has returned ends both.
    let ended = child.wait().expect("it ends");
    let is_told = said.contains("interrupted") && said.contains("give the same command again");
    let is_told = is_told && ended.code() == Some(1);
    assert!(is_told || ended.signal() == Some(2), "{ended}: {said}");
    assert_eq!(folder.read_dir().expect("readable").count(), 0);
}

/// A server whose disk is full changes nothing here, says why, and takes all once it has room.
#[test]
fn a_full_server_is_made_up_for() {
    let (one, other) = (machine(), Sandbox::new());
    let disk = one.path("disk");
    std::fs::create_dir_all(&disk).expect("writable");
    let Some(mount) = Mount::new(&disk, "size=400k") else {
        return;
    };
    let server = disk.join("server.git").display().to_string();
    one.run_git(&["init", "-q", "--bare", "--template=", &server]);
    in_server(&one, &server, &["config", "transfer.fsckObjects", "true"]);
    push(&one, &server);
    let mut state = 1_u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    let noise: Vec<u8> = noise.take(600_000).collect();
    one.play("m3", "make much", |world| world.write("much", &noise));
    let full = one.run(&["push"], b"").exits(1);
    assert!(full.stderr.contains("git cannot push"), "{full}");
    assert!(full.stderr.contains("No space left"), "{full}");
    mount.remount("size=20m");
    push(&one, &server);
    let name = only(&fetch(&other, &server));
    let log = other.json(&["--machine", &name, "log"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(3), "{log}");
}

/// A server that refuses, for its size or its rules, changes nothing here, and says why.
#[test]
fn refusals_are_told_and_made_up_for() {
    let (one, other) = (machine(), Sandbox::new());
    let server = server(&one);
    let rules = [
        ("receive.maxInputSize", "100", "maximum allowed size"),
        ("transfer.hideRefs", "refs/ckpt-hook", "hidden ref"),
        ("receive.denyCurrentBranch", "refuse", ""),
    ];
    for (name, value, why) in rules {
        in_server(&one, &server, &["config", name, value]);
        let run = one.run(&["push", &server, "--yes"], b"");
        assert_eq!(run.code == Some(0), why.is_empty(), "{name}: {run}");
        assert!(run.stderr.contains(why), "{name}: {run}");
        in_server(&one, &server, &["config", "--unset", name]);
    }
    only(&fetch(&other, &server));
    // Another one removed it.
    let refs = in_server(&one, &server, &["for-each-ref", "--format=%(refname)"]);
    let name = String::from_utf8(refs).expect("text");
    in_server(&one, &server, &["update-ref", "-d", name.trim()]);
    one.play("m3", "go on", |world| world.write("a", "3\n"));
    assert_eq!(push(&one, &server)["pushed"], true);
    let machine = only(&fetch(&other, &server));
    let log = other.json(&["--machine", &machine, "log"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(3), "{log}");
}

/// Two pushes of one store and one of another, at once: nothing is lost, and nothing there twice.
#[test]
fn pushes_at_once_lose_nothing() {
    let (one, other) = (machine(), machine());
    let server = server(&one);
    push(&one, &server);
    for number in 3..6 {
        let id = format!("m{number}");
        one.play(&id, "go on", |world| {
            world.write("a", format!("{number}\n"))
        });
        let worlds = [&one, &one, &other];
        let children = worlds.map(|world| {
            let mut command = world.command(&["push", &server, "--yes"]);
            let command = command.stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().expect("it starts")
        });
        for mut child in children {
            child.wait().expect("it ends");
        }
        push(&one, &server);
        push(&other, &server);
        let report = fetch(&other, &server);
        let log = other.json(&["--machine", &only(&report), "log"]);
        let messages = log["messages"].as_array().map(Vec::len);
        assert_eq!(messages, Some(number), "{log}");
    }
}

/// Invariant `private/connections`: Only `push` and `fetch` reach other machines, by the user's git; nothing else opens a socket of a network.
#[test]
fn only_push_and_fetch_reach_other_machines() {
    let world = machine();
    let trace = world.path("trace");
    let opens = |arguments: &[&str]| {
        let out = trace.to_str().expect("a plain path");
        let options = ["-e", "trace=socket", "-o", out];
        let run = testing::binary::finish(
            &mut testing::strace::command(&world, &options, arguments),
            b"{}",
        );
        let text = std::fs::read_to_string(&trace).expect("it was traced");
        (text.contains("AF_INET"), run)
    };
    let commands: &[&[&str]] = &[
        &["log"],
        &["log", "--graph"],
        &["show", "last"],
        &["diff"],
        &["blame", "a"],
        &["cat", "last:a"],
        &["recover"],
        &["sessions"],
        &["status"],
        &["workspace", "list"],
        &["snapshot"],
        &["branch", "last", "../way"],
        &["bisect", "--", "test", "!", "-e", "deep/b"],
        &["run", "--", "true"],
        &["revert", "m2"],
        &["undo"],
        &["restore", "m1", "a"],
        &["doctor"],
        &["du"],
        &["gc"],
        &["settle"],
        &["forget", "--dry-run", "--all"],
        &["install", "--list"],
        &["event"],
        &["message", "--session", "s", "--prompt", "go on"],
        &["step-start", "--session", "s"],
        &["step-finish", "--session", "s"],
    ];
    for arguments in commands {
        let (opens, run) = opens(arguments);
        assert!(!opens, "{arguments:?}: {run}");
    }
    let (opens, run) = opens(&["fetch", "git://127.0.0.1:1/nothing.git"]);
    assert!(opens, "a socket would have been seen: {run}");
}

#[test]
fn a_fetched_history_is_forgotten() {
    let (one, other) = (machine(), Sandbox::new());
    let server = server(&one);
    push(&one, &server);
    other.play("o1", "my own", |world| world.write("a", "1\n"));
    let name = only(&fetch(&other, &server));
    let forget = ["--machine", &name, "forget", "--workspace"];
    let plan = other.json(&[&forget[..], &["--dry-run"]].concat());
    assert_eq!(plan["workspaces"][0]["machine"], name, "{plan}");
    let run = other.run(&[&forget[..], &["--yes"]].concat(), b"").exits(0);
    assert!(run.stdout.contains(&format!("{name}:/")), "{run}");
    other.run(&["--machine", &name, "log"], b"").exits(4);
    let own = other.json(&["log"]);
    assert_eq!(own["messages"].as_array().map(Vec::len), Some(1), "{own}");
}
