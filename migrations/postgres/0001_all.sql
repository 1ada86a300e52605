-- Everything that the service stores, as in migrations/sqlite, which explains the columns. The statements are the same
-- for both databases. Here ids and other keys are compared in collation C, and JSON is text, because it must come back
-- as it was.

CREATE TABLE jobs (
    id               TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner            TEXT COLLATE "C" NOT NULL,
    task             TEXT NOT NULL,
    learner          TEXT,
    name             TEXT,
    status           TEXT NOT NULL
                     CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    data_key         TEXT COLLATE "C",
    data_sha256      TEXT,
    data_bytes       BIGINT NOT NULL DEFAULT 0,
    dataset          TEXT COLLATE "C",
    seed             BIGINT NOT NULL CHECK (seed >= 0),
    attempt          BIGINT NOT NULL CHECK (attempt >= 0),
    priority         BIGINT NOT NULL,
    created_at       BIGINT NOT NULL,
    started_at       BIGINT,
    finished_at      BIGINT,
    progress         TEXT NOT NULL,
    error            TEXT,
    model            TEXT,
    cancel_requested BOOLEAN NOT NULL,
    lease_owner      TEXT,
    lease_until      DOUBLE PRECISION,
    claims           BIGINT NOT NULL DEFAULT 0,
    event_sequence   BIGINT NOT NULL,
    callback         TEXT,
    parent           TEXT COLLATE "C",
    part             BIGINT CHECK (part >= 0),
    parts            BIGINT NOT NULL DEFAULT 0 CHECK (parts >= 0),
    parts_left       BIGINT NOT NULL DEFAULT 0 CHECK (parts_left >= 0),
    waits            BOOLEAN NOT NULL DEFAULT FALSE,
    level            BIGINT NOT NULL CHECK (level >= 0),
    expected_seconds DOUBLE PRECISION NOT NULL CHECK (expected_seconds >= 0),
    computed_seconds DOUBLE PRECISION NOT NULL DEFAULT 0 CHECK (computed_seconds >= 0),
    switch_seconds   DOUBLE PRECISION NOT NULL DEFAULT 0 CHECK (switch_seconds >= 0),
    memory_bytes     BIGINT NOT NULL CHECK (memory_bytes >= 0),
    spec_schema      BIGINT NOT NULL,
    not_before       DOUBLE PRECISION NOT NULL DEFAULT 0,
    parked           BOOLEAN NOT NULL DEFAULT FALSE,
    deaths           BIGINT NOT NULL DEFAULT 0 CHECK (deaths >= 0),
    death_seconds    DOUBLE PRECISION NOT NULL DEFAULT 0,
    alone            BOOLEAN NOT NULL DEFAULT FALSE,
    alone_deaths     BIGINT NOT NULL DEFAULT 0 CHECK (alone_deaths >= 0),
    trace_parent     TEXT,
    digest           BYTEA NOT NULL,
    end_digest       BYTEA,
    spec             TEXT NOT NULL,
    result           TEXT,
    CHECK ((status = 'running') = (lease_until IS NOT NULL)),
    CHECK ((status = 'running') = (lease_owner IS NOT NULL)),
    CHECK ((status IN ('succeeded', 'failed', 'cancelled')) = (finished_at IS NOT NULL)),
    CHECK ((status = 'failed') = (error IS NOT NULL))
) WITH (
    -- A row is written many times, and the old versions are dead. So rows are narrow (long values are stored beside
    -- them and not copied), have room for new versions in their page, and are vacuumed early and at full speed.
    toast_tuple_target = 256,
    fillfactor = 70,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.05
);
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
    job      TEXT COLLATE "C" NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    sequence BIGINT NOT NULL CHECK (sequence >= 1),
    owner    TEXT COLLATE "C" NOT NULL,
    kind     TEXT NOT NULL CHECK (kind IN ('progress', 'status', 'result')),
    body     TEXT CHECK ((kind = 'result') = (body IS NULL)),
    at       BIGINT NOT NULL,
    PRIMARY KEY (job, sequence)
);

CREATE TABLE traces (
    job    TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    owner  TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    body   BYTEA NOT NULL
);

-- The state from which a job resumes.
CREATE TABLE checkpoints (
    job     TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    program TEXT NOT NULL,
    body    BYTEA NOT NULL
) WITH (
    -- A row is written every half a minute while its job runs.
    autovacuum_vacuum_threshold = 100,
    autovacuum_vacuum_scale_factor = 0.01,
    toast.autovacuum_vacuum_threshold = 100,
    toast.autovacuum_vacuum_scale_factor = 0.01
);
-- The state hardly shrinks.
ALTER TABLE checkpoints ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE models (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner      TEXT COLLATE "C" NOT NULL,
    job        TEXT COLLATE "C",
    name       TEXT,
    learner    TEXT NOT NULL,
    kind       TEXT NOT NULL,
    n          BIGINT NOT NULL CHECK (n >= 0),
    created_at BIGINT NOT NULL,
    document   TEXT NOT NULL
);
CREATE INDEX models_by_owner ON models (owner, id);

