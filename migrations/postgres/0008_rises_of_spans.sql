-- How much the report of the case says that the family rose, over all processes of the series:
-- a restart hides it from the counts of the first and the last sight. 0 where it did not rise,
-- or no more. Cases with an ending are summed up again.
ALTER TABLE family_span ADD COLUMN rise BIGINT NOT NULL DEFAULT 0;

CREATE INDEX family_span_risen ON family_span (series_seq) WHERE rise <> 0;

UPDATE cases SET summarised = 0
WHERE seq IN (SELECT case_seq FROM ending);
