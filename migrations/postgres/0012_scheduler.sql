-- The scheduler: levels, shares of owners, unclean deaths. As in migrations/sqlite.

-- floor(log2(1 + seconds)) of the expected or computed seconds. 9 is the level of 600 s, the default limit
-- of a job: older programs state no expectation.
ALTER TABLE jobs ADD COLUMN level BIGINT NOT NULL DEFAULT 9 CHECK (level >= 0);
ALTER TABLE jobs ADD COLUMN expected_seconds DOUBLE PRECISION NOT NULL DEFAULT 600 CHECK (expected_seconds >= 0);
-- Seconds computed up to the last heartbeat, those of earlier attempts included.
ALTER TABLE jobs ADD COLUMN computed_seconds DOUBLE PRECISION NOT NULL DEFAULT 0 CHECK (computed_seconds >= 0);
-- The cost of the last change of workers: to hand the state over, and to begin from it.
ALTER TABLE jobs ADD COLUMN switch_seconds DOUBLE PRECISION NOT NULL DEFAULT 0 CHECK (switch_seconds >= 0);
-- The upper bound of the memory that the job takes.
ALTER TABLE jobs ADD COLUMN memory_bytes BIGINT NOT NULL DEFAULT 0 CHECK (memory_bytes >= 0);
-- The schema of `spec`. A worker claims only schemas that it knows.
ALTER TABLE jobs ADD COLUMN spec_schema BIGINT NOT NULL DEFAULT 1;
-- The job is not claimed earlier: seconds since 1970 by the database's clock.
ALTER TABLE jobs ADD COLUMN not_before DOUBLE PRECISION NOT NULL DEFAULT 0;
-- Whether its worker holds the lease without computing.
ALTER TABLE jobs ADD COLUMN parked BOOLEAN NOT NULL DEFAULT FALSE;
-- Deaths of processes that computed the job, in a row; the computed seconds at the latest of them.
ALTER TABLE jobs ADD COLUMN deaths BIGINT NOT NULL DEFAULT 0 CHECK (deaths >= 0);
ALTER TABLE jobs ADD COLUMN death_seconds DOUBLE PRECISION NOT NULL DEFAULT 0;
-- Whether the job runs, or is to run, alone in its process; and how many processes died meanwhile.
ALTER TABLE jobs ADD COLUMN alone BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE jobs ADD COLUMN alone_deaths BIGINT NOT NULL DEFAULT 0 CHECK (alone_deaths >= 0);

-- The share of each owner in the computed seconds.
CREATE TABLE owner_shares (
    owner           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- Computed seconds over the weight.
    virtual_seconds DOUBLE PRECISION    NOT NULL,
    -- The place in the line when the owner became active: the virtual seconds of the least active owner.
    entered_seconds DOUBLE PRECISION NOT NULL,
    weight          DOUBLE PRECISION    NOT NULL CHECK (weight > 0),
    -- Whether the owner has a job that has not ended. May be late in becoming false.
    active          BOOLEAN NOT NULL,
    -- Claims so far. Every eighth takes the oldest job.
    claims          BIGINT NOT NULL DEFAULT 0
) WITH (
    -- Rows are few, and written all the time.
    fillfactor = 10,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX owner_shares_in_line ON owner_shares (virtual_seconds, owner) WHERE active = TRUE;

ALTER TABLE api_keys ADD COLUMN weight DOUBLE PRECISION NOT NULL DEFAULT 1 CHECK (weight > 0);

-- Claims: the queued jobs of an owner in the order in which they are taken, and the oldest of them.
DROP INDEX jobs_to_claim;
CREATE INDEX jobs_to_claim ON jobs (owner, priority DESC, level, id)
    WHERE status = 'queued' AND waits = FALSE;
CREATE INDEX jobs_to_claim_by_age ON jobs (owner, id) WHERE status = 'queued' AND waits = FALSE;
-- Queued jobs that need much memory.
CREATE INDEX jobs_passed_over ON jobs (memory_bytes)
    WHERE status = 'queued' AND waits = FALSE AND memory_bytes > 1048576;
-- Leases.
CREATE INDEX jobs_running ON jobs (owner, id) WHERE status = 'running';

INSERT INTO owner_shares (owner, virtual_seconds, entered_seconds, weight, active)
    SELECT DISTINCT owner, 0, 0, 1, TRUE FROM jobs WHERE finished_at IS NULL;
