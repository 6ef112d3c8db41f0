//! Histories that only the holders of a key can read.

use std::path::{Path, PathBuf};
use std::process::Command;

use age::secrecy::ExposeSecret;
use testing::binary::Sandbox;
use testing::rows;

use super::{fetch, holds, in_server, machine, objects, only, push, server};

/// Makes an age key, and returns the public one and the file with the identity.
fn key(world: &Sandbox, name: &str) -> (String, PathBuf) {
    let identity = age::x25519::Identity::generate();
    let file = world.path(name);
    let text = format!(
        "# made for a test\n{}\n",
        identity.to_string().expose_secret()
    );
    std::fs::write(&file, text).expect("writable");
    (identity.to_public().to_string(), file)
}

/// Makes an SSH key, and returns the files of the public and the private one.
fn ssh_key(world: &Sandbox, kind: &str) -> Option<(String, PathBuf)> {
    let file = world.path(kind);
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", kind, "-N", "", "-C", "ada@example.org", "-f"])
        .arg(&file)
        .status();
    made.is_ok_and(|status| status.success())
        .then(|| (format!("{}.pub", file.display()), file))
}

fn fetch_with(world: &Sandbox, server: &str, identity: &Path) -> serde_json::Value {
    let identity = identity.to_str().expect("a plain path");
    world.json(&["fetch", server, "--identity", identity])
}

/// A machine whose history has an ignored file, and the repository that it is pushed to.
fn with_ignored() -> (Sandbox, String) {
    let world = Sandbox::new();
    world.run_git(&["init", "-q"]);
    world.write(".gitignore", ".env\n");
    world.write(".env", "KEY=0-very-secret\n");
    world.write("a", "0\n");
    world.play("m1", "plain words", |world| {
        world.write(".env", "KEY=1-very-secret\n");
        world.write("a", "plain text\n");
    });
    let server = server(&world);
    (world, server)
}

/// Returns whether something that is readable is in a repository.
fn is_readable(world: &Sandbox, server: &str) -> bool {
    in_server(
        world,
        server,
        &["reflog", "expire", "--expire=now", "--all"],
    );
    in_server(world, server, &["gc", "-q", "--prune=now"]);
    let bytes = objects(world, Path::new(server));
    let known = [
        "plain",
        "very-secret",
        "rows",
        ".env",
        "snapshots",
        "prompt",
    ];
    known.iter().any(|text| holds(&bytes, text))
}

/// Invariant `private/encrypted`: What is pushed with `--encrypt` is read by the keys' holders alone, also what comes later.
#[test]
fn encrypted_history_needs_its_key() {
    let (one, server) = with_ignored();
    let other = Sandbox::new();
    let (public, identity) = key(&other, "identity");
    let (_, wrong) = key(&other, "wrong");
    let report = one.json(&["push", &server, "--yes", "--encrypt", &public]);
    assert_eq!(report["keys"][0], public, "{report}");
    assert_eq!(
        report["ignored"][0]["path"], ".env",
        "it goes along: {report}"
    );
    assert!(!is_readable(&one, &server));
    for arguments in [&[][..], &["--identity", wrong.to_str().expect("plain")]] {
        let run = other.run(&[&["fetch", &server], arguments].concat(), b"");
        assert_ne!(run.code, Some(0), "{run}");
        assert!(run.stderr.contains("--identity FILE"), "{run}");
    }
    let name = only(&fetch_with(&other, &server, &identity));
    let there = |what: &str| {
        let run = other.run(&["--machine", &name, "cat", what], b"");
        run.exits(0).stdout
    };
    assert_eq!(there("m1:.env"), "KEY=0-very-secret\n");
    one.play("m2", "plain words", |world| {
        world.write("a", "plain again\n")
    });
    let report = push(&one, &server);
    assert_eq!(report["messages"], 1, "only what is new: {report}");
    assert!(!is_readable(&one, &server), "it stays encrypted");
    fetch_with(&other, &server, &identity);
    assert_eq!(there("m2:a"), "plain text\n");
    let log = other.json(&["--machine", &name, "show", "m1"]);
    assert_eq!(log["changes"], one.json(&["show", "m1"])["changes"]);
}

/// What was in the open, or for other keys, is replaced.
#[test]
fn other_keys_replace_what_was_there() {
    let (one, server) = with_ignored();
    let other = Sandbox::new();
    push(&one, &server);
    assert!(is_readable(&one, &server), "in the open");
    fetch(&other, &server);
    let mut before: Option<PathBuf> = None;
    for name in ["first", "second"] {
        let (public, identity) = key(&other, name);
        let file = other.path(&format!("{name}.pub"));
        std::fs::write(&file, format!("# a list\n\n{public}\n")).expect("writable");
        let file = file.to_str().expect("a plain path");
        // A push that fails after it was agreed to leaves nothing of the old behind.
        let hook = PathBuf::from(&server).join("hooks/pre-receive");
        std::fs::create_dir_all(hook.parent().expect("it has one")).expect("writable");
        std::fs::write(&hook, "#!/bin/sh\nexit 1\n").expect("writable");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&hook, mode).expect("ours");
        one.run(&["push", "--yes", "--encrypt", file], b"").exits(1);
        std::fs::remove_file(&hook).expect("it is there");
        let report = one.json(&["push", "--yes"]);
        assert_eq!(report["anew"], true, "{report}");
        assert!(!is_readable(&one, &server));
        if let Some(before) = before.replace(identity.clone()) {
            let before = before.to_str().expect("a plain path");
            let run = other.run(&["fetch", &server, "--identity", before], b"");
            assert_ne!(run.code, Some(0), "the old key reads nothing new: {run}");
        }
        let machine = only(&fetch_with(&other, &server, &identity));
        let log = other.json(&["--machine", &machine, "log"]);
        assert_eq!(log["messages"].as_array().map(Vec::len), Some(1), "{log}");
    }
}

