-- Migration 3: what is evidence of whose a change is, and the word for where it is missing.

-- What a tool may change, and when it ran.
ALTER TABLE tools ADD COLUMN kind TEXT CHECK (kind IN ('edit', 'read')); -- NULL: it may change anything
ALTER TABLE tools ADD COLUMN paths TEXT NOT NULL DEFAULT '[]';  -- the files that an edit tool names; a JSON array
ALTER TABLE tools ADD COLUMN outside TEXT NOT NULL DEFAULT '[]'; -- those outside the workspace, and where it ran outside; a JSON array
ALTER TABLE tools ADD COLUMN ran_for INTEGER;                   -- milliseconds, where the agent says, without waits
ALTER TABLE tools ADD COLUMN waited_at INTEGER;                 -- it waited for the user's permission from then on
ALTER TABLE tools ADD COLUMN background INTEGER NOT NULL DEFAULT 0 CHECK (background IN (0, 1)); -- it goes on behind its step
ALTER TABLE tools ADD COLUMN released_at INTEGER;               -- the command in the background is known to be over
CREATE INDEX tools_in_background ON tools (step_id) WHERE background = 1 AND released_at IS NULL;

-- Where an agent shows that it lives.
ALTER TABLE sessions ADD COLUMN process TEXT;                   -- its number, start time and namespace
ALTER TABLE sessions ADD COLUMN process_seen INTEGER NOT NULL DEFAULT 0; -- how many calls in a row came from it
ALTER TABLE sessions ADD COLUMN transcript TEXT;                -- the path of its own record
ALTER TABLE sessions ADD COLUMN interrupted_at INTEGER;         -- the user interrupted it, as it told

ALTER TABLE operations ADD COLUMN unclear TEXT NOT NULL DEFAULT 'keep' CHECK (unclear IN ('keep', 'take'));
ALTER TABLE operations ADD COLUMN permanent INTEGER NOT NULL DEFAULT 0 CHECK (permanent IN (0, 1)); -- a message came while it was in force
UPDATE operations SET permanent = 1
 WHERE kind <> 'restore' AND message_id IN (SELECT id FROM messages WHERE state = 'discarded');

-- Another directory may get the inode of one that was deleted.
ALTER TABLE workspaces ADD COLUMN born INTEGER;                 -- when the directory was made, in nanoseconds; NULL where nobody knows

DROP VIEW file_history;
DROP VIEW session_overview;
DROP VIEW message_overview;
DROP VIEW step_overview;

-- A check cannot be changed in place.
CREATE TABLE changes_3 (
  id               INTEGER PRIMARY KEY,            -- in the order in which they happened
  workspace_id     INTEGER NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  step_id          TEXT REFERENCES steps (id) ON DELETE CASCADE, -- NULL for a change from outside
  attribution      TEXT NOT NULL CHECK (attribution IN ('agent', 'shared', 'outside', 'unclear')),
  reason           TEXT,                           -- why it is unclear
  from_snapshot_id INTEGER REFERENCES snapshots (id),
  to_snapshot_id   INTEGER REFERENCES snapshots (id),
  path             TEXT NOT NULL,
  path_raw         BLOB,
  kind             TEXT NOT NULL CHECK (kind IN ('added', 'modified', 'deleted', 'mode', 'type')),
  old_mode         TEXT,
  old_blob         TEXT,
  new_mode         TEXT,
  new_blob         TEXT,
  additions        INTEGER,                        -- lines; NULL for what has no lines
  deletions        INTEGER,
  undone_by        TEXT REFERENCES operations (id), -- the operation that made its undoing permanent
  happened_at      INTEGER NOT NULL,
  CHECK (old_blob IS NULL OR old_mode IS NOT NULL), -- a mode without a blob: it was there, its bytes are not stored
  CHECK (new_blob IS NULL OR new_mode IS NOT NULL),
  CHECK ((step_id IS NULL) = (attribution = 'outside')),
  CHECK (reason IS NULL OR attribution = 'unclear')
) STRICT;
INSERT INTO changes_3 (id, workspace_id, step_id, attribution, from_snapshot_id, to_snapshot_id, path, path_raw, kind, old_mode,
                       old_blob, new_mode, new_blob, additions, deletions, undone_by, happened_at)
SELECT id, workspace_id, step_id, attribution, from_snapshot_id, to_snapshot_id, path, path_raw, kind, old_mode,
       old_blob, new_mode, new_blob, additions, deletions, undone_by, happened_at FROM changes;
DROP TABLE changes;
ALTER TABLE changes_3 RENAME TO changes;
CREATE INDEX changes_by_step ON changes (step_id);
CREATE INDEX changes_by_path ON changes (workspace_id, path, id);

