-- What a snapshot shows of its families is one packed value, and its members are another,
-- so that the first is read without touching the pages that hold the second (store/facts.go,
-- store/memberset.go). What older rows hold is packed before the next step takes them.
ALTER TABLE snapshot ADD COLUMN facts BLOB NOT NULL DEFAULT x'';

CREATE TABLE snapshot_members (
    snapshot_seq INTEGER PRIMARY KEY REFERENCES snapshot (seq) ON DELETE CASCADE,
    members      BLOB NOT NULL
) STRICT;
