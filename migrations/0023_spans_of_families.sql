-- The first and the last sight of a family in each series, from which the fleet is ranked: it
-- must not read every day of family_seen. Rows are found by fingerprint, because a family has
-- another number in captures with other attributes. Snapshots without a time count in none.
CREATE TABLE family_span (
    fingerprint TEXT NOT NULL,
    host        TEXT NOT NULL,
    series_seq  INTEGER NOT NULL REFERENCES series (seq) ON DELETE CASCADE,
    case_seq    INTEGER NOT NULL,
    -- The family of the last sight.
    family_seq  INTEGER NOT NULL,
    first       INTEGER NOT NULL,
    last        INTEGER NOT NULL,
    -- The counts then, NULL where the sums of before do not tell them.
    first_count INTEGER,
    last_count  INTEGER,
    -- The version of the program at the last sight, empty where it is not known.
    version     TEXT NOT NULL,
    PRIMARY KEY (fingerprint, host, series_seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX family_span_by_series ON family_span (series_seq);

-- A day with one count had it at its beginning and at its end.
INSERT INTO family_span
SELECT f.fingerprint, r.host, r.seq, r.case_seq, max(fs.family_seq), min(fs.first), max(fs.last),
       CASE WHEN min(fs.low) = max(fs.high) THEN max(fs.high) END,
       CASE WHEN min(fs.low) = max(fs.high) THEN max(fs.high) END, ''
FROM family_seen fs
CROSS JOIN family f ON f.seq = fs.family_seq
CROSS JOIN series r ON r.seq = fs.series_seq
WHERE fs.first IS NOT NULL
GROUP BY f.fingerprint, r.host, r.seq, r.case_seq;
