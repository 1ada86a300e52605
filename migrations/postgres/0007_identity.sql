-- What this database is called, and the place of its blobs, so that it is not served with another's.
-- As in migrations/sqlite.

CREATE TABLE identity (
    -- There is one row.
    one        BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    -- Random, drawn by the first process that serves it.
    name       TEXT COLLATE "C" NOT NULL,
    -- As the mark in that place says; none before the first process has found it good.
    blob_place TEXT COLLATE "C"
);
