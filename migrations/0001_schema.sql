-- Rows carry a sequence number "seq" that never leaves the database, and, where people meet
-- them, an "id" that cannot be guessed or is derived from content. Times are microseconds
-- since 1970, UTC. The format of each packed column is drawn in package store.

-- Settings of the installation ("samples loaded").
CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- What a ticket is about. The columns from headline to aside are a summary of the report for
-- the list of cases.
CREATE TABLE cases (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    title      TEXT NOT NULL,
    sample     TEXT NOT NULL,
    owner_hash BLOB NOT NULL,
    -- The account that made the case may change it without the owner key.
    account    TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Transactions that change what the report is made of raise the revision.
    revision   INTEGER NOT NULL DEFAULT 0,
    -- 0 while the summary is older than results or edits: a crash between the two is repaired
    -- at the next start.
    summarised INTEGER NOT NULL DEFAULT 1,
    headline   TEXT NOT NULL DEFAULT '',
    verdict    TEXT NOT NULL DEFAULT '',
    process    TEXT NOT NULL DEFAULT '',
    host       TEXT NOT NULL DEFAULT '',
    lowest     INTEGER NOT NULL DEFAULT 0,
    highest    INTEGER NOT NULL DEFAULT 0,
    spark      TEXT NOT NULL DEFAULT '[]',
    -- Which figures of spark are lower bounds.
    lower      TEXT NOT NULL DEFAULT '[]',
    -- The version of the catalogue that the summary was made with.
    knowledge  TEXT NOT NULL DEFAULT '',
    -- Growing families that a person called benign, where no other grows.
    aside      INTEGER NOT NULL DEFAULT 0,
    -- What happens to its permalinks ("withdraw" or "keep") while the case is being deleted.
    deleting   TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX cases_by_age ON cases (created_at, seq);
CREATE INDEX cases_to_summarise ON cases (seq) WHERE summarised = 0;
CREATE INDEX cases_to_delete ON cases (seq) WHERE deleting <> '';

-- One upload. Its results are the rows of the generation named here. Rows of other generations
-- are being written or are left over from a crash; nobody reads them.
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
    -- Packed lists; empty before the first result.
    artifacts      BLOB NOT NULL DEFAULT x'',
    problems       BLOB NOT NULL DEFAULT x'',
    -- When a policy dropped the uploaded bytes.
    dropped_at     INTEGER
) STRICT;

CREATE INDEX bundle_by_case ON bundle (case_seq, content_hash);

-- The formats that a person chose for files of a bundle.
CREATE TABLE bundle_kind (
    bundle_seq INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
    path       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    PRIMARY KEY (bundle_seq, path)
) STRICT, WITHOUT ROWID;

