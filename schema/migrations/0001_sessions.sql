-- The tables of the session store. Its views are in `views.sql`.
--
-- Object ids are lower-case hex text, times are milliseconds since the Unix epoch, modes are octal text as git prints them
-- ('100644'; all permission bits are kept: '100600'). A path is text; where its bytes are not UTF-8 the text is lossy and
-- `path_raw` holds the bytes. The tables are ours to change with a migration.
--
-- SQLite keeps each statement with its comments, and reads all of them whenever a program opens the file: comments stand
-- before a statement, not in it.

-- The oldest binaries, by the version of their tables, that may read and write this file.
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta (key, value) VALUES ('min_reader', 1), ('min_writer', 1);

-- The directories that agents worked in.
--   key            the name of its folder below snapshots/
--   device, inode  of the directory, wherever it is moved
--   born           when the directory was made, in nanoseconds; NULL where that is not known: another may get its inode
--   replaced_at    another directory was found at its path
--   gone_at        the directory was first found to be gone
--   unswept        rows were forgotten, and what they named is still to be removed from the packs
CREATE TABLE workspaces (
  id               INTEGER PRIMARY KEY,
  key              TEXT NOT NULL UNIQUE,
  path             TEXT NOT NULL,
  path_raw         BLOB,
  device           INTEGER NOT NULL,
  inode            INTEGER NOT NULL,
  born             INTEGER,
  last_snapshot_id INTEGER REFERENCES snapshots,
  created_at       INTEGER NOT NULL,
  used_at          INTEGER NOT NULL,
  replaced_at      INTEGER,
  gone_at          INTEGER,
  unswept          INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX workspaces_by_path ON workspaces (path, ifnull(path_raw, '')) WHERE replaced_at IS NULL;
CREATE INDEX workspaces_by_name ON workspaces (path);
CREATE INDEX workspaces_by_inode ON workspaces (inode);

-- The states of the user's repositories.
--   head        the commit; NULL while the branch is unborn
--   branch      the full ref name; NULL while HEAD is detached
--   index_blob  the raw index file as a blob; NULL where there is none
--   doing       what git is in the middle of, such as a merge
CREATE TABLE git_states (
  id           INTEGER PRIMARY KEY,
  workspace_id INTEGER NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  head         TEXT,
  branch       TEXT,
  index_blob   TEXT,
  doing        TEXT,
  seen_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX git_states_by_workspace ON git_states (workspace_id);

--   attributes_blob  modes beyond git's, empty directories
--   rules_blob       the ignore rules that are not in the tree
--   seen_blob        what was seen and is not stored
--   gaps             how many of these entries reports list
--   forgotten        whether some of them stand for what was forgotten
--   pruned_at        its objects were removed; its row, and what others tell of it, stay readable
--   stored_bytes     the bytes in packs that it was the first to need, as `gc` or `du` found them last
CREATE TABLE snapshots (
  id              INTEGER PRIMARY KEY,
  workspace_id    INTEGER NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  tree            TEXT NOT NULL CHECK (length(tree) = 40),
  attributes_blob TEXT CHECK (length(attributes_blob) = 40),
  rules_blob      TEXT CHECK (length(rules_blob) = 40),
  seen_blob       TEXT CHECK (length(seen_blob) = 40),
  gaps            INTEGER NOT NULL DEFAULT 0,
  forgotten       INTEGER NOT NULL DEFAULT 0,
  git_state_id    INTEGER REFERENCES git_states,
  taken_at        INTEGER NOT NULL,
  pruned_at       INTEGER,
  stored_bytes    INTEGER
) STRICT;
CREATE INDEX snapshots_by_workspace ON snapshots (workspace_id, id);
CREATE INDEX snapshots_by_tree ON snapshots (tree);

--   agent_id           the agent's own name for it
--   revert_message_id  the revert point
--   revert_base_id     the state before the first revert
--   process            its number, start time and namespace
--   process_seen       how many calls in a row came from it
--   transcript         the path of the agent's own record
--   left_id            the conversation that a revert left for a fork, with `left_transcript`: unrevert goes back to it, and
--                      the next message forgets it
--   interrupted_at     the user interrupted it, as the agent told
--   part_of            it is the part of this session in another root, which works in several
--   has_parts          others are parts of it
--   roots_gone         the history of another of its roots was forgotten
CREATE TABLE sessions (
  seq               INTEGER PRIMARY KEY,
  id                TEXT NOT NULL UNIQUE,
  workspace_id      INTEGER NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  agent             TEXT NOT NULL,
  agent_id          TEXT NOT NULL,
  parent_id         TEXT REFERENCES sessions (id) ON DELETE CASCADE,
  cwd               TEXT,
  started_at        INTEGER NOT NULL,
  last_event_at     INTEGER NOT NULL,
  last_event        TEXT,
  ended_at          INTEGER,
  tool_events       INTEGER NOT NULL DEFAULT 0,
  revert_message_id TEXT REFERENCES messages (id),
  revert_base_id    INTEGER REFERENCES snapshots,
  process           TEXT,
  process_seen      INTEGER NOT NULL DEFAULT 0,
  transcript        TEXT,
  left_id           TEXT,
  left_transcript   TEXT,
  interrupted_at    INTEGER,
  part_of           TEXT REFERENCES sessions (id) ON DELETE SET NULL,
  has_parts         INTEGER NOT NULL DEFAULT 0,
  roots_gone        INTEGER NOT NULL DEFAULT 0,
  UNIQUE (workspace_id, agent, agent_id)
) STRICT;
CREATE INDEX sessions_left ON sessions (left_id) WHERE left_id IS NOT NULL;
CREATE INDEX sessions_by_agent_id ON sessions (agent_id);
CREATE INDEX sessions_by_parent ON sessions (parent_id);
CREATE INDEX sessions_by_whole ON sessions (part_of) WHERE part_of IS NOT NULL;

--   agent_id     the agent's own name for it; NULL where it has none
--   turn_id      the agent's turn, which several messages may share
--   snapshot_id  the workspace just before it
--   pending      sent while a tool ran: bound at the next boundary
--   unprotected  why there is no snapshot
--   conversation the agent's id of the conversation in which it was sent, and `transcript` its record; NULL: those of
--                its session
--   part_of      the message itself, of which this is the part in another root of its session
--   totals       what its steps did, as text: steps, files, unclear files, additions, deletions, when the last step ended,
--                whether anything of it is not undone, and whether contents have to tell how many files there are (2: they
--                did). NULL if a row of its steps was written since they were added up
CREATE TABLE messages (
  seq         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  session_id  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  agent_id    TEXT,
  turn_id     TEXT,
  prompt      TEXT,
  conversation TEXT,
  transcript  TEXT,
  state       TEXT NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'hidden', 'discarded')),
  snapshot_id INTEGER REFERENCES snapshots,
  pending     INTEGER NOT NULL DEFAULT 0,
  unprotected TEXT,
  created_at  INTEGER NOT NULL,
  totals      TEXT,
  part_of     TEXT REFERENCES messages (id) ON DELETE SET NULL
) STRICT;
CREATE INDEX messages_by_session ON messages (session_id, seq);
CREATE INDEX messages_by_agent_id ON messages (agent_id);
CREATE INDEX messages_pending ON messages (session_id) WHERE pending = 1;
CREATE INDEX messages_unprotected ON messages (session_id) WHERE unprotected IS NOT NULL;

