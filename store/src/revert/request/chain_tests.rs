//! What a chain of reverts holds, on rows in every order that operations may come in.

use ckpt_schema::report::OperationKind::{self, Redo, Restore, Revert, Unrevert};
use rusqlite::{Connection, params};
use tempfile::TempDir;

use super::chain::{
    chain, has_ended, make_permanent, newest_of_chain, reverted_files, reverts_that_hold,
    takes_all_back,
};
use crate::sessions::Database;
use crate::settings::Durability;

/// A session `s` with the messages `m1` to `m3` in its own database. Its snapshots are 1 to 9.
struct Rows {
    database: Database,
    _directory: TempDir,
}

impl Rows {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let database =
            Database::open(directory.path(), Durability::Objects).expect("a fresh directory");
        let rows = Self {
            database,
            _directory: directory,
        };
        rows.connection()
            .execute_batch(
                "INSERT INTO workspaces (id, key, path, device, inode, created_at, used_at) VALUES (1, 'w', '/w', 1, 1, 1, 1);
                 INSERT INTO sessions (id, workspace_id, agent, agent_id, started_at, last_event_at)
                 VALUES ('s', 1, 'agent', 'a', 1, 1), ('other', 1, 'agent', 'b', 1, 1);
                 INSERT INTO messages (id, session_id, created_at) VALUES ('m1', 's', 1), ('m2', 's', 1), ('m3', 's', 1);",
            )
            .expect("rows of every kind");
        for id in 1..=9 {
            rows.connection()
                .execute(
                    "INSERT INTO snapshots (id, workspace_id, tree, taken_at) VALUES (?1, 1, ?2, 1)",
                    params![id, "0".repeat(40)],
                )
                .expect("a snapshot");
        }
        rows
    }

    fn connection(&self) -> &Connection {
        self.database.connection()
    }

    /// Adds a closed move that starts from snapshot 1 and is about the file `a`.
    fn add(&self, id: &str, kind: OperationKind, point: Option<&str>, result: &str) -> &Self {
        self.connection()
            .execute(
                "INSERT INTO operations (id, workspace_id, session_id, kind, state, message_id, base_snapshot_id, before_snapshot_id,
                                         on_conflict, outcome, started_at)
                 VALUES (?1, 1, 's', ?2, 'done', ?3, 1, 1, 'merge', 'restored', 1)",
                params![id, kind.name(), point],
            )
            .expect("an operation");
        self.connection()
            .execute(
                "INSERT INTO operation_files (operation_id, position, path, action, result, expected_mode, goal_mode)
                 VALUES (?1, 0, 'a', 'write', ?2, '100644', '100600')",
                params![id, result],
            )
            .expect("a file");
        self
    }

    fn change(&self, sql: &str) -> &Self {
        self.connection().execute_batch(sql).expect("rows change");
        self
    }

    /// The operations of the chain, and of them the reverts that no later one took back.
    fn chain(&self) -> (Vec<String>, Vec<String>) {
        let chain = chain(self.connection(), "s", 1).expect("readable");
        let newest = newest_of_chain(self.connection(), "s", 1).expect("readable");
        assert_eq!(
            newest.map(|operation| operation.row.id),
            chain.last().map(|operation| operation.row.id.clone()),
            "the newest is the last of all"
        );
        let holding = reverts_that_hold(&chain).map(|operation| operation.row.id.clone());
        let holding = holding.collect();
        (
            chain
                .into_iter()
                .map(|operation| operation.row.id)
                .collect(),
            holding,
        )
    }

    /// The number of files that the chain reports as reverted.
    fn reverted(&self) -> usize {
        reverted_files(self.connection(), "s", 1)
            .expect("readable")
            .len()
    }
}

fn ids(chain: &[&str], holding: &[&str]) -> (Vec<String>, Vec<String>) {
    let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    (owned(chain), owned(holding))
}

/// A redo and an unrevert to behind the last message take all back and nothing else does.
#[test]
fn only_full_moves_take_all_back() {
    for (kind, without_point) in [
        (Redo, true),
        (Unrevert, true),
        (Revert, false),
        (Restore, false),
    ] {
        assert_eq!(
            takes_all_back(kind, None),
            without_point,
            "{kind:?}; a revert of a part has no point either"
        );
        assert!(
            !takes_all_back(kind, Some("m1")),
            "{kind:?}: something stays reverted"
        );
    }
}

