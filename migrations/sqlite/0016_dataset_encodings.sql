-- The encoding of the table that the examples of a dataset came as, as JSON.
ALTER TABLE datasets ADD COLUMN encoding TEXT;