-- Tables of their own for the digests of models and datasets: a lost row of a pair reveals damage of an id.
CREATE TABLE model_digests (
    model           TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES models (id) ON DELETE CASCADE,
    digest          BYTEA NOT NULL,
    document_digest BYTEA NOT NULL
);

CREATE TABLE datasets (
    id             TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner          TEXT COLLATE "C" NOT NULL,
    name           TEXT,
    n              BIGINT NOT NULL CHECK (n >= 1),
    kind           TEXT NOT NULL CHECK (kind IN ('half-space', 'labelled', 'unlabelled')),
    value_kind     TEXT NOT NULL CHECK (value_kind IN ('boolean', 'real')),
    zero_bit_value BIGINT NOT NULL CHECK (zero_bit_value IN (0, -1)),
    assume         TEXT,
    examples       BIGINT NOT NULL CHECK (examples >= 1),
    class_examples TEXT,
    duplicates     BIGINT,
    contradictions BIGINT,
    uncounted      TEXT,
    seed           BIGINT CHECK (seed >= 0),
    sha256         TEXT NOT NULL,
    bytes          BIGINT NOT NULL,
    -- Of them, those of the raw cells of the table, which are a blob of their own. Without raw cells there are none.
    cells_bytes    BIGINT NOT NULL DEFAULT 0 CHECK (cells_bytes >= 0),
    data_key       TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at     BIGINT NOT NULL,
    features       TEXT,
    classes        TEXT,
    encoding       TEXT,
    CHECK ((kind = 'unlabelled') = (class_examples IS NULL)),
    CHECK ((duplicates IS NULL) = (uncounted IS NOT NULL))
);
CREATE INDEX datasets_by_owner ON datasets (owner, id);

CREATE TABLE dataset_digests (
    dataset      TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES datasets (id) ON DELETE CASCADE,
    digest       BYTEA NOT NULL,
    names_digest BYTEA NOT NULL
);

CREATE TABLE sessions (
    id              TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner           TEXT COLLATE "C" NOT NULL,
    learner         TEXT NOT NULL,
    -- 0 if features have names.
    n               BIGINT NOT NULL CHECK (n >= 0),
    position        BIGINT NOT NULL CHECK (position >= 0),
    created_at      BIGINT NOT NULL,
    bytes           BIGINT NOT NULL DEFAULT 0,
    digest          BYTEA NOT NULL,
    position_digest BYTEA NOT NULL,
    tally_digest    BYTEA NOT NULL,
    tally           TEXT NOT NULL,
    spec            TEXT NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX sessions_by_owner ON sessions (owner, id);

-- The state of a session at a position; none before the first write.
CREATE TABLE session_snapshots (
    session  TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    digest   BYTEA NOT NULL,
    state    BYTEA NOT NULL
);

-- The examples learnt since the snapshot, one row per write.
CREATE TABLE session_log (
    session  TEXT COLLATE "C" NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    digest   BYTEA NOT NULL,
    examples BYTEA NOT NULL,
    PRIMARY KEY (session, position)
);

-- Keys of clients, so that a repeated request creates one thing.
CREATE TABLE idempotency_keys (
    owner       TEXT COLLATE "C" NOT NULL,
    key         TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT NOT NULL,
    thing       TEXT NOT NULL,
    answer      TEXT,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (owner, key)
);
-- Sweeps.
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- Announcements of ended jobs. The transaction that ends a job writes the row, which stays with the job.
CREATE TABLE callbacks (
    job         TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    owner       TEXT COLLATE "C" NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'given-up')),
    due_at      DOUBLE PRECISION,
    lease_owner TEXT,
    failures    BIGINT NOT NULL CHECK (failures >= 0),
    claims      BIGINT NOT NULL CHECK (claims >= 0),
    host        TEXT COLLATE "C" NOT NULL,
    url_digest  TEXT COLLATE "C" NOT NULL,
    last_error  TEXT,
    CHECK ((state = 'pending') = (due_at IS NOT NULL)),
    CHECK (lease_owner IS NULL OR state = 'pending')
) WITH (
    -- A row is written about three times within seconds.
    fillfactor = 70,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_cost_delay = 0
);
-- Pending deliveries in the order of their times, with the columns by which a claim passes over some.
CREATE INDEX callbacks_due ON callbacks (due_at, owner, host, url_digest, job) WHERE due_at IS NOT NULL;

