-- 0 while the summary of a case is older than its results or edits: a crash between
-- the two is repaired at the next start.
ALTER TABLE cases ADD COLUMN summarised INTEGER NOT NULL DEFAULT 1;

CREATE INDEX cases_to_summarise ON cases (seq) WHERE summarised = 0;

-- What people say of a case: its ticket, whether it is put away, the snapshot that
-- others are compared with, the prefixes of their own modules. The last one to write
-- a field wins; what stood there before is kept beside it, so that both can be told.
CREATE TABLE case_field (
    case_seq  INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    field     TEXT NOT NULL,
    value     TEXT NOT NULL,
    replaced  TEXT NOT NULL,
    edited_at INTEGER NOT NULL,
    PRIMARY KEY (case_seq, field)
) STRICT, WITHOUT ROWID;

-- What people say of a family in a case.
CREATE TABLE triage (
    case_seq    INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    process     TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    state       TEXT NOT NULL,
    note        TEXT NOT NULL,
    -- What it turned out to be, once that is known.
    outcome     TEXT NOT NULL,
    edited_at   INTEGER NOT NULL,
    PRIMARY KEY (case_seq, process, fingerprint)
) STRICT, WITHOUT ROWID;

CREATE INDEX triage_by_fingerprint ON triage (fingerprint);

-- Families that are benign in a process, whichever case shows them: they outlive the
-- case in which somebody said so.
CREATE TABLE benign (
    process     TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    reason      TEXT NOT NULL,
    edited_at   INTEGER NOT NULL,
    PRIMARY KEY (process, fingerprint)
) STRICT, WITHOUT ROWID;

CREATE INDEX benign_by_fingerprint ON benign (fingerprint);
