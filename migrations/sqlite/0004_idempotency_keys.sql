-- Keys under which clients made things, so that a request that comes twice makes one thing.

CREATE TABLE idempotency_keys (
    owner       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    -- The digest of the request.
    fingerprint TEXT    NOT NULL,
    -- The id of what was made. No foreign key: what was deleted is not made again.
    thing       TEXT    NOT NULL,
    -- What the first answer told and the thing does not, as JSON.
    answer      TEXT,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT;

-- Sweeps.
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
