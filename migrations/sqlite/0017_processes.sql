-- The processes of the service. Each process renews its row every few seconds. Times are seconds since 1970 by
-- the database's clock.
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
