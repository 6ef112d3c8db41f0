-- The views of the session store, which are the interface for people. No hook asks them, and SQLite would read them at the start of
-- each: the first command of a person adds them. No migration changes them: they are dropped, and added anew.

-- Reverts of a part that hold until the next message makes them permanent, or a redo or unrevert takes all back. Their
-- messages stay `live`, because others of their changes may.
CREATE VIEW pending_parts AS
SELECT operations.id AS operation, session_id AS session, part_message_id AS message, alone, step_id AS step,
       (SELECT seq FROM messages WHERE id = operations.part_message_id) AS message_seq,
       only_paths = '[]' AS is_of_all_paths
  FROM operations
  JOIN sessions ON sessions.id = session_id
 WHERE kind = 'revert' AND state = 'done' AND permanent = 0
   AND (part_message_id IS NOT NULL OR step_id IS NOT NULL)
   AND base_snapshot_id = revert_base_id
   AND NOT EXISTS (SELECT 1 FROM operations AS later
                    WHERE later.session_id = operations.session_id AND later.seq > operations.seq
                      AND later.kind IN ('redo', 'unrevert') AND later.message_id IS NULL);

-- What steps changed; `sure` is what is known to be the agent's.
CREATE VIEW step_changes AS
SELECT message_id, session_id, changes.id AS id, path, additions, deletions, attribution <> 'unclear' AS sure, undone_by
  FROM steps JOIN changes ON step_id = steps.id;

-- `files`, `additions` and `deletions` are what is known to be the agent's; `unclear` counts the paths that only may be. A file
-- that went and came with the same bytes counts once in `files`, and what was made and taken away again not at all. Where
-- contents were asked, the kept total says how many files there are. An empty file that went is not where another empty one
-- came from.
CREATE VIEW message_overview AS
SELECT messages.id AS message, messages.agent_id AS agent_message, session_id AS session, sessions.agent_id AS agent_session, agent,
       datetime(created_at / 1000, 'unixepoch') AS time,
       prompt, state,
       (SELECT count(*) FROM steps WHERE message_id = messages.id) AS steps,
       iif(totals LIKE '% 2', CAST(substr(totals, instr(totals, ' ') + 1) AS INTEGER),
           (SELECT ifnull(sum(files), 0)
              FROM (SELECT sum(sure AND last.new_mode IS NOT NULL)
                           + min(sum(sure AND last.new_mode IS NULL), max(sum(last.new_mode IS NULL) - sum(first.old_mode IS NULL), 0)) AS files
                      FROM (SELECT min(id) AS first_id, max(id) AS last_id, min(sure) AS sure
                              FROM step_changes WHERE message_id = messages.id GROUP BY path)
                      JOIN changes AS first ON first.id = first_id
                      JOIN changes AS last ON last.id = last_id
                     WHERE (first.old_mode, first.old_blob) IS NOT (last.new_mode, last.new_blob)
                     GROUP BY ifnull(nullif(iif(first.old_mode IS NULL, last.new_blob, iif(last.new_mode IS NULL, first.old_blob, NULL)),
                                            'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'), first.path)))) AS files,
       (SELECT ifnull(sum(additions), 0) FROM step_changes WHERE message_id = messages.id AND sure) AS additions,
       (SELECT ifnull(sum(deletions), 0) FROM step_changes WHERE message_id = messages.id AND sure) AS deletions,
       (SELECT count(DISTINCT path) FROM step_changes WHERE message_id = messages.id AND NOT sure) AS unclear,
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
                  AND NOT EXISTS (SELECT 1 FROM step_changes WHERE message_id = messages.id AND undone_by IS NULL)) AS in_effect,
       (SELECT model FROM message_usage WHERE message_id = messages.id) AS model,
       (SELECT input_tokens FROM message_usage WHERE message_id = messages.id) AS input_tokens,
       (SELECT output_tokens FROM message_usage WHERE message_id = messages.id) AS output_tokens,
       (SELECT cost FROM message_usage WHERE message_id = messages.id) AS cost
  FROM messages
  JOIN sessions ON sessions.id = session_id;

CREATE VIEW session_overview AS
SELECT id AS session, agent_id AS agent_session, agent, parent_id AS parent,
       (SELECT path FROM workspaces WHERE id = sessions.workspace_id) AS workspace,
       datetime(started_at / 1000, 'unixepoch') AS started,
       datetime(last_event_at / 1000, 'unixepoch') AS last_event,
       revert_message_id AS revert_point,
       (SELECT count(*) FROM messages WHERE session_id = sessions.id) AS messages,
       (SELECT count(*) FROM steps WHERE session_id = sessions.id) AS steps,
       (SELECT count(DISTINCT path) FROM step_changes WHERE session_id = sessions.id AND sure) AS files,
       (SELECT count(DISTINCT path) FROM step_changes WHERE session_id = sessions.id AND NOT sure) AS unclear,
       seq, started_at AS at_ms, (last_event_at - started_at) / 1000.0 AS seconds,
       (SELECT count(*) FROM steps JOIN tools ON step_id = steps.id WHERE session_id = sessions.id) AS tools,
       (SELECT title FROM message_overview WHERE session = sessions.id ORDER BY seq LIMIT 1) AS title
  FROM sessions;

