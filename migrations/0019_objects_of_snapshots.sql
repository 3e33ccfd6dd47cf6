-- The objects that the goroutine dump of a snapshot proves: which goroutines belong together
-- (store/objects.go). A snapshot without a dump that shows addresses has none.
CREATE TABLE snapshot_objects (
    snapshot_seq INTEGER PRIMARY KEY REFERENCES snapshot (seq) ON DELETE CASCADE,
    objects      BLOB NOT NULL
) STRICT;
