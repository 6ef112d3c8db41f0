//! The command lines of every page run as they stand, in a workspace that has what the pages speak of. `history_page` and `readme` hold what
//! is printed as well.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::binary::{Run, Sandbox, binary, finish};

/// The lines that no test of this kind runs, and why.
const NOT_RUN: &[(&str, &str)] = &[(
    "ckpt-hook page",
    "it serves until it is told to end: `page`, and `just page` in a browser",
)];

/// The lines that ask before they do it: without a terminal they do nothing, and say how to say yes.
const ASK: &[&str] = &["ckpt-hook uninstall --purge", "ckpt-hook forget"];

/// Returns README.md, and every page at or below a folder.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![root.join("docs")];
    let mut found = vec![root.join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a readable folder") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// Returns the lines of ours that a page shows, in their order.
fn lines(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).expect("the page is there");
    let mut is_in_block = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            is_in_block = line == "```console";
        } else if let Some(line) = line.strip_prefix("$ ").filter(|_| is_in_block) {
            lines.extend(line.starts_with("ckpt-hook ").then(|| line.to_owned()));
        }
    }
    lines
}

/// A workspace with messages, with the files that the pages name, and with one that a message removed.
fn prepared() -> Sandbox {
    let world = Sandbox::new();
    for (path, text) in [
        ("src/a.rs", "fn a() {}\n"),
        ("notes.md", "mine\n"),
        ("notes.txt", "bake it\n"),
        ("cake.txt", "flour\neggs\n"),
        (".env", "KEY=1\n"),
        ("config/keys/one", "1\n"),
    ] {
        world.write(path, text);
    }
    world.play("m1", "Add sugar to the cake", |world| {
        world.write("cake.txt", "flour\neggs\nsugar\n");
        world.write("src/a.rs", "fn a() {}\nfn b() {}\n");
    });
    world.play("m2", "Move the recipe", |world| {
        world.remove("cake.txt");
        world.remove("notes.md");
        world.write("recipes/cake.txt", "flour\neggs\nsugar\n");
    });
    let programs = world.path("programs");
    fs::create_dir_all(&programs).expect("writable");
    let npm = programs.join("npm");
    fs::write(&npm, "#!/bin/sh\necho 2 >package-lock.json\n").expect("writable");
    fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).expect("writable");
    std::os::unix::fs::symlink(binary(), programs.join("ckpt-hook")).expect("writable");
    world
}

/// Runs a line in a shell, as a person would.
fn run(world: &Sandbox, line: &str) -> Run {
    let like = world.command::<&str>(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).env_clear();
    for (name, value) in like.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    let path = format!("{}:/usr/bin:/bin", world.path("programs").display());
    shell.env("PATH", path).current_dir(world.workspace());
    finish(&mut shell, b"")
}

/// Replaces the word that stands for an id by one of the kind that the line wants.
fn with_ids(world: &Sandbox, line: &str) -> String {
    let key = if line.contains("--session ID") {
        "session"
    } else {
        "id"
    };
    let log = world.json(&["log"]);
    line.replace(
        " ID",
        &format!(" {}", log["messages"][0][key].as_str().unwrap_or("ID")),
    )
}

#[test]
fn every_command_line_of_the_documentation_runs() {
    let mut ran = 0;
    for page in pages() {
        let mut world = prepared();
        for line in lines(&page) {
            if NOT_RUN.iter().any(|(start, _)| line.starts_with(start)) {
                continue;
            }
            let line = with_ids(&world, &line);
            let asks =
                ASK.iter().any(|start| line.starts_with(start)) && !line.contains("--dry-run");
            let run = run(&world, &line);
            assert_eq!(
                run.code,
                Some(i32::from(asks) * 2),
                "{}: {line}\n{run}",
                page.display()
            );
            if asks {
                assert!(run.stderr.contains("hint: give --yes"), "{line}: {run}");
                let (command, rest) = line.split_at(line.find(" --").expect("it has an option"));
                let line = format!("{command} --yes{rest}");
                self::run(&world, &line).exits(0);
                // What it removed, the next line may speak of.
                world = prepared();
            }
            ran += 1;
        }
    }
    assert!(ran > 80, "the pages have such lines: {ran}");
}
