-- What a search says of a family, summed up for each bundle: a search over ten
-- thousand snapshots must not read a million rows.
CREATE TABLE family_bundle (
    family_seq INTEGER NOT NULL REFERENCES family (seq) ON DELETE CASCADE,
    bundle_seq INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
    generation INTEGER NOT NULL,
    snapshots  INTEGER NOT NULL,
    highest    INTEGER NOT NULL,
    -- NULL where no snapshot has a time.
    last_seen  INTEGER,
    PRIMARY KEY (family_seq, bundle_seq, generation)
) STRICT, WITHOUT ROWID;

CREATE INDEX family_bundle_by_bundle ON family_bundle (bundle_seq, generation);

INSERT INTO family_bundle
SELECT sf.family_seq, s.bundle_seq, s.generation, count(*), max(sf.count), max(s.captured_at)
FROM snapshot_family sf
JOIN snapshot s ON s.seq = sf.snapshot_seq
GROUP BY sf.family_seq, s.bundle_seq, s.generation;

CREATE TRIGGER family_bundle_insert AFTER INSERT ON snapshot_family BEGIN
    INSERT INTO family_bundle
    SELECT new.family_seq, s.bundle_seq, s.generation, 1, new.count, s.captured_at
    FROM snapshot s
    WHERE s.seq = new.snapshot_seq
    ON CONFLICT (family_seq, bundle_seq, generation) DO UPDATE SET
        snapshots = snapshots + 1,
        highest = max(highest, excluded.highest),
        last_seen = coalesce(max(last_seen, excluded.last_seen), last_seen, excluded.last_seen);
END;

-- The snapshots of a generation go together.
CREATE TRIGGER family_bundle_delete AFTER DELETE ON snapshot BEGIN
    DELETE FROM family_bundle
    WHERE bundle_seq = old.bundle_seq AND generation = old.generation;
END;
