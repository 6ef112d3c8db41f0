-- Migration 7: views that answer for one row by looking at that row's own, and views of what had none.
--
-- A view that groups everything is computed as a whole whatever is asked for. Here each count is a question of its own about one
-- message, step, session or operation, answered by an index; what is not asked for is not counted.

-- A query of one workspace begins with it; the index that there is knows only those that were not replaced.
CREATE INDEX workspaces_by_name ON workspaces (path);
-- The other half of a rename is what went with the same bytes.
CREATE INDEX changes_gone ON changes (old_blob) WHERE kind = 'deleted';

DROP VIEW operation_overview;
DROP VIEW file_history;
DROP VIEW session_overview;
DROP VIEW message_overview;
DROP VIEW step_overview;

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
       messages.state = 'live'                                      AS in_effect
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
       messages.state = 'live'                                      AS in_effect
  FROM messages
  JOIN sessions ON sessions.id = messages.session_id;

CREATE VIEW session_overview AS
SELECT sessions.id                                                  AS session,
       sessions.agent_id                                            AS agent_session,
       sessions.agent                                               AS agent,
       sessions.parent_id                                           AS parent,
       (SELECT path FROM workspaces WHERE id = sessions.workspace_id) AS workspace,
       strftime('%Y-%m-%d %H:%M:%S', sessions.started_at / 1000.0, 'unixepoch')    AS started,
       strftime('%Y-%m-%d %H:%M:%S', sessions.last_event_at / 1000.0, 'unixepoch') AS last_event,
       sessions.revert_message_id                                   AS revert_point,
       (SELECT count(*) FROM messages WHERE session_id = sessions.id) AS messages,
       (SELECT count(*) FROM steps WHERE session_id = sessions.id)  AS steps,
       (SELECT count(DISTINCT path) FROM steps JOIN changes ON changes.step_id = steps.id
         WHERE steps.session_id = sessions.id AND attribution <> 'unclear') AS files,
       (SELECT count(DISTINCT path) FROM steps JOIN changes ON changes.step_id = steps.id
         WHERE steps.session_id = sessions.id AND attribution = 'unclear') AS unclear,
       sessions.seq                                                 AS seq,
       sessions.started_at                                          AS at_ms,
       (sessions.last_event_at - sessions.started_at) / 1000.0      AS seconds,
       (SELECT count(*) FROM steps JOIN tools ON tools.step_id = steps.id WHERE steps.session_id = sessions.id) AS tools,
       (SELECT substr(ltrim(prompt, char(10, 13, 9, 32)), 1, min(80, instr(ltrim(prompt, char(10, 13, 9, 32)) || char(10), char(10)) - 1))
          FROM messages WHERE session_id = sessions.id ORDER BY seq LIMIT 1) AS title
  FROM sessions;

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
         AND ifnull((SELECT state FROM messages WHERE id = steps.message_id), 'live') = 'live' AS in_effect,
       (SELECT gone.path FROM changes AS gone
         WHERE changes.kind = 'added' AND gone.old_blob = changes.new_blob AND gone.kind = 'deleted'
           AND gone.to_snapshot_id = changes.to_snapshot_id AND gone.workspace_id = changes.workspace_id
         LIMIT 1)                                                   AS renamed_from
  FROM changes
  JOIN workspaces ON workspaces.id = changes.workspace_id
  LEFT JOIN steps ON steps.id = changes.step_id;

CREATE VIEW operation_overview AS
SELECT operations.id                                                AS operation,
       operations.kind                                              AS kind,
       operations.session_id                                        AS session,
       operations.message_id                                        AS message,
       strftime('%Y-%m-%d %H:%M:%S', operations.started_at / 1000.0, 'unixepoch') AS time,
       operations.state                                             AS state,
       operations.outcome                                           AS outcome,
       (SELECT tree FROM snapshots WHERE id = operations.before_snapshot_id) AS before_tree,
       (SELECT tree FROM snapshots WHERE id = operations.after_snapshot_id)  AS after_tree,
       (SELECT count(*) FROM operation_files WHERE operation_id = operations.id) AS files,
       (SELECT count(*) FROM operation_files WHERE operation_id = operations.id AND result = 'done') AS files_done,
       (SELECT count(*) FROM operation_files WHERE operation_id = operations.id AND result = 'conflict') AS conflicts,
       (SELECT ifnull(sum(additions), 0) FROM operation_files WHERE operation_id = operations.id) AS additions,
       (SELECT ifnull(sum(deletions), 0) FROM operation_files WHERE operation_id = operations.id) AS deletions,
       operations.git                                               AS git,
       operations.seq                                               AS seq,
       (SELECT path FROM workspaces WHERE id = operations.workspace_id) AS workspace,
       operations.started_at                                        AS at_ms,
       (operations.finished_at - operations.started_at) / 1000.0    AS seconds,
       (SELECT substr(ltrim(prompt, char(10, 13, 9, 32)), 1, min(80, instr(ltrim(prompt, char(10, 13, 9, 32)) || char(10), char(10)) - 1))
          FROM messages WHERE id = operations.message_id)           AS title
  FROM operations;

CREATE VIEW operation_file_overview AS
SELECT operations.id                                                AS operation,
       operations.kind                                              AS kind,
       strftime('%Y-%m-%d %H:%M:%S', operations.started_at / 1000.0, 'unixepoch') AS time,
       (SELECT path FROM workspaces WHERE id = operations.workspace_id) AS workspace,
       operation_files.path                                         AS path,
       operation_files.action                                       AS action,
       operation_files.result                                       AS result,
       operation_files.reason                                       AS reason,
       operation_files.additions                                    AS additions,
       operation_files.deletions                                    AS deletions,
       operation_files.expected_blob                                AS old_blob,
       operation_files.target_blob                                  AS new_blob,
       operations.seq                                               AS seq,
       operations.started_at                                        AS at_ms
  FROM operations
  JOIN operation_files ON operation_files.operation_id = operations.id;

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
       tools.background                                             AS background
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
       (SELECT replace(branch, 'refs/heads/', '') FROM git_states WHERE id = snapshots.git_state_id) AS branch
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
          FROM messages WHERE id = labels.message_id)               AS title
  FROM labels;

CREATE VIEW gap_overview AS
SELECT gaps.path                                                    AS path,
       gaps.reason                                                  AS reason,
       gaps.size                                                    AS bytes,
       snapshots.tree                                               AS snapshot,
       (SELECT path FROM workspaces WHERE id = snapshots.workspace_id) AS workspace,
       strftime('%Y-%m-%d %H:%M:%S', snapshots.taken_at / 1000.0, 'unixepoch') AS time,
       snapshots.taken_at                                           AS at_ms
  FROM gaps
  JOIN snapshots ON snapshots.id = gaps.snapshot_id;