-- `files`, `additions` and `deletions` are what is known to be the agent's; `unclear` counts the paths that only may be.
CREATE VIEW step_overview AS
SELECT steps.id                                                     AS step,
       steps.session_id                                             AS session,
       sessions.agent                                               AS agent,
       steps.message_id                                             AS message,
       strftime('%Y-%m-%d %H:%M:%S', steps.started_at / 1000.0, 'unixepoch')  AS started,
       strftime('%Y-%m-%d %H:%M:%S', steps.finished_at / 1000.0, 'unixepoch') AS finished,
       steps.state                                                  AS state,
       steps.recovered                                              AS recovered,
       steps.unprotected                                            AS unprotected,
       start.tree                                                   AS start_tree,
       finish.tree                                                  AS finish_tree,
       count(DISTINCT iif(changes.attribution <> 'unclear', changes.path, NULL)) AS files,
       ifnull(sum(changes.additions) FILTER (WHERE changes.attribution <> 'unclear'), 0) AS additions,
       ifnull(sum(changes.deletions) FILTER (WHERE changes.attribution <> 'unclear'), 0) AS deletions,
       count(DISTINCT iif(changes.attribution = 'unclear', changes.path, NULL)) AS unclear
  FROM steps
  JOIN sessions ON sessions.id = steps.session_id
  LEFT JOIN snapshots AS start ON start.id = steps.start_snapshot_id
  LEFT JOIN snapshots AS finish ON finish.id = steps.finish_snapshot_id
  LEFT JOIN changes ON changes.step_id = steps.id
 GROUP BY steps.seq
 ORDER BY steps.seq;

CREATE VIEW message_overview AS
SELECT messages.id                                                  AS message,
       messages.agent_id                                            AS agent_message,
       messages.session_id                                          AS session,
       sessions.agent_id                                            AS agent_session,
       sessions.agent                                               AS agent,
       strftime('%Y-%m-%d %H:%M:%S', messages.created_at / 1000.0, 'unixepoch') AS time,
       messages.prompt                                              AS prompt,
       messages.state                                               AS state,
       (SELECT count(*) FROM steps WHERE steps.message_id = messages.id) AS steps,
       count(DISTINCT iif(changes.attribution <> 'unclear', changes.path, NULL)) AS files,
       ifnull(sum(changes.additions) FILTER (WHERE changes.attribution <> 'unclear'), 0) AS additions,
       ifnull(sum(changes.deletions) FILTER (WHERE changes.attribution <> 'unclear'), 0) AS deletions,
       count(DISTINCT iif(changes.attribution = 'unclear', changes.path, NULL)) AS unclear
  FROM messages
  JOIN sessions ON sessions.id = messages.session_id
  LEFT JOIN steps ON steps.message_id = messages.id
  LEFT JOIN changes ON changes.step_id = steps.id
 GROUP BY messages.seq
 ORDER BY messages.seq;

CREATE VIEW session_overview AS
SELECT sessions.id                                                  AS session,
       sessions.agent_id                                            AS agent_session,
       sessions.agent                                               AS agent,
       sessions.parent_id                                           AS parent,
       workspaces.path                                              AS workspace,
       strftime('%Y-%m-%d %H:%M:%S', sessions.started_at / 1000.0, 'unixepoch')    AS started,
       strftime('%Y-%m-%d %H:%M:%S', sessions.last_event_at / 1000.0, 'unixepoch') AS last_event,
       sessions.revert_message_id                                   AS revert_point,
       (SELECT count(*) FROM messages WHERE messages.session_id = sessions.id) AS messages,
       (SELECT count(*) FROM steps WHERE steps.session_id = sessions.id)       AS steps,
       (SELECT count(DISTINCT changes.path) FROM changes JOIN steps ON steps.id = changes.step_id
         WHERE steps.session_id = sessions.id AND changes.attribution <> 'unclear') AS files,
       (SELECT count(DISTINCT changes.path) FROM changes JOIN steps ON steps.id = changes.step_id
         WHERE steps.session_id = sessions.id AND changes.attribution = 'unclear') AS unclear
  FROM sessions
  JOIN workspaces ON workspaces.id = sessions.workspace_id
 ORDER BY sessions.seq;

CREATE VIEW file_history AS
SELECT strftime('%Y-%m-%d %H:%M:%S', changes.happened_at / 1000.0, 'unixepoch') AS time,
       sessions.agent                                               AS agent,
       steps.session_id                                             AS session,
       steps.message_id                                             AS message,
       changes.step_id                                              AS step,
       workspaces.path                                              AS workspace,
       changes.path                                                 AS path,
       changes.kind                                                 AS kind,
       changes.attribution                                          AS attribution,
       changes.additions                                            AS additions,
       changes.deletions                                            AS deletions,
       changes.old_blob                                             AS old_blob,
       changes.new_blob                                             AS new_blob,
       changes.reason                                               AS reason
  FROM changes
  JOIN workspaces ON workspaces.id = changes.workspace_id
  LEFT JOIN steps ON steps.id = changes.step_id
  LEFT JOIN sessions ON sessions.id = steps.session_id
 ORDER BY changes.id;

-- A binary that does not know the word would take what is unclear for somebody's.
UPDATE meta SET value = 3;

-- What every event asks for: without these it looks at all messages and steps that there ever were.
CREATE INDEX messages_pending ON messages (session_id) WHERE pending = 1;
CREATE INDEX step_paths_captured ON step_paths (step_id) WHERE captured = 1;
