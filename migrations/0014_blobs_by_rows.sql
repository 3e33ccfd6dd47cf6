-- The bytes that files refer to, by hash. Bytes are only ever deleted because a row says
-- so: the foreign key keeps those that a file refers to, and bytes without a row are kept.
CREATE TABLE blob (
    sha256    TEXT PRIMARY KEY,
    -- In bytes as uploaded.
    size      INTEGER NOT NULL,
    -- 1 from when the last file that referred to it was deleted until its bytes are.
    forgotten INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX blob_to_forget ON blob (sha256) WHERE forgotten;

INSERT INTO blob (sha256, size)
SELECT sha256, max(size) FROM bundle_file GROUP BY sha256;

CREATE TABLE referring_file (
    bundle_seq INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
    place      INTEGER NOT NULL,
    name       TEXT NOT NULL,
    sha256     TEXT NOT NULL REFERENCES blob (sha256),
    size       INTEGER NOT NULL,
    PRIMARY KEY (bundle_seq, place)
) STRICT, WITHOUT ROWID;
INSERT INTO referring_file SELECT bundle_seq, place, name, sha256, size FROM bundle_file;
DROP TABLE bundle_file;
ALTER TABLE referring_file RENAME TO bundle_file;
CREATE INDEX bundle_file_by_hash ON bundle_file (sha256);

-- What becomes of its permalinks ("withdraw" or "keep") where deleting a case was begun
-- and has not ended: its bytes go first on a full volume.
ALTER TABLE cases ADD COLUMN deleting TEXT NOT NULL DEFAULT '';
CREATE INDEX cases_to_delete ON cases (seq) WHERE deleting <> '';
