-- A transaction that counts for several owners, such as the release of a dead process's jobs, holds several rows of
-- its stripe. Every transaction therefore first locks the row with the empty owner, which counts all owners. Two
-- transactions of one stripe then follow each other and cannot wait for each other.
CREATE OR REPLACE FUNCTION count_usage(of_owner TEXT, queued BIGINT, bytes BIGINT, sessions BIGINT)
RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF queued = 0 AND bytes = 0 AND sessions = 0 THEN
        RETURN;
    END IF;
    INSERT INTO usage AS u VALUES ('', pg_backend_pid() % 16, queued, bytes, sessions)
    ON CONFLICT (owner, stripe) DO UPDATE SET queued = u.queued + excluded.queued,
        bytes = u.bytes + excluded.bytes, sessions = u.sessions + excluded.sessions;
    INSERT INTO usage AS u VALUES
        (of_owner, pg_backend_pid() % 16, queued, bytes, sessions)
    ON CONFLICT (owner, stripe) DO UPDATE SET queued = u.queued + excluded.queued,
        bytes = u.bytes + excluded.bytes, sessions = u.sessions + excluded.sessions;
END $$;
