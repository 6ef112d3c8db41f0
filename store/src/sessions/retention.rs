//! What `gc` asks and writes: how sessions were used, what pins them, and which snapshots are pruned.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::read::{all, row};
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::entry::ObjectId;

/// A session with those of its sub-agents. They go together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionUse {
    /// The root's id, then its sub-agents'.
    pub ids: Vec<String>,
    pub workspace_id: i64,
    pub agent: String,
    /// The last event or operation of any of them.
    pub used_at: Milliseconds,
    /// Whether the end of the session was never reported. No agent reports those of its sub-agents.
    pub is_unended: bool,
    /// The agents' processes, if known.
    pub processes: Vec<String>,
    /// Whether something of it is reverted.
    pub is_reverted: bool,
    /// Whether an operation on it is open, or a step.
    pub has_open_operation: bool,
    /// Whether one of its messages or snapshots has a label, in whatever root.
    pub is_labelled: bool,
    /// Whether it has a snapshot that was not pruned.
    pub has_snapshots: bool,
}

/// Returns all sessions, each with its sub-agents, the longest unused first.
///
/// A session was used when it began, and so after those whose rows were there before began, whatever the clock said
/// then: one that was set back for a while makes nothing old.
pub(crate) fn session_uses(connection: &Connection, now: Milliseconds) -> Result<Vec<SessionUse>> {
    let sql = "
        SELECT id, started_at, parent_id, workspace_id, agent, ended_at IS NULL AS is_unended, process,
               revert_message_id IS NOT NULL AS is_reverted,
               max(last_event_at, ifnull((SELECT max(ifnull(finished_at, started_at)) FROM operations
                                           WHERE operations.session_id = sessions.id), 0)) AS used_at,
               EXISTS (SELECT 1 FROM operations WHERE operations.session_id = sessions.id AND state = 'open')
                 AS has_open_operation,
               ifnull(part_of, id) IN (SELECT ifnull(labelled.part_of, labelled.id)
                                         FROM labels JOIN messages ON messages.id = labels.message_id
                                                     JOIN sessions AS labelled ON labelled.id = messages.session_id)
                 AS is_labelled,
               EXISTS (SELECT 1 FROM messages JOIN snapshots ON snapshots.id = messages.snapshot_id
                        WHERE messages.session_id = sessions.id AND pruned_at IS NULL)
                 OR EXISTS (SELECT 1 FROM steps JOIN snapshots ON snapshots.id = steps.finish_snapshot_id
                             WHERE steps.session_id = sessions.id AND pruned_at IS NULL) AS has_snapshots
          FROM sessions ORDER BY seq";
    struct Row {
        parent: Option<String>,
        session: SessionUse,
    }
    let mut begun_at = Milliseconds::MIN;
    let rows = all(connection, sql, [], |row| {
        let started_at = Some(row.get("started_at")?).filter(|at| *at <= now);
        begun_at = begun_at.max(started_at.unwrap_or(begun_at));
        Ok(Row {
            parent: row.get("parent_id")?,
            session: SessionUse {
                ids: vec![row.get("id")?],
                workspace_id: row.get("workspace_id")?,
                agent: row.get("agent")?,
                used_at: begun_at.max(row.get("used_at")?),
                is_unended: row.get("is_unended")?,
                processes: row
                    .get::<_, Option<String>>("process")?
                    .into_iter()
                    .collect(),
                is_reverted: row.get("is_reverted")?,
                has_open_operation: row.get("has_open_operation")?,
                is_labelled: row.get("is_labelled")?,
                has_snapshots: row.get("has_snapshots")?,
            },
        })
    })?;
    let mut roots: HashMap<String, usize> = HashMap::new();
    let mut uses: Vec<SessionUse> = Vec::new();
    for Row { parent, session } in rows {
        // A sub-agent's row comes after that of the session that started it.
        let known = parent.and_then(|parent| roots.get(&parent).copied());
        let at = known.unwrap_or(uses.len());
        // Also for a sub-agent: it may have started others, whose rows name it and not the root.
        roots.insert(session.ids[0].clone(), at);
        match known {
            Some(at) => uses[at].join(session),
            None => uses.push(session),
        }
    }
    uses.sort_by_key(|session| session.used_at);
    Ok(uses)
}

