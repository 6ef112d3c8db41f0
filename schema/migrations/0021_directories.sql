-- Migration 21: the directory in which a step ran, where that is outside its workspace: no tool event may tell.

ALTER TABLE steps ADD COLUMN outside TEXT;
UPDATE meta SET value = 21 WHERE key = 'min_writer';
