-- The history of a busy year in workspace 1: 200 sessions with 20 messages each, 5 steps a message, 2 tools and 2 changes a step;
-- a revert after every fortieth message. Words recur as they do in prompts, paths as they do in projects.
BEGIN;
CREATE TEMP TABLE n AS WITH RECURSIVE c (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM c WHERE i < 19999) SELECT i FROM c;
CREATE TEMP TABLE word AS SELECT key AS i, value AS w FROM json_each(
  '["parser","login","cache","retry","table","upload","search","report","index","theme","socket","worker","token","invoice","editor","export"]');

INSERT INTO snapshots (id, workspace_id, tree, taken_at, stored_bytes)
SELECT 1000 + i, 1, printf('%040x', i * 7919 + 1), 1700000000000 + i * 60000, 500 + i % 4000 FROM n;
INSERT INTO sessions (seq, id, workspace_id, agent, agent_id, started_at, last_event_at)
SELECT 1000 + i, printf('5e%030x', i * 2654435761 % 4294967296), 1, CASE i % 3 WHEN 0 THEN 'claude-code' WHEN 1 THEN 'codex' ELSE 'gemini-cli' END,
       'agent-' || i, 1700000000000 + i * 6000000, 1700000000000 + i * 6000000 + 5900000
  FROM n WHERE i < 200;
INSERT INTO messages (seq, id, session_id, agent_id, prompt, state, snapshot_id, created_at)
SELECT 10000 + i, printf('%08x%024x', i * 2654435761 % 4294967296, i), (SELECT id FROM sessions WHERE seq = 1000 + i / 20), 'm' || i,
       'Make the ' || (SELECT w FROM word WHERE word.i = n.i % 16) || ' work with the ' || (SELECT w FROM word WHERE word.i = n.i / 16 % 16)
         || char(10) || 'It fails since the ' || (SELECT w FROM word WHERE word.i = n.i / 7 % 16) || ' was changed; tests first, please.',
       iif(i % 40 = 39, 'discarded', 'live'), 1000 + i * 5, 1700000000000 + i * 300000
  FROM n WHERE i < 4000;
INSERT INTO steps (seq, id, session_id, message_id, state, start_snapshot_id, finish_snapshot_id, started_at, finished_at)
SELECT 100000 + i, printf('%08x%024x', i * 40503 % 4294967296, i + 1000000), session_id, messages.id, 'closed', 1000 + i, 1000 + min(i + 1, 19999),
       1700000000000 + i * 60000, 1700000000000 + i * 60000 + 1000 + i % 50000
  FROM n JOIN messages ON messages.seq = 10000 + i / 5;
INSERT INTO tools (step_id, agent_id, name, started_at, finished_at, kind, command)
SELECT steps.id, 't' || (2 * i + t), iif(t, 'Bash', 'Edit'), 1700000000000 + i * 60000, 1700000000000 + i * 60000 + 900 + i % 9000,
       iif(t, NULL, 'edit'), iif(t, 'make check-' || (SELECT w FROM word WHERE word.i = n.i % 16), NULL)
  FROM n JOIN steps ON steps.seq = 100000 + i JOIN (SELECT 0 AS t UNION SELECT 1);
INSERT INTO changes (workspace_id, step_id, attribution, from_snapshot_id, to_snapshot_id, path, kind, old_mode, old_blob, new_mode, new_blob,
                     additions, deletions, happened_at)
SELECT 1, iif(i % 20 = 19 AND t, NULL, steps.id), CASE WHEN i % 20 = 19 AND t THEN 'outside' WHEN i % 31 = 0 THEN 'unclear' ELSE 'agent' END,
       1000 + i, 1000 + min(i + 1, 19999), 'src/' || (SELECT w FROM word WHERE word.i = (n.i + 5 * t) % 16) || '/file' || (n.i * 31 % 97) || '.rs',
       CASE WHEN i % 10 = 0 THEN 'added' WHEN i % 33 = 0 THEN 'deleted' ELSE 'modified' END,
       iif(i % 10 = 0, NULL, '100644'), iif(i % 10 = 0, NULL, printf('%040x', i * 2 + t)),
       iif(i % 33 = 0 AND i % 10, NULL, '100644'), iif(i % 33 = 0 AND i % 10, NULL, printf('%040x', i * 2 + t + 2)),
       i % 60, i % 25, 1700000000000 + i * 60000 + 500
  FROM n JOIN steps ON steps.seq = 100000 + i JOIN (SELECT 0 AS t UNION SELECT 1);
INSERT INTO changes (workspace_id, step_id, attribution, from_snapshot_id, to_snapshot_id, path, kind, old_mode, old_blob, new_mode, new_blob,
                     additions, deletions, happened_at)
SELECT 1, steps.id, 'agent', 1000 + i, 1001 + i, iif(t, 'src/new/', 'src/old/') || i || '.rs', iif(t, 'added', 'deleted'),
       iif(t, NULL, '100644'), iif(t, NULL, printf('%040x', i + 900000)), iif(t, '100644', NULL), iif(t, printf('%040x', i + 900000), NULL),
       iif(t, 9, 0), iif(t, 0, 9), 1700000000000 + i * 60000 + 600
  FROM n JOIN steps ON steps.seq = 100000 + i JOIN (SELECT 0 AS t UNION SELECT 1) WHERE i % 100 = 0;
INSERT INTO operations (seq, id, workspace_id, session_id, kind, state, message_id, base_snapshot_id, before_snapshot_id, after_snapshot_id,
                        on_conflict, outcome, started_at, finished_at, permanent)
SELECT 1000 + i, printf('%08x%024x', i * 2246822519 % 4294967296, i + 5000000), 1, messages.session_id, 'revert', 'done', messages.id,
       1000 + i, 1000 + i, 1001 + i, 'merge', iif(i % 7, 'restored', 'partial'), messages.created_at + 1000, messages.created_at + 1400, 1
  FROM n JOIN messages ON messages.seq = 10039 + i * 40 WHERE i < 99;
INSERT INTO operation_files (operation_id, position, path, action, result, reason, target_mode, target_blob, additions, deletions)
SELECT operations.id, n.i, 'src/parser/file' || n.i || '.rs', iif(n.i % 9, 'write', 'keep'), iif(n.i % 9, 'done', 'conflict'),
       iif(n.i % 9, NULL, 'changed since by the user'), '100644', printf('%040x', n.i), 3, 4
  FROM operations JOIN n ON n.i < 10;
UPDATE snapshots SET gaps = 1 WHERE id IN (SELECT 1000 + i * 100 FROM n WHERE i < 200);
INSERT INTO labels (workspace_id, text, message_id, created_at)
SELECT 1, 'it works ' || i, (SELECT id FROM messages WHERE seq = 10000 + i * 70), 1700000000000 + i FROM n WHERE i < 50;
INSERT INTO diagnostics (level, workspace, message, at) SELECT 'warning', NULL, 'a hook took long', 1700000000000 + i FROM n WHERE i < 30;
COMMIT;
