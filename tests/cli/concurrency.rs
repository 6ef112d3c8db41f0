//! Many processes at once in one workspace.

use std::process::Stdio;

use crate::common::World;

#[test]
fn eight_processes_capture_one_workspace_at_once() {
    let world = World::new();
    world.write("file", "x");
    let spawn = |_| {
        let mut command = world.command(&["--json", "snapshot"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
    };
    let children: Vec<_> = (0..8).map(spawn).collect();
    let trees: Vec<String> = children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success(), "all succeed: {output:?}");
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
            report["snapshot"].as_str().expect("a tree").to_owned()
        })
        .collect();
    assert!(trees.iter().all(|tree| *tree == trees[0]), "each with the same valid tree: {trees:?}");
    assert_eq!(world.json(&["status"])["diagnostics"], 0, "and nobody had anything to complain of");
}

#[test]
fn eight_sessions_begin_at_once_in_an_empty_store() {
    let world = World::new();
    let spawn = |number: usize| {
        let session = format!("s{number}");
        let mut command =
            world.command(&["message", "--strict", "--session", &session, "--message", "m", "--prompt", "go"]);
        command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts")
    };
    let children: Vec<_> = (0..8).map(spawn).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "all succeed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let log = world.json(&["log"]);
    assert_eq!(log["messages"].as_array().expect("a list").len(), 8, "no row is lost, none is doubled: {log}");
}
