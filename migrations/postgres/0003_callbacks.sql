-- Callbacks: where a client wants the end of its job sent, and the deliveries that are owed. As in
-- migrations/sqlite.

-- The URL as it was understood.
ALTER TABLE jobs ADD COLUMN callback TEXT;

-- Written when the job ends, in the same transaction. Stays with its job, delivered or not.
CREATE TABLE callbacks (
    job         TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    owner       TEXT COLLATE "C" NOT NULL,
    state       TEXT   NOT NULL CHECK (state IN ('pending', 'delivered', 'given-up')),
    -- When it is to be delivered, or, while somebody does, when it is anybody's again: seconds since
    -- 1970 by the database's clock.
    due_at      DOUBLE PRECISION,
    -- Who delivers it.
    lease_owner TEXT,
    failures    BIGINT NOT NULL CHECK (failures >= 0),
    -- How many times it was handed out.
    claims      BIGINT NOT NULL CHECK (claims >= 0),
    -- Why the last delivery failed.
    last_error  TEXT,
    CHECK ((state = 'pending') = (due_at IS NOT NULL)),
    CHECK (lease_owner IS NULL OR state = 'pending')
) WITH (
    -- A row is written about three times within seconds, as a job's is.
    fillfactor = 70,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_cost_delay = 0
);

-- What is owed, in the order in which it is due.
CREATE INDEX callbacks_due ON callbacks (due_at) WHERE due_at IS NOT NULL;
