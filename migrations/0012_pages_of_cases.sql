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