#[test]
fn ssh_keys_read_what_is_encrypted() {
    let (one, server) = with_ignored();
    let (Some(ed), Some(rsa)) = (ssh_key(&one, "ed25519"), ssh_key(&one, "rsa")) else {
        return testing::skip::skip("`ssh-keygen` is not there");
    };
    let report = one.json(&[
        "push",
        &server,
        "--yes",
        "--encrypt",
        &ed.0,
        "--encrypt",
        &rsa.0,
    ]);
    assert_eq!(report["keys"].as_array().map(Vec::len), Some(2), "{report}");
    assert!(!report.to_string().contains("ada@"), "no comment: {report}");
    for identity in [ed.1, rsa.1] {
        let other = Sandbox::new();
        let name = only(&fetch_with(&other, &server, &identity));
        let cat = ["--machine", &name, "cat", "m1:a"];
        assert_eq!(other.run(&cat, b"").exits(0).stdout, "0\n");
    }
}

/// A mistake in a key sends nothing, and shows nothing of a private one.
#[test]
fn what_is_no_public_key_is_refused() {
    let world = machine();
    let server = server(&world);
    let (public, identity) = key(&world, "identity");
    let identity = identity.to_str().expect("a plain path");
    std::fs::write(world.path("empty"), "# nothing\n").expect("writable");
    let empty = world.path("empty");
    let short = &public[..public.len() - 1];
    for given in [
        identity,
        empty.to_str().expect("plain"),
        short,
        "ssh-dss AAAA",
        "",
    ] {
        let run = world.run(&["push", &server, "--yes", "--encrypt", given], b"");
        assert!(matches!(run.code, Some(1 | 2)), "{given}: {run}");
        assert!(!run.stderr.contains("AGE-SECRET-KEY"), "{run}");
    }
    // The private half, as a file and as text: nothing of it is shown or kept.
    let text = std::fs::read_to_string(identity).expect("readable");
    let mut lines = text.lines();
    let secret = lines
        .find(|line| line.starts_with("AGE-SECRET-KEY"))
        .expect("it has one");
    let ssh = "-----BEGIN OPENSSH PRIVATE KEY-----\nAGE-SECRET-KEY\n";
    std::fs::write(world.path("ssh"), ssh).expect("writable");
    let ssh = world.path("ssh");
    let ssh = ssh.to_str().expect("plain");
    for given in [identity, secret, &secret.to_ascii_lowercase(), ssh] {
        for line in [
            &["push", &server, "--yes", "--encrypt", given][..],
            &[
                "run",
                "--push",
                &server,
                "--push-encrypt",
                given,
                "--",
                "true",
            ],
        ] {
            let run = world.run(line, b"");
            assert!(matches!(run.code, Some(2 | 125)), "{run}");
            assert!(run.stderr.contains("that is a private key"), "{run}");
            let said = run.stderr.to_ascii_uppercase();
            assert!(!said.contains("AGE-SECRET-KEY"), "{run}");
        }
    }
    let kept = rows::values(&world.store().join("sessions.db")).join("\n");
    let kept = kept.to_ascii_uppercase();
    assert!(!kept.contains("AGE-SECRET-KEY"), "{kept}");
    assert_eq!(in_server(&world, &server, &["for-each-ref"]), b"");
}

/// A container without anybody in it encrypts for a key at home.
#[test]
fn a_run_pushes_encrypted() {
    let (world, home) = (machine(), Sandbox::new());
    let server = server(&world);
    let (public, identity) = key(&home, "identity");
    let run = [
        "run",
        "--push",
        &server,
        "--push-encrypt",
        &public,
        "--",
        "true",
    ];
    world.run(&run, b"").exits(0);
    assert!(!is_readable(&world, &server));
    let name = only(&fetch_with(&home, &server, &identity));
    let log = home.json(&["--machine", &name, "log"]);
    assert_eq!(log["messages"].as_array().map(Vec::len), Some(3), "{log}");
}

/// A push that fails leaves one document, and what cannot be pushed to is known before the command runs.
#[test]
fn a_run_knows_first_where_to_push() {
    let world = machine();
    let run = |address: &str, more: &[&str], made: &str| {
        let first = ["--json", "run", "--push", address];
        let arguments = [&first[..], more, &["--", "touch", made]].concat();
        world.run(&arguments, b"")
    };
    for (address, more) in [("/nowhere", &["--push-encrypt", "no key"][..]), (".", &[])] {
        run(address, more, "not-made").exits(125);
        assert!(!world.workspace().join("not-made").exists(), "{address}");
    }
    let pushed = run("/nowhere", &[], "made").exits(0);
    assert!(world.workspace().join("made").exists());
    let document: serde_json::Value =
        serde_json::from_str(&pushed.stdout).expect("one document, that of the step");
    assert_eq!(document["changes"], 1, "{pushed}");
    assert!(pushed.stderr.contains("error: "), "{pushed}");
}