-- What a key creates belongs to the id of the key. A revoked key stays: a service that ever had a key is never open
-- again.
CREATE TABLE api_keys (
    id               TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name             TEXT NOT NULL,
    digest           BYTEA NOT NULL UNIQUE,
    created_at       BIGINT NOT NULL,
    revoked_at       BIGINT,
    jobs_queued_max  BIGINT CHECK (jobs_queued_max >= 0),
    stored_bytes_max BIGINT CHECK (stored_bytes_max >= 0),
    sessions_max     BIGINT CHECK (sessions_max >= 0),
    weight           DOUBLE PRECISION NOT NULL DEFAULT 1 CHECK (weight > 0)
);

-- The share of each owner in the computed seconds.
CREATE TABLE owner_shares (
    owner           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    virtual_seconds DOUBLE PRECISION NOT NULL,
    entered_seconds DOUBLE PRECISION NOT NULL,
    weight          DOUBLE PRECISION NOT NULL CHECK (weight > 0),
    active          BOOLEAN NOT NULL,
    claims          BIGINT NOT NULL DEFAULT 0
) WITH (
    -- Rows are few, and written all the time.
    fillfactor = 10,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX owner_shares_in_line ON owner_shares (virtual_seconds, owner) WHERE active = TRUE;
-- A newcomer looks for the least position.
CREATE INDEX owner_shares_by_place ON owner_shares
    ((CASE WHEN virtual_seconds > entered_seconds THEN virtual_seconds ELSE entered_seconds END)) WHERE active = TRUE;

-- The name of this database and the place of its blobs, so that it is not served with other blobs.
CREATE TABLE identity (
    one        BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    name       TEXT COLLATE "C" NOT NULL,
    blob_place TEXT COLLATE "C"
);

-- Service time and clock readings, by which the sweeps measure ages: see src/jobs/service_clock.rs.
CREATE TABLE service_time (
    one      BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    observed BIGINT NOT NULL CHECK (observed >= 0)
);
CREATE TABLE clock_readings (
    hour     BIGINT NOT NULL PRIMARY KEY CHECK (hour >= 0),
    earliest BIGINT NOT NULL
);

-- The processes of the service. Each process renews its row every few seconds.
CREATE TABLE processes (
    id                 TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    role               TEXT NOT NULL CHECK (role IN ('all', 'api', 'worker')),
    workers            BIGINT NOT NULL CHECK (workers >= 0),
    version            TEXT NOT NULL,
    revision           TEXT,
    spec_schema        BIGINT NOT NULL,
    memory_bytes_max   BIGINT NOT NULL CHECK (memory_bytes_max >= 0),
    memory_bytes_taken BIGINT NOT NULL CHECK (memory_bytes_taken >= 0),
    memory_bytes_free  BIGINT NOT NULL CHECK (memory_bytes_free >= 0),
    started_at         DOUBLE PRECISION NOT NULL,
    seen_at            DOUBLE PRECISION NOT NULL
) WITH (
    -- Rows are few, and written all the time.
    fillfactor = 10,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_cost_delay = 0
);

-- What each owner uses of the quotas, and under the empty name all owners together. Triggers keep it, so that no
-- statement can forget it. A counted row is locked until the end of its transaction, which waits for a disk. So each
-- connection counts in one of sixteen stripes, and the sum counts. A single stripe may be negative.
CREATE TABLE usage (
    owner    TEXT COLLATE "C" NOT NULL,
    stripe   BIGINT NOT NULL,
    queued   BIGINT NOT NULL,
    bytes    BIGINT NOT NULL,
    sessions BIGINT NOT NULL,
    PRIMARY KEY (owner, stripe)
) WITH (
    -- Rows are few, and written all the time.
    fillfactor = 10,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_cost_delay = 0
);

-- A transaction that counts for several owners, such as the release of a dead process's jobs, holds several rows of its
-- stripe. Every transaction therefore first locks the row with the empty owner. Two transactions of one stripe then
-- follow each other and cannot wait for each other.
CREATE FUNCTION count_usage(of_owner TEXT, queued BIGINT, bytes BIGINT, sessions BIGINT)
RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF queued = 0 AND bytes = 0 AND sessions = 0 THEN
        RETURN;
    END IF;
    INSERT INTO usage AS u VALUES ('', pg_backend_pid() % 16, queued, bytes, sessions)
    ON CONFLICT (owner, stripe) DO UPDATE SET queued = u.queued + excluded.queued,
        bytes = u.bytes + excluded.bytes, sessions = u.sessions + excluded.sessions;
    INSERT INTO usage AS u VALUES
        (of_owner, pg_backend_pid() % 16, queued, bytes, sessions)
    ON CONFLICT (owner, stripe) DO UPDATE SET queued = u.queued + excluded.queued,
        bytes = u.bytes + excluded.bytes, sessions = u.sessions + excluded.sessions;
END $$;

-- Replaces what a row counted before by what it counts now.
CREATE FUNCTION recount(
    old_owner TEXT, old_queued BIGINT, old_bytes BIGINT, old_sessions BIGINT,
    new_owner TEXT, new_queued BIGINT, new_bytes BIGINT, new_sessions BIGINT
) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF old_owner = new_owner THEN
        PERFORM count_usage(new_owner, new_queued - old_queued, new_bytes - old_bytes,
            new_sessions - old_sessions);
    ELSE
        PERFORM count_usage(old_owner, -old_queued, -old_bytes, -old_sessions);
        PERFORM count_usage(new_owner, new_queued, new_bytes, new_sessions);
    END IF;
END $$;

-- A job counts until it ends: its data, and itself while it is queued. A statement that stores many jobs counts once,
-- because a row that one transaction writes many times grows slow.
CREATE FUNCTION is_queued(status TEXT) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS
    $$ SELECT (status = 'queued')::int::bigint $$;
CREATE FUNCTION data_held(finished_at BIGINT, data_bytes BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE
    AS $$ SELECT CASE WHEN finished_at IS NULL THEN data_bytes ELSE 0 END $$;

CREATE FUNCTION count_new_jobs() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_usage(owner, queued, bytes, 0) FROM (
        SELECT owner, SUM(is_queued(status))::bigint AS queued,
            SUM(data_held(finished_at, data_bytes))::bigint AS bytes
        FROM added GROUP BY owner ORDER BY owner) AS sums;
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_inserted AFTER INSERT ON jobs
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_new_jobs();

CREATE FUNCTION recount_job() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM count_usage(OLD.owner, -is_queued(OLD.status),
            -data_held(OLD.finished_at, OLD.data_bytes), 0);
    ELSE
        PERFORM recount(
            OLD.owner, is_queued(OLD.status), data_held(OLD.finished_at, OLD.data_bytes), 0,
            NEW.owner, is_queued(NEW.status), data_held(NEW.finished_at, NEW.data_bytes), 0);
    END IF;
    RETURN NULL;
END $$;
-- At the end of the transaction, like all triggers that count rows one by one: these locks come last, and no holder of
-- them waits for a job.
CREATE CONSTRAINT TRIGGER jobs_counted AFTER DELETE OR UPDATE OF status, owner, data_bytes ON jobs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION recount_job();

CREATE FUNCTION count_datasets() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    CASE TG_OP
        WHEN 'INSERT' THEN PERFORM count_usage(NEW.owner, 0, NEW.bytes, 0);
        WHEN 'DELETE' THEN PERFORM count_usage(OLD.owner, 0, -OLD.bytes, 0);
        ELSE PERFORM recount(OLD.owner, 0, OLD.bytes, 0, NEW.owner, 0, NEW.bytes, 0);
    END CASE;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER datasets_counted AFTER INSERT OR DELETE OR UPDATE OF owner, bytes ON datasets
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION count_datasets();

CREATE FUNCTION count_models() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    CASE TG_OP
        WHEN 'INSERT' THEN PERFORM count_usage(NEW.owner, 0, octet_length(NEW.document), 0);
        WHEN 'DELETE' THEN PERFORM count_usage(OLD.owner, 0, -octet_length(OLD.document), 0);
        ELSE PERFORM recount(OLD.owner, 0, octet_length(OLD.document), 0,
            NEW.owner, 0, octet_length(NEW.document), 0);
    END CASE;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER models_counted AFTER INSERT OR DELETE OR UPDATE OF owner, document ON models
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION count_models();

CREATE FUNCTION count_sessions() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    CASE TG_OP
        WHEN 'INSERT' THEN PERFORM count_usage(NEW.owner, 0, NEW.bytes, 1);
        WHEN 'DELETE' THEN PERFORM count_usage(OLD.owner, 0, -OLD.bytes, -1);
        ELSE PERFORM recount(OLD.owner, 0, OLD.bytes, 1, NEW.owner, 0, NEW.bytes, 1);
    END CASE;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER sessions_counted AFTER INSERT OR DELETE OR UPDATE OF owner, bytes ON sessions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION count_sessions();
