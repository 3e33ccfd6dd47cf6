-- Families that leak on more hosts than the server was told to bear, one row while that lasts.
CREATE TABLE alert (
    fingerprint TEXT PRIMARY KEY,
    began_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the webhook has not been told yet.
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

CREATE INDEX ending_leaking ON ending (fingerprint) WHERE verdict = 'leaking';
