//! Which tags and branches the agent's commands removed, as far as command lines are kept. Git keeps no record of it,
//! and the times of its folders show only the last removal. This module does IO; it reads.

use std::path::Path;

use rusqlite::Connection;

use super::repository::Repository;
use crate::error::Result;
use crate::model::git_item::{BRANCHES, TAGS};
use crate::model::path::WorkspacePath;
use crate::revert::cleaned::{BEFORE, commands_in, unquoted};
use crate::revert::movement::Movement;
use crate::sessions;
use crate::timeline::normal;

/// Returns the full names of the tags and branches that commands since the message of a movement removed and that are
/// not there, in the order of the commands. None for a movement that goes forward.
pub(super) fn removed(
    connection: &Connection,
    (root, repository): (&Path, &Repository),
    movement: &Movement,
) -> Result<Vec<String>> {
    let Some(since) = movement.since else {
        return Ok(Vec::new());
    };
    let mut names: Vec<String> = Vec::new();
    for line in sessions::commands_of(connection, &movement.session.id, since)? {
        for (directory, words) in commands_in(&line) {
            if !is_of_this(root, &directory) {
                continue;
            }
            for name in removed_by(&words) {
                if repository.value_of(&name).is_none() && !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    Ok(names)
}

/// Returns whether a directory, relative to the workspace, is in the workspace's own repository.
fn is_of_this(root: &Path, directory: &str) -> bool {
    let directory = normal(&root.join(directory));
    let mut above = directory.ancestors().take_while(|above| *above != root);
    directory == root
        || WorkspacePath::in_workspace(root, &directory).is_some()
            && above.all(|above| above.join(".git").symlink_metadata().is_err())
}

/// Returns the refs that a command like `git tag -d v1 v2` names; none if it works in a repository that it names.
fn removed_by(words: &[&str]) -> Vec<String> {
    let is_before = |word: &&&str| BEFORE.contains(word) || word.contains('=');
    let rest = &words[words.iter().take_while(is_before).count()..];
    let is_git = |word: &str| word == "git" || word.ends_with("/git");
    let (above, removers, given): (_, &[&str], _) = match rest {
        [git, "tag", given @ ..] if is_git(git) => (TAGS, &["-d", "--delete"], given),
        [git, "branch", given @ ..] if is_git(git) => (BRANCHES, &["-d", "-D", "--delete"], given),
        [git, "update-ref", given @ ..] if is_git(git) => ("", &["-d"], given),
        _ => return Vec::new(),
    };
    let is_remote = given.iter().any(|word| ["-r", "--remotes"].contains(word));
    if is_remote || !given.iter().any(|word| removers.contains(word)) {
        return Vec::new();
    }
    let names = given.iter().map(|word| unquoted(word));
    let names = names.filter(|name| is_name(name));
    let names = names.map(|name| format!("{above}{name}"));
    let of_refs = |name: &String| name.starts_with(TAGS) || name.starts_with(BRANCHES);
    names.filter(of_refs).collect()
}

/// What only the shell can expand is no name, nor is an option or where output goes.
fn is_name(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with('-')
        && !word.contains(['$', '`', '*', '?', '[', '~', '>', '<', '^', ':', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tags_and_branches_that_a_line_removes_are_found() {
        let removed = |line: &str| {
            let commands = commands_in(line);
            let names = commands.iter().flat_map(|(_, words)| removed_by(words));
            let names: Vec<String> = names
                .map(|name| name.trim_start_matches("refs/tags/").to_owned())
                .collect();
            names.join(" ")
        };
        for (line, names) in [
            ("git tag -d v1", "v1"),
            (
                "git tag --delete 'v1' \"rel/2\" 2>/dev/null; ls",
                "v1 rel/2",
            ),
            ("cd sub && sudo /usr/bin/git tag v1 v2 -d", "v1 v2"),
            ("git tag -d v1 && git tag v3 && git tag -d v2", "v1 v2"),
            ("git tag v1", ""),
            ("git -C ../other tag -d v1", ""),
            ("git tag -d $(git tag)", ""),
            (
                "git branch -D b1 'b/2'; echo git tag",
                "refs/heads/b1 refs/heads/b/2",
            ),
            ("git branch -d -r origin/b1; git branch b2", ""),
            (
                "git update-ref -d refs/heads/b1 && git update-ref -d HEAD",
                "refs/heads/b1",
            ),
        ] {
            assert_eq!(removed(line), names, "{line}");
        }
    }
}
