-- Migration 10: why a file of an operation stays, for programs.

-- The name of a reason code; NULL without a reason, and in operations of older binaries.
ALTER TABLE operation_files ADD COLUMN reason_code TEXT;
-- Whose changes the reason names: a JSON array of objects as reports have them.
ALTER TABLE operation_files ADD COLUMN reason_by TEXT;

-- A binary that does not know the columns would close an operation without them.
UPDATE meta SET value = 10;
