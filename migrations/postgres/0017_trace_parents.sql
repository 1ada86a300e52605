-- The request that created the job, in its distributed trace: the W3C header traceparent.
ALTER TABLE jobs ADD COLUMN trace_parent TEXT;
