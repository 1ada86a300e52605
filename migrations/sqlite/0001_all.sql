-- Everything that the service stores.
--
-- Ids are a prefix and a UUIDv7 in hexadecimal, so their order is the order of creation. Times are milliseconds since
-- 1970. Leases and other times by the clock of the database are seconds since 1970, as REAL. Columns that can be large
-- come last, so that no statement reads past them. The digests of rows are explained in src/storage/sql/digests.rs: the
-- statement that writes a row also writes its digest.
--
-- Until the first release a change of the schema edits this file, and a store with another schema is refused.

CREATE TABLE jobs (
    id               TEXT    NOT NULL PRIMARY KEY,
    owner            TEXT    NOT NULL,
    task             TEXT    NOT NULL,
    learner          TEXT,
    name             TEXT,
    status           TEXT    NOT NULL
                     CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    -- The blob of data that came with the request, and its bytes.
    data_key         TEXT,
    data_sha256      TEXT,
    data_bytes       INTEGER NOT NULL DEFAULT 0,
    -- The dataset that the job reads. No foreign key: after the end of the job, either outlives the other.
    dataset          TEXT,
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
    -- The process that computes the job, and until when.
    lease_owner      TEXT,
    lease_until      REAL,
    -- Claims so far. Unlike `attempt`, the number never decreases.
    claims           INTEGER NOT NULL DEFAULT 0,
    -- The number of the last event.
    event_sequence   INTEGER NOT NULL,
    -- Where the end of the job is announced.
    callback         TEXT,
    -- The job that this job is a part of, and its number there, from 0. No foreign key: the database would lock the row
    -- of the parent with every second write to a part, and two parts that then decrease `parts_left` would deadlock.
    parent           TEXT,
    part             INTEGER CHECK (part >= 0),
    -- The number of parts, and of parts that have not ended.
    parts            INTEGER NOT NULL DEFAULT 0 CHECK (parts >= 0),
    parts_left       INTEGER NOT NULL DEFAULT 0 CHECK (parts_left >= 0),
    -- Whether parts are left, so that no worker may claim the job. A column of its own, because an index on
    -- `parts_left` would be written at the end of each part.
    waits            INTEGER NOT NULL DEFAULT 0 CHECK (waits IN (0, 1)),
    -- The scheduler: see src/records/schedule.rs. The level is floor(log2(1 + seconds)) of the expected or computed
    -- seconds. The computed seconds include earlier attempts.
    level            INTEGER NOT NULL CHECK (level >= 0),
    expected_seconds REAL    NOT NULL CHECK (expected_seconds >= 0),
    computed_seconds REAL    NOT NULL DEFAULT 0 CHECK (computed_seconds >= 0),
    -- The cost of the last change of workers: writing the state, and resuming from it.
    switch_seconds   REAL    NOT NULL DEFAULT 0 CHECK (switch_seconds >= 0),
    -- The upper bound of the memory that the job takes.
    memory_bytes     INTEGER NOT NULL CHECK (memory_bytes >= 0),
    -- The schema of `spec`. A worker claims only schemas that it reads.
    spec_schema      INTEGER NOT NULL,
    -- No worker claims the job earlier.
    not_before       REAL    NOT NULL DEFAULT 0,
    -- Whether the worker holds the lease without computing.
    parked           INTEGER NOT NULL DEFAULT FALSE CHECK (parked IN (0, 1)),
    -- Consecutive deaths of processes that computed the job; the computed seconds at the last of them.
    deaths           INTEGER NOT NULL DEFAULT 0 CHECK (deaths >= 0),
    death_seconds    REAL    NOT NULL DEFAULT 0,
    -- Whether the job must have its process for itself; deaths of processes meanwhile.
    alone            INTEGER NOT NULL DEFAULT FALSE CHECK (alone IN (0, 1)),
    alone_deaths     INTEGER NOT NULL DEFAULT 0 CHECK (alone_deaths >= 0),
    -- The header traceparent of the request that created the job.
    trace_parent     TEXT,
    -- Digests of the request and of the end.
    digest           BLOB    NOT NULL,
    end_digest       BLOB,
    spec             TEXT    NOT NULL,
    result           TEXT,
    CHECK ((status = 'running') = (lease_until IS NOT NULL)),
    CHECK ((status = 'running') = (lease_owner IS NOT NULL)),
    CHECK ((status IN ('succeeded', 'failed', 'cancelled')) = (finished_at IS NOT NULL)),
    CHECK ((status = 'failed') = (error IS NOT NULL))
) STRICT;
-- Lists pass over parts, which are many.
CREATE INDEX jobs_by_owner ON jobs (owner, id) WHERE parent IS NULL;
CREATE INDEX jobs_of_parent ON jobs (parent, id) WHERE parent IS NOT NULL;
-- Claims: the queued jobs of an owner in the order in which workers take them, and the oldest of them.
CREATE INDEX jobs_to_claim ON jobs (owner, priority DESC, level, id)
    WHERE status = 'queued' AND waits = FALSE;
