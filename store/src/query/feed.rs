//! `watch` and `serve`: what happened since a place in the feed, by whichever process.

use std::collections::BTreeMap;
use std::path::Path;

use ckpt_schema::report::{GapReport, Notification, StepSummary};
use rusqlite::{Row, params};

use super::{files, history, operations, status};
use crate::error::Result;
use crate::fs::names;
use crate::sessions;
use crate::sessions::read::{
    self, FeedKind, StepState, WordTable, all, count, gap_reports, row, word,
};
use crate::store::Store;
use crate::timeline::Place;

/// How many rows of the feed are read at a time, so that a client that was away for months costs no more memory.
const AT_A_TIME: i64 = 500;

/// What happened, and where to go on from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Feed {
    /// The last place that was read: `since` of the next question.
    pub seq: i64,
    /// Oldest first.
    pub notifications: Vec<Notification>,
    /// Whether more can be read right away.
    pub has_more: bool,
}

row! {
    /// A row of the feed.
    struct FeedRow {
        seq: i64,
        kind: FeedKind = |row| word(row, WordTable::Feed, "kind"),
        subject: String,
        workspace: Option<String>,
    }
}

/// Returns the newest place in the feed; 0 in an empty store.
pub(crate) fn newest(store: &Store) -> Result<i64> {
    let sql = "SELECT ifnull(max(seq), 0) FROM feed";
    let connection = store.database.connection();
    read::value(connection, "cannot read the session store", sql, [])
}

/// Returns the events after a place in the feed, in the workspace that holds a directory, or everywhere.
///
/// A place after the newest one belongs to another store: the answer is a reset.
pub(crate) fn feed(store: &Store, cwd: Option<&Path>, since: i64) -> Result<Feed> {
    let connection = store.database.connection();
    let newest = newest(store)?;
    if since > newest {
        return Ok(Feed {
            seq: newest,
            notifications: vec![Notification::Reset { seq: newest }],
            has_more: false,
        });
    }
    let workspace_id = match cwd {
        None => None,
        Some(cwd) => match Place::find(store, cwd)? {
            Some(place) => Some(place.row.id),
            None => {
                return Ok(Feed {
                    seq: since,
                    ..Feed::default()
                });
            }
        },
    };
    let sql = "SELECT feed.seq AS seq, feed.kind AS kind, feed.subject AS subject, workspaces.path AS workspace
                 FROM feed LEFT JOIN workspaces ON workspaces.id = feed.workspace_id
                WHERE feed.seq > ?1 AND (?2 IS NULL OR feed.workspace_id = ?2)
                ORDER BY feed.seq LIMIT ?3";
    let entries = all(
        connection,
        sql,
        params![since, workspace_id, AT_A_TIME],
        FeedRow::read,
    )?;
    let has_more = entries.len() as i64 == AT_A_TIME;
    let seq = match entries.last() {
        Some(last) if has_more => last.seq,
        // What was added since the newest was asked for is told of now, and not once more.
        Some(last) => newest.max(last.seq),
        None => newest,
    };
    let mut notifications = Vec::new();
    for entry in entries {
        notifications.extend(notification(store, entry)?);
    }
    Ok(Feed {
        seq,
        notifications,
        has_more,
    })
}

/// Returns the notification for a row of the feed, or `None` if its subject was removed since.
fn notification(store: &Store, entry: FeedRow) -> Result<Option<Notification>> {
    let connection = store.database.connection();
    let FeedRow {
        seq,
        kind,
        subject,
        workspace,
    } = entry;
    Ok(match kind {
        FeedKind::Message => {
            let chosen = history::Messages {
                message_id: Some(&subject),
                ..history::Messages::default()
            };
            let message = history::messages(store, chosen)?.pop();
            message.map(|message| Notification::Message {
                seq,
                workspace,
                message,
            })
        }
        FeedKind::Step => step(store, &subject)?.map(|step| Notification::Step {
            seq,
            workspace,
            step,
        }),
        FeedKind::Operation => {
            operations::read_operations(connection, history::HistoryRange::Only(&subject))?
                .pop()
                .map(|operation| Notification::Operation {
                    seq,
                    workspace,
                    operation,
                })
        }
        FeedKind::Gap => gaps_of_step(store, &subject)?.map(|gaps| Notification::Gap {
            seq,
            workspace,
            step: subject,
            gaps,
        }),
        FeedKind::Failed => {
            status::diagnostic(connection, &subject)?.map(|diagnostic| Notification::Failed {
                seq,
                workspace,
                diagnostic,
            })
        }
    })
}

