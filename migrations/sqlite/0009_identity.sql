-- What this database is called, and the place of its blobs, so that it is not served with another's.

CREATE TABLE identity (
    -- There is one row.
    one        INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    -- Random, drawn by the first process that serves it.
    name       TEXT    NOT NULL,
    -- As the mark in that place says; none before the first process has found it good.
    blob_place TEXT
) STRICT;