impl SessionUse {
    fn join(&mut self, sub: Self) {
        self.ids.extend(sub.ids);
        self.used_at = self.used_at.max(sub.used_at);
        self.processes.extend(sub.processes);
        self.is_reverted |= sub.is_reverted;
        self.has_open_operation |= sub.has_open_operation;
        self.is_labelled |= sub.is_labelled;
        self.has_snapshots |= sub.has_snapshots;
    }
}

/// Snapshots that rows of these sessions name; `?1` is a JSON array of their ids.
const NAMED_BY: &str = "
          SELECT messages.snapshot_id FROM messages WHERE messages.session_id IN (SELECT value FROM json_each(?1))
    UNION SELECT start_snapshot_id FROM steps WHERE steps.session_id IN (SELECT value FROM json_each(?1))
    UNION SELECT finish_snapshot_id FROM steps WHERE steps.session_id IN (SELECT value FROM json_each(?1))
    UNION SELECT revert_base_id FROM sessions WHERE sessions.id IN (SELECT value FROM json_each(?1))
    UNION SELECT base_snapshot_id FROM operations WHERE operations.session_id IN (SELECT value FROM json_each(?1))
    UNION SELECT before_snapshot_id FROM operations WHERE operations.session_id IN (SELECT value FROM json_each(?1))
    UNION SELECT after_snapshot_id FROM operations WHERE operations.session_id IN (SELECT value FROM json_each(?1))
    UNION SELECT goal_snapshot_id FROM operations
           WHERE operations.session_id IN (SELECT value FROM json_each(?1)) AND state = 'open'
    UNION SELECT from_snapshot_id FROM changes JOIN steps ON steps.id = step_id
           WHERE steps.session_id IN (SELECT value FROM json_each(?1))
    UNION SELECT to_snapshot_id FROM changes JOIN steps ON steps.id = step_id
           WHERE steps.session_id IN (SELECT value FROM json_each(?1))";

/// Returns the trees of the snapshots that sessions name and that were not pruned, newest first.
pub(crate) fn trees_of(connection: &Connection, sessions: &[String]) -> Result<Vec<ObjectId>> {
    let sql = format!(
        "SELECT tree FROM snapshots WHERE pruned_at IS NULL AND id IN ({NAMED_BY})
          GROUP BY tree ORDER BY max(id) DESC"
    );
    all(connection, &sql, [json(sessions)], |row| row.get(0))
}

/// Which snapshots of a workspace to prune.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pruning<'a> {
    pub workspace_id: i64,
    /// All sessions of the workspace that stay.
    pub kept: &'a [String],
    /// Snapshots of no session that were taken before this go. They were never used, so they go by their age: with the
    /// sessions of their time.
    pub unused_before: Milliseconds,
    /// Snapshots that were taken since then stay.
    pub young_since: Milliseconds,
    /// No snapshot is later than this, whatever its row says.
    pub now: Milliseconds,
}

/// Returns the snapshots of a workspace that nothing that stays needs.
///
/// This is the one place that says what is pinned: the newest snapshot, labelled ones, those that kept sessions name,
/// those of operations that are open or younger than what goes, and recent ones.
pub(crate) fn prunable(connection: &Connection, pruning: Pruning<'_>) -> Result<Vec<i64>> {
    let sql = format!(
        "WITH pinned AS MATERIALIZED (
                SELECT last_snapshot_id AS id FROM workspaces WHERE id = ?2
          UNION SELECT snapshot_id FROM labels WHERE workspace_id = ?2
          UNION SELECT snapshot_id FROM messages WHERE id IN (SELECT message_id FROM labels WHERE workspace_id = ?2)
          UNION {NAMED_BY}
          UNION SELECT base_snapshot_id FROM operations
                 WHERE workspace_id = ?2 AND session_id IS NULL AND (state = 'open' OR started_at >= ?3)
          UNION SELECT before_snapshot_id FROM operations
                 WHERE workspace_id = ?2 AND session_id IS NULL AND (state = 'open' OR started_at >= ?3)
          UNION SELECT after_snapshot_id FROM operations
                 WHERE workspace_id = ?2 AND session_id IS NULL AND (state = 'open' OR started_at >= ?3)
          UNION SELECT goal_snapshot_id FROM operations
                 WHERE workspace_id = ?2 AND session_id IS NULL AND state = 'open'),
         named AS MATERIALIZED (
                SELECT snapshot_id AS id FROM messages
                  JOIN sessions ON sessions.id = messages.session_id WHERE workspace_id = ?2
          UNION SELECT finish_snapshot_id FROM steps
                  JOIN sessions ON sessions.id = steps.session_id WHERE workspace_id = ?2)
         SELECT id FROM snapshots
          WHERE workspace_id = ?2 AND pruned_at IS NULL AND {}
            AND id NOT IN (SELECT id FROM pinned WHERE id IS NOT NULL)
            AND ({} OR id IN (SELECT id FROM named WHERE id IS NOT NULL))",
        taken_before("?4"),
        taken_before("?3")
    );
    let Pruning {
        workspace_id,
        kept,
        unused_before,
        young_since,
        now,
    } = pruning;
    // A NULL among the pinned would make `NOT IN` true of no snapshot, and nothing would ever be pruned.
    let values = params![json(kept), workspace_id, unused_before, young_since, now];
    all(connection, &sql, values, |row| row.get(0))
}

