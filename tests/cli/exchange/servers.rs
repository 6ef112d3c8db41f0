//! Servers of several kinds, what is not meant for us, and random histories.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};

use testing::binary::Sandbox;
use testing::{git, tree};

use super::{fetch, in_server, machine, only, push, server};

/// A server of git's own protocol on this machine, until it is dropped.
struct Daemon(Child, u16);

impl Daemon {
    fn serve(world: &Sandbox) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0")
            .ok()?
            .local_addr()
            .ok()?
            .port();
        let mut git = git::command(&world.path("."), &world.home());
        git.args([
            "daemon",
            "--export-all",
            "--reuseaddr",
            "--listen=127.0.0.1",
        ]);
        git.arg(format!("--port={port}"));
        git.arg(format!("--base-path={}", world.path(".").display()));
        let mut child = git
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        loop {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(Self(child, port));
            }
            if child.try_wait().ok()?.is_some() {
                return None;
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
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
    other
        .run(&["--machine", &name, "forget", "--workspace", "--yes"], b"")
        .exits(0);
    other.run(&["--machine", &name, "log"], b"").exits(4);
    let own = other.json(&["log"]);
    assert_eq!(own["messages"].as_array().map(Vec::len), Some(1), "{own}");
}

/// A random number, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        // Knuth's numbers for MMIX.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Random work, pushes, fetches and upkeep on three machines: in the end, each sees the messages of the others, and each state of
/// them to the byte.
#[test]
fn three_machines_see_the_same_histories() {
    for seed in 1..=2 {
        let mut dice = Dice(seed);
        let worlds = [Sandbox::new(), Sandbox::new(), Sandbox::new()];
        let server = server(&worlds[0]);
        let mut number = 0;
        for _ in 0..14 {
            let world = &worlds[usize::try_from(dice.below(3)).expect("it is small")];
            number += 1;
            match dice.below(6) {
                0 => drop(world.run(&["push", &server, "--yes"], b"")),
                1 => drop(fetch(world, &server)),
                2 => drop(world.run(&["gc"], b"")),
                3 => drop(world.run(&["revert", "last"], b"")),
                _ => world.play(&format!("m{number}"), &format!("go on {number}"), |world| {
                    let name = format!("d{}/f{}", dice.below(2), dice.below(3));
                    world.write(&name, format!("{number}\n").repeat(number));
                }),
            }
        }
        for world in &worlds {
            world.play("end", "the end", |world| world.write("end", "1\n"));
            push(world, &server);
        }
        for world in &worlds {
            let report = fetch(world, &server);
            let machines = report["machines"].as_array().expect("a list");
            assert_eq!(machines.len(), 2, "{seed}: {report}");
            for machine in machines {
                let name = machine["machine"].as_str().expect("a name");
                let log = world.json(&["--machine", name, "log"]);
                let id = |entry: &serde_json::Value| entry["id"].as_str().map(str::to_owned);
                let ids: Vec<String> = log["messages"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(id)
                    .collect();
                let of = |other: &&Sandbox| {
                    let own = other.json(&["log"]);
                    let own = own["messages"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(id);
                    own.collect::<Vec<_>>() == ids
                };
                let there = worlds
                    .iter()
                    .find(of)
                    .unwrap_or_else(|| panic!("{seed}: {log}"));
                for id in &ids {
                    let (here, beside) = (
                        world.path(&format!("{name}-{id}")),
                        there.path(&format!("own-{id}")),
                    );
                    let lay_out = |world: &Sandbox, before: &[&str], path: &Path| {
                        let path = path.to_str().expect("a plain path");
                        if !Path::new(path).exists() {
                            world
                                .run(&[before, &["branch", id, path]].concat(), b"")
                                .exits(0);
                        }
                    };
                    lay_out(world, &["--machine", name], &here);
                    lay_out(there, &[], &beside);
                    assert_eq!(tree::read(&here), tree::read(&beside), "{seed}: {id}");
                }
            }
        }
    }
}
