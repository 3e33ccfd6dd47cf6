-- Rows carry a sequence number "seq" that never leaves the database, and, where
-- people meet them, an "id" that cannot be guessed or is derived from content.
-- Times are microseconds since 1970, UTC. Blobs named "packed" begin with a byte
-- that says whether the rest is zstd.

CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- What a ticket is about. The figures from headline to spark are cached for the
-- list of cases.
CREATE TABLE cases (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    title      TEXT NOT NULL,
    sample     TEXT NOT NULL,
    owner_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    headline   TEXT NOT NULL DEFAULT '',
    verdict    TEXT NOT NULL DEFAULT '',
    lowest     INTEGER NOT NULL DEFAULT 0,
    highest    INTEGER NOT NULL DEFAULT 0,
    spark      TEXT NOT NULL DEFAULT '[]'
) STRICT;

CREATE INDEX cases_by_age ON cases (created_at, seq);

-- One upload. Its results are the rows of the generation named here; rows of any
-- other generation are being written or left over from a crash, and nobody reads
-- them.
CREATE TABLE bundle (
    seq            INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    case_seq       INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    status         TEXT NOT NULL,
    size           INTEGER NOT NULL,
    -- SHA-256 over the sorted hashes of the files.
    content_hash   BLOB NOT NULL,
    fault          TEXT NOT NULL DEFAULT '',
    generation     INTEGER NOT NULL DEFAULT 0,
    engine         INTEGER NOT NULL DEFAULT 0,
    unpacked       INTEGER NOT NULL DEFAULT 0,
    snapshot_count INTEGER NOT NULL DEFAULT 0,
    problem_count  INTEGER NOT NULL DEFAULT 0,
    -- Packed JSON lists; empty before the first result.
    artifacts      BLOB NOT NULL DEFAULT x'',
    problems       BLOB NOT NULL DEFAULT x''
) STRICT;

CREATE INDEX bundle_by_case ON bundle (case_seq, content_hash);

