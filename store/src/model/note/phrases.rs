//! The parts of the sentences of notes that are more than a name. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ckpt_schema::report::{Difference, DifferenceReason, OperationKind};

use super::Note;
use crate::model::gap::Gap;
use crate::model::git_item::{Heads, plain};
use crate::model::id::short;
use crate::model::number::{count, first_of, first_quoted};

/// What is said of a repository in the place of another one.
pub(crate) const MADE_ANEW: &str =
    "the repository was removed and made anew while the agent worked";

/// How many characters of a prompt a sentence shows.
const TITLE: usize = 50;

/// An operation's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedOperation {
    pub kind: OperationKind,
    pub id: String,
}

impl fmt::Display for NamedOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the {} `{}`", self.kind.name(), short(&self.id))
    }
}

/// Files that could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailedFiles {
    pub number: usize,
    /// The first of them.
    pub path: String,
    pub why: String,
}

impl fmt::Display for FailedFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, path, why } = self;
        write!(
            formatter,
            "{number} of them could not be written, as `{path}`: {why}"
        )
    }
}

/// Returns what the result of an operation is, as a part of a sentence.
pub(super) fn result_in_words(note: &Note) -> String {
    match note {
        Note::Differs { differences } => by_reason(differences),
        other => other.to_string(),
    }
}

pub(super) fn lost_files(files: &[String]) -> String {
    match files.split_at_checked(3) {
        Some((first, [_, ..])) => format!("{} and {} more", first.join(", "), files.len() - 3),
        _ => files.join(", "),
    }
}

/// What an operation that came to nothing left of the conversation that was made for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ForkRemains {
    /// A conversation, which a command opens.
    Unused {
        command: String,
    },
    /// A conversation that was shortened, and one that keeps all of it.
    Shortened {
        command: String,
        whole: String,
    },
    /// It is not known whether the conversation was shortened of which another one keeps all.
    PerhapsShortened {
        whole: String,
    },
    /// Perhaps a conversation that nothing names.
    Unnamed,
    Nothing,
}

impl fmt::Display for ForkRemains {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unused { command } => write!(
                formatter,
                "a conversation was made for it, and is not used: `{command}`"
            ),
            Self::Shortened { command, whole } => write!(
                formatter,
                "the conversation of `{command}` was shortened; all of it is kept as `{whole}`"
            ),
            Self::PerhapsShortened { whole } => write!(
                formatter,
                "it is not known whether the agent has shortened the conversation, all of which is kept as `{whole}`"
            ),
            Self::Unnamed => formatter
                .write_str("the agent may have made a conversation for it, which nothing names"),
            Self::Nothing => formatter.write_str("no conversation was made for it"),
        }
    }
}

/// A newer message of another session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherMessage {
    pub id: String,
    pub prompt: Option<String>,
    pub session: String,
    /// What the session is called.
    pub name: String,
}

impl OtherMessage {
    /// Returns it as a sentence names it.
    pub(super) fn title(&self) -> String {
        let lines = self.prompt.iter().flat_map(|prompt| prompt.lines());
        let mut lines = lines.map(str::trim).filter(|line| !line.is_empty());
        match lines.next() {
            Some(line) if line.chars().count() > TITLE => {
                format!("“{}…”", line.chars().take(TITLE).collect::<String>())
            }
            Some(line) => format!("“{line}”"),
            None => format!("message {}", short(&self.id)),
        }
    }
}

/// Returns of which sessions messages stay.
pub(super) fn another_or_others(messages: &[OtherMessage]) -> String {
    let names: BTreeSet<&String> = messages.iter().map(|one| &one.name).collect();
    let sessions: BTreeSet<&str> = messages.iter().map(|one| &*one.session).collect();
    format!(
        "{} stay ({})",
        ["other sessions", "another session"][usize::from(sessions.len() == 1)],
        first_of(names.into_iter().cloned(), 5)
    )
}

