-- Migration 16: a message's `files` is the number that `log` shows also for a file that was renamed and edited, once contents were asked
-- for it and the sum is kept (the last number of `totals` is 2). An empty file that went is not where another empty one came from.

DROP VIEW file_history;
DROP VIEW message_overview;

CREATE VIEW message_overview AS
SELECT messages.id AS message, messages.agent_id AS agent_message, session_id AS session, sessions.agent_id AS agent_session, agent,
       datetime(created_at / 1000, 'unixepoch') AS time,
       prompt, state,
       (SELECT count(*) FROM steps WHERE message_id = messages.id) AS steps,
       iif(totals LIKE '% 2', CAST(substr(totals, instr(totals, ' ') + 1) AS INTEGER),
           (SELECT ifnull(sum(files), 0)
              FROM (SELECT sum(sure AND last.new_mode IS NOT NULL)
                           + min(sum(sure AND last.new_mode IS NULL), max(sum(last.new_mode IS NULL) - sum(first.old_mode IS NULL), 0)) AS files
                      FROM (SELECT min(changes.id) AS first_id, max(changes.id) AS last_id, min(attribution <> 'unclear') AS sure
                              FROM steps JOIN changes ON step_id = steps.id WHERE message_id = messages.id GROUP BY path)
                      JOIN changes AS first ON first.id = first_id
                      JOIN changes AS last ON last.id = last_id
                     WHERE (first.old_mode, first.old_blob) IS NOT (last.new_mode, last.new_blob)
                     GROUP BY ifnull(nullif(iif(first.old_mode IS NULL, last.new_blob, iif(last.new_mode IS NULL, first.old_blob, NULL)),
                                            'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'), first.path)))) AS files,
       (SELECT ifnull(sum(additions), 0) FROM steps JOIN changes ON step_id = steps.id
         WHERE message_id = messages.id AND attribution <> 'unclear') AS additions,
       (SELECT ifnull(sum(deletions), 0) FROM steps JOIN changes ON step_id = steps.id
         WHERE message_id = messages.id AND attribution <> 'unclear') AS deletions,
       (SELECT count(DISTINCT path) FROM steps JOIN changes ON step_id = steps.id
         WHERE message_id = messages.id AND attribution = 'unclear') AS unclear,
       messages.seq AS seq,
       (SELECT path FROM workspaces WHERE id = sessions.workspace_id) AS workspace,
       created_at AS at_ms,
       (SELECT (max(finished_at) - messages.created_at) / 1000.0 FROM steps WHERE message_id = messages.id) AS seconds,
       (SELECT count(*) FROM steps JOIN tools ON step_id = steps.id WHERE message_id = messages.id) AS tools,
       substr(ltrim(prompt, char(10, 13, 9, 32)), 1,
              min(80, instr(ltrim(prompt, char(10, 13, 9, 32)) || char(10), char(10)) - 1)) AS title,
       (SELECT replace(branch, 'refs/heads/', '') FROM snapshots JOIN git_states ON git_states.id = git_state_id
         WHERE snapshots.id = messages.snapshot_id) AS branch,
       state = 'live'
         AND NOT EXISTS (SELECT 1 FROM pending_parts
                          WHERE session = messages.session_id AND message = messages.id AND alone AND is_of_all_paths)
         AND NOT (EXISTS (SELECT 1 FROM operations WHERE part_message_id = messages.id AND alone = 1 AND permanent = 1)
                  AND NOT EXISTS (SELECT 1 FROM steps JOIN changes ON step_id = steps.id
                                   WHERE message_id = messages.id AND undone_by IS NULL)) AS in_effect
  FROM messages
  JOIN sessions ON sessions.id = session_id;

CREATE VIEW file_history AS
SELECT datetime(happened_at / 1000, 'unixepoch') AS time,
       (SELECT agent FROM sessions WHERE id = steps.session_id) AS agent,
       session_id AS session, message_id AS message, step_id AS step, workspaces.path AS workspace, changes.path AS path,
       kind, attribution, additions, deletions, old_blob, new_blob, reason, changes.id AS seq, happened_at AS at_ms,
       (SELECT title FROM message_overview WHERE message = steps.message_id) AS title,
       undone_by IS NULL
         AND ifnull((SELECT state FROM messages WHERE id = steps.message_id), 'live') = 'live'
         AND NOT EXISTS (SELECT 1 FROM messages
                           JOIN pending_parts ON session = messages.session_id
                           JOIN operation_files ON operation_id = operation
                          WHERE messages.id = steps.message_id
                            AND (step = steps.id OR message = messages.id OR (NOT alone AND message_seq < messages.seq))
                            AND operation_files.path = changes.path AND result = 'done'
                            AND action IN ('write', 'delete', 'merge')) AS in_effect,
       (SELECT path FROM changes AS gone
         WHERE changes.kind = 'added' AND old_blob = changes.new_blob AND kind = 'deleted'
           AND old_blob <> 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
           AND to_snapshot_id = changes.to_snapshot_id AND workspace_id = changes.workspace_id
         LIMIT 1) AS renamed_from
  FROM changes
  JOIN workspaces ON workspaces.id = workspace_id
  LEFT JOIN steps ON steps.id = step_id;
