-- The counts of a session at a position, as JSON, for lists. A program that does not know this column leaves counts of
-- an earlier position.
ALTER TABLE sessions ADD COLUMN tally TEXT;
ALTER TABLE sessions ADD COLUMN tally_digest BLOB;
