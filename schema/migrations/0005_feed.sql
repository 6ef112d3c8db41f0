-- Migration 5: what happened, in one order, whichever process wrote it: what a client that was away goes on from.
--
-- A row names what changed and where it stands; what it says is read from the table itself. It is written in the transaction
-- of the change. The newest row is never removed, so that no number is given twice.

CREATE TABLE feed (
  seq          INTEGER PRIMARY KEY,
  kind         TEXT NOT NULL CHECK (kind IN ('message', 'step', 'operation', 'gap', 'failed')),
  workspace_id INTEGER,                            -- NULL where nobody knows
  subject      TEXT NOT NULL                       -- the id of the message, step, operation or diagnostic; of a gap, the step
) STRICT;
