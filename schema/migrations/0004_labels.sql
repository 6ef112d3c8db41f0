-- Migration 4: labels, bookmarks on messages and snapshots.

-- What is labelled is kept: whatever removes old history leaves it alone.
CREATE TABLE labels (
  id           INTEGER PRIMARY KEY,
  workspace_id INTEGER NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  text         TEXT NOT NULL,
  message_id   TEXT REFERENCES messages (id) ON DELETE CASCADE,
  snapshot_id  INTEGER REFERENCES snapshots (id) ON DELETE CASCADE,
  created_at   INTEGER NOT NULL,
  UNIQUE (workspace_id, text),
  CHECK ((message_id IS NULL) <> (snapshot_id IS NULL))
) STRICT;
CREATE INDEX labels_by_message ON labels (message_id);
CREATE INDEX labels_by_snapshot ON labels (snapshot_id);

-- A label was given to several snapshots: it meant the newest of them.
INSERT INTO labels (workspace_id, text, snapshot_id, created_at)
SELECT workspace_id, label, max(id), taken_at FROM snapshots WHERE label IS NOT NULL GROUP BY workspace_id, label;
ALTER TABLE snapshots DROP COLUMN label;

-- A binary that does not know the table reads and writes the column that is gone.
UPDATE meta SET value = 4;
