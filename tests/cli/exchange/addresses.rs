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
