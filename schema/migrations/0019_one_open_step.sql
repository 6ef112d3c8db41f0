-- Migration 19: a session has one open step at most. Older binaries decided each event by what was known before it, so the tools of one
-- answer that ran side by side could open a step each, of which one was closed.

DROP INDEX steps_open;

-- A step ends where the next one of its session begins, as if that one's start had been told of in its turn.
UPDATE steps
   SET state = 'closed', recovered = 1,
       finished_at = (SELECT max(steps.started_at, next.started_at) FROM steps AS next
                       WHERE next.session_id = steps.session_id AND next.seq > steps.seq ORDER BY next.seq LIMIT 1),
       finish_snapshot_id = ifnull(
           (SELECT next.start_snapshot_id FROM steps AS next
             WHERE next.session_id = steps.session_id AND next.seq > steps.seq ORDER BY next.seq LIMIT 1),
           start_snapshot_id)
 WHERE state = 'open'
   AND EXISTS (SELECT 1 FROM steps AS next WHERE next.session_id = steps.session_id AND next.seq > steps.seq);
UPDATE tools SET finished_at = (SELECT max(tools.started_at, steps.finished_at) FROM steps WHERE steps.id = tools.step_id)
 WHERE finished_at IS NULL AND EXISTS (SELECT 1 FROM steps WHERE steps.id = tools.step_id AND steps.state = 'closed');

CREATE UNIQUE INDEX steps_open ON steps (state, session_id) WHERE state = 'open';
