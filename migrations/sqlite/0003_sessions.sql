-- On-line sessions: what was asked, where they stand, and how to come back there.

CREATE TABLE sessions (
    id         TEXT    NOT NULL PRIMARY KEY,
    owner      TEXT    NOT NULL,
    learner    TEXT    NOT NULL,
    n          INTEGER NOT NULL CHECK (n >= 1),
    -- Examples learnt. Every write is fenced by it.
    position   INTEGER NOT NULL CHECK (position >= 0),
    created_at INTEGER NOT NULL,
    -- Learner, parameters, seed, stop conditions.
    spec       TEXT    NOT NULL
) STRICT;

-- Lists.
CREATE INDEX sessions_by_owner ON sessions (owner, id);

-- The state at a position, which can be large; none before the first was written.
CREATE TABLE session_snapshots (
    session  TEXT    NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    state    BLOB    NOT NULL
) STRICT;

-- The examples learnt since then, each row those of one write.
CREATE TABLE session_log (
    session  TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    examples BLOB    NOT NULL,
    PRIMARY KEY (session, position)
) STRICT;
