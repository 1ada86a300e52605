-- Service time and clock readings. As in migrations/sqlite.

CREATE TABLE service_time (
    -- There is one row.
    one      BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    -- Milliseconds for which at least one process ran.
    observed BIGINT NOT NULL CHECK (observed >= 0)
);

CREATE TABLE clock_readings (
    -- Hours of service time.
    hour     BIGINT NOT NULL PRIMARY KEY CHECK (hour >= 0),
    -- The earliest reading of any process's clock in this hour: milliseconds since 1970.
    earliest BIGINT NOT NULL
);
