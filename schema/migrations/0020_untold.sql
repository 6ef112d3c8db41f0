-- Migration 20: what went wrong in a hook for a reason of the store's own is told to a person once.

-- Whether it is still to be told.
ALTER TABLE diagnostics ADD COLUMN untold INTEGER NOT NULL DEFAULT 0 CHECK (untold IN (0, 1));
CREATE INDEX diagnostics_untold ON diagnostics (id) WHERE untold = 1;
UPDATE meta SET value = 20 WHERE key = 'min_writer';
