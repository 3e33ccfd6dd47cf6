-- How a family ended in a series as it was read: a case may have a process on several hosts.
CREATE TABLE series_ending (
    fingerprint TEXT NOT NULL,
    series_seq  INTEGER NOT NULL REFERENCES series (seq) ON DELETE CASCADE,
    verdict     TEXT NOT NULL,
    PRIMARY KEY (fingerprint, series_seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX series_ending_by_series ON series_ending (series_seq);
DROP INDEX ending_leaking;
CREATE INDEX series_ending_leaking ON series_ending (fingerprint, series_seq) WHERE verdict = 'leaking';

-- Of a process on one host the endings are known, cases with others are summed up again.
INSERT INTO series_ending
SELECT e.fingerprint, r.seq, e.verdict
FROM ending e
JOIN series r ON r.case_seq = e.case_seq AND r.process = e.process
WHERE NOT EXISTS (SELECT 1 FROM series x WHERE x.case_seq = r.case_seq AND x.process = r.process AND x.seq <> r.seq);

UPDATE cases SET summarised = 0
WHERE seq IN (SELECT case_seq FROM series GROUP BY case_seq, process HAVING count(*) > 1);
