-- The version of the catalogue of known leaks that a case was summed up with: what is
-- known decides who is accused.
ALTER TABLE cases ADD COLUMN knowledge TEXT NOT NULL DEFAULT '';
