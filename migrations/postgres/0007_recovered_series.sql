-- 1 where the cause of the ending went away within the series. Cases with one are summed up again.
ALTER TABLE series_ending ADD COLUMN recovered BIGINT NOT NULL DEFAULT 0;

UPDATE cases SET summarised = 0
WHERE seq IN (SELECT case_seq FROM ending WHERE recovered = 1);
