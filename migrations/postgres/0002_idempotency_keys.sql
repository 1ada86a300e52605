-- Keys under which clients made things, so that a request that comes twice makes one thing.

CREATE TABLE idempotency_keys (
    owner       TEXT COLLATE "C" NOT NULL,
    key         TEXT COLLATE "C" NOT NULL,
    -- The digest of the request.
    fingerprint TEXT   NOT NULL,
    -- The id of what was made. No foreign key: what was deleted is not made again.
    thing       TEXT   NOT NULL,
    -- What the first answer told and the thing does not, as JSON.
    answer      TEXT,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (owner, key)
);

-- Sweeps.
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
