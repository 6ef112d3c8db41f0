//! The errors for an id that matches nothing, or several things.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::CandidateReport;

use super::candidates::{Candidate, Elsewhere, IdKind, SearchScope};
use super::prefixes::MIN_LENGTH;
use crate::error::Error;
use crate::model::instruction::Instruction;
use crate::model::number::count;

/// How many candidates an error lists.
pub(super) const LISTED: usize = 10;

/// How many characters of an id an error repeats.
const SHOWN_ID_LENGTH: usize = 80;

/// Returns the error for an id that may mean several things. `None` stands for all kinds.
pub(super) fn ambiguous(
    kind: Option<IdKind>,
    id: &str,
    candidates: &[Candidate],
    titles: &BTreeMap<String, String>,
) -> Error {
    let mut candidates: Vec<_> = candidates.iter().collect();
    candidates.sort_by_key(|candidate| (candidate.kind, Reverse(candidate.seq)));
    let mut seen = BTreeSet::new();
    candidates.retain(|candidate| seen.insert((candidate.kind, &candidate.id)));
    let mut listed: Vec<_> = candidates
        .iter()
        .map(|candidate| describe(candidate, kind.is_none()))
        .collect();
    let report = |candidate| report(candidate, titles);
    let reports = candidates.into_iter().map(report).collect();
    let more = listed.len().saturating_sub(LISTED);
    listed.truncate(LISTED);
    if more > 0 {
        listed.push(format!("{more} more"));
    }
    let subject = kind.map_or("id", IdKind::name);
    let what = format!(
        "the {subject} {} is ambiguous: it may be {}",
        quoted(id),
        listed.join(", ")
    );
    Error::ambiguous(what, reports).hint("give one of these ids, or a longer prefix")
}

fn report(candidate: &Candidate, titles: &BTreeMap<String, String>) -> CandidateReport {
    CandidateReport {
        kind: candidate.kind.name().to_owned(),
        id: candidate.id.clone(),
        name: candidate.name.clone(),
        title: titles.get(&candidate.id).cloned(),
    }
}

/// Returns the error for a label on another kind of thing than was asked for.
pub(super) fn other_kind(kind: IdKind, labelled: &Candidate) -> Error {
    let is = labelled.kind.name();
    let error = Error::unknown(format!(
        "the label {} is on a {is}, but this needs a {}",
        quoted(&labelled.name),
        kind.name()
    ));
    match labelled.kind {
        IdKind::Snapshot => error.hint(format!(
            "{} puts the workspace back to it",
            Instruction::Restore(&quoted(&labelled.name).replace('`', "'"))
        )),
        _ => error.hint(kind.hint()),
    }
}

fn describe(candidate: &Candidate, with_kind: bool) -> String {
    let prefix = if with_kind {
        format!("{} ", candidate.kind.name())
    } else {
        String::new()
    };
    if candidate.name == candidate.id {
        format!("{prefix}{}", quoted(&candidate.id))
    } else {
        format!(
            "{prefix}{} ({})",
            quoted(&candidate.id),
            quoted(&candidate.name)
        )
    }
}

/// Returns the error for an id that means nothing here. It names the workspaces in which it means something.
pub(super) fn unknown(
    kind: Option<IdKind>,
    scope: &SearchScope,
    id: &str,
    elsewhere: &Elsewhere,
) -> Error {
    let place = match (&scope.session_id, scope.workspace_id) {
        (Some(id), _) => format!("session {}", quoted(id)),
        (None, Some(_)) => "this workspace".to_owned(),
        (None, None) => "the store".to_owned(),
    };
    let what = kind.map_or("nothing with the id".to_owned(), |kind| {
        format!("no {}", kind.name())
    });
    let lists = kind.unwrap_or(IdKind::Message).hint();
    let is_short =
        (1..MIN_LENGTH).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hint = if elsewhere.was_here {
        "it was recorded in another directory that was here: `ckpt-hook workspace adopt` takes its history over".to_owned()
    } else if !elsewhere.paths.is_empty() {
        let paths = elsewhere.paths.iter().take(LISTED);
        let paths: Vec<_> = paths
            .map(|path| format!("`{}`", path.escape_debug()))
            .collect();
        format!(
            "it was recorded in {}: {}",
            paths.join(" and in "),
            Instruction::GoThere
        )
    } else if is_short {
        format!("a prefix of an id needs at least {MIN_LENGTH} characters; {lists}")
    } else {
        lists
    };
    Error::unknown(format!("there is {what} {} in {place}", quoted(id))).hint(hint)
}

/// Returns the error for text that means something here but is not a full id.
pub(super) fn inexact(id: &str) -> Error {
    Error::unknown(format!("{} is not a full id", quoted(id))).hint(format!(
        "{:#} accepts no prefix, no label and no `last`",
        Instruction::Exact
    ))
}

/// Returns the error for `last~N` if the log has N messages or fewer.
pub(super) fn before_the_first(id: &str, before: i64) -> Error {
    Error::unknown(format!(
        "there is no message {}: the log does not have {} below the newest one",
        quoted(id),
        count(before.unsigned_abs(), "message")
    ))
    .hint(format!(
        "{} lists the messages with their ids",
        Instruction::Messages
    ))
}

/// Returns an id as errors show it: on one line, harmless to a terminal, and not longer than a line.
pub(super) fn quoted(id: &str) -> String {
    let more = if id.chars().nth(SHOWN_ID_LENGTH).is_some() {
        "…"
    } else {
        ""
    };
    let shown: String = id
        .chars()
        .take(SHOWN_ID_LENGTH)
        .flat_map(char::escape_debug)
        .collect();
    format!("`{shown}{more}`")
}
