-- How a family ended in a case, written with the case's summary; families that are
-- stable or of which too little is known have no row.
CREATE TABLE ending (
    case_seq    INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    fingerprint TEXT NOT NULL,
    process     TEXT NOT NULL,
    verdict     TEXT NOT NULL,
    -- 1 where its cause went away within the series.
    recovered   INTEGER NOT NULL,
    PRIMARY KEY (case_seq, fingerprint, process)
) STRICT, WITHOUT ROWID;

CREATE INDEX ending_by_fingerprint ON ending (fingerprint);

-- The mark that stood there before, in words: the last one to write wins.
ALTER TABLE triage ADD COLUMN replaced TEXT NOT NULL DEFAULT '';

-- Cases of before are summed up again at the next start.
UPDATE cases SET summarised = 0;
