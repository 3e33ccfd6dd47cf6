-- Which figures of spark are lower bounds, and how many families grow and were called
-- benign where no other grows: the list of cases shows both.
ALTER TABLE cases ADD COLUMN lower TEXT NOT NULL DEFAULT '[]';
ALTER TABLE cases ADD COLUMN aside INTEGER NOT NULL DEFAULT 0;

-- Cases of before are summed up again at the next start.
UPDATE cases SET summarised = 0;
