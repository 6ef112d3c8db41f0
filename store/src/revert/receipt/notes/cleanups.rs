//! Names commands that removed ignored files of which no look saw the names. This module does IO, but only reads.

use std::path::Path;

use ckpt_schema::report::NoteCode;

use super::first_quoted;
use super::unstored::is_empty;
use crate::error::Result;
use crate::model::note::Note;
use crate::model::path::WorkspacePath;
use crate::revert::goal::present::Scene;
use crate::revert::request::movement::Movement;
use crate::sessions;
use crate::snapshot::Snapshot;
use crate::timeline::normal;

/// How many commands a line names.
const NAMED: usize = 2;

/// Programs that remove the files they are given, and do nothing else.
const REMOVERS: [&str; 4] = ["rm", "unlink", "rimraf", "trash"];

/// Words that may come before a program without changing what it does.
pub(crate) const BEFORE: [&str; 5] = ["sudo", "command", "time", "npx", "exec"];

/// Names the commands that remove ignored files, of which no look saw that they went, such as the contents of an
/// ignored folder that stays. Command lines may not be kept. `reference` is the snapshot that the revert goes back to,
/// `gone` are the paths that are named already.
pub(crate) fn notes(
    scene: Scene<'_>,
    movement: &Movement,
    (reference, gone): (Option<&Snapshot>, &[WorkspacePath]),
) -> Result<Option<Note>> {
    let (Some(revert), Some(reference)) = (movement.whole_revert(), reference) else {
        return Ok(None);
    };
    let connection = scene.connection();
    let mut commands = Vec::new();
    for line in sessions::commands_of(connection, &revert.session.id, revert.since)? {
        for (directory, words) in commands_in(&line) {
            let removes = match removes_ignored(&words) {
                // Such a command says nothing of which files went. If looks saw them go, their names say more.
                true => gone.is_empty(),
                false => took_ignored(scene, (reference, gone), &directory, &words)?,
            };
            if removes {
                commands.push(words.join(" "));
            }
        }
    }
    // An agent that cleans before each build would otherwise be named once for each.
    commands.dedup();
    Ok(of_commands(commands))
}

fn of_commands(commands: Vec<String>) -> Option<Note> {
    let text = format!(
        "a command that removes ignored files ran, and only those of `keep_ignored` come back: {}",
        first_quoted(&commands, NAMED)
    );
    (!commands.is_empty()).then(|| Note::about(NoteCode::IgnoredRemoved, text, commands))
}

/// Returns whether a command was told to remove an ignored file or directory that is gone now, and is not named
/// already.
fn took_ignored(
    Scene {
        place, snapshots, ..
    }: Scene<'_>,
    (reference, named): (&Snapshot, &[WorkspacePath]),
    directory: &str,
    words: &[&str],
) -> Result<bool> {
    let given = removed_by(words).filter_map(|word| resolve(&place.root, directory, word));
    let given = given.filter(|path| !path.is_at_or_below(named));
    let given = given.filter(|path| is_empty(&path.on_disk(&place.root)));
    let mut paths: Vec<WorkspacePath> = given.collect();
    // What was captured comes back, whatever the rules say.
    let mut states = snapshots.states(reference, &paths)?.into_iter();
    paths.retain(|_| states.next().flatten().is_none());
    // A rule for directories only hides what is in them.
    let inside = paths.iter().filter_map(|path| path.join(b"x").ok());
    let inside = inside.filter(|_| is_recursive(words));
    let asked: Vec<WorkspacePath> = paths.iter().cloned().chain(inside).collect();
    let is_hidden = snapshots.are_hidden(reference, &asked)?;
    Ok(is_hidden.contains(&true))
}

/// Returns whether a command removes directories with their contents.
fn is_recursive(words: &[&str]) -> bool {
    words.iter().any(|word| {
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        letters.is_some_and(|letters| letters.contains(['r', 'R']))
            || ["--recursive", "rimraf", "trash"].contains(word)
    })
}

/// Splits a shell's line into commands of words, each with the directory that the line changed to before it, relative
/// to where it began.
pub(crate) fn commands_in(line: &str) -> Vec<(String, Vec<&str>)> {
    let mut directory = String::new();
    let mut commands = Vec::new();
    for command in line.split(['\n', ';', '|', '&', '(', ')']) {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words.as_slice() {
            ["cd", to] => directory = format!("{directory}{}/", unquoted(to)),
            [] => {}
            _ => commands.push((directory.clone(), words)),
        }
    }
    commands
}