/// A move that could not write a file does not end the chain.
#[test]
fn failed_write_does_not_end_the_chain() {
    for kind in [Redo, Unrevert] {
        assert!(has_ended(kind, None, false), "{kind:?}");
        assert!(
            !has_ended(kind, None, true),
            "{kind:?}: it is to be tried again"
        );
        assert!(
            !has_ended(kind, Some("m1"), false),
            "{kind:?}: not at the end"
        );
    }
    assert!(
        !has_ended(Revert, None, false),
        "a revert of a part begins one"
    );
}

#[test]
fn chain_is_all_moves_since_the_first_revert() {
    let rows = Rows::new();
    rows.add("1", Revert, Some("m3"), "done")
        .add("2", Revert, Some("m1"), "done")
        .add("3", Redo, Some("m2"), "done");
    assert_eq!(
        rows.chain(),
        ids(&["1", "2", "3"], &["1", "2"]),
        "a redo of one message takes no other back"
    );
    assert_eq!(rows.reverted(), 1, "the file is reverted");
}

/// A redo to the end ends a chain as an unrevert does.
#[test]
fn redo_to_the_end_ends_a_chain() {
    for kind in [Redo, Unrevert] {
        let rows = Rows::new();
        rows.add("1", Revert, Some("m1"), "done")
            .add("2", kind, None, "done");
        assert_eq!(rows.chain(), ids(&[], &[]), "{kind:?}");
        assert_eq!(rows.reverted(), 0, "{kind:?}");
        rows.add("3", Revert, Some("m2"), "done");
        assert_eq!(
            rows.chain(),
            ids(&["3"], &["3"]),
            "{kind:?}: the next chain, though it begins at the same snapshot"
        );
    }
}

/// A conflict ends a chain and a failure does not but takes its reverts back.
#[test]
fn conflict_ends_a_chain_and_failure_does_not() {
    for kind in [Redo, Unrevert] {
        let rows = Rows::new();
        rows.add("1", Revert, None, "done")
            .add("2", kind, None, "conflict");
        assert_eq!(
            rows.chain(),
            ids(&[], &[]),
            "{kind:?}: it would be one again"
        );
        let rows = Rows::new();
        rows.add("1", Revert, None, "done")
            .add("2", kind, None, "failed");
        assert_eq!(
            rows.chain(),
            ids(&["1", "2"], &[]),
            "{kind:?}: it goes on from the same state, with nothing reverted"
        );
        assert_eq!(rows.reverted(), 1, "{kind:?}: what failed is shown");
        rows.add("3", Revert, Some("m2"), "done");
        assert_eq!(
            rows.chain(),
            ids(&["1", "2", "3"], &["3"]),
            "{kind:?}: the new revert alone holds"
        );
        rows.add("4", kind, None, "done");
        assert_eq!(rows.chain(), ids(&[], &[]), "{kind:?}: now all is done");
    }
}

/// What a message made permanent is not in the next chain.
#[test]
fn permanent_revert_is_in_no_later_chain() {
    for (point, what) in [(Some("m2"), "a message"), (None, "parts alone")] {
        let rows = Rows::new();
        rows.add("1", Revert, None, "conflict")
            .add("2", Revert, point, "conflict")
            .change(
                "UPDATE sessions SET revert_base_id = 1 WHERE id = 's';
                 UPDATE messages SET state = 'hidden' WHERE id IN ('m2', 'm3')",
            );
        let session = crate::sessions::session(rows.connection(), "s")
            .expect("readable")
            .expect("it is there");
        make_permanent(rows.connection(), &session).expect("writable");
        assert_eq!(rows.chain(), ids(&[], &[]), "{what}: none is under way");
        assert_eq!(rows.reverted(), 0, "{what}: nothing is reverted");
        rows.add("3", Revert, Some("m1"), "done");
        assert_eq!(
            rows.chain(),
            ids(&["3"], &["3"]),
            "{what}: though nothing had changed, so that it begins at the same snapshot"
        );
    }
}

/// Other sessions other bases restores and open operations are not of a chain.
#[test]
fn foreign_operations_are_in_no_chain() {
    let rows = Rows::new();
    rows.add("1", Revert, Some("m3"), "done")
        .add("another", Unrevert, None, "done")
        .add("elsewhere", Unrevert, None, "done")
        .add("restore", Restore, None, "done")
        .add("open", Unrevert, None, "planned")
        .change(
            "UPDATE operations SET session_id = 'other' WHERE id = 'another';
             UPDATE operations SET base_snapshot_id = 2 WHERE id = 'elsewhere';
             UPDATE operations SET state = 'open' WHERE id = 'open'",
        );
    assert_eq!(rows.chain(), ids(&["1"], &["1"]), "only its own, closed");
    assert_eq!(rows.reverted(), 1, "and it is still in force");
}
