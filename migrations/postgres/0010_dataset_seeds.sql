-- The seed that the examples of a dataset were drawn from, where they were.
ALTER TABLE datasets ADD COLUMN seed BIGINT CHECK (seed >= 0);