/// Joins paths, any of which may be meant.
pub(super) fn or(paths: &[String]) -> String {
    let names: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    names.join(" or ")
}

/// Returns which agents are at work.
pub(crate) fn at_work(agents: &[String]) -> String {
    let are = if agents.len() > 1 { "are" } else { "is" };
    format!("{} {are} at work here", agents.join(" and "))
}

pub(super) fn commits_in_words(commits: &[(String, String)]) -> String {
    let names = commits.iter();
    let names = names.map(|(id, subject)| format!("{} {subject}", short(id)));
    let number = count(commits.len() as u64, "commit");
    format!("{number} since: {}", first_of(names, 5))
}

/// Returns where HEAD is: a commit, and its branch.
pub(super) fn head(head: &Heads) -> String {
    let commit = head.commit.as_deref().map_or("no commit", short);
    match &head.branch {
        Some(branch) => format!("{commit} on `{}`", plain(branch)),
        None => format!("{commit}, detached"),
    }
}

/// Returns what people call a commit, or the absence of one.
pub(super) fn commit(id: &Option<String>) -> &str {
    id.as_deref().map_or("nothing", short)
}

pub(super) fn staged(changes: &[(Option<String>, String)]) -> String {
    let what = match changes.len() {
        1 => "a staged change stays",
        _ => "staged changes stay",
    };
    let names = changes.iter().map(|(from, path)| match from {
        Some(from) => format!("`{from}` → `{path}`"),
        None => format!("`{path}`"),
    });
    format!("{what}: {}", first_of(names, 5))
}

/// Says `one` of a single path, and `many` of several, after their number.
pub(super) fn one_or_many(paths: &[String], one: &str, many: &str) -> String {
    let names = first_quoted(paths, 4);
    match paths.len() {
        1 => format!("{one}: {names}"),
        number => format!("{number} {many}: {names}"),
    }
}

pub(super) fn gap_names(gaps: &[Gap]) -> Vec<String> {
    gaps.iter().map(Gap::name).collect()
}

/// Joins the names of entries, each with the reason that it is not stored.
pub(super) fn first_gaps(gaps: &[Gap], most: usize) -> String {
    let names = gaps
        .iter()
        .map(|gap| format!("`{}` ({})", gap.name(), gap.reason));
    first_of(names, most)
}

/// A folder that holds files that are not captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CrowdedFolder {
    pub path: String,
    /// The name of the first of these files.
    pub first: String,
    pub files: Vec<String>,
}

impl CrowdedFolder {
    /// Returns the paths of folders, each before those of its files.
    pub(super) fn names(folders: &[Self]) -> Vec<String> {
        let all = |folder: &Self| [vec![folder.path.clone()], folder.files.clone()].concat();
        folders.iter().flat_map(all).collect()
    }
}

pub(super) fn folders(folders: &[CrowdedFolder]) -> String {
    let name = |folder: &CrowdedFolder| format!("`{}` (`{}`)", folder.path, folder.first);
    first_of(folders.iter().map(name), 3)
}

pub(super) fn permissions(directories: &[(String, [u32; 2])]) -> String {
    let differing = directories.iter();
    let differing =
        differing.map(|(path, [then, now])| format!("`{path}` had {then:03o}, now has {now:03o}"));
    first_of(differing, 3)
}

/// Returns which paths differ, and why.
pub(super) fn by_reason(differences: &[Difference]) -> String {
    let mut by_reason: BTreeMap<(DifferenceReason, String), Vec<String>> = BTreeMap::new();
    for difference in differences {
        let reason = (difference.reason, difference.phrase());
        let paths = by_reason.entry(reason).or_default();
        paths.push(difference.path.path.clone());
    }
    let parts = by_reason.iter();
    let parts = parts.map(|((_, phrase), paths)| format!("{phrase} ({})", first_quoted(paths, 3)));
    format!(
        "not as it was then: {}",
        parts.collect::<Vec<_>>().join("; ")
    )
}