CREATE TABLE bundle_file (
    bundle_seq INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
    place      INTEGER NOT NULL,
    name       TEXT NOT NULL,
    sha256     TEXT NOT NULL,
    size       INTEGER NOT NULL,
    PRIMARY KEY (bundle_seq, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX bundle_file_by_hash ON bundle_file (sha256);

CREATE TABLE job (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    bundle_seq INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
    kind       TEXT NOT NULL,
    status     TEXT NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0,
    -- The generation that the job's rows get.
    generation INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX job_by_bundle ON job (bundle_seq);
CREATE INDEX job_by_status ON job (status, seq);

CREATE TABLE snapshot (
    seq         INTEGER PRIMARY KEY,
    bundle_seq  INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
    generation  INTEGER NOT NULL,
    id          TEXT NOT NULL,
    place       INTEGER NOT NULL,
    host        TEXT NOT NULL,
    process     TEXT NOT NULL,
    label       TEXT NOT NULL,
    captured_at INTEGER,
    -- Packed JSON of everything but the groups.
    head        BLOB NOT NULL,
    UNIQUE (bundle_seq, generation, id)
) STRICT;

CREATE INDEX snapshot_by_id ON snapshot (id);
CREATE INDEX snapshot_by_process ON snapshot (process);

CREATE VIEW visible_snapshot AS
SELECT s.seq, s.id, s.place, s.host, s.process, s.label, s.captured_at, s.head,
       b.seq AS bundle_seq, b.id AS bundle_id, b.case_seq
FROM snapshot s
JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation;

-- Every function name once, raw and normalised.
CREATE TABLE function (
    seq  INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE frame (
    seq          INTEGER PRIMARY KEY,
    function_seq INTEGER NOT NULL REFERENCES function (seq) ON DELETE CASCADE,
    file         TEXT NOT NULL,
    line         INTEGER NOT NULL,
    UNIQUE (function_seq, file, line)
) STRICT;

-- What a fingerprint stands for. Rows never change: where an engine words a title
-- differently, or attributes differ between bundles, the fingerprint has another
-- row with another digest, and older results keep theirs.
CREATE TABLE family (
    seq         INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    digest      BLOB NOT NULL,
    kind        TEXT NOT NULL,
    title       TEXT NOT NULL,
    entry       TEXT NOT NULL,
    -- Varints of function.seq, leaf first.
    loose       BLOB NOT NULL,
    creator_seq INTEGER REFERENCES function (seq),
    attributes  TEXT NOT NULL,
    -- Title and values of the attributes, to be searched.
    words       TEXT NOT NULL,
    UNIQUE (fingerprint, digest)
) STRICT;

CREATE INDEX family_by_creator ON family (creator_seq);

-- Which functions occur in a family, normalised or raw: the way from a word of a
-- search to families.
CREATE TABLE function_family (
    function_seq INTEGER NOT NULL REFERENCES function (seq),
    family_seq   INTEGER NOT NULL REFERENCES family (seq) ON DELETE CASCADE,
    PRIMARY KEY (function_seq, family_seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX function_family_by_family ON function_family (family_seq);

-- An exact stack within a family. The digest covers what was printed, so that no
-- case ever shows the file paths of another one.
CREATE TABLE stack (
    seq         INTEGER PRIMARY KEY,
    family_seq  INTEGER NOT NULL REFERENCES family (seq) ON DELETE CASCADE,
    fingerprint TEXT NOT NULL,
    digest      BLOB NOT NULL,
    -- 0 where no stack was printed: the other columns are then empty.
    printed     INTEGER NOT NULL,
    -- Varints of frame.seq, leaf first; creator is a frame.seq or 0.
    frames      BLOB NOT NULL,
    creator     INTEGER NOT NULL,
    elided      INTEGER NOT NULL,
    unavailable TEXT NOT NULL,
    UNIQUE (family_seq, digest)
) STRICT;

-- A family as one snapshot shows it. The members come last: rows are read without
-- touching the pages that hold them.
CREATE TABLE snapshot_family (
    seq          INTEGER PRIMARY KEY,
    snapshot_seq INTEGER NOT NULL REFERENCES snapshot (seq) ON DELETE CASCADE,
    family_seq   INTEGER NOT NULL REFERENCES family (seq),
    place        INTEGER NOT NULL,
    count        INTEGER NOT NULL,
    states       TEXT NOT NULL,
    waits        TEXT NOT NULL,
    oldest       INTEGER NOT NULL,
    leaked       INTEGER NOT NULL,
    -- Varints: number of variants, then stack.seq and count of each.
    variants     BLOB NOT NULL,
    member_count INTEGER NOT NULL,
    members      BLOB NOT NULL,
    UNIQUE (snapshot_seq, family_seq)
) STRICT;

CREATE INDEX snapshot_family_by_family ON snapshot_family (family_seq);

-- Substring search, without regard to case, for words of three characters and more.
CREATE VIRTUAL TABLE function_text USING fts5 (
    name,
    content = 'function', content_rowid = 'seq', tokenize = 'trigram'
);
INSERT INTO function_text (function_text, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER function_text_insert AFTER INSERT ON function BEGIN
    INSERT INTO function_text (rowid, name) VALUES (new.seq, new.name);
END;

CREATE TRIGGER function_text_delete AFTER DELETE ON function BEGIN
    INSERT INTO function_text (function_text, rowid, name)
    VALUES ('delete', old.seq, old.name);
END;

CREATE VIRTUAL TABLE family_text USING fts5 (
    words,
    content = 'family', content_rowid = 'seq', tokenize = 'trigram'
);
INSERT INTO family_text (family_text, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER family_text_insert AFTER INSERT ON family BEGIN
    INSERT INTO family_text (rowid, words) VALUES (new.seq, new.words);
END;

CREATE TRIGGER family_text_delete AFTER DELETE ON family BEGIN
    INSERT INTO family_text (family_text, rowid, words)
    VALUES ('delete', old.seq, old.words);
END;

-- Frozen results. A withdrawn or expired one keeps its row without its record, so
-- that its link can say what it was.
CREATE TABLE permalink (
    id           TEXT PRIMARY KEY,
    case_seq     INTEGER REFERENCES cases (seq) ON DELETE SET NULL,
    owner_hash   BLOB NOT NULL,
    view         TEXT NOT NULL,
    title        TEXT NOT NULL,
    counts       TEXT NOT NULL,
    preview      TEXT NOT NULL,
    redacted     INTEGER NOT NULL,
    engine       INTEGER NOT NULL,
    fingerprint  INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    -- NULL keeps it for good.
    expires_at   INTEGER,
    withdrawn_at INTEGER,
    -- Packed JSON; NULL once withdrawn or expired. Raw lines also go with the case.
    record       BLOB,
    raw          BLOB
) STRICT;

CREATE INDEX permalink_by_case ON permalink (case_seq);
CREATE INDEX permalink_by_expiry ON permalink (expires_at);

-- Answers to repeat for an Idempotency-Key. The body is sealed with the key itself,
-- because it may hold an owner key.
CREATE TABLE answer (
    key_hash     BLOB PRIMARY KEY,
    request_hash TEXT NOT NULL,
    status       INTEGER NOT NULL,
    body         BLOB NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX answer_by_expiry ON answer (expires_at);
