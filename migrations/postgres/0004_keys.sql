-- API keys, what their owners use of the quotas, and a queue that is fair among owners. As in
-- migrations/sqlite, except the stripes.

CREATE TABLE api_keys (
    id              TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name            TEXT   NOT NULL,
    -- SHA-256 of the secret, which is stored nowhere.
    digest          BYTEA  NOT NULL UNIQUE,
    created_at      BIGINT NOT NULL,
    revoked_at      BIGINT,
    -- Its own quotas, where they are not those of the settings.
    jobs_queued_max  BIGINT CHECK (jobs_queued_max >= 0),
    stored_bytes_max BIGINT CHECK (stored_bytes_max >= 0),
    sessions_max     BIGINT CHECK (sessions_max >= 0)
);

-- Bytes of the blob under data_key. Not known of jobs that were stored before.
ALTER TABLE jobs ADD COLUMN data_bytes BIGINT NOT NULL DEFAULT 0;
-- Bytes of snapshot and log.
ALTER TABLE sessions ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
UPDATE sessions SET bytes =
    COALESCE((SELECT SUM(length(state)) FROM session_snapshots WHERE session = sessions.id), 0)
    + COALESCE((SELECT SUM(length(examples)) FROM session_log WHERE session = sessions.id), 0);

-- What each owner uses, and under the empty name all together: kept by the triggers below, so that
-- no statement can forget it. A row that is counted in is locked until its transaction has ended,
-- which takes as long as a disk; so each connection counts in one of sixteen, and the sum is what
-- is used. One alone may be negative.
CREATE TABLE usage (
    owner    TEXT COLLATE "C" NOT NULL,
    stripe   BIGINT NOT NULL,
    queued   BIGINT NOT NULL,
    bytes    BIGINT NOT NULL,
    sessions BIGINT NOT NULL,
    PRIMARY KEY (owner, stripe)
) WITH (
    -- Rows are few, and written all the time.
    fillfactor = 10,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_cost_delay = 0
);

-- Counts, for an owner and for all, in this order: so who counts for one owner never waits for
-- somebody who waits for him.
CREATE FUNCTION count_usage(of_owner TEXT, queued BIGINT, bytes BIGINT, sessions BIGINT)
RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF queued = 0 AND bytes = 0 AND sessions = 0 THEN
        RETURN;
    END IF;
    INSERT INTO usage AS u VALUES
        (of_owner, pg_backend_pid() % 16, queued, bytes, sessions)
    ON CONFLICT (owner, stripe) DO UPDATE SET queued = u.queued + excluded.queued,
        bytes = u.bytes + excluded.bytes, sessions = u.sessions + excluded.sessions;
    INSERT INTO usage AS u VALUES ('', pg_backend_pid() % 16, queued, bytes, sessions)
    ON CONFLICT (owner, stripe) DO UPDATE SET queued = u.queued + excluded.queued,
        bytes = u.bytes + excluded.bytes, sessions = u.sessions + excluded.sessions;
END $$;

-- What a row came to before and comes to now.
CREATE FUNCTION recount(
    old_owner TEXT, old_queued BIGINT, old_bytes BIGINT, old_sessions BIGINT,
    new_owner TEXT, new_queued BIGINT, new_bytes BIGINT, new_sessions BIGINT
) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF old_owner = new_owner THEN
        PERFORM count_usage(new_owner, new_queued - old_queued, new_bytes - old_bytes,
            new_sessions - old_sessions);
    ELSE
        PERFORM count_usage(old_owner, -old_queued, -old_bytes, -old_sessions);
        PERFORM count_usage(new_owner, new_queued, new_bytes, new_sessions);
    END IF;
END $$;

-- A job counts while it has not ended: as waiting while it is queued, and with its data. Many may be
-- stored by one statement, which counts once: a row that one transaction writes many times grows slow.
CREATE FUNCTION waits(status TEXT) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS
    $$ SELECT (status = 'queued')::int::bigint $$;
