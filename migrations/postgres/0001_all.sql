-- All that is stored: jobs, their events and traces, models, datasets, sessions. As in
-- migrations/sqlite, so that statements are the same; what differs is said.
--
-- Ids are text (a prefix and a UUIDv7 in hexadecimal) whose order is the order of making: in
-- collation C, whatever the database's is. Times are milliseconds since 1970, except the lease,
-- which runs by the database's own clock, in seconds. JSON is text, since it must come back as it
-- was.

CREATE TABLE jobs (
    id               TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner            TEXT COLLATE "C" NOT NULL,
    task             TEXT    NOT NULL,
    learner          TEXT,
    name             TEXT,
    status           TEXT    NOT NULL
                     CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    data_key         TEXT COLLATE "C",
    data_sha256      TEXT,
    seed             BIGINT  NOT NULL CHECK (seed >= 0),
    attempt          BIGINT  NOT NULL CHECK (attempt >= 0),
    priority         BIGINT  NOT NULL,
    created_at       BIGINT  NOT NULL,
    started_at       BIGINT,
    finished_at      BIGINT,
    progress         TEXT    NOT NULL,
    error            TEXT,
    -- No foreign key: job and model outlive each other.
    model            TEXT,
    cancel_requested BOOLEAN NOT NULL,
    -- Who computes it, and until when: seconds since 1970 by the database's clock.
    lease_owner      TEXT,
    lease_until      DOUBLE PRECISION,
    -- How many times it was handed out. Never goes back, unlike attempt.
    claims           BIGINT  NOT NULL DEFAULT 0,
    -- The number of its last event.
    event_sequence   BIGINT  NOT NULL,
    -- The dataset that it reads. No foreign key: once the job has ended, either outlives the other.
    dataset          TEXT COLLATE "C",
    spec             TEXT    NOT NULL,
    result           TEXT,
    CHECK ((status = 'running') = (lease_until IS NOT NULL)),
    CHECK ((status = 'running') = (lease_owner IS NOT NULL)),
    CHECK ((status IN ('succeeded', 'failed', 'cancelled')) = (finished_at IS NOT NULL)),
    CHECK ((status = 'failed') = (error IS NOT NULL))
) WITH (
    -- A job's row is written many times, and what was there before is dead. So rows are narrow (what
    -- is long is kept beside them, and not copied), have room to be written again in their page, and
    -- are cleaned up after early and at full speed.
    toast_tuple_target = 256,
    fillfactor = 70,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.05
);

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
-- What keeps a dataset: jobs that have not ended.
CREATE INDEX jobs_pins ON jobs (dataset, id) WHERE dataset IS NOT NULL AND finished_at IS NULL;

CREATE TABLE events (
    job      TEXT COLLATE "C" NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    sequence BIGINT  NOT NULL CHECK (sequence >= 1),
    owner    TEXT COLLATE "C" NOT NULL,
    kind     TEXT    NOT NULL CHECK (kind IN ('progress', 'status', 'result')),
    -- What a result event tells is in the job, which is final by then: it is not kept twice.
    body     TEXT    CHECK ((kind = 'result') = (body IS NULL)),
    at       BIGINT  NOT NULL,
    PRIMARY KEY (job, sequence)
);

CREATE TABLE traces (
    job   TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    owner TEXT COLLATE "C" NOT NULL,
    body  BYTEA NOT NULL
);

CREATE TABLE models (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner      TEXT COLLATE "C" NOT NULL,
    job        TEXT,
    name       TEXT,
    learner    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    n          BIGINT  NOT NULL CHECK (n >= 0),
    created_at BIGINT  NOT NULL,
    document   TEXT    NOT NULL
);

CREATE INDEX models_by_owner ON models (owner, id);

CREATE TABLE datasets (
    id             TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner          TEXT COLLATE "C" NOT NULL,
    name           TEXT,
    n              BIGINT  NOT NULL CHECK (n >= 1),
    kind           TEXT    NOT NULL CHECK (kind IN ('half-space', 'labelled', 'unlabelled')),
    value_kind     TEXT    NOT NULL CHECK (value_kind IN ('boolean', 'real')),
    zero_bit_value BIGINT  NOT NULL CHECK (zero_bit_value IN (0, -1)),
    assume         TEXT,
    examples       BIGINT  NOT NULL CHECK (examples >= 1),
    positives      BIGINT  CHECK (positives BETWEEN 0 AND examples),
    duplicates     BIGINT,
    contradictions BIGINT,
    -- Why duplicates and contradictions were not counted.
    uncounted      TEXT,
    sha256         TEXT    NOT NULL,
    bytes          BIGINT  NOT NULL,
    -- The blob. Written before the row, deleted after it.
    data_key       TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at     BIGINT  NOT NULL,
    -- Lists of names.
    features       TEXT,
    classes        TEXT,
    CHECK ((kind = 'unlabelled') = (positives IS NULL)),
    CHECK ((duplicates IS NULL) = (uncounted IS NOT NULL))
);

CREATE INDEX datasets_by_owner ON datasets (owner, id);

CREATE TABLE sessions (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner      TEXT COLLATE "C" NOT NULL,
    learner    TEXT    NOT NULL,
    n          BIGINT  NOT NULL CHECK (n >= 1),
    -- Examples learnt. Every write is fenced by it.
    position   BIGINT  NOT NULL CHECK (position >= 0),
    created_at BIGINT  NOT NULL,
    -- Learner, parameters, seed, stop conditions.
    spec       TEXT    NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX sessions_by_owner ON sessions (owner, id);

-- The state at a position, which can be large; none before the first was written.
CREATE TABLE session_snapshots (
    session  TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    state    BYTEA  NOT NULL
);

-- The examples learnt since then, each row those of one write.
CREATE TABLE session_log (
    session  TEXT COLLATE "C" NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    examples BYTEA  NOT NULL,
    PRIMARY KEY (session, position)
);
