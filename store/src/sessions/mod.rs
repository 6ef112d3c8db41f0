//! The session store: SQLite in WAL mode, for many short-lived processes. It knows nothing of trees.
//!
//! Each file holds the rows of one or two tables as private structs, and the statements that read and write them.
//! Functions take a connection: that of [`Database::connection`] to read, that which [`Database::write`] passes on to
//! write.

mod backup;
mod changes;
mod conversations;
mod database;
mod diagnostics;
mod feed;
pub(crate) mod forget;
mod git;
mod history_of_file;
mod io_failure;
mod journal;
mod labels;
mod library;
mod lost_rows;
mod machines;
mod migrate;
mod new_file;
mod notices;
mod older_store;
mod operations;
mod operations_since;
mod other_sessions;
mod parts;
pub(crate) mod read;
mod rebuild;
mod removals;
mod replacement;
mod retention;
mod roots;
mod rows;
mod runs;
mod salvage;
mod schema_repair;
mod scrub;
mod snapshots;
mod steps;
mod sub_agents;
mod tools;
mod totals;
mod version;
mod views;
mod words;
mod work;
mod workspaces;

pub(crate) use database::{BESIDE, data_version, is_held, is_read_only};
pub use database::{Database, OLDEST_SQLITE};
pub use diagnostics::{Diagnostic, DiagnosticLevel};
pub(crate) use diagnostics::{insert_diagnostic, is_noted};
pub(crate) use io_failure::is_stuck;
pub use notices::Notices;
pub(crate) use notices::{mark_shown, notice_rows, notices};

pub(crate) use backup::back_up;
pub(crate) use changes::{
    ChangeRow, ChangeSince, LiveChange, changes_between, changes_between_kept, changes_of_message,
    changes_of_others, changes_of_step, changes_since, delete_changes, doubt_outside,
    first_snapshot_of, has_step_changed, insert_changes, live_changes, mark_undone, outside_paths,
    owners_of, paths_of_session, release_to_outside, reverted_changes, rows_since, sharers,
};
pub(crate) use conversations::{
    conversation_of, conversation_of_operation, conversations, go_on_in, messages_before,
    messages_left_behind, messages_of_conversation, newest_conversation, note_conversation,
    process_of, resolve_conversation, sessions_after_reverts, went_back_alone,
};
pub(crate) use git::{
    GitOperation, SeenGit, StepSpan, git_items, git_line, git_operations_since, put_git_items,
    step_spans,
};
pub(crate) use history_of_file::{
    FileChange, FileOperation, TakenFile, additions_in, changes_of_path, deleted_with, deletions,
    operations_on_path, taken_by_operations,
};
pub(crate) use labels::{
    LabelRow, Labelled, delete_label, label, labels, put_label, workspaces_with_label,
};
pub use library::{LibraryVersions, versions};
pub(crate) use lost_rows::{LastRows, has_rows, mark_lost, unprotected_steps, was_unrecorded};
pub(crate) use machines::{
    FORGOTTEN, MachineRow, PushedRow, PushedRows, REWRITTEN, RemoteRow, add_foreign_workspace,
    adopt_machine, begin_push, called_so, end_push, forget_pushed, machine_of, machines,
    note_forgotten, note_rewritten, pushed, put_machine, put_pushed, put_remote, remotes,
    remove_pushed, store_number,
};
pub(crate) use migrate::{copies, copy_into};
pub(crate) use operations::{
    ChainOperation, HAS_MOVED, OperationRow, close_operation, has_open_operation, insert_operation,
    moves_since, newest_operation, note_permanent, note_results, open_operations, operation,
    operation_items, restored_states,
};
pub(crate) use operations_since::{
    Put, moved_since, newest_operation_since, put_since, was_operation_at_work,
};
pub(crate) use other_sessions::{newer_of_others, other_reverted_sessions};
pub(crate) use parts::{
    Whole, has_changes, has_forgotten_roots, message_beside, message_parts, note_forgotten_root,
    note_part, note_part_of, operation_parts, other_parts, part_id, part_in, parts, roots_beside,
    roots_of_sessions, workspace_of_message, workspaces_left_beside,
};
pub(crate) use rebuild::{newest_snapshot_time, put_noted, snapshots_to_note, workspace_keys};
pub(crate) use removals::{brought_back_and_taken_away, taken_away_to};
pub(crate) use retention::{
    Measured, Pruning, SessionUse, WorkspacePresence, delete_workspace, mark_pruned, note_gone,
    note_sizes, note_swept, note_unswept, presences, prunable, session_uses, snapshots_to_measure,
    trees_of,
};
pub(crate) use roots::{Named, named, paths_of_blobs, roots, workspaces};
pub(crate) use rows::{
    COMMAND, MessageRow, NewMessage, SessionRow, SteplessMessage, bind_pending_messages,
    discard_hidden_messages, find_message_by_agent_id, find_session, find_session_named,
    has_message_since, insert_message, message, message_at_or_after, message_time, messages_from,
    messages_of_turn, newest_begun_message, newest_message, newest_reverted_beside,
    newest_reverted_session, next_hidden_message, root_of, session, session_at_home,
    session_of_process, set_hidden_from, set_revert_point, stepless_messages, touch_session,
    upsert_session,
};
pub(crate) use runs::{begin_run, end_run, note_killed};
pub(crate) use salvage::{Salvaged, add_former, remove_unfinished, salvage, unfinished, unread};
pub(crate) use schema_repair::{complaint, lacks_column, mend_objects, wrong_objects};
pub(crate) use snapshots::{
    MessageSpan, NewSnapshot, SnapshotRow, first_look, git_state, put_git_state, put_snapshot,
    snapshot, snapshot_row, snapshots_beside, snapshots_by_seen, snapshots_of_tree,
    snapshots_since,
};
pub(crate) use steps::{
    Life, OpenStep, StepEnd, StepRow, StepSides, boundary_before, close_open_steps, close_step,
    count_steps, find_step_by_agent_id, first_start_since, hand_over_steps,
    has_steps_in_background, insert_step, is_another_at_work, move_step_start, newest_step,
    open_steps, step, step_at, step_sides, step_with_tools, steps_ended_around,
    steps_in_background, steps_with_attributes, was_look_missed,
};
pub(crate) use tools::{
    OuterTool, StepPath, ToolRow, ended_step_of_tool, files_outside, finish_tool, forced_paths,
    insert_step_path, insert_tool, is_tool_known, note_directory, note_late_end, note_returned,
    note_wait, outer_tools, release_background, returned_paths,
};
pub(crate) use totals::{
    Contents, KeptTotals, Totals, Unsummed, files_of_steps, forget_totals, keep_totals,
    kept_totals, totals, unsummed,
};
pub(crate) use views::add_views;
pub(crate) use work::{WorkTimes, free_work_since, work_since};
pub(crate) use workspaces::{
    ListedWorkspace, WorkspaceRow, claim_workspace, find_workspace, forget_identity, has_workspace,
    listed_workspaces, note_birth, set_aside, set_last_snapshot, take_over, workspace,
    workspace_at, workspaces_at_commit, workspaces_at_work_below, workspaces_of_turn,
};

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Params, RowIndex};

