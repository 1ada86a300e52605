-- Digests of rows: see src/storage/sql/digests.rs. The statement that writes a row stores its digest.
-- Existing rows get none: nobody can tell whether they are intact.

-- Of the request, and of the end.
ALTER TABLE jobs ADD COLUMN digest BLOB;
ALTER TABLE jobs ADD COLUMN end_digest BLOB;
ALTER TABLE traces ADD COLUMN digest BLOB;

-- In separate tables, since lists would otherwise have to read past documents of megabytes. Every
-- model and every dataset has a row there, so that a missing row reveals damage of an id. The digests
-- of rows that an older program wrote are empty.
CREATE TABLE model_digests (
    model           TEXT NOT NULL PRIMARY KEY REFERENCES models (id) ON DELETE CASCADE,
    digest          BLOB NOT NULL,
    document_digest BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE dataset_digests (
    dataset      TEXT NOT NULL PRIMARY KEY REFERENCES datasets (id) ON DELETE CASCADE,
    digest       BLOB NOT NULL,
    names_digest BLOB NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO model_digests SELECT id, x'', x'' FROM models;
INSERT INTO dataset_digests SELECT id, x'', x'' FROM datasets;
CREATE TRIGGER models_digested AFTER INSERT ON models BEGIN
    INSERT INTO model_digests VALUES (NEW.id, x'', x'');
END;
CREATE TRIGGER datasets_digested AFTER INSERT ON datasets BEGIN
    INSERT INTO dataset_digests VALUES (NEW.id, x'', x'');
END;

-- Of the request, and of the position.
ALTER TABLE sessions ADD COLUMN digest BLOB;
ALTER TABLE sessions ADD COLUMN position_digest BLOB;
ALTER TABLE session_snapshots ADD COLUMN digest BLOB;
ALTER TABLE session_log ADD COLUMN digest BLOB;

-- The version of the program that wrote it. Only this version can check it.
ALTER TABLE checkpoints ADD COLUMN program TEXT;

-- A process of an older program, still running, does not update digests. They are cleared instead.
CREATE TRIGGER sessions_moved AFTER UPDATE OF position ON sessions
WHEN NEW.position <> OLD.position AND NEW.position_digest IS OLD.position_digest BEGIN
    UPDATE sessions SET position_digest = NULL WHERE id = NEW.id;
END;
CREATE TRIGGER session_snapshots_replaced AFTER UPDATE OF state ON session_snapshots
WHEN NEW.position <> OLD.position AND NEW.digest IS OLD.digest BEGIN
    UPDATE session_snapshots SET digest = NULL WHERE session = NEW.session;
END;
