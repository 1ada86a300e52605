-- Workers of release 0.1.0 leave jobs of later schemas alone. As in migrations/sqlite.

-- The number of the last claim whose worker knew the schema. Release 0.1.0 leaves this column alone.
ALTER TABLE jobs ADD COLUMN known_claims BIGINT NOT NULL DEFAULT 0;

CREATE FUNCTION skip_unknown_claim() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    -- The claim finds no job.
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_claimed_unknown BEFORE UPDATE OF claims ON jobs FOR EACH ROW
    WHEN (NEW.spec_schema > 1 AND NEW.claims <> OLD.claims AND NEW.known_claims <> NEW.claims)
    EXECUTE FUNCTION skip_unknown_claim();
