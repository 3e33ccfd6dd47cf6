-- What people said about a case's snapshots (package identity). Rows are added and
-- marked as undone, never changed otherwise.
CREATE TABLE edit (
    seq       INTEGER PRIMARY KEY,
    case_seq  INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    -- Counts from 1 in each case.
    number    INTEGER NOT NULL,
    made_at   INTEGER NOT NULL,
    made_by   TEXT NOT NULL,
    kind      TEXT NOT NULL,
    target    TEXT NOT NULL,
    value     TEXT NOT NULL,
    note      TEXT NOT NULL,
    undone_at INTEGER,
    UNIQUE (case_seq, number)
) STRICT;
