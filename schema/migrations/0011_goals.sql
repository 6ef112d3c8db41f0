-- Migration 11: where an operation goes to, and what it says beyond its files.

-- The state that the workspace is compared with afterwards. NULL if a single message or step is undone, if that state was not
-- captured, and in operations of older binaries.
ALTER TABLE operations ADD COLUMN goal_snapshot_id INTEGER REFERENCES snapshots (id);
-- The message that a revert asked for; not the one of `message_id` if it is discarded. NULL in operations of older binaries.
ALTER TABLE operations ADD COLUMN asked_message_id TEXT REFERENCES messages (id);
-- The notes for programs: a JSON array of objects as reports have them. NULL in operations of older binaries.
ALTER TABLE operations ADD COLUMN remarks TEXT;

-- A binary that does not know the columns would finish an operation without its receipt.
UPDATE meta SET value = 11;