fn step(store: &Store, id: &str) -> Result<Option<StepSummary>> {
    let connection = store.database.connection();
    let sql = "SELECT steps.*, workspaces.key AS key,
                      (SELECT count(DISTINCT ifnull(path_raw, path)) FROM changes
                        WHERE step_id = steps.id AND attribution <> 'unclear') AS files
                 FROM steps JOIN sessions ON sessions.id = steps.session_id
                 JOIN workspaces ON workspaces.id = sessions.workspace_id
                WHERE steps.id = ?1";
    let read = read::one_or_none(connection, "cannot read a step", sql, [id], |row| {
        Ok((row.get("key")?, read_step(row)?))
    })?;
    let Some((key, mut step)): Option<(String, _)> = read else {
        return Ok(None);
    };
    let folder = names::workspace(&store.surroundings.directory, &key);
    // One file alone can be no renamed one.
    if step.files > 1
        && let Some(snapshots) = files::snapshots(&folder)
    {
        step.files = files::of_step(connection, &snapshots, id)?.files;
    }
    Ok(Some(step))
}

fn read_step(row: &Row<'_>) -> rusqlite::Result<StepSummary> {
    Ok(StepSummary {
        id: row.get("id")?,
        session: row.get("session_id")?,
        message: row.get("message_id")?,
        open: word::<StepState>(row, WordTable::Steps, "state")? == StepState::Open,
        recovered: row.get("recovered")?,
        unprotected: row.get("unprotected")?,
        started: row.get("started_at")?,
        finished: row.get("finished_at")?,
        files: count(row, "files")?,
    })
}

/// Returns the gaps of the snapshot at a step's end, or `None` if none is new, or the step or its snapshot is gone.
fn gaps_of_step(store: &Store, id: &str) -> Result<Option<Vec<GapReport>>> {
    let connection = store.database.connection();
    let Some(step) = sessions::step(connection, id)? else {
        return Ok(None);
    };
    let gaps = |snapshot: Option<i64>| -> Result<Vec<GapReport>> {
        let Some(snapshot) = snapshot else {
            return Ok(Vec::new());
        };
        let row = sessions::snapshot_row(connection, snapshot)?;
        let workspace = sessions::workspace(connection, row.workspace_id)?;
        let folder = names::workspace(&store.surroundings.directory, &workspace.key);
        // Those of a pruned snapshot are gone with its objects.
        let seen =
            files::snapshots(&folder).and_then(|snapshots| snapshots.gaps(&row.snapshot).ok());
        Ok(gap_reports(&seen.unwrap_or_default()))
    };
    let (before, after) = (
        gaps(step.start_snapshot_id)?,
        gaps(step.finish_snapshot_id)?,
    );
    let is_known = |gap: &GapReport| before.iter().any(|before| before.path == gap.path);
    let is_new = !after.iter().all(is_known);
    Ok(is_new.then_some(after))
}

/// Returns the sessions with a tool at work, by agent and session, of each workspace in which there are any.
pub(crate) fn agents_at_work(store: &Store) -> Result<BTreeMap<String, Vec<String>>> {
    let connection = store.database.connection();
    let sql = "SELECT DISTINCT workspaces.id AS id, workspaces.path AS path
                 FROM steps JOIN sessions ON sessions.id = steps.session_id
                 JOIN workspaces ON workspaces.id = sessions.workspace_id
                WHERE steps.state = 'open'";
    let workspaces: Vec<(i64, String)> = all(connection, sql, [], |row| {
        Ok((row.get("id")?, row.get("path")?))
    })?;
    let mut working = BTreeMap::new();
    for (id, path) in workspaces {
        let open = sessions::open_steps(connection, id)?;
        let agents = status::agents_at_work(connection, &open, store.now())?;
        if !agents.is_empty() {
            working.insert(path, agents);
        }
    }
    Ok(working)
}
