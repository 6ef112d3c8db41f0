//! Chooses the messages and operations of a list by what needs more than a column: prompts, paths, and changed bytes.

use std::collections::BTreeSet;

use ckpt_schema::report::OperationEntry;
use rusqlite::{Connection, params};

use super::history::Messages;
use super::{LogFilter, renames};
use crate::error::{Context, Result};
use crate::lines;
use crate::model::Milliseconds;
use crate::model::entry::{Change, State};
use crate::model::path::WorkspacePath;
use crate::sessions;
use crate::sessions::read::all;
use crate::snapshot::Snapshots;
use crate::timeline::Place;

/// Returns the ids of the messages that match a filter, as a JSON array, or `None` if the filter has no such condition.
pub(super) fn by_content(
    connection: &Connection,
    place: Option<&Place>,
    chosen: Messages<'_>,
    filter: &LogFilter,
) -> Result<Option<String>> {
    if !asks_for_text(filter) && filter.paths.is_empty() {
        return Ok(None);
    }
    let by_path = match filter.search.as_deref() {
        Some(text) => with_path(connection, chosen.workspace_id, text)?,
        None => BTreeSet::new(),
    };
    let only = match place {
        Some(place) => place.paths_asked_for(&filter.paths)?,
        None => Vec::new(),
    };
    let at_paths = match chosen.workspace_id {
        Some(workspace_id) => at_paths(connection, workspace_id, &only)?,
        None => None,
    };
    let snapshots = place.map(Place::snapshots).transpose();
    let mut ids = Vec::new();
    for (id, prompt) in candidates(connection, chosen)? {
        if filter.limit.is_some_and(|limit| ids.len() >= limit) {
            break;
        }
        if !has(prompt.as_deref(), filter.grep.as_deref())
            || at_paths.as_ref().is_some_and(|found| !found.contains(&id))
        {
            continue;
        }
        let is_found = has(prompt.as_deref(), filter.search.as_deref())
            || by_path.contains(&id)
            || filter.found.contains(&id);
        if !is_found {
            continue;
        }
        // What needs the changes of a message comes last: it reads its rows, and with a text the contents of every
        // version.
        if only.is_empty() && filter.text.is_none() {
            ids.push(id);
            continue;
        }
        let mut changes = changes_of_message(connection, &id)?;
        changes.retain(|change| change.path.is_asked_for(&only));
        let is_it = match (&filter.text, &snapshots) {
            (None, _) => !changes.is_empty(),
            (Some(text), Ok(Some(snapshots))) => differ_in(snapshots, changes, text),
            (Some(_), _) => false,
        };
        if is_it {
            ids.push(id);
        }
    }
    let json = serde_json::to_string(&ids).context(|| "cannot name messages")?;
    Ok(Some(json))
}

/// Returns whether a filter asks for text, in prompts, paths or contents.
fn asks_for_text(filter: &LogFilter) -> bool {
    filter.grep.is_some() || filter.search.is_some() || filter.text.is_some()
}

/// Returns whether changes added or removed a text.
fn differ_in(snapshots: &Snapshots, changes: Vec<Change>, text: &str) -> bool {
    any_differs(snapshots, changes, |change| {
        differs_in(snapshots, change, text)
    })
}

/// Returns whether one of some changes differs. A renamed file is one change, whether it was edited or not: what was
/// in it before was neither added nor removed.
pub(super) fn any_differs(
    snapshots: &Snapshots,
    mut changes: Vec<Change>,
    differs: impl Fn(&Change) -> bool,
) -> bool {
    leave_moves_out(&mut changes);
    // Contents are compared only where that can make a difference.
    changes.iter().any(&differs) && renames::joined(snapshots, changes).iter().any(differs)
}

/// Returns whether a prompt has a text in it, whatever the case.
fn has(prompt: Option<&str>, text: Option<&str>) -> bool {
    let Some(text) = text else { return true };
    // Not by SQL: SQLite's `LIKE` folds only ASCII letters, and has wildcards.
    let (prompt, text) = (
        prompt.unwrap_or_default().to_lowercase(),
        text.to_lowercase(),
    );
    prompt.contains(&text)
}

