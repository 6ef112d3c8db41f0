//! What is an address to push to, and what is none.

use std::os::unix::fs::PermissionsExt;

use super::machine;

/// Git would run the hooks of a repository that a clone brings.
///
/// Invariant `private/programs`.
#[test]
fn nothing_is_pushed_into_the_workspace() {
    let world = machine();
    let hook = world.workspace().join("origin/hooks/pre-receive");
    world.run_git(&["init", "-q", "--bare", "origin"]);
    let ran = world.path("ran");
    std::fs::write(&hook, format!("#!/bin/sh\ntouch '{}'\n", ran.display())).expect("ours");
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).expect("ours");
    let link = world.path("link");
    std::os::unix::fs::symlink(world.workspace(), &link).expect("writable");
    let urls = [
        format!("file://{}/origin", world.workspace().display()),
        format!(
            "file://localhost{}/deep/../origin",
            world.workspace().display()
        ),
        format!("file://{}/origin", link.display()),
    ];
    let [url, of_host, of_link] = &urls;
    for address in [
        "origin",
        "./origin",
        "deep/../origin",
        url,
        of_host,
        of_link,
    ] {
        for command in ["push", "fetch"] {
            let line: &[&str] = match command {
                "push" => &["push", address, "--yes"],
                _ => &["fetch", address],
            };
            let run = world.run(line, b"").exits(2);
            assert!(run.stderr.contains("in the workspace itself"), "{run}");
        }
    }
    let encoded = url.replace("origin", "%6frigin");
    let run = world.run(&["push", &encoded, "--yes"], b"").exits(2);
    assert!(
        run.stderr.contains("give the directory by its path"),
        "{run}"
    );
    assert!(!ran.exists(), "its hook ran");
}

/// What an address holds for git alone.
const SECRET: &str = "s3cret";

/// No command prints a password or a token of an address, be it refused, failing, rewritten or good.
///
/// Invariant `private/credentials`: What an address to push to has of a password or a token is in no output, in no form of
/// address, also where git's own errors name a rewritten one.
#[test]
fn no_credential_of_an_address_is_shown() {
    let world = machine();
    let server = super::server(&world);
    let rewritten = format!("http://me:{SECRET}@127.0.0.1:1/");
    let good = format!("http://me:{SECRET}@127.0.0.1:1/good.git?token={SECRET}");
    let config = format!(
        "[url \"{rewritten}\"]\n\tinsteadOf = short:\n[url \"{server}\"]\n\tinsteadOf = \"{good}\"\n"
    );
    std::fs::write(world.home().join(".gitconfig"), config).expect("ours");
    world.run_git(&["init", "-q"]);
    let is_hidden = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        let run = testing::binary::finish(command.env("GIT_SSH_COMMAND", "false"), b"");
        for (said, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
            assert!(!text.contains(SECRET), "{said} of {arguments:?}: {run}");
        }
        run
    };
    let forms = [
        format!("http://{SECRET}@127.0.0.1:1/a.git"),
        format!("http://me:{SECRET}@127.0.0.1:1/a.git"),
        format!("http://me:{SECRET}/@127.0.0.1:1/a.git"),
        format!("http://127.0.0.1:1/a.git?private_token={SECRET}"),
        format!("ssh://me:{SECRET}@127.0.0.1/a.git"),
        format!("me:{SECRET}@127.0.0.1:a.git"),
        format!("ext::http://me:{SECRET}@127.0.0.1/a.git"),
        "short:a.git".to_owned(),
    ];
    for form in &forms {
        is_hidden(&["push", form, "--yes"]);
        is_hidden(&["push", form, "--yes", "--json"]);
        is_hidden(&["fetch", form]);
        is_hidden(&["push", form, "--yes", "--quiet"]);
        for refused in [&["push", "there", form][..], &["log", form, form, form]] {
            is_hidden(refused);
            is_hidden(&[refused, &["--json"]].concat());
        }
        // A remote of the project, by its name.
        world.run_git(&["config", "remote.origin.url", form]);
        let run = is_hidden(&["push", "origin", "--yes"]).exits(1);
        assert!(run.stderr.contains("`git remote get-url origin`"), "{run}");
    }
    is_hidden(&["push", &good, "--yes"]).exits(0);
    is_hidden(&["push", &good, "--name", "other", "--yes", "--json"]).exits(0);
    // As a hint has it, it is the same remote.
    is_hidden(&["push", "http://127.0.0.1:1/good.git"]).exits(0);
    for arguments in [
        &["push", "--json"][..],
        &["push", "--dry-run"],
        &["push", "--no-auto"],
        &["fetch"],
        &["fetch", "--json"],
        &["status"],
        &["status", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["du", "--by", "machine"],
        &["config"],
    ] {
        is_hidden(arguments);
    }
}