CREATE VIEW step_overview AS
SELECT steps.id AS step, steps.session_id AS session, agent, message_id AS message,
       datetime(steps.started_at / 1000, 'unixepoch') AS started,
       datetime(finished_at / 1000, 'unixepoch') AS finished,
       steps.state AS state, recovered, steps.unprotected AS unprotected,
       (SELECT tree FROM snapshots WHERE id = steps.start_snapshot_id) AS start_tree,
       (SELECT tree FROM snapshots WHERE id = steps.finish_snapshot_id) AS finish_tree,
       iif(messages.totals LIKE '% 2' AND steps.file_count IS NOT NULL, steps.file_count,
           (SELECT ifnull(sum(files), 0)
              FROM (SELECT sum(sure AND last.new_mode IS NOT NULL)
                           + min(sum(sure AND last.new_mode IS NULL), max(sum(last.new_mode IS NULL) - sum(first.old_mode IS NULL), 0)) AS files
                      FROM (SELECT min(id) AS first_id, max(id) AS last_id, min(attribution <> 'unclear') AS sure
                              FROM changes WHERE step_id = steps.id GROUP BY path)
                      JOIN changes AS first ON first.id = first_id
                      JOIN changes AS last ON last.id = last_id
                     WHERE (first.old_mode, first.old_blob) IS NOT (last.new_mode, last.new_blob)
                     GROUP BY ifnull(nullif(iif(first.old_mode IS NULL, last.new_blob, iif(last.new_mode IS NULL, first.old_blob, NULL)),
                                            'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'), first.path)))) AS files,
       (SELECT ifnull(sum(additions), 0) FROM changes WHERE step_id = steps.id AND attribution <> 'unclear') AS additions,
       (SELECT ifnull(sum(deletions), 0) FROM changes WHERE step_id = steps.id AND attribution <> 'unclear') AS deletions,
       (SELECT count(DISTINCT path) FROM changes WHERE step_id = steps.id AND attribution = 'unclear') AS unclear,
       steps.seq AS seq,
       (SELECT path FROM workspaces WHERE id = sessions.workspace_id) AS workspace,
       steps.started_at AS at_ms,
       (finished_at - steps.started_at) / 1000.0 AS seconds,
       (SELECT count(*) FROM tools WHERE step_id = steps.id) AS tools,
       (SELECT replace(branch, 'refs/heads/', '') FROM snapshots JOIN git_states ON git_states.id = git_state_id
         WHERE snapshots.id = steps.start_snapshot_id) AS branch,
       messages.state = 'live'
         AND NOT EXISTS (SELECT 1 FROM pending_parts
                          WHERE session = messages.session_id AND is_of_all_paths
                            AND (step = steps.id OR (message = messages.id AND alone)))
         AND (SELECT max(undone_by IS NULL) FROM changes WHERE step_id = steps.id) IS NOT 0 AS in_effect
  FROM steps
  JOIN sessions ON sessions.id = steps.session_id
  JOIN messages ON messages.id = message_id;

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

CREATE VIEW tool_overview AS
SELECT tools.id AS seq, name, kind, paths, step_id AS step, message, session, agent, workspace,
       datetime(started_at / 1000, 'unixepoch') AS started,
       started_at AS at_ms,
       ifnull(ran_for, finished_at - started_at) / 1000.0 AS seconds,
       waited_at IS NOT NULL AS waited, background, command
  FROM tools
  JOIN step_overview ON step = step_id;

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
       undoes,
       (SELECT agent FROM sessions WHERE id = operations.session_id) AS agent,
       (SELECT kind FROM operations AS undone WHERE undone.id = operations.undoes) AS undone_kind,
       (SELECT title FROM operations AS undone JOIN message_overview ON message = undone.message_id
         WHERE undone.id = operations.undoes) AS undone_title
  FROM operations;

CREATE VIEW operation_file_overview AS
SELECT operation, kind, time, workspace, path, action, result, reason,
       operation_files.additions AS additions, operation_files.deletions AS deletions,
       expected_blob AS old_blob, target_blob AS new_blob, seq, at_ms
  FROM operation_overview
  JOIN operation_files ON operation_id = operation;

CREATE VIEW snapshot_overview AS
SELECT id AS seq, tree AS snapshot,
       (SELECT path FROM workspaces WHERE id = snapshots.workspace_id) AS workspace,
       datetime(taken_at / 1000, 'unixepoch') AS taken, taken_at AS at_ms,
       (SELECT group_concat(text, ', ') FROM labels WHERE snapshot_id = snapshots.id) AS labels,
       gaps,
       (SELECT replace(branch, 'refs/heads/', '') FROM git_states WHERE id = snapshots.git_state_id) AS branch,
       stored_bytes AS bytes, pruned_at IS NOT NULL AS pruned
  FROM snapshots;

CREATE VIEW label_overview AS
SELECT text AS label, iif(message_id IS NULL, 'snapshot', 'message') AS kind, message_id AS message, tree AS snapshot,
       (SELECT path FROM workspaces WHERE id = labels.workspace_id) AS workspace,
       datetime(labels.created_at / 1000, 'unixepoch') AS time, labels.created_at AS at_ms,
       (SELECT title FROM message_overview WHERE message = labels.message_id) AS title,
       stored_bytes AS bytes
  FROM labels
  LEFT JOIN messages ON messages.id = message_id
  LEFT JOIN snapshots ON snapshots.id = ifnull(labels.snapshot_id, messages.snapshot_id);

CREATE VIEW disk_usage AS
SELECT path AS workspace, sessions.id AS session, agent, message.id AS message,
       datetime(taken_at / 1000, 'unixepoch') AS time,
       tree, stored_bytes AS bytes, pruned_at IS NOT NULL AS pruned
  FROM snapshots
  JOIN workspaces ON workspaces.id = snapshots.workspace_id
  LEFT JOIN messages AS message ON message.id =
       (SELECT message_id FROM steps WHERE finish_snapshot_id = snapshots.id ORDER BY seq LIMIT 1)
  LEFT JOIN sessions ON sessions.id = session_id
 ORDER BY snapshots.id;
