-- Migration 18: a step's `files` counts a file once that it renamed and edited, as the message's does, once contents were asked for it.

-- How many files the step changed, as contents tell. It holds while `totals` of its message is kept and ends with 2; NULL if rows alone tell.
ALTER TABLE steps ADD COLUMN file_count INTEGER;
-- They are added up again, now with the number for each step.
UPDATE messages SET totals = NULL WHERE totals LIKE '% 2';

DROP VIEW step_overview;
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

-- A binary that does not know the column may read, and must not write: it would keep sums of the message and leave the number as it is.
UPDATE meta SET value = 18 WHERE key = 'min_writer';
