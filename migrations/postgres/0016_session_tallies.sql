-- The counts of a session at a position. As in migrations/sqlite.
ALTER TABLE sessions ADD COLUMN tally TEXT;
ALTER TABLE sessions ADD COLUMN tally_digest BYTEA;
