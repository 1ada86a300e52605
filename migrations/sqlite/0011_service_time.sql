-- Service time and clock readings, by which the sweeps measure ages: see src/jobs/service_clock.rs.

CREATE TABLE service_time (
    -- There is one row.
    one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    -- Milliseconds for which at least one process ran.
    observed INTEGER NOT NULL CHECK (observed >= 0)
) STRICT;

CREATE TABLE clock_readings (
    -- Hours of service time.
    hour     INTEGER NOT NULL PRIMARY KEY CHECK (hour >= 0),
    -- The earliest reading of any process's clock in this hour: milliseconds since 1970.
    earliest INTEGER NOT NULL
) STRICT;
