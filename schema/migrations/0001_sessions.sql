-- Migration 1: every table and view of the session store.
--
-- Object ids are lower-case hex text, times are milliseconds since the Unix epoch, modes are octal text as git prints them
-- ('100644'; all permission bits are kept: '100600'). A path is text; where its bytes are not UTF-8 the text is lossy and
-- `path_raw` holds the bytes. The tables are ours to change with a migration; the views are the interface.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- The oldest binaries (by the number of their newest migration) that may read and write this file.
INSERT INTO meta (key, value) VALUES ('min_reader', 1), ('min_writer', 1);

CREATE TABLE workspaces (
  id               INTEGER PRIMARY KEY,
  key              TEXT NOT NULL UNIQUE,           -- the name of its folder below snapshots/
  path             TEXT NOT NULL,
  path_raw         BLOB,
  device           INTEGER NOT NULL,               -- who the directory is, wherever it is moved
  inode            INTEGER NOT NULL,
  last_snapshot_id INTEGER REFERENCES snapshots (id),
  created_at       INTEGER NOT NULL,
  used_at          INTEGER NOT NULL,
  replaced_at      INTEGER                         -- another directory was found at its path
) STRICT;
CREATE UNIQUE INDEX workspaces_by_path ON workspaces (path, ifnull(path_raw, '')) WHERE replaced_at IS NULL;
CREATE INDEX workspaces_by_inode ON workspaces (inode);

