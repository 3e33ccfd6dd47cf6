-- A frame is looked for by its function, its line and a hash of its file: an index with
-- the files themselves held every path a second time.
CREATE TABLE lean_frame (
    seq          INTEGER PRIMARY KEY,
    function_seq INTEGER NOT NULL REFERENCES function (seq) ON DELETE CASCADE,
    file         TEXT NOT NULL,
    line         INTEGER NOT NULL,
    file_hash    INTEGER NOT NULL
) STRICT;
INSERT INTO lean_frame SELECT seq, function_seq, file, line, text_hash(file) FROM frame;
DROP TABLE frame;
ALTER TABLE lean_frame RENAME TO frame;
CREATE INDEX frame_by_function ON frame (function_seq, line, file_hash);

-- The links of a family are forgotten with all others that lead nowhere (forgetWords), so
-- that no index by family holds every link a second time.
CREATE TABLE lean_function_family (
    function_seq INTEGER NOT NULL REFERENCES function (seq),
    family_seq   INTEGER NOT NULL,
    PRIMARY KEY (function_seq, family_seq)
) STRICT, WITHOUT ROWID;
INSERT INTO lean_function_family SELECT function_seq, family_seq FROM function_family;
DROP TABLE function_family;
ALTER TABLE lean_function_family RENAME TO function_family;

-- "#" begins an entry that is kept by the functions that it names.
UPDATE family SET entry = '#' || entry WHERE entry LIKE '#%';

-- A search compares the few names that hold all trigrams of a word: their places in the
-- names take more room than all else of the index.
DROP TABLE function_text;
CREATE VIRTUAL TABLE function_text USING fts5 (
    name,
    content = 'function', content_rowid = 'seq', tokenize = 'trigram', detail = 'none'
);
INSERT INTO function_text (function_text, rank) VALUES ('secure-delete', 1);
INSERT INTO function_text (function_text) VALUES ('rebuild');

DROP TABLE family_text;
CREATE VIRTUAL TABLE family_text USING fts5 (
    words,
    content = 'family', content_rowid = 'seq', tokenize = 'trigram', detail = 'none'
);
INSERT INTO family_text (family_text, rank) VALUES ('secure-delete', 1);
INSERT INTO family_text (family_text) VALUES ('rebuild');