-- The bytes that files refer to, by hash. The foreign key of bundle_file keeps those that a
-- file refers to. Bytes are only deleted because a row says so; bytes without a row are kept.
CREATE TABLE blob (
    sha256    TEXT PRIMARY KEY,
    -- In bytes as uploaded.
    size      INTEGER NOT NULL,
    -- 1 from when the last file that referred to it was deleted until its bytes are.
    forgotten INTEGER NOT NULL DEFAULT 0,
    -- The random name of the object in a bucket; NULL for a file.
    object    TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX blob_to_forget ON blob (sha256) WHERE forgotten = 1;
CREATE UNIQUE INDEX blob_by_object ON blob (object) WHERE object IS NOT NULL;

-- Objects of a bucket that nothing refers to, and from when on they may be removed.
CREATE TABLE object_to_forget (
    object TEXT PRIMARY KEY,
    due_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX object_to_forget_by_time ON object_to_forget (due_at);

-- The files of a bundle.
CREATE TABLE bundle_file (
    bundle_seq INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
    place      INTEGER NOT NULL,
    name       TEXT NOT NULL,
    sha256     TEXT NOT NULL REFERENCES blob (sha256),
    size       INTEGER NOT NULL,
    -- When the file was last written, as its sender says; NULL if not known.
    modified   INTEGER,
    PRIMARY KEY (bundle_seq, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX bundle_file_by_hash ON bundle_file (sha256);

-- The files of a bundle whose bytes a policy dropped: they have no blob.
CREATE TABLE dropped_file (
    bundle_seq INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
    place      INTEGER NOT NULL,
    name       TEXT NOT NULL,
    sha256     TEXT NOT NULL,
    size       INTEGER NOT NULL,
    modified   INTEGER,
    PRIMARY KEY (bundle_seq, place)
) STRICT, WITHOUT ROWID;

-- Bundles that wait to be read or are being read.
CREATE TABLE job (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    bundle_seq   INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
    kind         TEXT NOT NULL,
    status       TEXT NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    -- The generation that the job's rows get.
    generation   INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    -- Which server reads the bundle, until when without a renewal, and how far it is. A file
    -- has no such end: one process owns it.
    owner        TEXT NOT NULL DEFAULT '',
    leased_until INTEGER,
    progress     TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX job_by_bundle ON job (bundle_seq);
CREATE INDEX job_by_status ON job (status, seq);

-- Work that one server does at a time.
CREATE TABLE duty (
    name  TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT;

-- The snapshots of a process in a case, by the names that were captured. There may be none
-- that is visible yet.
CREATE TABLE series (
    seq      INTEGER PRIMARY KEY,
    case_seq INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    process  TEXT NOT NULL,
    host     TEXT NOT NULL,
    UNIQUE (case_seq, process, host)
) STRICT;

CREATE INDEX series_by_name ON series (process, host);

-- One capture of a process.
CREATE TABLE snapshot (
    seq         INTEGER PRIMARY KEY,
    bundle_seq  INTEGER NOT NULL REFERENCES bundle (seq) ON DELETE CASCADE,
    generation  INTEGER NOT NULL,
    id          TEXT NOT NULL,
    place       INTEGER NOT NULL,
    series_seq  INTEGER NOT NULL REFERENCES series (seq),
    host        TEXT NOT NULL,
    process     TEXT NOT NULL,
    label       TEXT NOT NULL,
    captured_at INTEGER,
    -- When a policy dropped the members.
    thinned_at  INTEGER,
    -- Everything but the families (store/head.go).
    head        BLOB NOT NULL,
    -- What it shows of its families (store/facts.go).
    facts       BLOB NOT NULL,
    UNIQUE (bundle_seq, generation, id)
) STRICT;

CREATE INDEX snapshot_by_id ON snapshot (id);
CREATE INDEX snapshot_by_series ON snapshot (series_seq, captured_at, bundle_seq, generation, id);

-- The members of all families of a snapshot (store/memberset.go). The facts are read without
-- touching the pages that hold them.
CREATE TABLE snapshot_members (
    snapshot_seq INTEGER PRIMARY KEY REFERENCES snapshot (seq) ON DELETE CASCADE,
    members      BLOB NOT NULL
) STRICT;

-- The objects that the goroutine dump of a snapshot proves (store/objects.go). A snapshot
-- without a dump that shows addresses has none.
CREATE TABLE snapshot_objects (
    snapshot_seq INTEGER PRIMARY KEY REFERENCES snapshot (seq) ON DELETE CASCADE,
    objects      BLOB NOT NULL
) STRICT;

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

-- A frame is looked up by its function, its line and a hash of its file, so that the index
-- does not hold every path a second time.
CREATE TABLE frame (
    seq          INTEGER PRIMARY KEY,
    function_seq INTEGER NOT NULL REFERENCES function (seq) ON DELETE CASCADE,
    file         TEXT NOT NULL,
    line         INTEGER NOT NULL,
    file_hash    INTEGER NOT NULL
) STRICT;

CREATE INDEX frame_by_function ON frame (function_seq, line, file_hash);

-- What a fingerprint stands for. Rows never change: where an engine words a title differently,
-- or attributes differ between bundles, the fingerprint has another row with another digest,
-- and older results keep theirs.
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

-- Which functions occur in a family, normalised or raw: the way from a word of a search to
-- families. Links of a family that is gone are deleted with all others that lead nowhere
-- (forgetWords), so that no index by family holds every link a second time.
CREATE TABLE function_family (
    function_seq INTEGER NOT NULL REFERENCES function (seq),
    family_seq   INTEGER NOT NULL,
    PRIMARY KEY (function_seq, family_seq)
) STRICT, WITHOUT ROWID;

-- An exact stack within a family. The digest covers what was printed, so that no case ever
-- shows the file paths of another one.
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

-- Substring search, without regard to case, for words of three characters and more. It compares
-- the few names that hold all trigrams of a word, so the index has no positions. Rows are
-- inserted once for each transaction (store/word.go).
CREATE VIRTUAL TABLE function_text USING fts5 (
    name,
    content = 'function', content_rowid = 'seq', tokenize = 'trigram', detail = 'none'
);
INSERT INTO function_text (function_text, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER function_text_delete AFTER DELETE ON function BEGIN
    INSERT INTO function_text (function_text, rowid, name)
    VALUES ('delete', old.seq, old.name);
END;

CREATE VIRTUAL TABLE family_text USING fts5 (
    words,
    content = 'family', content_rowid = 'seq', tokenize = 'trigram', detail = 'none'
);
INSERT INTO family_text (family_text, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER family_text_delete AFTER DELETE ON family BEGIN
    INSERT INTO family_text (family_text, rowid, words)
    VALUES ('delete', old.seq, old.words);
END;

-- What the visible snapshots of a series show of a family, summed up for each day: search, the
-- page of a family and deletion must not read every snapshot. A snapshot counts once for each
-- bundle that holds it.
CREATE TABLE family_seen (
    family_seq INTEGER NOT NULL REFERENCES family (seq),
    series_seq INTEGER NOT NULL REFERENCES series (seq) ON DELETE CASCADE,
    -- Days since 1970, UTC; -2147483648 for snapshots without a time.
    day        INTEGER NOT NULL,
    case_seq   INTEGER NOT NULL,
    snapshots  INTEGER NOT NULL,
    -- NULL without a time.
    first      INTEGER,
    last       INTEGER,
    -- The smallest and the largest count.
    low        INTEGER NOT NULL,
    high       INTEGER NOT NULL,
    PRIMARY KEY (family_seq, series_seq, day)
) STRICT, WITHOUT ROWID;

CREATE INDEX family_seen_by_series ON family_seen (series_seq, day);

-- The first and the last sight of a family in each series, from which the fleet is ranked: it
-- must not read every day of family_seen. Rows are found by fingerprint, because a family has
-- another number in captures with other attributes. Snapshots without a time count in none.
-- Types of objects have rows too (store/fleetobject.go).
CREATE TABLE family_span (
    fingerprint TEXT NOT NULL,
    host        TEXT NOT NULL,
    series_seq  INTEGER NOT NULL REFERENCES series (seq) ON DELETE CASCADE,
    case_seq    INTEGER NOT NULL,
    -- The family of the last sight.
    family_seq  INTEGER NOT NULL,
    first       INTEGER NOT NULL,
    last        INTEGER NOT NULL,
    -- The counts then.
    first_count INTEGER NOT NULL,
    last_count  INTEGER NOT NULL,
    -- The version of the program at the last sight, empty if no capture says it.
    version     TEXT NOT NULL,
    -- How much the report of the case says that the family rose, over all processes of the
    -- series: a restart hides it from the counts of the first and the last sight. 0 where it
    -- did not rise, or no longer does.
    rise        INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (fingerprint, host, series_seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX family_span_by_series ON family_span (series_seq);
CREATE INDEX family_span_risen ON family_span (series_seq) WHERE rise <> 0;

-- Words that may be unused: the reaper deletes those that are (store/reap.go). A family is
-- noted when it is new and when its last row of family_seen goes; frames and functions when a
-- family that had them goes.
CREATE TABLE family_to_forget (family_seq INTEGER PRIMARY KEY) STRICT;
CREATE TABLE frame_to_forget (frame_seq INTEGER PRIMARY KEY) STRICT;
CREATE TABLE function_to_forget (function_seq INTEGER PRIMARY KEY) STRICT;

-- What people corrected in the snapshots of a case (package identity). Rows are added and
-- marked as undone, never changed otherwise.
CREATE TABLE edit (
    seq       INTEGER PRIMARY KEY,
    case_seq  INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    -- Counts from 1 in each case.
    number    INTEGER NOT NULL,
    made_at   INTEGER NOT NULL,
    made_by   TEXT NOT NULL,
    kind      TEXT NOT NULL,
    target    TEXT NOT NULL,
    value     TEXT NOT NULL,
    note      TEXT NOT NULL,
    undone_at INTEGER,
    UNIQUE (case_seq, number)
) STRICT;

-- What people say of a case: its ticket, whether it is archived, the snapshot that others are
-- compared with, the prefixes of their own modules. The last one to write a field wins; the
-- value before is kept beside it, so that pages can show both.
CREATE TABLE case_field (
    case_seq  INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    field     TEXT NOT NULL,
    value     TEXT NOT NULL,
    replaced  TEXT NOT NULL,
    edited_at INTEGER NOT NULL,
    PRIMARY KEY (case_seq, field)
) STRICT, WITHOUT ROWID;

-- What people say of a family in a case.
CREATE TABLE triage (
    case_seq    INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    process     TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    state       TEXT NOT NULL,
    note        TEXT NOT NULL,
    -- What it turned out to be, once that is known.
    outcome     TEXT NOT NULL,
    edited_at   INTEGER NOT NULL,
    -- The mark before, in words: the last one to write wins.
    replaced    TEXT NOT NULL,
    PRIMARY KEY (case_seq, process, fingerprint)
) STRICT, WITHOUT ROWID;

CREATE INDEX triage_by_fingerprint ON triage (fingerprint);

-- Families that are benign in a process, whichever case shows them: they outlive the case in
-- which somebody said so.
CREATE TABLE benign (
    process     TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    reason      TEXT NOT NULL,
    edited_at   INTEGER NOT NULL,
    PRIMARY KEY (process, fingerprint)
) STRICT, WITHOUT ROWID;

CREATE INDEX benign_by_fingerprint ON benign (fingerprint);

-- How a family ended in a case, written with the case's summary. Families that are stable or
-- of which too little is known have no row.
CREATE TABLE ending (
    case_seq    INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    fingerprint TEXT NOT NULL,
    process     TEXT NOT NULL,
    verdict     TEXT NOT NULL,
    -- 1 where its cause went away within the captures.
    recovered   INTEGER NOT NULL,
    PRIMARY KEY (case_seq, fingerprint, process)
) STRICT, WITHOUT ROWID;

CREATE INDEX ending_by_fingerprint ON ending (fingerprint);

-- How a family ended in a series as it was read: a case may have a process on several hosts.
CREATE TABLE series_ending (
    fingerprint TEXT NOT NULL,
    series_seq  INTEGER NOT NULL REFERENCES series (seq) ON DELETE CASCADE,
    verdict     TEXT NOT NULL,
    -- 1 where its cause went away within the series.
    recovered   INTEGER NOT NULL,
    PRIMARY KEY (fingerprint, series_seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX series_ending_by_series ON series_ending (series_seq);
CREATE INDEX series_ending_leaking ON series_ending (fingerprint, series_seq) WHERE verdict = 'leaking';

-- All that is said of a case at its revision, from which its pages are made.
CREATE TABLE case_report (
    case_seq  INTEGER PRIMARY KEY REFERENCES cases (seq) ON DELETE CASCADE,
    -- The versions of the program and of the catalogue that it was made with.
    made_with TEXT NOT NULL,
    -- Packed; only the program of made_with knows its form.
    report    BLOB NOT NULL
) STRICT;

-- What is said of each series of a case by itself, so that only those that a change touched are
-- judged again. A case with a single series has none.
CREATE TABLE series_judgement (
    case_seq  INTEGER NOT NULL REFERENCES cases (seq) ON DELETE CASCADE,
    -- A hash of all that it depends on: the snapshots as they were read, what people corrected
    -- and decided, the program and the catalogue.
    made_of   TEXT NOT NULL,
    -- Packed; only the program of made_of knows its form.
    judgement BLOB NOT NULL,
    PRIMARY KEY (case_seq, made_of)
) STRICT;

-- Frozen results. A withdrawn or expired one keeps its row without its record, so that its link
-- can say what it was.
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
    -- Who may read it: "link" is whoever has its address, "account" whoever may read the server.
    audience     TEXT NOT NULL,
    -- Packed JSON; NULL once withdrawn or expired. Raw lines also go with the case.
    record       BLOB,
    raw          BLOB
) STRICT;

CREATE INDEX permalink_by_case ON permalink (case_seq);
CREATE INDEX permalink_by_expiry ON permalink (expires_at);

-- Answers to repeat for an Idempotency-Key. The body is sealed with the key itself, because it
-- may hold an owner key.
CREATE TABLE answer (
    key_hash     BLOB PRIMARY KEY,
    request_hash TEXT NOT NULL,
    status       INTEGER NOT NULL,
    body         BLOB NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX answer_by_expiry ON answer (expires_at);

-- API tokens. Only the hash of a token is stored; 256 random bits need no slow hash.
CREATE TABLE token (
    seq        INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE,
    role       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;

CREATE UNIQUE INDEX token_by_name ON token (name) WHERE revoked_at IS NULL;

-- Browsers that are signed in. The stamp is a hash of the line of the password file: another
-- line ends the session.
CREATE TABLE session (
    hash       BLOB PRIMARY KEY,
    account    TEXT NOT NULL,
    stamp      BLOB NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who did what, when, from where. Rows hold ids and names of accounts, and no evidence.
CREATE TABLE audit (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    account TEXT NOT NULL,
    role    TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT NOT NULL,
    route   TEXT NOT NULL,
    status  INTEGER NOT NULL,
    sender  TEXT NOT NULL,
    request TEXT NOT NULL
) STRICT;

-- Families that leak on more hosts than the server tolerates, one row while that lasts.
CREATE TABLE alert (
    fingerprint TEXT PRIMARY KEY,
    began_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the webhook has not received yet.
CREATE TABLE alert_delivery (
    seq         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    -- Deliveries of one family keep their order.
    fingerprint TEXT NOT NULL,
    body        TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    -- When the next attempt may begin.
    due_at      INTEGER NOT NULL
) STRICT;
