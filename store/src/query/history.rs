//! `log` and `sessions`: one statement each, however long the history is.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use ckpt_schema::report::{
    LogReport, MessageReport, MessageState, SessionReport, SessionsReport, VERSION,
};
use rusqlite::{Connection, Row, ToSql, params};

use super::{LogFilter, choose, roots, totals};
use crate::error::Result;
use crate::ids;
use crate::model::Milliseconds;
use crate::model::instruction::Instruction;
use crate::revert::request::chain::undone_alone;
use crate::sessions::read::{WordTable, all, count, word};
use crate::sessions::{self, Totals};
use crate::store::Store;
use crate::timeline::{self, Place};
use crate::upkeep::repair;

/// Which messages are read; all by default.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Messages<'a> {
    pub workspace_id: Option<i64>,
    pub session_id: Option<&'a str>,
    pub message_id: Option<&'a str>,
    pub limit: Option<usize>,
    /// Only those with a higher `seq`.
    pub after: Option<i64>,
    pub since: Option<Milliseconds>,
    pub until: Option<Milliseconds>,
    pub agent: Option<&'a str>,
    /// The name of their state.
    pub state: Option<&'static str>,
    /// Only these, as a JSON array of our ids.
    pub ids: Option<&'a str>,
    /// Whether those that are parts of others in further roots are left out.
    pub wholes: bool,
}

impl Messages<'_> {
    /// Returns the SQL condition, and the values of its parameters. It contains only what is asked for: a condition
    /// such as `?1 IS NULL OR …` would keep SQLite from using an index.
    pub(super) fn conditions(&self) -> (String, Vec<(&'static str, &dyn ToSql)>) {
        fn value<T: ToSql>(value: &Option<T>) -> Option<&dyn ToSql> {
            value.as_ref().map(|value| value as _)
        }
        let all = [
            ("messages.id = :id", ":id", value(&self.message_id)),
            (
                "messages.session_id = :session",
                ":session",
                value(&self.session_id),
            ),
            ("messages.seq > :after", ":after", value(&self.after)),
            (
                "sessions.workspace_id = :workspace",
                ":workspace",
                value(&self.workspace_id),
            ),
            (
                "messages.created_at >= :since",
                ":since",
                value(&self.since),
            ),
            (
                "messages.created_at <= :until",
                ":until",
                value(&self.until),
            ),
            ("sessions.agent = :agent", ":agent", value(&self.agent)),
            ("messages.state = :state", ":state", value(&self.state)),
            (
                "messages.id IN (SELECT value FROM json_each(:ids))",
                ":ids",
                value(&self.ids),
            ),
        ];
        let asked = all
            .into_iter()
            .filter_map(|(condition, name, value)| Some((condition, (name, value?))));
        let (mut conditions, values): (Vec<_>, Vec<_>) = asked.unzip();
        conditions.extend(self.wholes.then_some("messages.part_of IS NULL"));
        let conditions = match conditions.is_empty() {
            true => "TRUE".to_owned(),
            false => conditions.join(" AND "),
        };
        (conditions, values)
    }
}

/// Lists messages, newest first. The list is empty if nothing was recorded yet.
pub(crate) fn log(store: &Store, cwd: &Path, filter: &LogFilter) -> Result<LogReport> {
    let connection = store.database.connection();
    let place = match (filter.everywhere, &filter.session) {
        (true, _) => None,
        (false, Some(_)) => Some(Place::known(store, cwd)?),
        (false, None) => match Place::find(store, cwd)? {
            Some(place) => Some(place),
            None => return log_of(store, Vec::new()),
        },
    };
    let workspace_id = place.as_ref().map(|place| place.row.id);
    let session_id = filter
        .session
        .as_deref()
        .map(|id| root(connection, workspace_id, id))
        .transpose()?;
    let mut chosen = Messages {
        workspace_id,
        session_id: session_id.as_deref(),
        limit: filter.limit,
        after: filter.after,
        since: filter.since,
        until: filter.until,
        agent: filter.agent.as_deref(),
        state: filter.state.map(MessageState::name),
        wholes: workspace_id.is_none() && session_id.is_none(),
        ..Messages::default()
    };
    let ids = choose::by_content(connection, place.as_ref(), chosen, filter)?;
    chosen.ids = ids.as_deref();
    let mut messages = messages(store, chosen)?;
    if let (Some(session), None) = (chosen.session_id, chosen.ids) {
        add_inherited(store, session, chosen, &mut messages)?;
    }
    mark_left(store, &mut messages)?;
    let names = messages.iter_mut().map(|it| &mut it.workspace);
    timeline::name_present_paths(connection, Some(cwd), names)?;
    log_of(store, messages)
}

