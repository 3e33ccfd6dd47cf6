package store

import (
	"context"
	"database/sql"
	"fmt"

	"leakdiff/analysis"
)

// The objects of a dump are one sealed value: the pairs of goroutines and descriptors, each
// goroutine as the difference from the one before; whether the dump was joined, why it has no
// objects, and the kinds in their order, each with its texts, its shape, its holders and its
// rows as analysis.ObjectKind packs them.

func packObjects(p *packer, snap *analysis.Snapshot) ([]byte, error) {
	w := &compactWriter{}
	last := int64(0)
	writeList(w, snap.Pairs, func(pair *analysis.Pair) {
		w.varint(pair.Goroutine - last)
		w.number(pair.FD)
		last = pair.Goroutine
	})
	o := snap.Joined
	if w.flags(o != nil); o == nil {
		return p.seal(w.b)
	}
	w.text(o.LeftOut)
	writeList(w, o.Kinds, func(k *analysis.ObjectKind) {
		w.text(k.Name)
		w.text(k.Type)
		w.text(string(k.Level))
		w.number(k.Count)
		w.number(k.Parts)
		writeList(w, k.Each, func(r *analysis.ObjectRole) {
			w.text(r.Role)
			w.number(r.N)
			w.text(string(r.Level))
		})
		writeList(w, k.Holders, func(h *analysis.ObjectHolder) {
			w.text(h.Type)
			w.text(h.Role)
			w.number(h.N)
		})
		rows := k.Data()
		w.length(len(rows))
		w.b = append(w.b, rows...)
	})
	return p.seal(w.b)
}

func unpackObjects(p *packer, texts *textTable, blob []byte, snap *analysis.Snapshot) error {
	values, err := p.unseal(blob, nil)
	if err != nil {
		return err
	}
	r := &compactReader{b: values, texts: texts}
	last := int64(0)
	snap.Pairs = readList(r, func(pair *analysis.Pair) {
		last += r.varint()
		pair.Goroutine, pair.FD = last, r.number()
	})
	if joined := r.flags(); !joined(0) {
		return r.end()
	}
	o := &analysis.Objects{LeftOut: r.text()}
	snap.Joined = o
	o.Kinds = readList(r, func(k *analysis.ObjectKind) {
		k.Name, k.Type, k.Level = r.text(), r.text(), analysis.ObjectLevel(r.text())
		count := r.number()
		k.Parts = r.number()
		k.Each = readList(r, func(role *analysis.ObjectRole) {
			role.Role, role.N, role.Level = r.text(), r.number(), analysis.ObjectLevel(r.text())
		})
		k.Holders = readList(r, func(h *analysis.ObjectHolder) {
			h.Type, h.Role, h.N = r.text(), r.text(), r.number()
		})
		k.SetData(count, append([]byte(nil), r.bytes(r.length(1))...))
	})
	return r.end()
}

const insertObjectsSQL = `
INSERT INTO snapshot_objects (snapshot_seq, objects) VALUES (?, ?)`

// objects reads the objects of snapshots that have any.
func (l *loader) objects(ctx context.Context, rows []*snapshotRow) error {
	seqs := make([]int64, len(rows))
	at := make(map[int64]*snapshotRow, len(rows))
	for i, r := range rows {
		seqs[i], at[r.seq] = r.seq, r
	}
	var seq int64
	var blob sql.RawBytes
	_, err := collect(ctx, l.tx, func(rows *sql.Rows) (none struct{}, err error) {
		if err := rows.Scan(&seq, &blob); err != nil {
			return none, err
		}
		r := at[seq]
		if err = unpackObjects(l.p, &l.texts, blob, r.head); err != nil {
			return none, fmt.Errorf("snapshot %s: its objects: %w", r.id, err)
		}
		return none, nil
	}, objectsSQL, listOf(seqs))
	return err
}

const objectsSQL = `
SELECT snapshot_seq, objects
FROM snapshot_objects
WHERE snapshot_seq IN (SELECT value FROM json_each(?))`
