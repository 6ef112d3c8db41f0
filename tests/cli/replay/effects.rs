//! What the tools of a recording did to the workspace, done again from what they were given.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use testing::binary::Sandbox;

/// Does what a tool did. A command that was interrupted came only as far as its first part.
pub fn act(world: &Sandbox, input: &Value, is_interrupted: bool) {
    let text = |names: &[&str]| names.iter().find_map(|name| input[name].as_str());
    let path = text(&["file_path", "filePath", "path"]).map(Path::new);
    let whole = text(&["content", "file_text"])
        .or_else(|| text(&["new_text"]).filter(|_| input["old_text"].is_null()));
    match (
        path,
        whole,
        text(&["command"]),
        input["commands"].as_array(),
    ) {
        (Some(path), Some(whole), ..) => {
            std::fs::create_dir_all(path.parent().expect("it is below")).expect("writable");
            std::fs::write(path, whole).expect("writable");
        }
        // Our own extensions leave out what is written.
        (Some(path), None, ..) if input.as_object().is_some_and(|input| input.len() == 1) => {
            add(path, "written\n");
        }
        (Some(path), None, ..) => edit(path, input["edits"].get(0).unwrap_or(input)),
        (None, _, Some(text), _) if text.starts_with("*** Begin Patch") => patch(text),
        (None, _, Some(line), _) => shell(world, line, is_interrupted),
        (None, _, None, Some(lines)) => {
            lines
                .iter()
                .for_each(|line| shell(world, line.as_str().expect("a line"), is_interrupted));
        }
        _ => assert!(
            is_of_sub_agents(input),
            "a tool that is not known here was given {input}"
        ),
    }
}

/// Returns whether a tool starts a sub-agent, waits for one, or is its last word.
fn is_of_sub_agents(input: &Value) -> bool {
    ["prompt", "message", "task", "targets", "result"]
        .iter()
        .any(|name| !input[name].is_null())
}

fn add(path: &Path, line: &str) {
    let before = std::fs::read_to_string(path).unwrap_or_default();
    std::fs::create_dir_all(path.parent().expect("it is below")).expect("writable");
    std::fs::write(path, before + line).expect("writable");
}

fn edit(path: &Path, edit: &Value) {
    let text = |names: [&str; 5]| {
        names
            .iter()
            .find_map(|name| edit[name].as_str())
            .expect("an edit")
    };
    let old = text(["old_string", "oldString", "old_str", "oldText", "old_text"]);
    let new = text(["new_string", "newString", "new_str", "newText", "new_text"]);
    let before = std::fs::read_to_string(path).expect("it is there");
    assert!(before.contains(old), "what is replaced is there");
    std::fs::write(path, before.replace(old, new)).expect("writable");
}

/// Codex's patches: a file that is added, or one line of it replaced.
fn patch(text: &str) {
    let head = |head: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(head))
            .map(Path::new)
    };
    let lines = |sign: char| -> String {
        let of_sign = text.lines().filter_map(|line| line.strip_prefix(sign));
        of_sign.map(|line| line.to_owned() + "\n").collect()
    };
    if let Some(path) = head("*** Add File: ") {
        add(path, &lines('+'));
    } else {
        let path = head("*** Update File: ").expect("one of the two");
        let before = std::fs::read_to_string(path).expect("it is there");
        std::fs::write(path, before.replace(&lines('-'), &lines('+'))).expect("writable");
    }
}

fn shell(world: &Sandbox, line: &str, is_interrupted: bool) {
    // So long a rest was never slept to its end, even where the agent tells of one.
    let line = match line.split_once(';') {
        Some((first, _)) if is_interrupted || line.contains("sleep 20") => first.to_owned(),
        _ => line.replace("sleep 6", "true"),
    };
    let output = Command::new("/bin/sh")
        .args(["-c", &line])
        .current_dir(world.workspace())
        .output();
    drop(output.expect("a shell"));
}