/// Returns the arguments of a command that removes files, as written.
fn removed_by<'w>(words: &[&'w str]) -> impl Iterator<Item = &'w str> {
    let is_before = |word: &&&str| BEFORE.contains(word) || word.contains('=');
    let rest = &words[words.iter().take_while(is_before).count()..];
    let program = rest.first().and_then(|word| word.rsplit('/').next());
    let removes = program.is_some_and(|program| REMOVERS.contains(&program));
    let given: Vec<&str> = rest.iter().skip(1).copied().collect();
    let end = given.iter().position(|word| *word == "--");
    let is_option =
        move |(at, word): &(usize, &str)| word.starts_with('-') && end.is_none_or(|end| *at <= end);
    given
        .into_iter()
        .enumerate()
        .filter(move |word| removes && !is_option(word))
        .map(|(_, word)| word)
}

/// Returns the path in the workspace that a word of a command names; for a pattern, the directory that it looks in.
/// `None` for the workspace itself, for what is outside, and for what only the shell can expand.
fn resolve(root: &Path, directory: &str, word: &str) -> Option<WorkspacePath> {
    let word = unquoted(word);
    if word.contains(['$', '`', '~']) {
        return None;
    }
    let literal = match word.find(['*', '?', '[', '{']) {
        Some(at) => word[..at].rsplit_once('/').map_or("", |(above, _)| above),
        None => word,
    };
    WorkspacePath::in_workspace(root, &normal(&root.join(directory).join(literal)))
}

/// Returns a word of a command line without quotes around it.
pub(crate) fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\''])
}

/// Returns whether a command is a `git clean` with `-x` or `-X`.
fn removes_ignored(words: &[&str]) -> bool {
    let is_git = |word: &&str| *word == "git" || word.ends_with("/git");
    let Some(clean) = words.iter().position(|word| *word == "clean") else {
        return false;
    };
    let (before, after) = (&words[..clean], &words[clean + 1..]);
    let options = || after.iter().take_while(|word| **word != "--");
    let has = |letter| options().any(|word| sets_letter(word, letter));
    let is_dry = has('n') || options().any(|word| *word == "--dry-run");
    before.iter().any(is_git) && (has('x') || has('X')) && !is_dry
}

/// Returns whether a word like `-fdx` sets an option of `git clean`. What follows `-e` is a pattern.
fn sets_letter(word: &str, letter: char) -> bool {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let letters = letters.map(|letters| letters.split('e').next().unwrap_or_default());
    letters.is_some_and(|letters| letters.contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleans(line: &str) -> usize {
        let commands = commands_in(line);
        let cleans = commands.iter().filter(|(_, words)| removes_ignored(words));
        cleans.count()
    }

    /// A command that removes ignored files is found in its line.
    #[test]
    fn command_that_removes_ignored_files_is_found() {
        for line in [
            "git clean -fdx",
            "cd sub && git -C .. clean -f -d -X; ls",
            "/usr/bin/git clean -xdf -e keep",
        ] {
            assert_eq!(cleans(line), 1, "{line}");
        }
        for line in [
            "git clean -fd",
            "git clean -fd -ex",
            "git clean -ndx",
            "git clean --dry-run -x",
            "git clean -f -- -x",
            "make clean -x",
            "git status; cargo clean",
        ] {
            assert_eq!(cleans(line), 0, "{line}");
        }
    }

    /// What a line removes is found where the line went.
    #[test]
    fn removals_are_found_where_the_line_went() {
        let root = Path::new("/home/u/project");
        let removed = |line: &str| {
            let mut paths = Vec::new();
            for (directory, words) in commands_in(line) {
                paths.extend(removed_by(&words).filter_map(|word| resolve(root, &directory, word)));
            }
            let paths: Vec<String> = paths.iter().map(WorkspacePath::to_text).collect();
            paths.join(" ")
        };
        for (line, paths) in [
            ("rm -rf node_modules dist", "node_modules dist"),
            ("npm ci; sudo rm -r ./build/", "build"),
            ("cd web && rm -rf 'out' ../target", "web/out target"),
            ("rm -f -- -x", "-x"),
            ("X=1 /bin/rm logs/*.log", "logs"),
            ("npx rimraf /home/u/project/dist", "dist"),
            ("rm -rf $OUT ~/x /tmp/y ../z . *", ""),
            ("git rm a; echo rm b; firm c", ""),
        ] {
            assert_eq!(removed(line), paths, "{line}");
        }
    }
}
