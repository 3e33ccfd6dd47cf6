-- What a snapshot shows of its families is one packed value, and its members are another,
-- so that the first is read without touching the pages that hold the second (store/facts.go,
-- store/memberset.go). What older rows hold is packed before the next step takes them.
ALTER TABLE snapshot ADD COLUMN facts BLOB NOT NULL DEFAULT x'';

CREATE TABLE snapshot_members (
    snapshot_seq INTEGER PRIMARY KEY REFERENCES snapshot (seq) ON DELETE CASCADE,
    members      BLOB NOT NULL
) STRICT;

-- The snapshots of a process in a case, by the names that were captured. There may be none
-- that is visible yet.
CREATE TABLE series (
    seq      INTEGER PRIMARY KEY,
    case_seq INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    process  TEXT NOT NULL,
    host     TEXT NOT NULL,
    UNIQUE (case_seq, process, host)
) STRICT;

CREATE INDEX series_by_name ON series (process, host);

ALTER TABLE snapshot ADD COLUMN series_seq INTEGER REFERENCES series (seq);
CREATE INDEX snapshot_by_series ON snapshot (series_seq, captured_at, bundle_seq, generation, id);

-- What the visible snapshots of a series show of a family, summed up for each day: search,
-- the page of a family and deletion must not read every snapshot. A snapshot counts once for
-- each bundle that holds it.
CREATE TABLE family_seen (
    family_seq INTEGER NOT NULL REFERENCES family (seq),
    series_seq INTEGER NOT NULL REFERENCES series (seq) ON DELETE CASCADE,
    -- Days since 1970, UTC; -2147483648 for snapshots without a time.
    day        INTEGER NOT NULL,
    case_seq   INTEGER NOT NULL,
    snapshots  INTEGER NOT NULL,
    -- NULL without a time.
    first      INTEGER,
    last       INTEGER,
    -- The smallest and the largest count.
    low        INTEGER NOT NULL,
    high       INTEGER NOT NULL,
    PRIMARY KEY (family_seq, series_seq, day)
) STRICT, WITHOUT ROWID;

CREATE INDEX family_seen_by_series ON family_seen (series_seq, day);

-- Words that may be in no use any more: the reaper looks at them and forgets those that
-- are not (store/reap.go). A family is noted when it is new and when its last row of
-- family_seen goes; frames and functions when a family that had them goes.
CREATE TABLE family_to_forget (family_seq INTEGER PRIMARY KEY) STRICT;
CREATE TABLE frame_to_forget (frame_seq INTEGER PRIMARY KEY) STRICT;
CREATE TABLE function_to_forget (function_seq INTEGER PRIMARY KEY) STRICT;

CREATE TRIGGER family_lost AFTER DELETE ON family_seen
WHEN NOT EXISTS (SELECT 1 FROM family_seen WHERE family_seq = old.family_seq) BEGIN
    INSERT OR IGNORE INTO family_to_forget (family_seq) VALUES (old.family_seq);
END;