/// Returns the condition that a snapshot was taken before a moment, by its own time, and by those of the snapshots that
/// were there before it: the clock may have been set back for a while. `?5` is the present.
fn taken_before(moment: &str) -> String {
    format!(
        "(taken_at < {moment} AND id < ifnull((SELECT min(id) FROM snapshots
            WHERE workspace_id = ?2 AND taken_at BETWEEN {moment} AND ?5), id + 1))"
    )
}

/// Marks snapshots as pruned: what only they need is no longer needed.
pub(crate) fn mark_pruned(connection: &Connection, ids: &[i64], now: Milliseconds) -> Result<()> {
    let sql = "UPDATE snapshots SET pruned_at = ?2, stored_bytes = NULL WHERE id = ?1";
    for id in ids {
        let what = "cannot mark snapshots as pruned";
        super::execute(connection, what, sql, params![id, now])?;
    }
    match ids.is_empty() {
        true => Ok(()),
        false => super::totals::outdate_counted(connection),
    }
}

/// A snapshot to be measured.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub id: i64,
    pub tree: ObjectId,
    pub records: Vec<ObjectId>,
    pub taken_at: Milliseconds,
    /// The message of the step that it ended, and its session.
    pub message: Option<String>,
    pub session: Option<String>,
}

/// Returns the snapshots of a workspace that were not pruned, oldest first.
pub(crate) fn snapshots_to_measure(
    connection: &Connection,
    workspace_id: i64,
) -> Result<Vec<Measured>> {
    let sql = "
        SELECT snapshots.id, tree, attributes_blob, rules_blob, seen_blob, index_blob, taken_at,
               messages.id AS message, messages.session_id AS session
          FROM snapshots
          LEFT JOIN git_states ON git_states.id = git_state_id
          LEFT JOIN messages ON messages.id =
               (SELECT message_id FROM steps WHERE finish_snapshot_id = snapshots.id ORDER BY seq LIMIT 1)
         WHERE snapshots.workspace_id = ?1 AND pruned_at IS NULL ORDER BY snapshots.id";
    all(connection, sql, [workspace_id], |row| {
        let records = ["attributes_blob", "rules_blob", "seen_blob", "index_blob"];
        let records: Vec<Option<ObjectId>> = records
            .iter()
            .map(|column| row.get(*column))
            .collect::<rusqlite::Result<_>>()?;
        Ok(Measured {
            id: row.get("id")?,
            tree: row.get("tree")?,
            records: records.into_iter().flatten().collect(),
            taken_at: row.get("taken_at")?,
            message: row.get("message")?,
            session: row.get("session")?,
        })
    })
}

/// Notes how many bytes snapshots were the first to need.
pub(crate) fn note_sizes(connection: &Connection, sizes: &[(i64, u64)]) -> Result<()> {
    // SQLite writes a row anew even if nothing in it differs.
    let sql = "UPDATE snapshots SET stored_bytes = ?2 WHERE id = ?1 AND pruned_at IS NULL AND stored_bytes IS NOT ?2";
    let what = "cannot note the sizes of snapshots";
    sizes.iter().try_for_each(|(id, bytes)| {
        let bytes = i64::try_from(*bytes).unwrap_or(i64::MAX);
        super::execute(connection, what, sql, params![id, bytes])
    })
}

row! {
    /// A workspace that may be gone.
    #[derive(Clone, Debug)]
    pub(crate) struct WorkspacePresence {
        pub id: i64,
        /// When `gc` first found that its directory is not there.
        pub gone_at: Option<Milliseconds>,
        /// When another directory was found at its path.
        pub replaced_at: Option<Milliseconds>,
        /// Whether a label, a revert point or an open operation pins it.
        pub is_pinned: bool,
        /// Whether something was forgotten and is still in its packs.
        pub is_unswept: bool,
    }
}

