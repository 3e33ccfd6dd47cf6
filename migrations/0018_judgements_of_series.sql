-- What is said of each series of a case by itself, so that only those are judged again that
-- a change touched. A case with a single series has none.
CREATE TABLE series_judgement (
    case_seq  INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    -- A hash of all that it depends on: the snapshots as they were read, what people
    -- corrected and decided, the program and the catalogue.
    made_of   TEXT NOT NULL,
    -- Packed; its form is known to the program of made_of alone.
    judgement BLOB NOT NULL,
    PRIMARY KEY (case_seq, made_of)
) STRICT;

-- What was said of a bundle goes with it.
CREATE TRIGGER judgements_of_gone_bundle AFTER DELETE ON bundle BEGIN
    DELETE FROM series_judgement WHERE case_seq = old.case_seq;
END;