-- What the agent's own record says of a message, read when a person looks; all NULL if it says nothing.
--   input_tokens  what the model read, from caches as well
--   cost          in US dollars
CREATE TABLE message_usage (
  message_id    TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
  model         TEXT,
  input_tokens  INTEGER,
  output_tokens INTEGER,
  cost          REAL
) STRICT;

-- A session has one open step at most.
--   recovered    closed without its own finish
--   unprotected  why its changes cannot be put back
--   file_count   how many files it changed, kept with its message's totals
--   outside      the directory in which it ran, where that is outside its workspace
--   part_of      the step itself, of which this is the part in another root of its session
CREATE TABLE steps (
  seq                INTEGER PRIMARY KEY,
  id                 TEXT NOT NULL UNIQUE,
  session_id         TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  message_id         TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
  agent_id           TEXT,
  state              TEXT NOT NULL CHECK (state IN ('open', 'closed')),
  recovered          INTEGER NOT NULL DEFAULT 0,
  unprotected        TEXT,
  start_snapshot_id  INTEGER REFERENCES snapshots,
  finish_snapshot_id INTEGER REFERENCES snapshots,
  started_at         INTEGER NOT NULL,
  finished_at        INTEGER,
  file_count         INTEGER,
  outside            TEXT,
  part_of            TEXT REFERENCES steps (id) ON DELETE SET NULL
) STRICT;
CREATE INDEX steps_by_session ON steps (session_id, seq);
CREATE INDEX steps_by_message ON steps (message_id);
CREATE INDEX steps_by_finish ON steps (finish_snapshot_id);
CREATE UNIQUE INDEX steps_open ON steps (state, session_id) WHERE state = 'open';
CREATE INDEX steps_unprotected ON steps (session_id) WHERE unprotected IS NOT NULL;

