-- Bytes in a bucket are an object under a random name, which its row names.
ALTER TABLE blob ADD COLUMN object TEXT;

CREATE UNIQUE INDEX blob_by_object ON blob (object) WHERE object IS NOT NULL;

-- Objects that nothing refers to, and from when on they may be removed.
CREATE TABLE object_to_forget (
    object TEXT PRIMARY KEY,
    due_at BIGINT NOT NULL
);

CREATE INDEX object_to_forget_by_time ON object_to_forget (due_at);
