-- As what people want a file of a bundle to be read, by its path: the kind that was
-- recognised does not count then. It holds for every reading from the next on.
CREATE TABLE bundle_kind (
    bundle_seq INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
    path       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    PRIMARY KEY (bundle_seq, path)
) STRICT, WITHOUT ROWID;