--   agent_id     the agent's tool use id
--   kind         what it may change; NULL: anything
--   paths        the files that an edit tool names; a JSON array
--   outside      those outside the workspace, and where it ran outside; a JSON array
--   ran_for      milliseconds, where the agent says, without waits
--   waited_at    it waited for the user's permission from then on
--   background   it goes on behind its step
--   released_at  the command in the background is known to be over
--   command      what a shell was told to do, as far as `record_prompts` allows
CREATE TABLE tools (
  id          INTEGER PRIMARY KEY,
  step_id     TEXT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
  agent_id    TEXT,
  name        TEXT,
  kind        TEXT CHECK (kind IN ('edit', 'read')),
  paths       TEXT NOT NULL DEFAULT '[]',
  outside     TEXT NOT NULL DEFAULT '[]',
  command     TEXT,
  started_at  INTEGER NOT NULL,
  finished_at INTEGER,
  ran_for     INTEGER,
  waited_at   INTEGER,
  background  INTEGER NOT NULL DEFAULT 0,
  released_at INTEGER
) STRICT;
CREATE INDEX tools_by_step ON tools (step_id);
CREATE INDEX tools_in_background ON tools (step_id) WHERE background = 1 AND released_at IS NULL;

-- The files that the edit tools of a step named, and those that were written and yet as before when it ended.
--   captured  whether `mode` and `blob` say what it was
--   returned  whether it was written and yet as before when the step ended
CREATE TABLE step_paths (
  step_id  TEXT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
  path     TEXT NOT NULL,
  path_raw BLOB,
  captured INTEGER NOT NULL DEFAULT 0,
  returned INTEGER NOT NULL DEFAULT 0,
  mode     TEXT,
  blob     TEXT,
  PRIMARY KEY (step_id, path)
) STRICT;
CREATE INDEX step_paths_captured ON step_paths (step_id) WHERE captured = 1;
CREATE INDEX step_paths_returned ON step_paths (step_id) WHERE returned = 1;

-- The changes in the order in which they happened. A mode without a blob: it was there, its bytes are not stored.
--   step_id    NULL for a change from outside
--   reason     why it is unclear
--   additions  lines, like `deletions`; NULL for what has no lines
--   undone_by  the operation that made its undoing permanent
CREATE TABLE changes (
  id               INTEGER PRIMARY KEY,
  workspace_id     INTEGER NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  step_id          TEXT REFERENCES steps (id) ON DELETE CASCADE,
  attribution      TEXT NOT NULL CHECK (attribution IN ('agent', 'shared', 'outside', 'unclear')),
  reason           TEXT,
  from_snapshot_id INTEGER REFERENCES snapshots,
  to_snapshot_id   INTEGER REFERENCES snapshots,
  path             TEXT NOT NULL,
  path_raw         BLOB,
  kind             TEXT NOT NULL CHECK (kind IN ('added', 'modified', 'deleted', 'mode', 'type')),
  old_mode         TEXT,
  old_blob         TEXT,
  new_mode         TEXT,
  new_blob         TEXT,
  additions        INTEGER,
  deletions        INTEGER,
  undone_by        TEXT REFERENCES operations (id),
  happened_at      INTEGER NOT NULL,
  CHECK (old_blob IS NULL OR old_mode IS NOT NULL),
  CHECK (new_blob IS NULL OR new_mode IS NOT NULL),
  CHECK ((step_id IS NULL) = (attribution = 'outside')),
  CHECK (reason IS NULL OR attribution = 'unclear')
) STRICT;
CREATE INDEX changes_by_step ON changes (step_id);
CREATE INDEX changes_by_path ON changes (workspace_id, path, id);
CREATE INDEX changes_gone ON changes (old_blob) WHERE kind = 'deleted';

