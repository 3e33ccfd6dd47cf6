-- The page of a case as it was last made, in one of its forms: making it reads and
-- judges every snapshot.
CREATE TABLE case_page (
    case_seq  INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    -- html or json.
    form      TEXT NOT NULL,
    -- A hash of all that the page was made of.
    state     TEXT NOT NULL,
    -- The families, as a JSON list, of which it says what other cases know.
    recalls   TEXT NOT NULL,
    -- 1 where it may hold words of other cases: it goes when something of any is deleted.
    elsewhere INTEGER NOT NULL,
    -- What encloses the places in the page where something else belongs when it is shown:
    -- its address, and what other cases know then.
    slot      TEXT NOT NULL,
    page      BLOB NOT NULL,
    PRIMARY KEY (case_seq, form)
) STRICT;

CREATE INDEX case_page_elsewhere ON case_page (case_seq) WHERE elsewhere;

-- The revision of a case counts what happened to its bundles: without it a case would be
-- in the same state again when a bundle came and went, and what was made of it meanwhile
-- would be taken for a page of that state.
ALTER TABLE cases ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER revision_of_new_bundle AFTER INSERT ON bundle BEGIN
    UPDATE cases SET revision = revision + 1 WHERE seq = new.case_seq;
END;
CREATE TRIGGER revision_of_bundle AFTER UPDATE OF status, generation, engine, case_seq ON bundle BEGIN
    UPDATE cases SET revision = revision + 1 WHERE seq IN (old.case_seq, new.case_seq);
END;
CREATE TRIGGER revision_of_gone_bundle AFTER DELETE ON bundle BEGIN
    UPDATE cases SET revision = revision + 1 WHERE seq = old.case_seq;
END;

-- What a person took back is not kept in a page either.
CREATE TRIGGER page_of_touched_case AFTER UPDATE OF updated_at ON cases BEGIN
    DELETE FROM case_page WHERE case_seq = new.seq;
    DELETE FROM case_page WHERE elsewhere;
END;
CREATE TRIGGER pages_of_changed_benign AFTER UPDATE ON benign BEGIN
    DELETE FROM case_page;
END;
CREATE TRIGGER pages_of_gone_benign AFTER DELETE ON benign BEGIN
    DELETE FROM case_page;
END;