CREATE FUNCTION data_held(finished_at BIGINT, data_bytes BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE
    AS $$ SELECT CASE WHEN finished_at IS NULL THEN data_bytes ELSE 0 END $$;

CREATE FUNCTION count_new_jobs() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_usage(owner, queued, bytes, 0) FROM (
        SELECT owner, SUM(waits(status))::bigint AS queued,
            SUM(data_held(finished_at, data_bytes))::bigint AS bytes
        FROM added GROUP BY owner ORDER BY owner) AS sums;
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_inserted AFTER INSERT ON jobs
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_new_jobs();

CREATE FUNCTION recount_job() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM count_usage(OLD.owner, -waits(OLD.status),
            -data_held(OLD.finished_at, OLD.data_bytes), 0);
    ELSE
        PERFORM recount(
            OLD.owner, waits(OLD.status), data_held(OLD.finished_at, OLD.data_bytes), 0,
            NEW.owner, waits(NEW.status), data_held(NEW.finished_at, NEW.data_bytes), 0);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_counted AFTER DELETE OR UPDATE OF status, owner, data_bytes ON jobs
    FOR EACH ROW EXECUTE FUNCTION recount_job();

CREATE FUNCTION count_datasets() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    CASE TG_OP
        WHEN 'INSERT' THEN PERFORM count_usage(NEW.owner, 0, NEW.bytes, 0);
        WHEN 'DELETE' THEN PERFORM count_usage(OLD.owner, 0, -OLD.bytes, 0);
        ELSE PERFORM recount(OLD.owner, 0, OLD.bytes, 0, NEW.owner, 0, NEW.bytes, 0);
    END CASE;
    RETURN NULL;
END $$;
CREATE TRIGGER datasets_counted AFTER INSERT OR DELETE OR UPDATE OF owner, bytes ON datasets
    FOR EACH ROW EXECUTE FUNCTION count_datasets();

CREATE FUNCTION count_models() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    CASE TG_OP
        WHEN 'INSERT' THEN PERFORM count_usage(NEW.owner, 0, octet_length(NEW.document), 0);
        WHEN 'DELETE' THEN PERFORM count_usage(OLD.owner, 0, -octet_length(OLD.document), 0);
        ELSE PERFORM recount(OLD.owner, 0, octet_length(OLD.document), 0,
            NEW.owner, 0, octet_length(NEW.document), 0);
    END CASE;
    RETURN NULL;
END $$;
CREATE TRIGGER models_counted AFTER INSERT OR DELETE OR UPDATE OF owner, document ON models
    FOR EACH ROW EXECUTE FUNCTION count_models();

CREATE FUNCTION count_sessions() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    CASE TG_OP
        WHEN 'INSERT' THEN PERFORM count_usage(NEW.owner, 0, NEW.bytes, 1);
        WHEN 'DELETE' THEN PERFORM count_usage(OLD.owner, 0, -OLD.bytes, -1);
        ELSE PERFORM recount(OLD.owner, 0, OLD.bytes, 1, NEW.owner, 0, NEW.bytes, 1);
    END CASE;
    RETURN NULL;
END $$;
CREATE TRIGGER sessions_counted AFTER INSERT OR DELETE OR UPDATE OF owner, bytes ON sessions
    FOR EACH ROW EXECUTE FUNCTION count_sessions();

-- What is there already.
SELECT count_usage(owner, SUM(queued)::bigint, SUM(bytes)::bigint, SUM(sessions)::bigint) FROM (
    SELECT owner, (status = 'queued')::int AS queued, 0::bigint AS bytes, 0 AS sessions FROM jobs
        WHERE finished_at IS NULL
    UNION ALL SELECT owner, 0, bytes, 0 FROM datasets
    UNION ALL SELECT owner, 0, octet_length(document), 0 FROM models
    UNION ALL SELECT owner, 0, bytes, 1 FROM sessions
) AS things GROUP BY owner;

-- Claims: only what can be claimed, the owners side by side, each in the order of their claims.
DROP INDEX jobs_to_claim;
CREATE INDEX jobs_to_claim ON jobs (owner, priority DESC, attempt, id)
    WHERE status IN ('queued', 'running');
