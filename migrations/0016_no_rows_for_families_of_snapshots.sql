-- Every snapshot is packed before this step (store/repack.go): the table is empty.
DROP TABLE snapshot_family;
DELETE FROM setting WHERE name = 'packed_snapshots';