/// Adds the messages before a fork that the user made in the agent: they are those of the session that it came from.
fn add_inherited(
    store: &Store,
    session: &str,
    chosen: Messages<'_>,
    messages: &mut Vec<MessageReport>,
) -> Result<()> {
    let inherited = crate::revert::inherited(store, session)?;
    if inherited.is_empty() {
        return Ok(());
    }
    let ids = serde_json::to_string(&inherited).unwrap_or_default();
    messages.extend(self::messages(
        store,
        Messages {
            session_id: None,
            ids: Some(&ids),
            ..chosen
        },
    )?);
    messages.sort_by_key(|message| std::cmp::Reverse(message.seq));
    messages.truncate(chosen.limit.unwrap_or(usize::MAX));
    Ok(())
}

/// Marks the messages that their agent left by a rewind of its own, of the newest conversation.
fn mark_left(store: &Store, messages: &mut [MessageReport]) -> Result<()> {
    let live = messages
        .iter()
        .find(|message| message.state == MessageState::Live);
    let Some(session) = live.map(|message| message.session.clone()) else {
        return Ok(());
    };
    let left = crate::revert::left(store, &session)?;
    for message in messages {
        message.left = left.contains(&message.id);
    }
    Ok(())
}

/// Returns the report on a list of messages; an empty one says what may be the reason.
fn log_of(store: &Store, messages: Vec<MessageReport>) -> Result<LogReport> {
    let Loss {
        set_aside,
        unknown_workspaces,
    } = loss(store, messages.is_empty())?;
    Ok(LogReport {
        version: VERSION,
        messages,
        set_aside,
        unknown_workspaces,
    })
}

/// Why a list may be empty although something was recorded.
#[derive(Default)]
pub(super) struct Loss {
    /// Where a damaged session store was set aside.
    pub set_aside: Option<String>,
    /// How many workspaces have snapshots that the session store does not know.
    pub unknown_workspaces: u64,
}

/// Returns a possible reason for an empty list.
pub(super) fn loss(store: &Store, is_empty: bool) -> Result<Loss> {
    if !is_empty {
        return Ok(Loss::default());
    }
    let place = repair::set_aside(store)?.into_iter().next();
    Ok(Loss {
        set_aside: place.map(|place| place.to_string_lossy().into_owned()),
        unknown_workspaces: store.unknown_workspaces()? as u64,
    })
}

/// Returns the session at the root of the one that an id means: a sub-agent's messages are its root's.
pub(super) fn root(connection: &Connection, workspace_id: Option<i64>, id: &str) -> Result<String> {
    let session = match workspace_id {
        Some(workspace_id) => ids::session(connection, workspace_id, id)?,
        None => ids::session_anywhere(connection, id)?,
    };
    Ok(sessions::root_of(connection, &session)?.id)
}

/// Lists the sessions of the workspace that holds a directory, or of all, the most recently active first.
pub(crate) fn sessions(
    store: &Store,
    cwd: Option<&Path>,
    everywhere: bool,
) -> Result<SessionsReport> {
    let connection = store.database.connection();
    let here = cwd.filter(|_| !everywhere);
    let here = here.map(|cwd| Place::find(store, cwd)).transpose()?;
    let mut sessions = match here.flatten() {
        _ if everywhere => read_sessions(connection, HistoryRange::All)?,
        Some(here) => read_sessions(connection, HistoryRange::Workspace(here.row.id))?,
        None => Vec::new(),
    };
    let names = sessions.iter_mut().map(|it| &mut it.workspace);
    timeline::name_present_paths(connection, cwd, names)?;
    for session in sessions.iter_mut().filter(|it| it.parent.is_none()) {
        let parent = crate::revert::forked_from(store, &session.id)?;
        session.forked_from = parent.map(|parent| parent.id);
    }
    let Loss {
        set_aside,
        unknown_workspaces,
    } = loss(store, sessions.is_empty())?;
    Ok(SessionsReport {
        version: VERSION,
        sessions,
        set_aside,
        unknown_workspaces,
    })
}

