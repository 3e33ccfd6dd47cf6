-- What a bundle has of its families is summed up once for each snapshot: a trigger makes
-- every row a statement that may be undone in part, and what the page cache gives up of
-- the members before it is then copied first.
DROP TRIGGER family_bundle_insert;
