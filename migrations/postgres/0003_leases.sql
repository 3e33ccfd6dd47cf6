-- Who reads a bundle, how far it is, and until when it is its own without another sign.
ALTER TABLE job ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN leased_until BIGINT;
ALTER TABLE job ADD COLUMN progress TEXT NOT NULL DEFAULT '';

-- Work that one server does at a time.
CREATE TABLE duty (
    name  TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    until BIGINT NOT NULL
);

-- The clock of all servers, in microseconds since 1970.
CREATE FUNCTION clock_micros() RETURNS BIGINT LANGUAGE SQL VOLATILE AS 'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)';
