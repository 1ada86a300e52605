-- Where a job that runs, or waits to run again, can go on from.

CREATE TABLE checkpoints (
    job  TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    body BLOB NOT NULL
) STRICT;
