-- Migration 2: git's own state as a part of operations (`--git`).

-- What git was in the middle of: 'merge', 'rebase', 'cherry-pick' and the like; NULL where it was not.
ALTER TABLE git_states ADD COLUMN doing TEXT;

-- What an operation does to HEAD, branches and the index, written down before the first of them is touched.
CREATE TABLE operation_git (
  operation_id TEXT NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
  position     INTEGER NOT NULL,
  part         TEXT NOT NULL CHECK (part IN ('branch', 'head', 'index')),
  name         TEXT NOT NULL,                      -- the full ref name, 'HEAD' or 'index'
  expected     TEXT,                               -- what it is before: a commit, HEAD's text, the index's blob; NULL: not there
  target       TEXT,                               -- what the plan makes of it
  result       TEXT NOT NULL CHECK (result IN ('planned', 'done', 'conflict', 'gap', 'failed')),
  reason       TEXT,
  PRIMARY KEY (operation_id, position)
) STRICT, WITHOUT ROWID;

DROP VIEW operation_overview;
CREATE VIEW operation_overview AS
SELECT operations.id                                                AS operation,
       operations.kind                                              AS kind,
       operations.session_id                                        AS session,
       operations.message_id                                        AS message,
       strftime('%Y-%m-%d %H:%M:%S', operations.started_at / 1000.0, 'unixepoch') AS time,
       operations.state                                             AS state,
       operations.outcome                                           AS outcome,
       before.tree                                                  AS before_tree,
       after.tree                                                   AS after_tree,
       count(operation_files.position)                              AS files,
       ifnull(sum(operation_files.result = 'done'), 0)              AS files_done,
       ifnull(sum(operation_files.result = 'conflict'), 0)          AS conflicts,
       ifnull(sum(operation_files.additions), 0)                    AS additions,
       ifnull(sum(operation_files.deletions), 0)                    AS deletions,
       operations.git                                               AS git
  FROM operations
  LEFT JOIN snapshots AS before ON before.id = operations.before_snapshot_id
  LEFT JOIN snapshots AS after ON after.id = operations.after_snapshot_id
  LEFT JOIN operation_files ON operation_files.operation_id = operations.id
 GROUP BY operations.seq
 ORDER BY operations.seq;

-- A binary that does not know the table would close an operation and leave git half-way.
UPDATE meta SET value = 2 WHERE key = 'min_writer';
