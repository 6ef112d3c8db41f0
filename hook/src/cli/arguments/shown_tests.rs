//! Every command and every option is in `tests/cli/shown`, where what it prints is written down: clap's own tree says
//! which there are.

use std::path::Path;

use clap::{Arg, Command, CommandFactory};

use super::Arguments;

/// Returns the command lines that are shown, as words.
fn lines() -> Vec<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cli/shown");
    let mut lines = Vec::new();
    for entry in folder.read_dir().expect("it is there") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("it is text");
        for line in text.lines().filter(|line| line.starts_with("$ ")) {
            if let Some((_, words)) = line.split_once("ckpt-hook ") {
                lines.push(words.split(' ').map(str::to_owned).collect());
            }
        }
    }
    lines
}

/// Returns whether a line is one of a command: its names stand in it in their order, among options of every command.
fn is_of(line: &[String], path: &[&str]) -> bool {
    let mut words = line.iter();
    path.iter()
        .all(|name| words.by_ref().any(|word| word.as_str() == *name))
        && (path.is_empty() || first_command(line) == path.first().copied())
}

/// Returns the first word of a line that is a command's name.
fn first_command(line: &[String]) -> Option<&str> {
    let known = |word: &&String| super::COMMANDS.contains(&word.as_str());
    line.iter().find(known).map(String::as_str)
}

/// Returns whether a line gives an option.
fn gives(line: &[String], option: &Arg) -> bool {
    let long = option.get_long().map(|long| format!("--{long}"));
    let short = option.get_short().map(|short| format!("-{short}"));
    line.iter().any(|word| {
        let name = word.split('=').next();
        name == long.as_deref() || name == short.as_deref()
    })
}

/// Adds what is missing of a command and those below it.
fn missing(command: &Command, path: &[&str], lines: &[Vec<String>], found: &mut Vec<String>) {
    let own: Vec<&Vec<String>> = lines.iter().filter(|line| is_of(line, path)).collect();
    let name = path.join(" ");
    let does_more = |line: &&&Vec<String>| !line.iter().any(|word| word == "--help");
    if !own.iter().any(|line| does_more(&line)) {
        found.push(format!("`{name}`"));
    }
    // Only our programs call what is hidden, and nobody asks it for help.
    if command.is_hide_set() {
        return;
    }
    if !own.iter().any(|line| !does_more(&line)) {
        found.push(format!("`{name} --help`"));
    }
    let options = command
        .get_arguments()
        .filter(|option| !option.is_positional() && !option.is_hide_set())
        .filter(|option| path.is_empty() || !option.is_global_set());
    for option in options {
        let id = option.get_id().as_str();
        let is_own = ["help", "version"].contains(&id) && !path.is_empty();
        if !is_own && !own.iter().any(|line| gives(line, option)) {
            found.push(format!("`{name}` with `{id}`"));
        }
    }
    for below in command.get_subcommands() {
        if below.get_name() != "help" {
            let path: Vec<&str> = path.iter().copied().chain([below.get_name()]).collect();
            missing(below, &path, lines, found);
        }
    }
}

/// What every command and option prints is written down.
#[test]
fn every_command_and_option_is_shown() {
    let mut command = Arguments::command();
    command.build();
    let mut found = Vec::new();
    missing(&command, &[], &lines(), &mut found);
    assert!(
        found.is_empty(),
        "tests/cli/shown/forms.rs shows none of these: {found:#?}"
    );
}
