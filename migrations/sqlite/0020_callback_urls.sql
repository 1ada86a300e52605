-- A short digest of the URL of a callback, by which a claim passes over URLs that have not answered lately. Callbacks
-- that an older program owes have none.
ALTER TABLE callbacks ADD COLUMN url_digest TEXT;

-- What is owed, in the order in which it is due; with the columns by which a claim passes over.
DROP INDEX callbacks_due;
CREATE INDEX callbacks_due ON callbacks (due_at, owner, host, url_digest, job) WHERE due_at IS NOT NULL;
