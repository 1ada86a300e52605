-- Jobs, their events and traces, and models.
--
-- Ids are text (a prefix and a UUIDv7 in hexadecimal), so their order is the order of making. Times
-- are milliseconds since 1970, except the lease, which runs by the database's own clock, in
-- seconds.

CREATE TABLE jobs (
    id               TEXT    NOT NULL PRIMARY KEY,
    owner            TEXT    NOT NULL,
    task             TEXT    NOT NULL,
    learner          TEXT,
    name             TEXT,
    status           TEXT    NOT NULL
                     CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    data_key         TEXT,
    data_sha256      TEXT,
    seed             INTEGER NOT NULL CHECK (seed >= 0),
    attempt          INTEGER NOT NULL CHECK (attempt >= 0),
    priority         INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    started_at       INTEGER,
    finished_at      INTEGER,
    progress         TEXT    NOT NULL,
    error            TEXT,
    -- No foreign key: job and model outlive each other.
    model            TEXT,
    cancel_requested INTEGER NOT NULL CHECK (cancel_requested IN (0, 1)),
    -- Who computes it, and until when: seconds since 1970 by the database's clock.
    lease_owner      TEXT,
    lease_until      REAL,
    -- How many times it was handed out. Never goes back, unlike attempt.
    claims           INTEGER NOT NULL DEFAULT 0,
    -- The number of its last event.
    event_sequence   INTEGER NOT NULL,
    -- What can be large comes last, so that nobody reads past it.
    spec             TEXT    NOT NULL,
    result           TEXT,
    CHECK ((status = 'running') = (lease_until IS NOT NULL)),
    CHECK ((status = 'running') = (lease_owner IS NOT NULL)),
    CHECK ((status IN ('succeeded', 'failed', 'cancelled')) = (finished_at IS NOT NULL)),
    CHECK ((status = 'failed') = (error IS NOT NULL))
) STRICT;

-- Lists.
CREATE INDEX jobs_by_owner ON jobs (owner, id);
-- Claims: only what can be claimed, in the order in which it is. With the status, so that counting
-- the queue does not touch the rows.
CREATE INDEX jobs_to_claim ON jobs (priority DESC, attempt, id, status)
    WHERE status IN ('queued', 'running');
-- Sweeps.
CREATE INDEX jobs_ended ON jobs (finished_at) WHERE finished_at IS NOT NULL;
-- Orphan blobs. What has ended needs its data no more.
CREATE INDEX jobs_data ON jobs (data_key) WHERE data_key IS NOT NULL AND finished_at IS NULL;

CREATE TABLE events (
    job      TEXT    NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    sequence INTEGER NOT NULL CHECK (sequence >= 1),
    owner    TEXT    NOT NULL,
    kind     TEXT    NOT NULL CHECK (kind IN ('progress', 'status', 'result')),
    -- What a result event tells is in the job, which is final by then: it is not kept twice.
    body     TEXT    CHECK ((kind = 'result') = (body IS NULL)),
    at       INTEGER NOT NULL,
    PRIMARY KEY (job, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE traces (
    job   TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    owner TEXT NOT NULL,
    body  BLOB NOT NULL
) STRICT;

CREATE TABLE models (
    id         TEXT    NOT NULL PRIMARY KEY,
    owner      TEXT    NOT NULL,
    job        TEXT,
    name       TEXT,
    learner    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    n          INTEGER NOT NULL CHECK (n >= 0),
    created_at INTEGER NOT NULL,
    document   TEXT    NOT NULL
) STRICT;

CREATE INDEX models_by_owner ON models (owner, id);