/// Reads messages with what their steps did, newest first.
///
/// The messages are chosen first, so that a limit saves the work for all others. A sub-agent's step names the message
/// of its root, and counts there.
pub(super) fn messages(store: &Store, chosen: Messages<'_>) -> Result<Vec<MessageReport>> {
    if chosen.message_id.is_none() {
        store.database.keep_pages()?;
    }
    // All statements see one state, and SQLite locks the file once instead of for each of them.
    store.database.read(|connection| {
        let mut messages = read_messages(store, connection, chosen)?;
        roots::add_to_messages(store, connection, &mut messages)?;
        Ok(messages)
    })
}

pub(super) fn read_messages(
    store: &Store,
    connection: &Connection,
    chosen: Messages<'_>,
) -> Result<Vec<MessageReport>> {
    // `CROSS JOIN`, below, keeps SQLite from beginning with the sessions: it would read and sort all messages
    // of each.
    let (conditions, values) = chosen.conditions();
    let sql = format!(
        "SELECT messages.state, messages.seq, messages.id, messages.agent_id, messages.session_id, messages.prompt,
                messages.created_at, messages.unprotected, sessions.agent, ifnull(messages.conversation, sessions.agent_id), workspaces.path,
                snapshots.pruned_at IS NOT NULL, workspaces.key, messages.totals
           FROM messages CROSS JOIN sessions ON sessions.id = messages.session_id
           CROSS JOIN workspaces ON workspaces.id = sessions.workspace_id
           LEFT JOIN snapshots ON snapshots.id = messages.snapshot_id
          WHERE {conditions} ORDER BY messages.seq DESC LIMIT {}",
        choose::sql_limit(chosen.limit)
    );
    let mut rows = all(connection, &sql, &values[..], read_message)?;
    let totals = totals::complete(store, connection, &mut rows)?;
    let mut labels = labels(connection)?;
    let undone = undone_alone_for_good(connection)?;
    let pending = pending_alone(connection)?;
    for (row, totals) in rows.iter_mut().zip(totals) {
        let (report, is_pruned) = (&mut row.report, row.is_pruned);
        let reason = why_not_revertable(report.state, totals.has_live_changes, is_pruned);
        report.revertable = reason.is_none();
        report.not_revertable = reason;
        report.labels = labels.remove(&report.id).unwrap_or_default();
        // A revert of one message that was itself undone before the next message does not count.
        report.undone_alone = (undone.contains(&report.id) && !totals.has_live_changes)
            || pending.contains(&report.id);
        report.steps = totals.steps;
        report.files = totals.files;
        report.unclear = totals.unclear;
        report.additions = totals.additions;
        report.deletions = totals.deletions;
        report.finished = totals.finished;
    }
    Ok(rows.into_iter().map(|row| row.report).collect())
}

/// A row of `messages`, before the totals of its steps are added.
pub(super) struct ReadMessage {
    pub report: MessageReport,
    is_pruned: bool,
    pub workspace_key: String,
    /// What its steps did, where that is kept.
    pub totals: Option<Totals>,
}

