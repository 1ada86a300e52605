-- API keys, what their owners use of the quotas, and a queue that is fair among owners.

-- Who may ask. What a key makes is owned by its id. A revoked key stays: a service in which a key was
-- ever made is never open again.
CREATE TABLE api_keys (
    id              TEXT    NOT NULL PRIMARY KEY,
    name            TEXT    NOT NULL,
    -- SHA-256 of the secret, which is stored nowhere.
    digest          BLOB    NOT NULL UNIQUE,
    created_at      INTEGER NOT NULL,
    revoked_at      INTEGER,
    -- Its own quotas, where they are not those of the settings.
    jobs_queued_max  INTEGER CHECK (jobs_queued_max >= 0),
    stored_bytes_max INTEGER CHECK (stored_bytes_max >= 0),
    sessions_max     INTEGER CHECK (sessions_max >= 0)
) STRICT;

-- Bytes of the blob under data_key. Not known of jobs that were stored before.
ALTER TABLE jobs ADD COLUMN data_bytes INTEGER NOT NULL DEFAULT 0;
-- Bytes of snapshot and log.
ALTER TABLE sessions ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET bytes =
    COALESCE((SELECT SUM(length(state)) FROM session_snapshots WHERE session = sessions.id), 0)
    + COALESCE((SELECT SUM(length(examples)) FROM session_log WHERE session = sessions.id), 0);

-- What each owner uses, and under the empty name all together: kept by the triggers below, so that
-- no statement can forget it. The stripe is always 0 here; see migrations/postgres.
CREATE TABLE usage (
    owner    TEXT    NOT NULL,
    stripe   INTEGER NOT NULL,
    queued   INTEGER NOT NULL,
    bytes    INTEGER NOT NULL,
    sessions INTEGER NOT NULL,
    PRIMARY KEY (owner, stripe)
) STRICT, WITHOUT ROWID;

-- To insert here is to count.
CREATE VIEW usage_changes AS SELECT owner, queued, bytes, sessions FROM usage;

CREATE TRIGGER usage_counted INSTEAD OF INSERT ON usage_changes BEGIN
    INSERT INTO usage (owner, stripe, queued, bytes, sessions)
    VALUES (NEW.owner, 0, NEW.queued, NEW.bytes, NEW.sessions),
        ('', 0, NEW.queued, NEW.bytes, NEW.sessions)
    ON CONFLICT (owner, stripe) DO UPDATE SET queued = queued + excluded.queued,
        bytes = bytes + excluded.bytes, sessions = sessions + excluded.sessions;
END;

-- A job counts while it has not ended: as waiting while it is queued, and with its data.
CREATE TRIGGER jobs_inserted AFTER INSERT ON jobs WHEN NEW.finished_at IS NULL BEGIN
    INSERT INTO usage_changes VALUES (NEW.owner, NEW.status = 'queued', NEW.data_bytes, 0);
END;
CREATE TRIGGER jobs_updated AFTER UPDATE OF status, owner, data_bytes ON jobs BEGIN
    INSERT INTO usage_changes
    SELECT OLD.owner, -(OLD.status = 'queued'), -OLD.data_bytes, 0 WHERE OLD.finished_at IS NULL;
    INSERT INTO usage_changes
    SELECT NEW.owner, NEW.status = 'queued', NEW.data_bytes, 0 WHERE NEW.finished_at IS NULL;
END;
CREATE TRIGGER jobs_deleted AFTER DELETE ON jobs WHEN OLD.finished_at IS NULL BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, -(OLD.status = 'queued'), -OLD.data_bytes, 0);
END;

CREATE TRIGGER datasets_inserted AFTER INSERT ON datasets BEGIN
    INSERT INTO usage_changes VALUES (NEW.owner, 0, NEW.bytes, 0);
END;
CREATE TRIGGER datasets_updated AFTER UPDATE OF owner, bytes ON datasets BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, 0, -OLD.bytes, 0), (NEW.owner, 0, NEW.bytes, 0);
END;
CREATE TRIGGER datasets_deleted AFTER DELETE ON datasets BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, 0, -OLD.bytes, 0);
END;

CREATE TRIGGER models_inserted AFTER INSERT ON models BEGIN
    INSERT INTO usage_changes VALUES (NEW.owner, 0, octet_length(NEW.document), 0);
END;
CREATE TRIGGER models_updated AFTER UPDATE OF owner, document ON models BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, 0, -octet_length(OLD.document), 0),
        (NEW.owner, 0, octet_length(NEW.document), 0);
END;
CREATE TRIGGER models_deleted AFTER DELETE ON models BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, 0, -octet_length(OLD.document), 0);
END;

CREATE TRIGGER sessions_inserted AFTER INSERT ON sessions BEGIN
    INSERT INTO usage_changes VALUES (NEW.owner, 0, NEW.bytes, 1);
END;
CREATE TRIGGER sessions_updated AFTER UPDATE OF owner, bytes ON sessions BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, 0, -OLD.bytes, -1), (NEW.owner, 0, NEW.bytes, 1);
END;
CREATE TRIGGER sessions_deleted AFTER DELETE ON sessions BEGIN
    INSERT INTO usage_changes VALUES (OLD.owner, 0, -OLD.bytes, -1);
END;

-- What is there already.
INSERT INTO usage_changes SELECT owner, SUM(queued), SUM(bytes), SUM(sessions) FROM (
    SELECT owner, status = 'queued' AS queued, 0 AS bytes, 0 AS sessions FROM jobs
        WHERE finished_at IS NULL
    UNION ALL SELECT owner, 0, bytes, 0 FROM datasets
    UNION ALL SELECT owner, 0, octet_length(document), 0 FROM models
    UNION ALL SELECT owner, 0, bytes, 1 FROM sessions
) GROUP BY owner;

-- Claims: only what can be claimed, the owners side by side, each in the order of their claims.
DROP INDEX jobs_to_claim;
CREATE INDEX jobs_to_claim ON jobs (owner, priority DESC, attempt, id)
    WHERE status IN ('queued', 'running');