--   from_message_id   the revert point before it
--   message_id        the revert point after it, or what was restored
--   asked_message_id  the message that a revert asked for; not that of `message_id` if it is discarded
--   part_message_id   where only some paths went back to it, or it `alone` was undone and none after it
--   step_id           where one step alone was reverted
--   undoes            the operation of which this is the undo
--   part_of           the operation of which this is the part in another root: all are planned before any is begun
--   goal_snapshot_id  the state that the workspace is compared with afterwards. NULL if a single message or step is undone,
--                     or if that state was not captured
--   only_paths        a JSON array
--   directories       those that go when they are empty; a JSON array
--   permanent         a message came while it was in force
--   conversation      what becomes of the agent's conversation: a JSON object, written before it is done. NULL: it stays
--   notes             a JSON array of objects, the `remarks` of reports
CREATE TABLE operations (
  seq                INTEGER PRIMARY KEY,
  id                 TEXT NOT NULL UNIQUE,
  workspace_id       INTEGER NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  session_id         TEXT REFERENCES sessions (id) ON DELETE CASCADE,
  kind               TEXT NOT NULL CHECK (kind IN ('revert', 'redo', 'unrevert', 'restore')),
  state              TEXT NOT NULL CHECK (state IN ('open', 'done', 'rolled_back')),
  from_message_id    TEXT REFERENCES messages (id),
  message_id         TEXT REFERENCES messages (id),
  asked_message_id   TEXT REFERENCES messages (id),
  part_message_id    TEXT REFERENCES messages (id),
  alone              INTEGER NOT NULL DEFAULT 0,
  step_id            TEXT REFERENCES steps (id),
  undoes             TEXT REFERENCES operations (id) ON DELETE SET NULL,
  base_snapshot_id   INTEGER REFERENCES snapshots,
  before_snapshot_id INTEGER REFERENCES snapshots,
  after_snapshot_id  INTEGER REFERENCES snapshots,
  goal_snapshot_id   INTEGER REFERENCES snapshots,
  on_conflict        TEXT NOT NULL CHECK (on_conflict IN ('merge', 'keep', 'overwrite')),
  unclear            TEXT NOT NULL DEFAULT 'keep' CHECK (unclear IN ('keep', 'take')),
  only_paths         TEXT NOT NULL DEFAULT '[]',
  directories        TEXT NOT NULL DEFAULT '[]',
  git                INTEGER NOT NULL DEFAULT 0,
  permanent          INTEGER NOT NULL DEFAULT 0,
  outcome            TEXT CHECK (outcome IN ('restored', 'partial', 'nothing')),
  conversation       TEXT,
  notes              TEXT NOT NULL DEFAULT '[]',
  started_at         INTEGER NOT NULL,
  finished_at        INTEGER,
  part_of            TEXT REFERENCES operations (id) ON DELETE SET NULL
) STRICT;
CREATE INDEX operations_by_workspace ON operations (workspace_id, seq);
CREATE INDEX operations_by_session ON operations (session_id, seq);
CREATE INDEX operations_open ON operations (state) WHERE state = 'open';
CREATE INDEX operations_alone ON operations (part_message_id) WHERE alone = 1;
CREATE INDEX operations_undoing ON operations (undoes) WHERE undoes IS NOT NULL;