/// Returns the labels of messages, oldest first. There are few: people write them by hand.
fn labels(connection: &Connection) -> Result<HashMap<String, Vec<String>>> {
    let sql = "SELECT message_id, text FROM labels WHERE message_id IS NOT NULL ORDER BY id";
    let rows: Vec<(String, String)> =
        all(connection, sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut labels: HashMap<String, Vec<String>> = HashMap::new();
    for (message, text) in rows {
        labels.entry(message).or_default().push(text);
    }
    Ok(labels)
}

/// Returns the messages that were undone alone and can no longer be redone.
fn undone_alone_for_good(connection: &Connection) -> Result<HashSet<String>> {
    let sql = "SELECT part_message_id FROM operations
                WHERE alone = 1 AND permanent = 1 AND part_message_id IS NOT NULL";
    Ok(all(connection, sql, [], |row| row.get(0))?
        .into_iter()
        .collect())
}

/// Returns the messages of all sessions that pending reverts undo alone. There are few at a time, if any.
fn pending_alone(connection: &Connection) -> Result<BTreeSet<String>> {
    let sql = "SELECT DISTINCT sessions.id, revert_base_id FROM sessions JOIN operations ON session_id = sessions.id
                WHERE revert_base_id IS NOT NULL AND operations.alone = 1 AND base_snapshot_id = revert_base_id";
    let reverted: Vec<(String, i64)> =
        all(connection, sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut pending = BTreeSet::new();
    for (session, base) in reverted {
        pending.extend(undone_alone(connection, &session, base)?);
    }
    Ok(pending)
}

/// Reads columns by number, in the order of the statement: a lookup by name would search anew in each row.
fn read_message(row: &Row<'_>) -> rusqlite::Result<ReadMessage> {
    Ok(ReadMessage {
        is_pruned: row.get(11)?,
        workspace_key: row.get(12)?,
        totals: row
            .get_ref(13)?
            .as_str_or_null()?
            .and_then(Totals::from_text),
        report: MessageReport {
            seq: row.get(1)?,
            id: row.get(2)?,
            agent_id: row.get(3)?,
            session: row.get(4)?,
            agent_session: row.get(9)?,
            agent: row.get(8)?,
            labels: Vec::new(),
            prompt: row.get(5)?,
            time: row.get(6)?,
            state: word(row, WordTable::Messages, "state")?,
            steps: 0,
            files: 0,
            unclear: 0,
            additions: 0,
            deletions: 0,
            unprotected: row.get(7)?,
            revertable: true,
            not_revertable: None,
            workspace: row.get(10)?,
            finished: None,
            undone_alone: false,
            left: false,
            roots: Vec::new(),
        },
    })
}

/// Returns why `revert --message` refuses a message, or `None` if it does not. Changes of a discarded message that
/// could not be undone are still the agent's, so they can be reverted.
fn why_not_revertable(
    state: MessageState,
    has_live_changes: bool,
    is_pruned: bool,
) -> Option<String> {
    if state == MessageState::Discarded && !has_live_changes {
        Some(format!(
            "it was reverted before the next message was sent; {} brings back the files just before it",
            Instruction::RestoreState
        ))
    } else if is_pruned {
        Some("the snapshot just before it was pruned".to_owned())
    } else {
        None
    }
}

/// Which rows of a list are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HistoryRange<'a> {
    /// All.
    All,
    /// Those of a workspace.
    Workspace(i64),
    /// The one with an id.
    Only(&'a str),
}

/// Reads sessions, the most recently active first.
pub(super) fn read_sessions(
    connection: &Connection,
    range: HistoryRange<'_>,
) -> Result<Vec<SessionReport>> {
    let (workspace_id, session_id) = match range {
        HistoryRange::All => (None, None),
        HistoryRange::Workspace(id) => (Some(id), None),
        HistoryRange::Only(id) => (None, Some(id)),
    };
    let files = |attributions: &str| {
        let rows = format!(
            "FROM steps JOIN changes ON changes.step_id = steps.id
            WHERE steps.session_id = sessions.id AND changes.attribution IN ({attributions})"
        );
        format!(
            "(SELECT count(DISTINCT ifnull(changes.path_raw, changes.path)) {rows})
             - (SELECT ifnull(sum(moved), 0) FROM (SELECT {MOVED} AS moved {rows} GROUP BY ifnull(old_blob, new_blob)))"
        )
    };
    let sql = format!(
        "
        SELECT sessions.*, workspaces.path AS workspace,
               (SELECT count(*) FROM messages WHERE messages.session_id = sessions.id) AS messages,
               (SELECT count(*) FROM steps WHERE steps.session_id = sessions.id) AS steps,
               {} AS files, {} AS unclear
          FROM sessions JOIN workspaces ON workspaces.id = sessions.workspace_id
         WHERE (?1 IS NULL OR sessions.workspace_id = ?1) AND (?2 IS NULL OR sessions.id = ?2)
         ORDER BY sessions.last_event_at DESC, sessions.seq DESC",
        files("'agent', 'shared'"),
        files("'unclear'")
    );
    let sql = &sql;
    all(connection, sql, params![workspace_id, session_id], |row| {
        Ok(SessionReport {
            id: row.get("id")?,
            agent_id: row.get("agent_id")?,
            agent: row.get("agent")?,
            parent: row.get("parent_id")?,
            forked_from: None,
            workspace: row.get("workspace")?,
            started: row.get("started_at")?,
            last_event: row.get("last_event_at")?,
            ended: row.get::<_, Option<i64>>("ended_at")?.is_some(),
            revert_point: row.get("revert_message_id")?,
            messages: count(row, "messages")?,
            steps: count(row, "steps")?,
            files: count(row, "files")?,
            unclear: count(row, "unclear")?,
        })
    })
}

/// How many files of a group of changes with the same blob were moved as they are: each went and came, and is one file.
/// Empty ones are all alike.
pub(super) const MOVED: &str = "iif(coalesce(old_blob, new_blob, 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391') = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391', 0,
    min(count(*) FILTER (WHERE new_mode IS NULL), count(*) FILTER (WHERE old_mode IS NULL)))";