/// Returns for every workspace whether it was found to be gone before.
pub(crate) fn presences(connection: &Connection) -> Result<Vec<WorkspacePresence>> {
    let sql = "
        SELECT id, gone_at, replaced_at, unswept AS is_unswept,
               EXISTS (SELECT 1 FROM labels WHERE labels.workspace_id = workspaces.id)
               OR EXISTS (SELECT 1 FROM sessions WHERE sessions.workspace_id = workspaces.id
                             AND revert_message_id IS NOT NULL)
               OR EXISTS (SELECT 1 FROM operations WHERE operations.workspace_id = workspaces.id
                             AND state = 'open') AS is_pinned
          FROM workspaces ORDER BY used_at DESC, id DESC";
    all(connection, sql, [], WorkspacePresence::read)
}

/// Notes when a workspace was first found to be gone; `None` if it exists.
pub(crate) fn note_gone(
    connection: &Connection,
    id: i64,
    gone_at: Option<Milliseconds>,
) -> Result<()> {
    let sql = "UPDATE workspaces SET gone_at = ?2 WHERE id = ?1";
    let what = "cannot note that a workspace is gone";
    super::execute(connection, what, sql, params![id, gone_at])
}

/// Notes that what was forgotten of a workspace is still in its packs.
pub(crate) fn note_unswept(connection: &Connection, id: i64) -> Result<()> {
    set_unswept(connection, id, true)
}

/// Notes that nothing that was forgotten of a workspace is in its packs any more.
pub(crate) fn note_swept(connection: &Connection, id: i64) -> Result<()> {
    set_unswept(connection, id, false)
}

fn set_unswept(connection: &Connection, id: i64, is_unswept: bool) -> Result<()> {
    let sql = "UPDATE workspaces SET unswept = ?2 WHERE id = ?1";
    let what = "cannot note what is to be swept";
    super::execute(connection, what, sql, params![id, is_unswept])?;
    super::note_rewritten(connection, Some(id))
}

/// Removes a workspace with all of its rows.
pub(crate) fn delete_workspace(connection: &Connection, id: i64) -> Result<()> {
    super::note_forgotten_root(connection, id)?;
    const OF_IT: [&str; 20] = [
        // The newest row is never removed, so that no number is used twice.
        "feed WHERE workspace_id = ?1 AND seq < (SELECT max(seq) FROM feed)",
        "labels WHERE workspace_id = ?1",
        "changes WHERE workspace_id = ?1",
        "operation_files WHERE operation_id IN (SELECT id FROM operations WHERE workspace_id = ?1)",
        "operation_git WHERE operation_id IN (SELECT id FROM operations WHERE workspace_id = ?1)",
        "operations WHERE workspace_id = ?1",
        "tools WHERE step_id IN (SELECT steps.id FROM steps JOIN sessions ON sessions.id = session_id WHERE workspace_id = ?1)",
        "step_paths WHERE step_id IN (SELECT steps.id FROM steps JOIN sessions ON sessions.id = session_id WHERE workspace_id = ?1)",
        "steps WHERE session_id IN (SELECT id FROM sessions WHERE workspace_id = ?1)",
        "messages WHERE session_id IN (SELECT id FROM sessions WHERE workspace_id = ?1)",
        "diagnostics WHERE session IN (SELECT agent_id FROM sessions WHERE workspace_id = ?1)
                        OR workspace IN (SELECT path FROM workspaces WHERE id = ?1)",
        "hook_runs WHERE session IN (SELECT agent_id FROM sessions WHERE workspace_id = ?1)",
        "sessions WHERE workspace_id = ?1",
        "snapshots WHERE workspace_id = ?1",
        "git_states WHERE workspace_id = ?1",
        "fetched WHERE workspace_id = ?1",
        "machines WHERE ?1 IN (workspace_id, beside)",
        "pushed WHERE remote_id IN (SELECT id FROM remotes WHERE workspace_id = ?1)",
        "remotes WHERE workspace_id = ?1",
        "workspaces WHERE id = ?1",
    ];
    for rows in OF_IT {
        let what = "cannot remove a workspace";
        super::execute(connection, what, &format!("DELETE FROM {rows}"), [id])?;
    }
    Ok(())
}

fn json(ids: &[String]) -> String {
    serde_json::to_string(ids).unwrap_or_else(|_| "[]".to_owned())
}
