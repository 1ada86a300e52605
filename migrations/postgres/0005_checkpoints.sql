-- Where a job that runs, or waits to run again, can go on from. As in migrations/sqlite.

CREATE TABLE checkpoints (
    job  TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    body BYTEA NOT NULL
) WITH (
    -- A row is written anew every half a minute or so while its job runs.
    autovacuum_vacuum_threshold = 100,
    autovacuum_vacuum_scale_factor = 0.01,
    toast.autovacuum_vacuum_threshold = 100,
    toast.autovacuum_vacuum_scale_factor = 0.01
);
-- The bytes are numbers that hardly shrink; nobody is to spend time on it.
ALTER TABLE checkpoints ALTER COLUMN body SET STORAGE EXTERNAL;
