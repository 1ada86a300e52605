-- Callbacks: where a client wants the end of its job sent, and the deliveries that are owed.

-- The URL as it was understood.
ALTER TABLE jobs ADD COLUMN callback TEXT;

-- Written when the job ends, in the same transaction. Stays with its job, delivered or not.
CREATE TABLE callbacks (
    job         TEXT    NOT NULL PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    owner       TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('pending', 'delivered', 'given-up')),
    -- When it is to be delivered, or, while somebody does, when it is anybody's again: seconds since
    -- 1970 by the database's clock.
    due_at      REAL,
    -- Who delivers it.
    lease_owner TEXT,
    failures    INTEGER NOT NULL CHECK (failures >= 0),
    -- How many times it was handed out.
    claims      INTEGER NOT NULL CHECK (claims >= 0),
    -- Why the last delivery failed.
    last_error  TEXT,
    CHECK ((state = 'pending') = (due_at IS NOT NULL)),
    CHECK (lease_owner IS NULL OR state = 'pending')
) STRICT;

-- What is owed, in the order in which it is due.
CREATE INDEX callbacks_due ON callbacks (due_at) WHERE due_at IS NOT NULL;
