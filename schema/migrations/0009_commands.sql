-- Migration 9: the command lines of tools, sizes where snapshots and labels are listed, and reverts of a part in `in_effect`.

-- What a shell was told to do, as far as `record_prompts` allows.
ALTER TABLE tools ADD COLUMN command TEXT;

DROP VIEW label_overview;
DROP VIEW snapshot_overview;
DROP VIEW tool_overview;
DROP VIEW file_history;
DROP VIEW message_overview;
DROP VIEW step_overview;

-- Reverts of a part that hold until the next message makes them permanent, or a redo or unrevert takes all back. Their messages stay
-- `live`, because others of their changes may.
CREATE VIEW pending_parts AS
SELECT operations.id                                                AS operation,
       operations.session_id                                        AS session,
       operations.part_message_id                                   AS message,
       operations.alone                                             AS alone,
       operations.step_id                                           AS step,
       (SELECT seq FROM messages WHERE id = operations.part_message_id) AS message_seq,
       operations.only_paths = '[]'                                 AS is_of_all_paths
  FROM operations
  JOIN sessions ON sessions.id = operations.session_id
 WHERE operations.kind = 'revert' AND operations.state = 'done' AND operations.permanent = 0
   AND (operations.part_message_id IS NOT NULL OR operations.step_id IS NOT NULL)
   AND operations.base_snapshot_id = sessions.revert_base_id
   AND NOT EXISTS (SELECT 1 FROM operations AS later
                    WHERE later.session_id = operations.session_id AND later.seq > operations.seq
                      AND later.kind IN ('redo', 'unrevert') AND later.message_id IS NULL);

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
       (SELECT tree FROM snapshots WHERE id = steps.start_snapshot_id)  AS start_tree,
       (SELECT tree FROM snapshots WHERE id = steps.finish_snapshot_id) AS finish_tree,
       (SELECT count(DISTINCT path) FROM changes WHERE step_id = steps.id AND attribution <> 'unclear') AS files,
       (SELECT ifnull(sum(additions), 0) FROM changes WHERE step_id = steps.id AND attribution <> 'unclear') AS additions,
       (SELECT ifnull(sum(deletions), 0) FROM changes WHERE step_id = steps.id AND attribution <> 'unclear') AS deletions,
       (SELECT count(DISTINCT path) FROM changes WHERE step_id = steps.id AND attribution = 'unclear') AS unclear,
       steps.seq                                                    AS seq,
       (SELECT path FROM workspaces WHERE id = sessions.workspace_id) AS workspace,
       steps.started_at                                             AS at_ms,
       (steps.finished_at - steps.started_at) / 1000.0              AS seconds,
       (SELECT count(*) FROM tools WHERE step_id = steps.id)        AS tools,
       (SELECT replace(branch, 'refs/heads/', '') FROM snapshots JOIN git_states ON git_states.id = snapshots.git_state_id
         WHERE snapshots.id = steps.start_snapshot_id)              AS branch,
       messages.state = 'live'
         AND NOT EXISTS (SELECT 1 FROM pending_parts
                          WHERE pending_parts.session = messages.session_id AND pending_parts.is_of_all_paths
                            AND (pending_parts.step = steps.id
                                 OR (pending_parts.message = messages.id AND pending_parts.alone)))
         AND NOT (EXISTS (SELECT 1 FROM changes WHERE step_id = steps.id AND undone_by IS NOT NULL)
                  AND NOT EXISTS (SELECT 1 FROM changes WHERE step_id = steps.id AND undone_by IS NULL)) AS in_effect
  FROM steps
  JOIN sessions ON sessions.id = steps.session_id
  JOIN messages ON messages.id = steps.message_id;

CREATE VIEW message_overview AS
SELECT messages.id                                                  AS message,
       messages.agent_id                                            AS agent_message,
       messages.session_id                                          AS session,
       sessions.agent_id                                            AS agent_session,
       sessions.agent                                               AS agent,
       strftime('%Y-%m-%d %H:%M:%S', messages.created_at / 1000.0, 'unixepoch') AS time,
       messages.prompt                                              AS prompt,
       messages.state                                               AS state,
       (SELECT count(*) FROM steps WHERE message_id = messages.id)  AS steps,
       (SELECT count(DISTINCT path) FROM steps JOIN changes ON changes.step_id = steps.id
         WHERE steps.message_id = messages.id AND attribution <> 'unclear') AS files,
       (SELECT ifnull(sum(additions), 0) FROM steps JOIN changes ON changes.step_id = steps.id
         WHERE steps.message_id = messages.id AND attribution <> 'unclear') AS additions,
       (SELECT ifnull(sum(deletions), 0) FROM steps JOIN changes ON changes.step_id = steps.id
         WHERE steps.message_id = messages.id AND attribution <> 'unclear') AS deletions,
       (SELECT count(DISTINCT path) FROM steps JOIN changes ON changes.step_id = steps.id
         WHERE steps.message_id = messages.id AND attribution = 'unclear') AS unclear,
       messages.seq                                                 AS seq,
       (SELECT path FROM workspaces WHERE id = sessions.workspace_id) AS workspace,
       messages.created_at                                          AS at_ms,
       (SELECT (max(finished_at) - messages.created_at) / 1000.0 FROM steps WHERE message_id = messages.id) AS seconds,
       (SELECT count(*) FROM steps JOIN tools ON tools.step_id = steps.id WHERE steps.message_id = messages.id) AS tools,
       substr(ltrim(messages.prompt, char(10, 13, 9, 32)), 1,
              min(80, instr(ltrim(messages.prompt, char(10, 13, 9, 32)) || char(10), char(10)) - 1)) AS title,
       (SELECT replace(branch, 'refs/heads/', '') FROM snapshots JOIN git_states ON git_states.id = snapshots.git_state_id
         WHERE snapshots.id = messages.snapshot_id)                 AS branch,
       messages.state = 'live'
         AND NOT EXISTS (SELECT 1 FROM pending_parts
                          WHERE pending_parts.session = messages.session_id AND pending_parts.message = messages.id
                            AND pending_parts.alone AND pending_parts.is_of_all_paths)
         AND NOT (EXISTS (SELECT 1 FROM operations WHERE part_message_id = messages.id AND alone = 1 AND permanent = 1)
                  AND NOT EXISTS (SELECT 1 FROM steps JOIN changes ON changes.step_id = steps.id
                                   WHERE steps.message_id = messages.id AND changes.undone_by IS NULL)) AS in_effect
  FROM messages
  JOIN sessions ON sessions.id = messages.session_id;

