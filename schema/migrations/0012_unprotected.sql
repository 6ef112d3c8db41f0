-- Migration 12: what was not recorded is found without a look at every step and message. There are few such rows, if any.

CREATE INDEX steps_unprotected ON steps (session_id) WHERE unprotected IS NOT NULL;
CREATE INDEX messages_unprotected ON messages (session_id) WHERE unprotected IS NOT NULL;
