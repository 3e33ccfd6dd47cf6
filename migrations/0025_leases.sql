-- Who reads a bundle, how far it is, and until when it is its own without another sign. A
-- file has no such end: one process owns it.
ALTER TABLE job ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN leased_until INTEGER;
ALTER TABLE job ADD COLUMN progress TEXT NOT NULL DEFAULT '';

-- Work that one server does at a time.
CREATE TABLE duty (
    name  TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT;