/// Returns the messages that changed a file with a text in its path. The paths are few beside the changes, so each is
/// looked at once.
fn with_path(
    connection: &Connection,
    workspace_id: Option<i64>,
    text: &str,
) -> Result<BTreeSet<String>> {
    let sql = "SELECT DISTINCT path FROM changes WHERE (?1 IS NULL OR workspace_id = ?1)";
    let mut paths: Vec<String> = all(connection, sql, [workspace_id], |row| row.get("path"))?;
    paths.retain(|path| has(Some(path), Some(text)));
    let paths = serde_json::to_string(&paths).context(|| "cannot name paths")?;
    let sql = "
        SELECT DISTINCT steps.message_id FROM changes JOIN steps ON steps.id = changes.step_id
         WHERE (?1 IS NULL OR changes.workspace_id = ?1) AND changes.path IN (SELECT value FROM json_each(?2))";
    let ids: Vec<String> = all(connection, sql, params![workspace_id, paths], |row| {
        row.get("message_id")
    })?;
    Ok(ids.into_iter().collect())
}

/// Returns the messages that may have changed something at or below one of the paths, by the index of paths. `None` if
/// the index cannot answer: no path is asked for, or one is not UTF-8.
fn at_paths(
    connection: &Connection,
    workspace_id: i64,
    only: &[WorkspacePath],
) -> Result<Option<BTreeSet<String>>> {
    if only.is_empty() || only.iter().any(|path| path.raw().is_some()) {
        return Ok(None);
    }
    // `0` is the character after `/`, so this range is all that is below the path.
    let sql = "SELECT DISTINCT steps.message_id FROM changes JOIN steps ON steps.id = changes.step_id
                WHERE changes.workspace_id = ?1 AND changes.path = ?2
               UNION
               SELECT DISTINCT steps.message_id FROM changes JOIN steps ON steps.id = changes.step_id
                WHERE changes.workspace_id = ?1 AND changes.path > ?2 || '/' AND changes.path < ?2 || '0'";
    let mut found = BTreeSet::new();
    for path in only {
        let parameters = params![workspace_id, path.to_text()];
        let ids: Vec<String> = all(connection, sql, parameters, |row| row.get(0))?;
        found.extend(ids);
    }
    Ok(Some(found))
}

fn candidates(
    connection: &Connection,
    chosen: Messages<'_>,
) -> Result<Vec<(String, Option<String>)>> {
    let (conditions, values) = chosen.conditions();
    // `CROSS JOIN` reads the messages in their order: beginning with the sessions, SQLite would sort all of them.
    let sql = format!(
        "SELECT messages.id, messages.prompt
           FROM messages CROSS JOIN sessions ON sessions.id = messages.session_id
          WHERE {conditions} ORDER BY messages.seq DESC"
    );
    all(connection, &sql, &values[..], |row| {
        Ok((row.get("id")?, row.get("prompt")?))
    })
}

/// Returns the changes of all steps of a message, in the order of the steps.
pub(super) fn changes_of_message(connection: &Connection, id: &str) -> Result<Vec<Change>> {
    let rows = sessions::changes_of_message(connection, id)?;
    Ok(rows.into_iter().map(|row| row.change).collect())
}

/// Removes pure renames: they neither added nor removed text.
fn leave_moves_out(changes: &mut Vec<Change>) {
    let blob = |state: State| state.and_then(|entry| entry.blob);
    let gone: BTreeSet<_> = changes
        .iter()
        .filter(|change| change.new.is_none())
        .filter_map(|change| blob(change.old))
        .collect();
    let come: BTreeSet<_> = changes
        .iter()
        .filter(|change| change.old.is_none())
        .filter_map(|change| blob(change.new))
        .collect();
    let is_move = |change: &Change| match (blob(change.old), blob(change.new)) {
        (Some(old), None) => come.contains(&old),
        (None, Some(new)) => gone.contains(&new),
        _ => false,
    };
    changes.retain(|change| !is_move(change));
}

/// Returns whether a text occurs more often on one side of a change than on the other.
fn differs_in(snapshots: &Snapshots, change: &Change, text: &str) -> bool {
    differs(snapshots, change, |bytes| count(bytes, text.as_bytes()))
}

/// Like [`differs_in`], but ignores the case of ASCII letters. `text` is in lower case.
pub(super) fn differs_whatever_the_case(
    snapshots: &Snapshots,
    change: &Change,
    text: &str,
) -> bool {
    differs(snapshots, change, |bytes| {
        count(&bytes.to_ascii_lowercase(), text.as_bytes())
    })
}

fn differs(snapshots: &Snapshots, change: &Change, count: impl Fn(&[u8]) -> usize) -> bool {
    let occurrences = |state: State| {
        let blob = state.and_then(|entry| entry.blob)?;
        let bytes = snapshots.comparable(blob, lines::MAX_SIZE as u64)?;
        Some(count(&bytes))
    };
    change.old != change.new
        && occurrences(change.old).unwrap_or(0) != occurrences(change.new).unwrap_or(0)
}

