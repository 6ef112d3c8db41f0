//! What was forgotten here, and is not to stay at a remote.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use testing::binary::Sandbox;

use super::{holds, in_server, machine, objects, push, server};

/// A machine whose last message changed no file.
fn asked() -> (Sandbox, String) {
    let world = machine();
    world.play("m3", "unspeakable words", |_| {});
    let server = server(&world);
    (world, server)
}

fn forget(world: &Sandbox) {
    let forget = ["forget", "--message", "last", "--yes"];
    world.run(&forget, b"").exits(0);
}

/// Returns whether the words are in the server, also in what its refs lead to.
fn is_there(world: &Sandbox, server: &str) -> bool {
    for clean in [
        &["reflog", "expire", "--expire=now", "--all"][..],
        &["gc", "-q", "--prune=now"],
    ] {
        in_server(world, server, clean);
    }
    holds(&objects(world, Path::new(server)), "unspeakable")
}

/// A prompt goes with the next push, also if no file was forgotten with it.
///
/// Invariant `private/forgotten-prompts`: A prompt that is forgotten goes from every remote with the next push to it.
#[test]
fn prompt_without_files_goes_elsewhere() {
    let (world, server) = asked();
    push(&world, &server);
    assert!(is_there(&world, &server));
    forget(&world);
    let report = push(&world, &server);
    assert_eq!(report["anew"], true, "{report}");
    assert!(!is_there(&world, &server));
    let again = push(&world, &server);
    assert_eq!(again["anew"], false, "once is enough: {again}");
    // What was never sent does not send everything anew.
    world.play("m4", "unspeakable words", |_| {});
    forget(&world);
    let report = push(&world, &server);
    assert_eq!(report["anew"], false, "{report}");
    assert!(!is_there(&world, &server));
}

/// What a push that was killed had brought there goes as well.
#[test]
fn prompt_of_a_killed_push_goes_elsewhere() {
    for had_pushed in [false, true] {
        let (world, server) = asked();
        if had_pushed {
            push(&world, &server);
            world.play("m4", "unspeakable words, again", |_| {});
        }
        let post = Path::new(&server).join("hooks/post-receive");
        std::fs::create_dir_all(post.parent().expect("it has one")).expect("writable");
        let kill = "kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $(ps -o ppid= -p $PPID)))";
        std::fs::write(&post, format!("#!/bin/sh\n{kill}\nsleep 1\n")).expect("writable");
        std::fs::set_permissions(&post, std::fs::Permissions::from_mode(0o755)).expect("ours");
        world.run(&["push", &server, "--yes"], b"");
        std::fs::remove_file(&post).expect("it is there");
        assert!(is_there(&world, &server), "it arrived");
        forget(&world);
        push(&world, &server);
        if had_pushed {
            world
                .run(&["forget", "--message", "m3", "--yes"], b"")
                .exits(0);
            push(&world, &server);
        }
        assert!(!is_there(&world, &server), "{had_pushed}");
    }
}
