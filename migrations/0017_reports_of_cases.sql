-- All that is said of a case, from which its pages are made. It goes with everything that
-- may change what is said: the revision of the case is raised then.
CREATE TABLE case_report (
    case_seq  INTEGER PRIMARY KEY REFERENCES cases (seq) ON DELETE CASCADE,
    -- The versions of the program and of the catalogue that it was made with.
    made_with TEXT NOT NULL,
    -- Packed; its form is known to made_with alone.
    report    BLOB NOT NULL
) STRICT;

CREATE TRIGGER report_of_changed_case AFTER UPDATE OF revision ON cases BEGIN
    DELETE FROM case_report WHERE case_seq = new.seq;
END;

CREATE TRIGGER revision_of_new_edit AFTER INSERT ON edit BEGIN
    UPDATE cases SET revision = revision + 1 WHERE seq = new.case_seq;
END;
CREATE TRIGGER revision_of_edit AFTER UPDATE ON edit BEGIN
    UPDATE cases SET revision = revision + 1 WHERE seq = new.case_seq;
END;

CREATE TRIGGER revision_of_new_triage AFTER INSERT ON triage BEGIN
    UPDATE cases SET revision = revision + 1 WHERE seq = new.case_seq;
END;
CREATE TRIGGER revision_of_triage AFTER UPDATE ON triage BEGIN
    UPDATE cases SET revision = revision + 1 WHERE seq = new.case_seq;
END;
CREATE TRIGGER revision_of_gone_triage AFTER DELETE ON triage BEGIN
    UPDATE cases SET revision = revision + 1 WHERE seq = old.case_seq;
END;

-- Pages are made of the report when they are asked for.
DROP TRIGGER page_of_touched_case;
DROP TRIGGER pages_of_changed_benign;
DROP TRIGGER pages_of_gone_benign;
DROP TABLE case_page;
