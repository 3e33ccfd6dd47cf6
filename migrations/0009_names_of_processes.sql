-- A search for a process reads this index alone, not every snapshot with its head.
CREATE INDEX snapshot_by_name ON snapshot (process, host, bundle_seq, generation, id);
DROP INDEX snapshot_by_process;
