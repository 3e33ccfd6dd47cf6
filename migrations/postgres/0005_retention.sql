-- When a policy dropped the members of a snapshot. Its head, facts and objects stay.
ALTER TABLE snapshot ADD COLUMN thinned_at BIGINT;

-- When a policy dropped the uploaded bytes of a bundle.
ALTER TABLE bundle ADD COLUMN dropped_at BIGINT;

-- The files of such bundles: what bundle_file has of them, without a blob.
CREATE TABLE dropped_file (
    bundle_seq BIGINT NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
    place      BIGINT NOT NULL,
    name       TEXT NOT NULL,
    sha256     TEXT NOT NULL,
    size       BIGINT NOT NULL,
    PRIMARY KEY (bundle_seq, place)
);
