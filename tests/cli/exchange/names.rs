//! What a workspace is called at a remote.

use std::os::unix::fs::PermissionsExt;

use testing::binary::{Run, Sandbox, finish};

use super::{holds, in_server, machine, objects, push, server};

/// Returns the refs of a server, and every byte that they need.
fn kept(world: &Sandbox, server: &str) -> (String, Vec<u8>) {
    in_server(world, server, &["gc", "-q", "--prune=now"]);
    let refs = in_server(world, server, &["for-each-ref", "--format=%(refname)"]);
    let refs = String::from_utf8_lossy(&refs).into_owned();
    (refs, objects(world, server.as_ref()))
}

/// A world that has pushed, and has then forgotten a secret.
fn forgetful() -> (Sandbox, String, String) {
    let world = machine();
    let server = server(&world);
    world.play("m3", "keep it", |world| world.write("key", "a-secret\n"));
    let report = push(&world, &server);
    assert!(holds(&kept(&world, &server).1, "a-secret"), "it is there");
    world.write("key", "none\n");
    world
        .run(&["forget", "--path", "key", "--yes"], b"")
        .exits(0);
    let name = report["name"].as_str().expect("a name");
    let machine = report["machine"].as_str().expect("a name");
    let old = format!("refs/ckpt-hook/{name}/{machine}");
    (world, server, old)
}

/// What a workspace was called at a remote is removed there once it is pushed by another name.
#[test]
fn renamed_workspace_leaves_nothing_behind() {
    let (world, server, old) = forgetful();
    let rename = ["push", &*server, "--name", "other", "--yes"];
    let planned = world.json(&[&rename[..], &["--dry-run"]].concat());
    assert_eq!(old.split('/').nth(2), planned["former"].as_str());
    assert!(kept(&world, &server).0.contains(&old), "only planned");
    let run = world.run(&rename, b"").exits(0);
    assert!(run.stdout.contains("was removed there"), "{run}");
    let (refs, bytes) = kept(&world, &server);
    assert!(!refs.contains(&old) && refs.contains("/other/"), "{refs}");
    assert!(!holds(&bytes, "a-secret"), "it is still there");
    let again = world.run(&["push"], b"").exits(0);
    assert!(again.stdout.contains("is at"), "{again}");
    assert_eq!(kept(&world, &server).0, refs, "one name");
}

/// A server that removes nothing keeps what is by the old name: that is said, and the next push tries again.
#[test]
fn old_name_that_stays_is_told() {
    let (world, server, old) = forgetful();
    let hook = world.path("server.git/hooks/update");
    let script = "#!/bin/sh\ncase $3 in *[!0]*) ;; *) exit 1 ;; esac\n";
    std::fs::create_dir_all(hook.parent().expect("a folder")).expect("writable");
    std::fs::write(&hook, script).expect("writable");
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).expect("ours");
    let rename = ["push", &*server, "--name", "other", "--yes"];
    let run = world.run(&rename, b"").exits(3);
    assert!(run.stderr.contains(&format!("`{old}` still has")), "{run}");
    assert!(run.stderr.contains(&format!(":{old}`")), "{run}");
    std::fs::remove_file(&hook).expect("writable");
    world.run(&rename, b"").exits(0);
    let (refs, bytes) = kept(&world, &server);
    assert!(!refs.contains(&old) && refs.contains("/other/"), "{refs}");
    assert!(!holds(&bytes, "a-secret"), "it is still there");
}

/// What somebody else has pushed by the old name is not ours to remove.
#[test]
fn foreign_push_by_old_name_stays() {
    let (world, server, old) = forgetful();
    let tree = in_server(&world, &server, &["rev-parse", &format!("{old}^{{tree}}")]);
    let tree = String::from_utf8_lossy(&tree);
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    let commit = ["commit-tree", "-m", "theirs", tree.trim()];
    let theirs = in_server(&world, &server, &[&identity[..], &commit].concat());
    let theirs = String::from_utf8_lossy(&theirs);
    in_server(&world, &server, &["update-ref", &old, theirs.trim()]);
    let run = world
        .run(&["push", &server, "--name", "other", "--yes"], b"")
        .exits(0);
    assert!(run.stderr.contains(&format!("`{old}` stays")), "{run}");
    assert!(kept(&world, &server).0.contains(&old), "it stays");
}

/// Two folders of one name are told apart, and neither is sent in place of the other.
#[test]
fn folder_of_the_same_name_is_named() {
    let world = machine();
    let server = server(&world);
    push(&world, &server);
    let before = kept(&world, &server).0;
    let name = world.workspace();
    let folder = world
        .path("elsewhere")
        .join(name.file_name().expect("a name"));
    std::fs::create_dir_all(&folder).expect("writable");
    std::fs::write(folder.join("a"), "another\n").expect("writable");
    let there = |arguments: &[&str]| -> Run {
        let mut command = world.command(arguments);
        finish(command.current_dir(&folder), b"")
    };
    there(&["snapshot"]).exits(0);
    let run = there(&["push", &server, "--yes"]).exits(4);
    let path = format!("`{}`", name.display());
    assert!(run.stderr.contains(&path), "{run}");
    assert!(run.stderr.contains("`--name`"), "{run}");
    assert!(!run.stderr.contains("remove"), "{run}");
    there(&["fetch", &server]).exits(0);
    there(&["push", &server, "--name", "second", "--yes"]).exits(0);
    let after = kept(&world, &server).0;
    assert!(after.contains(&*before) || before.lines().all(|line| after.contains(line)));
    assert!(after.contains("/second/"), "{after}");
}
