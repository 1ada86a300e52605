-- A worker of release 0.1.0 claims jobs whatever their `spec_schema`. It cannot read the requests and data
-- that later releases store, and would fail these jobs.

-- The number of the last claim whose worker knew the schema. Release 0.1.0 leaves this column alone.
ALTER TABLE jobs ADD COLUMN known_claims INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER jobs_claimed_unknown BEFORE UPDATE OF claims ON jobs
WHEN NEW.spec_schema > 1 AND NEW.claims <> OLD.claims AND NEW.known_claims <> NEW.claims BEGIN
    -- The claim finds no job.
    SELECT RAISE(IGNORE);
END;
