-- When a policy dropped the members of a snapshot. Its head, facts and objects stay.
ALTER TABLE snapshot ADD COLUMN thinned_at INTEGER;

-- When a policy dropped the uploaded bytes of a bundle.
ALTER TABLE bundle ADD COLUMN dropped_at INTEGER;

-- The files of such bundles: what bundle_file has of them, without a blob.
CREATE TABLE dropped_file (
    bundle_seq INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
    place      INTEGER NOT NULL,
    name       TEXT NOT NULL,
    sha256     TEXT NOT NULL,
    size       INTEGER NOT NULL,
    PRIMARY KEY (bundle_seq, place)
) STRICT, WITHOUT ROWID;
