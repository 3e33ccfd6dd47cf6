-- The process and the host that a case is about: the list of cases shows them.
ALTER TABLE cases ADD COLUMN process TEXT NOT NULL DEFAULT '';
ALTER TABLE cases ADD COLUMN host TEXT NOT NULL DEFAULT '';

-- Cases of before are summed up again at the next start.
UPDATE cases SET summarised = 0;
