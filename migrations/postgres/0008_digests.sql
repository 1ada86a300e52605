-- Digests of rows. As in migrations/sqlite.

ALTER TABLE jobs ADD COLUMN digest BYTEA;
ALTER TABLE jobs ADD COLUMN end_digest BYTEA;
ALTER TABLE traces ADD COLUMN digest BYTEA;

CREATE TABLE model_digests (
    model           TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES models (id) ON DELETE CASCADE,
    digest          BYTEA NOT NULL,
    document_digest BYTEA NOT NULL
);
CREATE TABLE dataset_digests (
    dataset      TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES datasets (id) ON DELETE CASCADE,
    digest       BYTEA NOT NULL,
    names_digest BYTEA NOT NULL
);

INSERT INTO model_digests SELECT id, '', '' FROM models;
INSERT INTO dataset_digests SELECT id, '', '' FROM datasets;
CREATE FUNCTION add_model_digests() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO model_digests VALUES (NEW.id, '', '');
    RETURN NULL;
END $$;
CREATE TRIGGER models_digested AFTER INSERT ON models FOR EACH ROW
    EXECUTE FUNCTION add_model_digests();
CREATE FUNCTION add_dataset_digests() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO dataset_digests VALUES (NEW.id, '', '');
    RETURN NULL;
END $$;
CREATE TRIGGER datasets_digested AFTER INSERT ON datasets FOR EACH ROW
    EXECUTE FUNCTION add_dataset_digests();

ALTER TABLE sessions ADD COLUMN digest BYTEA;
ALTER TABLE sessions ADD COLUMN position_digest BYTEA;
ALTER TABLE session_snapshots ADD COLUMN digest BYTEA;
ALTER TABLE session_log ADD COLUMN digest BYTEA;

ALTER TABLE checkpoints ADD COLUMN program TEXT;

-- A process of an older program, still running, does not update digests. They are cleared instead.
CREATE FUNCTION forget_position_digest() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    NEW.position_digest := NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER sessions_moved BEFORE UPDATE OF position ON sessions FOR EACH ROW
    WHEN (NEW.position <> OLD.position
        AND NEW.position_digest IS NOT DISTINCT FROM OLD.position_digest)
    EXECUTE FUNCTION forget_position_digest();

CREATE FUNCTION forget_digest() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    NEW.digest := NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER session_snapshots_replaced BEFORE UPDATE OF state ON session_snapshots FOR EACH ROW
    WHEN (NEW.position <> OLD.position AND NEW.digest IS NOT DISTINCT FROM OLD.digest)
    EXECUTE FUNCTION forget_digest();