CREATE VIEW file_history AS
SELECT strftime('%Y-%m-%d %H:%M:%S', changes.happened_at / 1000.0, 'unixepoch') AS time,
       (SELECT agent FROM sessions WHERE id = steps.session_id)     AS agent,
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
       changes.reason                                               AS reason,
       changes.id                                                   AS seq,
       changes.happened_at                                          AS at_ms,
       (SELECT substr(ltrim(prompt, char(10, 13, 9, 32)), 1, min(80, instr(ltrim(prompt, char(10, 13, 9, 32)) || char(10), char(10)) - 1))
          FROM messages WHERE id = steps.message_id)                AS title,
       changes.undone_by IS NULL
         AND ifnull((SELECT state FROM messages WHERE id = steps.message_id), 'live') = 'live'
         AND NOT EXISTS (SELECT 1 FROM messages
                           JOIN pending_parts ON pending_parts.session = messages.session_id
                           JOIN operation_files ON operation_files.operation_id = pending_parts.operation
                          WHERE messages.id = steps.message_id
                            AND (pending_parts.step = steps.id
                                 OR pending_parts.message = messages.id
                                 OR (NOT pending_parts.alone AND pending_parts.message_seq < messages.seq))
                            AND operation_files.path = changes.path AND operation_files.result = 'done'
                            AND operation_files.action IN ('write', 'delete', 'merge')) AS in_effect,
       (SELECT gone.path FROM changes AS gone
         WHERE changes.kind = 'added' AND gone.old_blob = changes.new_blob AND gone.kind = 'deleted'
           AND gone.to_snapshot_id = changes.to_snapshot_id AND gone.workspace_id = changes.workspace_id
         LIMIT 1)                                                   AS renamed_from
  FROM changes
  JOIN workspaces ON workspaces.id = changes.workspace_id
  LEFT JOIN steps ON steps.id = changes.step_id;

CREATE VIEW tool_overview AS
SELECT tools.id                                                     AS seq,
       tools.name                                                   AS name,
       tools.kind                                                   AS kind,
       tools.paths                                                  AS paths,
       tools.step_id                                                AS step,
       steps.message_id                                             AS message,
       steps.session_id                                             AS session,
       sessions.agent                                               AS agent,
       (SELECT path FROM workspaces WHERE id = sessions.workspace_id) AS workspace,
       strftime('%Y-%m-%d %H:%M:%S', tools.started_at / 1000.0, 'unixepoch') AS started,
       tools.started_at                                             AS at_ms,
       ifnull(tools.ran_for, tools.finished_at - tools.started_at) / 1000.0 AS seconds,
       tools.waited_at IS NOT NULL                                  AS waited,
       tools.background                                             AS background,
       tools.command                                                AS command
  FROM tools
  JOIN steps ON steps.id = tools.step_id
  JOIN sessions ON sessions.id = steps.session_id;

CREATE VIEW snapshot_overview AS
SELECT snapshots.id                                                 AS seq,
       snapshots.tree                                               AS snapshot,
       (SELECT path FROM workspaces WHERE id = snapshots.workspace_id) AS workspace,
       strftime('%Y-%m-%d %H:%M:%S', snapshots.taken_at / 1000.0, 'unixepoch') AS taken,
       snapshots.taken_at                                           AS at_ms,
       (SELECT group_concat(text, ', ') FROM labels WHERE snapshot_id = snapshots.id) AS labels,
       (SELECT count(*) FROM gaps WHERE snapshot_id = snapshots.id) AS gaps,
       (SELECT replace(branch, 'refs/heads/', '') FROM git_states WHERE id = snapshots.git_state_id) AS branch,
       snapshots.stored_bytes                                       AS bytes,
       snapshots.pruned_at IS NOT NULL                              AS pruned
  FROM snapshots;

CREATE VIEW label_overview AS
SELECT labels.text                                                  AS label,
       iif(labels.message_id IS NULL, 'snapshot', 'message')        AS kind,
       labels.message_id                                            AS message,
       (SELECT tree FROM snapshots
         WHERE id = ifnull(labels.snapshot_id, (SELECT snapshot_id FROM messages WHERE id = labels.message_id))) AS snapshot,
       (SELECT path FROM workspaces WHERE id = labels.workspace_id) AS workspace,
       strftime('%Y-%m-%d %H:%M:%S', labels.created_at / 1000.0, 'unixepoch') AS time,
       labels.created_at                                            AS at_ms,
       (SELECT substr(ltrim(prompt, char(10, 13, 9, 32)), 1, min(80, instr(ltrim(prompt, char(10, 13, 9, 32)) || char(10), char(10)) - 1))
          FROM messages WHERE id = labels.message_id)               AS title,
       (SELECT stored_bytes FROM snapshots
         WHERE id = ifnull(labels.snapshot_id, (SELECT snapshot_id FROM messages WHERE id = labels.message_id))) AS bytes
  FROM labels;

-- A binary that does not know the column would not forget it.
UPDATE meta SET value = 9;
