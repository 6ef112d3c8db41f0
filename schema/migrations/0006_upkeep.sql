-- Migration 6: what was pruned, what takes how much of the disk, and which directories are gone.

-- The objects of a snapshot were removed; its row, and what others tell of it, stay readable.
ALTER TABLE snapshots ADD COLUMN pruned_at INTEGER;
-- The bytes in packs that it was the first to need, as `gc` or `du` found them last.
ALTER TABLE snapshots ADD COLUMN stored_bytes INTEGER;
CREATE INDEX steps_by_finish ON steps (finish_snapshot_id);

-- When its directory was first found to be gone.
ALTER TABLE workspaces ADD COLUMN gone_at INTEGER;
-- Rows were forgotten, and what they named is still to be removed from the packs.
ALTER TABLE workspaces ADD COLUMN unswept INTEGER NOT NULL DEFAULT 0 CHECK (unswept IN (0, 1));

CREATE VIEW disk_usage AS
SELECT workspaces.path                                              AS workspace,
       sessions.id                                                  AS session,
       sessions.agent                                               AS agent,
       message.id                                                   AS message,
       strftime('%Y-%m-%d %H:%M:%S', snapshots.taken_at / 1000.0, 'unixepoch') AS time,
       snapshots.tree                                               AS tree,
       snapshots.stored_bytes                                       AS bytes,
       snapshots.pruned_at IS NOT NULL                              AS pruned
  FROM snapshots
  JOIN workspaces ON workspaces.id = snapshots.workspace_id
  LEFT JOIN messages AS message ON message.id =
       (SELECT steps.message_id FROM steps WHERE steps.finish_snapshot_id = snapshots.id ORDER BY steps.seq LIMIT 1)
  LEFT JOIN sessions ON sessions.id = message.session_id
 ORDER BY snapshots.id;

-- A binary that does not know what was pruned takes it for damaged.
UPDATE meta SET value = 6;