use crate::error::{Context, Result};
use crate::model::entry::{Entry, Mode, ObjectId, State};
use crate::model::path::WorkspacePath;

/// Returns a new id: 32 random hex digits, so that a short prefix is unique.
pub(crate) fn new_id() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// Runs a statement that changes rows, and that is run again and again.
pub(crate) fn execute(
    connection: &Connection,
    what: &'static str,
    sql: &str,
    parameters: impl Params,
) -> Result<()> {
    changed(connection, what, sql, parameters).map(drop)
}

/// Runs such a statement, and returns how many rows it changed.
fn changed(
    connection: &Connection,
    what: &'static str,
    sql: &str,
    parameters: impl Params,
) -> Result<usize> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute(parameters))
        .context(|| what)
}

impl ToSql for ObjectId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.to_string().into())
    }
}

impl FromSql for ObjectId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::from_hex(value.as_str()?).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for Mode {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.to_string().into())
    }
}

impl FromSql for Mode {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::from_octal(value.as_str()?).ok_or(FromSqlError::InvalidType)
    }
}

/// Reads two columns, a mode and a blob, as the state of a path.
fn state(
    row: &rusqlite::Row<'_>,
    mode: impl RowIndex,
    blob: impl RowIndex,
) -> rusqlite::Result<State> {
    let mode: Option<Mode> = row.get(mode)?;
    let blob: Option<ObjectId> = row.get(blob)?;
    Ok(mode.map(|mode| Entry { mode, blob }))
}

/// Reads the columns `path` and `path_raw`. Anything that is not a path in a workspace was not written by us.
pub(crate) fn path(row: &rusqlite::Row<'_>) -> rusqlite::Result<WorkspacePath> {
    path_at(row, "path", "path_raw")
}

/// Like `path`, with the names of the columns.
fn path_at(
    row: &rusqlite::Row<'_>,
    path: impl RowIndex,
    raw: impl RowIndex,
) -> rusqlite::Result<WorkspacePath> {
    // A name that is not UTF-8 has its bytes here; the text beside them is for people and lost some of them.
    let raw: Option<Vec<u8>> = row.get(raw)?;
    let bytes = match raw {
        Some(raw) => raw,
        None => row.get::<_, String>(path)?.into_bytes(),
    };
    WorkspacePath::new(bytes).map_err(|problem| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(problem))
    })
}
