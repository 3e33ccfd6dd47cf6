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

-- Who may read a frozen result: "link" is whoever has its address, "account" whoever may
-- read the server.
ALTER TABLE permalink ADD COLUMN audience TEXT NOT NULL DEFAULT 'link';

-- The account that made a case may change it without the owner key.
ALTER TABLE cases ADD COLUMN account TEXT NOT NULL DEFAULT '';
