-- Migration 8: one message undone while later ones stay.

-- Just the message that `part_message_id` names is undone, and none after it.
ALTER TABLE operations ADD COLUMN alone INTEGER NOT NULL DEFAULT 0 CHECK (alone IN (0, 1));
CREATE INDEX operations_alone ON operations (part_message_id) WHERE alone = 1;

-- A binary that does not know the column would not count it as reverted.
UPDATE meta SET value = 8;