fn count(bytes: &[u8], text: &[u8]) -> usize {
    if text.is_empty() {
        return 0;
    }
    let mut rest = bytes;
    let mut found = 0;
    while let Some(place) = rest.windows(text.len()).position(|window| window == text) {
        found += 1;
        rest = &rest[place + text.len()..];
    }
    found
}

/// Returns a limit as SQLite takes it: a negative number is no limit.
pub(super) fn sql_limit(limit: Option<usize>) -> i64 {
    limit
        .and_then(|limit| i64::try_from(limit).ok())
        .unwrap_or(-1)
}

/// Keeps the operations that a filter asks for, in a workspace and a session (by our id) if they are given.
pub(super) fn operations(
    connection: &Connection,
    place: Option<&Place>,
    session: Option<&str>,
    filter: &LogFilter,
    operations: &mut Vec<OperationEntry>,
) -> Result<()> {
    let is_in_time = |time: Milliseconds| {
        filter.since.is_none_or(|since| since <= time)
            && filter.until.is_none_or(|until| time <= until)
    };
    operations.retain(|operation| is_in_time(operation.time));
    let workspace = place.map(|place| place.row.id);
    if session.is_some() {
        operations.retain(|operation| operation.session.as_deref() == session);
    }
    if let Some(agent) = &filter.agent {
        let ids = "SELECT id FROM sessions WHERE (?1 IS NULL OR workspace_id = ?1) AND agent = ?2";
        let of_agent = found(connection, ids, params![workspace, agent])?;
        let is_of_agent = |session: &String| of_agent.contains(session);
        operations.retain(|operation| operation.session.as_ref().is_some_and(is_of_agent));
    }
    if let Some(state) = filter.state {
        let ids = "SELECT messages.id FROM messages JOIN sessions ON sessions.id = session_id
                    WHERE (?1 IS NULL OR workspace_id = ?1) AND messages.state = ?2";
        let in_state = found(connection, ids, params![workspace, state.name()])?;
        operations.retain(|operation| operation.subject().is_some_and(|id| in_state.contains(id)));
    }
    let only = match place {
        Some(place) => place.paths_asked_for(&filter.paths)?,
        None => Vec::new(),
    };
    if !asks_for_text(filter) && only.is_empty() {
        return Ok(());
    }
    let snapshots = match (place, &filter.text) {
        (Some(place), Some(_)) => Some(place.snapshots()?),
        _ => None,
    };
    let mut kept = Vec::new();
    for operation in operations.drain(..) {
        if is_asked_for(connection, snapshots.as_ref(), filter, &only, &operation)? {
            kept.push(operation);
        }
    }
    *operations = kept;
    Ok(())
}

/// Returns the ids that a statement finds.
fn found(
    connection: &Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
) -> Result<BTreeSet<String>> {
    let ids: Vec<String> = all(connection, sql, parameters, |row| row.get("id"))?;
    Ok(ids.into_iter().collect())
}

fn is_asked_for(
    connection: &Connection,
    snapshots: Option<&Snapshots>,
    filter: &LogFilter,
    only: &[WorkspacePath],
    operation: &OperationEntry,
) -> Result<bool> {
    let message = match operation.subject() {
        Some(id) => sessions::message(connection, id)?,
        None => None,
    };
    let prompt = message.and_then(|message| message.prompt);
    if !has(prompt.as_deref(), filter.grep.as_deref()) {
        return Ok(false);
    }
    let changes = super::show::changes_of_operation(connection, &operation.id)?;
    let has_path = |change: &Change| {
        let path = String::from_utf8_lossy(change.path.as_bytes());
        has(Some(&path), filter.search.as_deref())
    };
    if !has(prompt.as_deref(), filter.search.as_deref()) && !changes.iter().any(has_path) {
        return Ok(false);
    }
    let mut asked = changes
        .iter()
        .filter(|change| change.path.is_asked_for(only));
    Ok(match (snapshots, &filter.text) {
        (Some(snapshots), Some(text)) => differ_in(snapshots, asked.cloned().collect(), text),
        _ => only.is_empty() || asked.next().is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_searched_whatever_the_case() {
        assert!(has(Some("Ändere den PARSER"), Some("ä")), "of any script");
        assert!(
            !has(None, Some("parser")),
            "what was not kept has nothing in it"
        );
        assert!(has(None, None), "nothing was asked for");
    }

    #[test]
    fn occurrences_are_counted_once_each() {
        assert_eq!(count(b"aaaa", b"aa"), 2, "they do not overlap");
        assert_eq!(count(b"abc", b"x"), 0, "none");
        assert_eq!(count(b"abc", b""), 0, "nothing stands nowhere");
    }
}
