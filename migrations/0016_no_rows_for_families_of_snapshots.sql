-- Every snapshot is packed before this step (store/repack.go): snapshot_family is empty, and
-- family_seen says what family_bundle did.
DROP TABLE snapshot_family;
DROP TRIGGER family_bundle_delete;
DROP TABLE family_bundle;
DROP INDEX snapshot_by_name;
DELETE FROM setting WHERE name = 'packed_snapshots';
