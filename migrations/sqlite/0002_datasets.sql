-- Datasets, and the jobs that read them.

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
    positives      INTEGER CHECK (positives BETWEEN 0 AND examples),
    duplicates     INTEGER,
    contradictions INTEGER,
    -- Why duplicates and contradictions were not counted.
    uncounted      TEXT,
    sha256         TEXT    NOT NULL,
    bytes          INTEGER NOT NULL,
    -- The blob. Written before the row, deleted after it.
    data_key       TEXT    NOT NULL UNIQUE,
    created_at     INTEGER NOT NULL,
    -- Lists of names. What can be large comes last, so that nobody reads past it.
    features       TEXT,
    classes        TEXT,
    CHECK ((kind = 'unlabelled') = (positives IS NULL)),
    CHECK ((duplicates IS NULL) = (uncounted IS NOT NULL))
) STRICT;

-- Lists.
CREATE INDEX datasets_by_owner ON datasets (owner, id);

-- The dataset that a job reads. No foreign key: once the job has ended, either outlives the other.
ALTER TABLE jobs ADD COLUMN dataset TEXT;

-- What keeps a dataset: jobs that have not ended.
CREATE INDEX jobs_pins ON jobs (dataset, id) WHERE dataset IS NOT NULL AND finished_at IS NULL;

-- A request is a task and what is known of its data; schema 1 knew trainings only.
UPDATE jobs SET spec = json_object(
    'task', json_object('train', json_object(
        'learner', json(spec -> '$.learner'),
        'stop', json(spec -> '$.stop'),
        'trace', json(spec -> '$.trace'))),
    'data', json_object(
        'assume', json(spec -> '$.assume'),
        'generated', json(spec -> '$.generated')))
WHERE spec -> '$.learner' IS NOT NULL;