CREATE INDEX jobs_to_claim_by_age ON jobs (owner, id) WHERE status = 'queued' AND waits = FALSE;
-- Queued jobs that need much memory.
CREATE INDEX jobs_passed_over ON jobs (memory_bytes)
    WHERE status = 'queued' AND waits = FALSE AND memory_bytes > 1048576;
-- Leases.
CREATE INDEX jobs_running ON jobs (owner, id) WHERE status = 'running';
-- Sweeps.
CREATE INDEX jobs_ended ON jobs (finished_at) WHERE finished_at IS NOT NULL;
-- Orphan blobs. An ended job needs its data no more.
CREATE INDEX jobs_data ON jobs (data_key) WHERE data_key IS NOT NULL AND finished_at IS NULL;
-- Jobs that keep a dataset from deletion.
CREATE INDEX jobs_pins ON jobs (dataset, id) WHERE dataset IS NOT NULL AND finished_at IS NULL;

CREATE TABLE events (
    job      TEXT    NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    sequence INTEGER NOT NULL CHECK (sequence >= 1),
    owner    TEXT    NOT NULL,
    kind     TEXT    NOT NULL CHECK (kind IN ('progress', 'status', 'result')),
    -- The job holds the content of a result event.
    body     TEXT    CHECK ((kind = 'result') = (body IS NULL)),
    at       INTEGER NOT NULL,
    PRIMARY KEY (job, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE traces (
    job    TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    owner  TEXT NOT NULL,
    digest BLOB NOT NULL,
    body   BLOB NOT NULL
) STRICT;

-- The state from which a job resumes.
CREATE TABLE checkpoints (
    job     TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    -- The version of the program that wrote the state. Only this version can check it.
    program TEXT NOT NULL,
    body    BLOB NOT NULL
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

-- Tables of their own for the digests of models and datasets: a lost row of a pair reveals damage of an id.
CREATE TABLE model_digests (
    model           TEXT NOT NULL PRIMARY KEY REFERENCES models (id) ON DELETE CASCADE,
    digest          BLOB NOT NULL,
    document_digest BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE datasets (
    id             TEXT    NOT NULL PRIMARY KEY,
    owner          TEXT    NOT NULL,
    name           TEXT,
    n              INTEGER NOT NULL CHECK (n >= 1),
    kind           TEXT    NOT NULL CHECK (kind IN ('half-space', 'labelled', 'unlabelled')),
    value_kind     TEXT    NOT NULL CHECK (value_kind IN ('boolean', 'real')),
    zero_bit_value INTEGER NOT NULL CHECK (zero_bit_value IN (0, -1)),
    assume         TEXT,
    examples       INTEGER NOT NULL CHECK (examples >= 1),
    class_examples TEXT,
    duplicates     INTEGER,
    contradictions INTEGER,
    -- Why duplicates and contradictions were not counted.
    uncounted      TEXT,
    -- The seed of generated examples.
    seed           INTEGER CHECK (seed >= 0),
    sha256         TEXT    NOT NULL,
    bytes          INTEGER NOT NULL,
    -- Of them, those of the raw cells of the table, which are a blob of their own. Without raw cells there are none.
    cells_bytes    INTEGER NOT NULL DEFAULT 0 CHECK (cells_bytes >= 0),
    -- The blob. Written before the row, deleted after it.
    data_key       TEXT    NOT NULL UNIQUE,
    created_at     INTEGER NOT NULL,
    -- Lists of names, and the encoding of the table that the examples came as, as JSON.
    features       TEXT,
    classes        TEXT,
    encoding       TEXT,
    CHECK ((kind = 'unlabelled') = (class_examples IS NULL)),
    CHECK ((duplicates IS NULL) = (uncounted IS NOT NULL))
) STRICT;
CREATE INDEX datasets_by_owner ON datasets (owner, id);

CREATE TABLE dataset_digests (
    dataset      TEXT NOT NULL PRIMARY KEY REFERENCES datasets (id) ON DELETE CASCADE,
    digest       BLOB NOT NULL,
    names_digest BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    id              TEXT    NOT NULL PRIMARY KEY,
    owner           TEXT    NOT NULL,
    learner         TEXT    NOT NULL,
    -- 0 if features have names.
    n               INTEGER NOT NULL CHECK (n >= 0),
    -- Examples learnt. Every write is fenced by it.
    position        INTEGER NOT NULL CHECK (position >= 0),
    created_at      INTEGER NOT NULL,
    -- Bytes of snapshot and log.
    bytes           INTEGER NOT NULL DEFAULT 0,
    -- Digests of the request, of the position and of the counts.
    digest          BLOB    NOT NULL,
    position_digest BLOB    NOT NULL,
    tally_digest    BLOB    NOT NULL,
    -- The counts at the position, as JSON, for lists.
    tally           TEXT    NOT NULL,
    -- Learner, parameters, seed, stop conditions.
    spec            TEXT    NOT NULL
) STRICT;
CREATE INDEX sessions_by_owner ON sessions (owner, id);

-- The state of a session at a position; none before the first write.
CREATE TABLE session_snapshots (
    session  TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    digest   BLOB    NOT NULL,
    state    BLOB    NOT NULL
) STRICT;

-- The examples learnt since the snapshot, one row per write.
CREATE TABLE session_log (
    session  TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    digest   BLOB    NOT NULL,
    examples BLOB    NOT NULL,
    PRIMARY KEY (session, position)
) STRICT;

-- Keys of clients, so that a repeated request creates one thing.
CREATE TABLE idempotency_keys (
    owner       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    -- The digest of the request.
    fingerprint TEXT    NOT NULL,
    -- The id of the created thing. No foreign key: a deleted thing is not created again.
    thing       TEXT    NOT NULL,
    -- The part of the first answer that the thing does not hold, as JSON.
    answer      TEXT,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT;
-- Sweeps.
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- Announcements of ended jobs. The transaction that ends a job writes the row, which stays with the job.
CREATE TABLE callbacks (
    job         TEXT    NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    owner       TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('pending', 'delivered', 'given-up')),
    -- The time of the next delivery, or the end of the lease of the process that delivers.
    due_at      REAL,
    lease_owner TEXT,
    failures    INTEGER NOT NULL CHECK (failures >= 0),
    -- Claims so far.
    claims      INTEGER NOT NULL CHECK (claims >= 0),
    -- The host, by which deliveries share the connections, and a short digest of the URL, by which a claim passes over
    -- URLs that have not answered lately.
    host        TEXT    NOT NULL,
    url_digest  TEXT    NOT NULL,
    -- Why the last delivery failed.
    last_error  TEXT,
    CHECK ((state = 'pending') = (due_at IS NOT NULL)),
    CHECK (lease_owner IS NULL OR state = 'pending')
) STRICT;
-- Pending deliveries in the order of their times, with the columns by which a claim passes over some.
CREATE INDEX callbacks_due ON callbacks (due_at, owner, host, url_digest, job) WHERE due_at IS NOT NULL;

-- What a key creates belongs to the id of the key. A revoked key stays: a service that ever had a key is never open
-- again.
CREATE TABLE api_keys (
    id               TEXT    NOT NULL PRIMARY KEY,
    name             TEXT    NOT NULL,
    -- SHA-256 of the secret, which is stored nowhere.
    digest           BLOB    NOT NULL UNIQUE,
    created_at       INTEGER NOT NULL,
    revoked_at       INTEGER,
    -- Quotas of this key, where they differ from the settings.
    jobs_queued_max  INTEGER CHECK (jobs_queued_max >= 0),
    stored_bytes_max INTEGER CHECK (stored_bytes_max >= 0),
    sessions_max     INTEGER CHECK (sessions_max >= 0),
    weight           REAL    NOT NULL DEFAULT 1 CHECK (weight > 0)
) STRICT;

-- The share of each owner in the computed seconds.
CREATE TABLE owner_shares (
    owner           TEXT    NOT NULL PRIMARY KEY,
    -- Computed seconds over the weight.
    virtual_seconds REAL    NOT NULL,
    -- The place in the line when the owner became active: the virtual seconds of the least active owner.
    entered_seconds REAL    NOT NULL,
    weight          REAL    NOT NULL CHECK (weight > 0),
    -- Whether the owner has a job that has not ended. May be late in becoming false.
    active          INTEGER NOT NULL CHECK (active IN (0, 1)),
    -- Claims so far. Every eighth takes the oldest job.
    claims          INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX owner_shares_in_line ON owner_shares (virtual_seconds, owner) WHERE active = TRUE;
-- A newcomer looks for the least position.
CREATE INDEX owner_shares_by_place ON owner_shares
    ((CASE WHEN virtual_seconds > entered_seconds THEN virtual_seconds ELSE entered_seconds END)) WHERE active = TRUE;

-- The name of this database and the place of its blobs, so that it is not served with other blobs.
CREATE TABLE identity (
    -- There is one row.
    one        INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    -- Random, drawn by the first process.
    name       TEXT    NOT NULL,
    -- As the mark in the place says. NULL until the first process has accepted the place.
    blob_place TEXT
) STRICT;

-- Service time and clock readings, by which the sweeps measure ages: see src/jobs/service_clock.rs.
CREATE TABLE service_time (
    -- There is one row.
    one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    -- Milliseconds in which at least one process ran.
    observed INTEGER NOT NULL CHECK (observed >= 0)
) STRICT;
CREATE TABLE clock_readings (
    -- Hours of service time.
    hour     INTEGER NOT NULL PRIMARY KEY CHECK (hour >= 0),
    -- The earliest reading of the clock of any process in this hour.
    earliest INTEGER NOT NULL
) STRICT;

-- The processes of the service. Each process renews its row every few seconds.
CREATE TABLE processes (
    -- The name under which the process holds leases.
    id                 TEXT    NOT NULL PRIMARY KEY,
    role               TEXT    NOT NULL CHECK (role IN ('all', 'api', 'worker')),
    -- Jobs that the process computes at once.
    workers            INTEGER NOT NULL CHECK (workers >= 0),
    version            TEXT    NOT NULL,
    revision           TEXT,
    -- The newest schema of requests that the process reads.
    spec_schema        INTEGER NOT NULL,
    -- The largest grant of the memory budget, the bytes of all grants, and the largest grant at this time.
    memory_bytes_max   INTEGER NOT NULL CHECK (memory_bytes_max >= 0),
    memory_bytes_taken INTEGER NOT NULL CHECK (memory_bytes_taken >= 0),
    memory_bytes_free  INTEGER NOT NULL CHECK (memory_bytes_free >= 0),
    started_at         REAL    NOT NULL,
    seen_at            REAL    NOT NULL
) STRICT, WITHOUT ROWID;

-- What each owner uses of the quotas, and under the empty name all owners together. Triggers keep it, so that no
-- statement can forget it. The stripe is always 0 here: see migrations/postgres.
CREATE TABLE usage (
    owner    TEXT    NOT NULL,
    stripe   INTEGER NOT NULL,
    queued   INTEGER NOT NULL,
    bytes    INTEGER NOT NULL,
    sessions INTEGER NOT NULL,
    PRIMARY KEY (owner, stripe)
) STRICT, WITHOUT ROWID;

-- An insertion here adds to the counts.
CREATE VIEW usage_changes AS SELECT owner, queued, bytes, sessions FROM usage;
CREATE TRIGGER usage_counted INSTEAD OF INSERT ON usage_changes BEGIN
    INSERT INTO usage (owner, stripe, queued, bytes, sessions)
    VALUES (NEW.owner, 0, NEW.queued, NEW.bytes, NEW.sessions),
        ('', 0, NEW.queued, NEW.bytes, NEW.sessions)
    ON CONFLICT (owner, stripe) DO UPDATE SET queued = queued + excluded.queued,
        bytes = bytes + excluded.bytes, sessions = sessions + excluded.sessions;
END;

-- A job counts until it ends: its data, and itself while it is queued.
CREATE TRIGGER jobs_inserted AFTER INSERT ON jobs WHEN NEW.finished_at IS NULL BEGIN
    INSERT INTO usage_changes VALUES (NEW.owner, NEW.status = 'queued', NEW.data_bytes, 0);
END;
CREATE TRIGGER jobs_updated AFTER UPDATE OF status, owner, data_bytes ON jobs BEGIN
    INSERT INTO usage_changes
    SELECT OLD.owner, -(OLD.status = 'queued'), -OLD.data_bytes, 0 WHERE OLD.finished_at IS NULL;
    INSERT INTO usage_changes
    SELECT NEW.owner, NEW.status = 'queued', NEW.data_bytes, 0 WHERE NEW.finished_at IS NULL;
END;
CREATE TRIGGER jobs_deleted AFTER DELETE ON jobs WHEN OLD.finished_at IS NULL BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, -(OLD.status = 'queued'), -OLD.data_bytes, 0);
END;
CREATE TRIGGER datasets_inserted AFTER INSERT ON datasets BEGIN
    INSERT INTO usage_changes VALUES (NEW.owner, 0, NEW.bytes, 0);
END;
CREATE TRIGGER datasets_updated AFTER UPDATE OF owner, bytes ON datasets BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, 0, -OLD.bytes, 0), (NEW.owner, 0, NEW.bytes, 0);
END;
CREATE TRIGGER datasets_deleted AFTER DELETE ON datasets BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, 0, -OLD.bytes, 0);
END;
CREATE TRIGGER models_inserted AFTER INSERT ON models BEGIN
    INSERT INTO usage_changes VALUES (NEW.owner, 0, octet_length(NEW.document), 0);
END;
CREATE TRIGGER models_updated AFTER UPDATE OF owner, document ON models BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, 0, -octet_length(OLD.document), 0),
        (NEW.owner, 0, octet_length(NEW.document), 0);
END;
CREATE TRIGGER models_deleted AFTER DELETE ON models BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, 0, -octet_length(OLD.document), 0);
END;
CREATE TRIGGER sessions_inserted AFTER INSERT ON sessions BEGIN
    INSERT INTO usage_changes VALUES (NEW.owner, 0, NEW.bytes, 1);
END;
CREATE TRIGGER sessions_updated AFTER UPDATE OF owner, bytes ON sessions BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, 0, -OLD.bytes, -1), (NEW.owner, 0, NEW.bytes, 1);
END;
CREATE TRIGGER sessions_deleted AFTER DELETE ON sessions BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, 0, -OLD.bytes, -1);
END;
