-- The processes of the service. As in migrations/sqlite.
CREATE TABLE processes (
    id                 TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    role               TEXT   NOT NULL CHECK (role IN ('all', 'api', 'worker')),
    workers            BIGINT NOT NULL CHECK (workers >= 0),
    version            TEXT   NOT NULL,
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