CREATE TABLE git_states (
  id           INTEGER PRIMARY KEY,
  workspace_id INTEGER NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  head         TEXT,                               -- the commit; NULL while the branch is unborn
  branch       TEXT,                               -- the full ref name; NULL while HEAD is detached
  index_blob   TEXT,                               -- the raw index file as a blob; NULL where there is none
  seen_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX git_states_by_workspace ON git_states (workspace_id);

CREATE TABLE snapshots (
  id              INTEGER PRIMARY KEY,
  workspace_id    INTEGER NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  tree            TEXT NOT NULL CHECK (length(tree) = 40),
  attributes_blob TEXT CHECK (length(attributes_blob) = 40),  -- modes beyond git's, empty directories
  rules_blob      TEXT CHECK (length(rules_blob) = 40),       -- the ignore rules that are not in the tree
  git_state_id    INTEGER REFERENCES git_states (id),
  label           TEXT,
  taken_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX snapshots_by_workspace ON snapshots (workspace_id, id);
CREATE INDEX snapshots_by_tree ON snapshots (tree);

CREATE TABLE gaps (
  id          INTEGER PRIMARY KEY,
  snapshot_id INTEGER NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE,
  path        TEXT NOT NULL,
  path_raw    BLOB,
  reason      TEXT NOT NULL,
  size        INTEGER                              -- bytes, where known
) STRICT;
CREATE INDEX gaps_by_snapshot ON gaps (snapshot_id);

CREATE TABLE sessions (
  seq               INTEGER PRIMARY KEY,
  id                TEXT NOT NULL UNIQUE,
  workspace_id      INTEGER NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  agent             TEXT NOT NULL,
  agent_id          TEXT NOT NULL,                 -- the agent's own name for it
  parent_id         TEXT REFERENCES sessions (id) ON DELETE CASCADE,
  cwd               TEXT,
  started_at        INTEGER NOT NULL,
  last_event_at     INTEGER NOT NULL,
  last_event        TEXT,
  ended_at          INTEGER,
  tool_events       INTEGER NOT NULL DEFAULT 0 CHECK (tool_events IN (0, 1)),
  revert_message_id TEXT REFERENCES messages (id), -- the revert point
  revert_base_id    INTEGER REFERENCES snapshots (id), -- the state before the first revert
  UNIQUE (workspace_id, agent, agent_id)
) STRICT;
CREATE INDEX sessions_by_agent_id ON sessions (agent_id);
CREATE INDEX sessions_by_parent ON sessions (parent_id);

CREATE TABLE messages (
  seq         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  session_id  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  agent_id    TEXT,                                -- the agent's own name for it; NULL where it has none
  turn_id     TEXT,                                -- the agent's turn, which several messages may share
  prompt      TEXT,
  state       TEXT NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'hidden', 'discarded')),
  snapshot_id INTEGER REFERENCES snapshots (id),   -- the workspace just before it
  pending     INTEGER NOT NULL DEFAULT 0 CHECK (pending IN (0, 1)), -- sent while a tool ran: bound at the next boundary
  unprotected TEXT,                                -- why there is no snapshot
  created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_by_session ON messages (session_id, seq);
CREATE INDEX messages_by_agent_id ON messages (agent_id);

CREATE TABLE steps (
  seq                INTEGER PRIMARY KEY,
  id                 TEXT NOT NULL UNIQUE,
  session_id         TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  message_id         TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
  agent_id           TEXT,
  state              TEXT NOT NULL CHECK (state IN ('open', 'closed')),
  recovered          INTEGER NOT NULL DEFAULT 0 CHECK (recovered IN (0, 1)), -- closed without its own finish
  unprotected        TEXT,                         -- why its changes cannot be put back
  start_snapshot_id  INTEGER REFERENCES snapshots (id),
  finish_snapshot_id INTEGER REFERENCES snapshots (id),
  started_at         INTEGER NOT NULL,
  finished_at        INTEGER
) STRICT;
CREATE INDEX steps_by_session ON steps (session_id, seq);
CREATE INDEX steps_by_message ON steps (message_id);
CREATE INDEX steps_open ON steps (state) WHERE state = 'open';

CREATE TABLE tools (
  id          INTEGER PRIMARY KEY,
  step_id     TEXT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
  agent_id    TEXT,                                -- the agent's tool use id
  name        TEXT,
  started_at  INTEGER NOT NULL,
  finished_at INTEGER
) STRICT;
CREATE INDEX tools_by_step ON tools (step_id);

-- The files that a step's edit tools named, and what they were before: it settles whose change one is, and holds the old
-- side of a file that no snapshot captures because an ignore rule hides it.
CREATE TABLE step_paths (
  step_id  TEXT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
  path     TEXT NOT NULL,
  path_raw BLOB,
  captured INTEGER NOT NULL DEFAULT 0 CHECK (captured IN (0, 1)), -- whether the two columns below say what it was
  mode     TEXT,
  blob     TEXT,
  PRIMARY KEY (step_id, path)
) STRICT;

CREATE TABLE changes (
  id               INTEGER PRIMARY KEY,            -- in the order in which they happened
  workspace_id     INTEGER NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  step_id          TEXT REFERENCES steps (id) ON DELETE CASCADE, -- NULL for a change from outside
  attribution      TEXT NOT NULL CHECK (attribution IN ('agent', 'shared', 'outside')),
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
  CHECK ((step_id IS NULL) = (attribution = 'outside'))
) STRICT;
CREATE INDEX changes_by_step ON changes (step_id);
CREATE INDEX changes_by_path ON changes (workspace_id, path, id);

CREATE TABLE operations (
  seq                INTEGER PRIMARY KEY,
  id                 TEXT NOT NULL UNIQUE,
  workspace_id       INTEGER NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  session_id         TEXT REFERENCES sessions (id) ON DELETE CASCADE,
  kind               TEXT NOT NULL CHECK (kind IN ('revert', 'redo', 'unrevert', 'restore')),
  state              TEXT NOT NULL CHECK (state IN ('open', 'done', 'rolled_back')),
  from_message_id    TEXT REFERENCES messages (id), -- the revert point before it
  message_id         TEXT REFERENCES messages (id), -- the revert point after it, or what was restored
  part_message_id    TEXT REFERENCES messages (id), -- where only some paths went back to it
  step_id            TEXT REFERENCES steps (id),   -- where one step alone was reverted
  base_snapshot_id   INTEGER REFERENCES snapshots (id),
  before_snapshot_id INTEGER REFERENCES snapshots (id),
  after_snapshot_id  INTEGER REFERENCES snapshots (id),
  on_conflict        TEXT NOT NULL CHECK (on_conflict IN ('merge', 'keep', 'overwrite')),
  only_paths         TEXT NOT NULL DEFAULT '[]',   -- a JSON array
  directories        TEXT NOT NULL DEFAULT '[]',   -- those that go when they are empty; a JSON array
  git                INTEGER NOT NULL DEFAULT 0 CHECK (git IN (0, 1)),
  outcome            TEXT CHECK (outcome IN ('restored', 'partial', 'nothing')),
  notes              TEXT NOT NULL DEFAULT '[]',   -- a JSON array
  started_at         INTEGER NOT NULL,
  finished_at        INTEGER
) STRICT;
CREATE INDEX operations_by_workspace ON operations (workspace_id, seq);
CREATE INDEX operations_by_session ON operations (session_id, seq);
CREATE INDEX operations_open ON operations (state) WHERE state = 'open';

CREATE TABLE operation_files (
  operation_id  TEXT NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
  position      INTEGER NOT NULL,
  path          TEXT NOT NULL,
  path_raw      BLOB,
  action        TEXT NOT NULL CHECK (action IN ('write', 'delete', 'merge', 'keep', 'none')),
  result        TEXT NOT NULL CHECK (result IN ('planned', 'done', 'conflict', 'gap', 'failed')),
  reason        TEXT,
  expected_mode TEXT,                              -- what is on disk before
  expected_blob TEXT,
  target_mode   TEXT,                              -- what the plan puts there
  target_blob   TEXT,
  goal_mode     TEXT,                              -- what the revert point asks for, without edits made while reverted
  goal_blob     TEXT,
  additions     INTEGER,
  deletions     INTEGER,
  PRIMARY KEY (operation_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX operation_files_by_path ON operation_files (path);

CREATE TABLE diagnostics (
  id        INTEGER PRIMARY KEY,
  level     TEXT NOT NULL CHECK (level IN ('error', 'warning', 'info')),
  agent     TEXT,
  event     TEXT,
  session   TEXT,
  workspace TEXT,
  message   TEXT NOT NULL,
  detail    TEXT,
  at        INTEGER NOT NULL
) STRICT;

-- Hook calls under way: a row that stays behind is one that was killed.
CREATE TABLE hook_runs (
  id         INTEGER PRIMARY KEY,
  pid        INTEGER NOT NULL,
  event      TEXT NOT NULL,
  session    TEXT,
  started_at INTEGER NOT NULL
) STRICT;

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
       count(DISTINCT changes.path)                                 AS files,
       ifnull(sum(changes.additions), 0)                            AS additions,
       ifnull(sum(changes.deletions), 0)                            AS deletions
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
       count(DISTINCT changes.path)                                 AS files,
       ifnull(sum(changes.additions), 0)                            AS additions,
       ifnull(sum(changes.deletions), 0)                            AS deletions
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
         WHERE steps.session_id = sessions.id)                      AS files
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
       changes.new_blob                                             AS new_blob
  FROM changes
  JOIN workspaces ON workspaces.id = changes.workspace_id
  LEFT JOIN steps ON steps.id = changes.step_id
  LEFT JOIN sessions ON sessions.id = steps.session_id
 ORDER BY changes.id;

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
       ifnull(sum(operation_files.deletions), 0)                    AS deletions
  FROM operations
  LEFT JOIN snapshots AS before ON before.id = operations.before_snapshot_id
  LEFT JOIN snapshots AS after ON after.id = operations.after_snapshot_id
  LEFT JOIN operation_files ON operation_files.operation_id = operations.id
 GROUP BY operations.seq
 ORDER BY operations.seq;
