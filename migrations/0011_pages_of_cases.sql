-- The page of a case as it was last made: making it reads and judges every snapshot.
CREATE TABLE case_page (
    case_seq  INTEGER PRIMARY KEY REFERENCES cases (seq) ON DELETE CASCADE,
    -- A hash of all that the page was made of.
    state     TEXT NOT NULL,
    -- The families, as a JSON list, of which it says what other cases know, and a hash
    -- of what they knew.
    recalls   TEXT NOT NULL,
    memory    TEXT NOT NULL,
    -- 1 where it may hold words of other cases: it goes when something of any is deleted.
    elsewhere INTEGER NOT NULL,
    -- What stands in the page where its address belongs.
    slot      TEXT NOT NULL,
    page      BLOB NOT NULL
) STRICT;
