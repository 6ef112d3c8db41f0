-- Migration 17: an operation says which one it takes back.

-- The operation of which this is the undo. NULL for all others, and in operations of older binaries.
ALTER TABLE operations ADD COLUMN undoes TEXT REFERENCES operations (id) ON DELETE SET NULL;
CREATE INDEX operations_undoing ON operations (undoes) WHERE undoes IS NOT NULL;

DROP VIEW operation_overview;
CREATE VIEW operation_overview AS
SELECT id AS operation, kind, session_id AS session, message_id AS message,
       datetime(started_at / 1000, 'unixepoch') AS time, state, outcome,
       (SELECT tree FROM snapshots WHERE id = operations.before_snapshot_id) AS before_tree,
       (SELECT tree FROM snapshots WHERE id = operations.after_snapshot_id) AS after_tree,
       (SELECT count(*) FROM operation_files WHERE operation_id = operations.id) AS files,
       (SELECT count(*) FROM operation_files WHERE operation_id = operations.id AND result = 'done') AS files_done,
       (SELECT count(*) FROM operation_files WHERE operation_id = operations.id AND result = 'conflict') AS conflicts,
       (SELECT ifnull(sum(additions), 0) FROM operation_files WHERE operation_id = operations.id) AS additions,
       (SELECT ifnull(sum(deletions), 0) FROM operation_files WHERE operation_id = operations.id) AS deletions,
       git, seq,
       (SELECT path FROM workspaces WHERE id = operations.workspace_id) AS workspace,
       started_at AS at_ms, (finished_at - started_at) / 1000.0 AS seconds,
       (SELECT title FROM message_overview WHERE message = operations.message_id) AS title,
       undoes
  FROM operations;
