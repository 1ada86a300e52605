-- The host of a callback, by which deliveries are shared out: a host that does not answer may not keep
-- all others waiting. Callbacks that an older program owes have none.

ALTER TABLE callbacks ADD COLUMN host TEXT;

-- What is owed, in the order in which it is due; with the columns by which a claim passes over.
DROP INDEX callbacks_due;
CREATE INDEX callbacks_due ON callbacks (due_at, owner, host, job) WHERE due_at IS NOT NULL;