--   reason_code    the name of a reason code; NULL without a reason
--   reason_case    which of the cases with that code, where they are told apart
--   reason_by      whose changes the reason names: a JSON array of objects as reports have them
--   expected_mode  what is on disk before, with `expected_blob`
--   target_mode    what the plan puts there, with `target_blob`
--   goal_mode      what the revert point asks for, without edits made while reverted, with `goal_blob`
CREATE TABLE operation_files (
  operation_id  TEXT NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
  position      INTEGER NOT NULL,
  path          TEXT NOT NULL,
  path_raw      BLOB,
  action        TEXT NOT NULL CHECK (action IN ('write', 'delete', 'merge', 'keep', 'none')),
  result        TEXT NOT NULL CHECK (result IN ('planned', 'done', 'conflict', 'gap', 'failed')),
  reason        TEXT,
  reason_code   TEXT,
  reason_case   TEXT,
  reason_by     TEXT,
  expected_mode TEXT,
  expected_blob TEXT,
  target_mode   TEXT,
  target_blob   TEXT,
  goal_mode     TEXT,
  goal_blob     TEXT,
  additions     INTEGER,
  deletions     INTEGER,
  PRIMARY KEY (operation_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX operation_files_by_path ON operation_files (path);

--   name      the full ref name, 'HEAD' or 'index'
--   expected  what it is before: a commit, HEAD's text, the index's blob; NULL: not there
--   target    what the plan makes of it
--   unclear   the reason is that it is unclear whose change it is
CREATE TABLE operation_git (
  operation_id TEXT NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
  position     INTEGER NOT NULL,
  part         TEXT NOT NULL CHECK (part IN ('branch', 'head', 'index')),
  name         TEXT NOT NULL,
  expected     TEXT,
  target       TEXT,
  result       TEXT NOT NULL CHECK (result IN ('planned', 'done', 'conflict', 'gap', 'failed')),
  reason       TEXT,
  unclear      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (operation_id, position)
) STRICT, WITHOUT ROWID;

-- Bookmarks on messages and snapshots. What is labelled is kept: whatever removes old history leaves it alone.
CREATE TABLE labels (
  id           INTEGER PRIMARY KEY,
  workspace_id INTEGER NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  text         TEXT NOT NULL,
  message_id   TEXT REFERENCES messages (id) ON DELETE CASCADE,
  snapshot_id  INTEGER REFERENCES snapshots ON DELETE CASCADE,
  created_at   INTEGER NOT NULL,
  UNIQUE (workspace_id, text),
  CHECK ((message_id IS NULL) <> (snapshot_id IS NULL))
) STRICT;
CREATE INDEX labels_by_message ON labels (message_id);
CREATE INDEX labels_by_snapshot ON labels (snapshot_id);

-- The repositories that the history of a workspace is pushed to.
--   name     what the workspace is called there
--   pushing  the commit that was about to be pushed, as git stores it, and what became of it is not known
--   tip      the commit that was pushed last
--   keys     the public keys for which it is encrypted, one a line; NULL in the open
CREATE TABLE remotes (
  id           INTEGER PRIMARY KEY,
  workspace_id INTEGER NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  address      TEXT NOT NULL,
  name         TEXT NOT NULL,
  pushing      TEXT,
  tip          TEXT,
  keys         TEXT,
  UNIQUE (workspace_id, address)
) STRICT;

-- The rows that are in a remote, each with a hash of what it was.
--   number  the row's own, in the order in which they were written
CREATE TABLE pushed (
  remote_id INTEGER NOT NULL REFERENCES remotes ON DELETE CASCADE,
  kind      TEXT NOT NULL,
  row       TEXT NOT NULL,
  number    INTEGER NOT NULL DEFAULT 0,
  hash      INTEGER NOT NULL,
  PRIMARY KEY (remote_id, kind, row)
) STRICT;
CREATE INDEX pushed_by_number ON pushed (remote_id, kind, number);

-- The histories that have come from other machines: each is a workspace of its own.
--   beside   the workspace for which it was fetched
--   machine  the machine
--   tip      the commit that was fetched last, as git stores it
--   adopted  a directory here goes on with it, and what comes later is left out
CREATE TABLE machines (
  workspace_id INTEGER PRIMARY KEY REFERENCES workspaces ON DELETE CASCADE,
  beside       INTEGER NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  address      TEXT NOT NULL,
  machine      TEXT NOT NULL,
  tip          TEXT NOT NULL,
  adopted      INTEGER NOT NULL DEFAULT 0,
  UNIQUE (beside, address, machine)
) STRICT;

-- What the rows of another machine are here.
CREATE TABLE fetched (
  workspace_id INTEGER NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  kind         TEXT NOT NULL,
  theirs       TEXT NOT NULL,
  ours         TEXT NOT NULL,
  PRIMARY KEY (workspace_id, kind, theirs)
) STRICT;

-- What happened, in one order, whichever process wrote it: what a client that was away goes on from. A row names what
-- changed and where it stands; what it says is read from the table itself. It is written in the transaction of the change.
-- The newest row is never removed, so that no number is given twice.
--   workspace_id  NULL where that is not known
--   subject       the id of the message, step, operation or diagnostic; of a gap, the step
CREATE TABLE feed (
  seq          INTEGER PRIMARY KEY,
  kind         TEXT NOT NULL CHECK (kind IN ('message', 'step', 'operation', 'gap', 'failed')),
  workspace_id INTEGER,
  subject      TEXT NOT NULL
) STRICT;

-- What went wrong.
--   untold  a person is still to be told
CREATE TABLE diagnostics (
  id        INTEGER PRIMARY KEY,
  level     TEXT NOT NULL CHECK (level IN ('error', 'warning', 'info')),
  agent     TEXT,
  event     TEXT,
  session   TEXT,
  workspace TEXT,
  message   TEXT NOT NULL,
  detail    TEXT,
  at        INTEGER NOT NULL,
  untold    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX diagnostics_untold ON diagnostics (id) WHERE untold = 1;

-- The hooks that are at work, or were killed.
CREATE TABLE hook_runs (
  id         INTEGER PRIMARY KEY,
  pid        INTEGER NOT NULL,
  event      TEXT NOT NULL,
  session    TEXT,
  started_at INTEGER NOT NULL
) STRICT;
