-- Jobs that are parts of another: an experiment's or a grid's work, which any worker takes. As in
-- migrations/sqlite.

-- What it is a part of, with which it goes, and its number there, from 0. No foreign key: the database
-- would lock the parent's row with every second write to a part's, and two that both then go on to count
-- their part off would wait for each other.
ALTER TABLE jobs ADD COLUMN parent TEXT COLLATE "C";
ALTER TABLE jobs ADD COLUMN part BIGINT CHECK (part >= 0);
-- How many parts it has, and how many of them have not ended.
ALTER TABLE jobs ADD COLUMN parts BIGINT NOT NULL DEFAULT 0 CHECK (parts >= 0);
ALTER TABLE jobs ADD COLUMN parts_left BIGINT NOT NULL DEFAULT 0 CHECK (parts_left >= 0);
-- Whether it waits for its parts, and nobody can claim it: parts are left. Beside their number, since
-- what an index rests on is best not written with every part that ends.
ALTER TABLE jobs ADD COLUMN waits BOOLEAN NOT NULL DEFAULT FALSE;

-- Parts in their order, which is also that of their ids.
CREATE INDEX jobs_of_parent ON jobs (parent, id) WHERE parent IS NOT NULL;

-- Lists pass over parts, which are many.
DROP INDEX jobs_by_owner;
CREATE INDEX jobs_by_owner ON jobs (owner, id) WHERE parent IS NULL;

-- Claims pass over what waits, which would stand before its own parts.
DROP INDEX jobs_to_claim;
CREATE INDEX jobs_to_claim ON jobs (owner, priority DESC, attempt, id)
    WHERE status IN ('queued', 'running') AND waits = FALSE;
