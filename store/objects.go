package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"

	"leakdiff/analysis"
)

// The objects of a dump are one sealed value: the pairs of goroutines and descriptors, each
// goroutine as the difference from the previous one; whether the dump was joined, and whether
// the parts are threads; why it has no objects; and the kinds in order, each with its texts, its shape, its holders and its
// rows as packed by analysis.ObjectKind.

func packObjects(p *packer, snap *analysis.Snapshot) ([]byte, error) {
	w := &compactWriter{}
	last := int64(0)
	writeList(w, snap.Pairs, func(pair *analysis.Pair) {
		w.varint(pair.Goroutine - last)
		w.number(pair.FD)
		last = pair.Goroutine
	})
	o := snap.Joined
	if w.flags(o != nil, o != nil && o.Threads); o == nil {
		return p.seal(w.b)
	}
	w.text(o.LeftOut)
	var shape compactWriter
	writeList(w, o.Kinds, func(k *analysis.ObjectKind) {
		shape.b = shape.b[:0]
		writeShape(&shape, k)
		w.length(len(shape.b))
		w.b = append(w.b, shape.b...)
		w.number(k.Count)
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

// writeShape writes the parts of a kind that are equal in many dumps.
func writeShape(w *compactWriter, k *analysis.ObjectKind) {
	w.text(k.Name)
	w.text(k.Type)
	w.text(string(k.Level))
	w.number(k.Parts)
	writeList(w, k.Each, func(r *analysis.ObjectRole) {
		w.text(r.Role)
		w.number(r.N)
		w.text(string(r.Level))
	})
}

func (l *loader) readShape(b []byte) (*analysis.ObjectKind, error) {
	if k := l.shapes[string(b)]; k != nil {
		return k, nil
	}
	r := &compactReader{b: b, texts: &l.texts}
	k := &analysis.ObjectKind{Name: r.text(), Type: r.text(), Level: analysis.ObjectLevel(r.text()), Parts: r.number()}
	k.Each = readList(r, func(role *analysis.ObjectRole) {
		role.Role, role.N, role.Level = r.text(), r.number(), analysis.ObjectLevel(r.text())
	})
	if err := r.end(); err != nil {
		return nil, err
	}
	l.shapes[string(b)] = k
	return k, nil
}

func (l *loader) unpackObjects(blob []byte, snap *analysis.Snapshot) error {
	values, err := l.p.unseal(blob, nil)
	if err != nil {
		return err
	}
	r := &compactReader{b: values, texts: &l.texts}
	last := int64(0)
	snap.Pairs = readList(r, func(pair *analysis.Pair) {
		last += r.varint()
		pair.Goroutine, pair.FD = last, r.number()
	})
	joined := r.flags()
	if !joined(0) {
		return r.end()
	}
	o := &analysis.Objects{Threads: joined(1), LeftOut: r.text()}
	snap.Joined = o
	o.Kinds = readList(r, func(k *analysis.ObjectKind) {
		shape, err := l.readShape(r.bytes(r.length(1)))
		if err != nil {
			r.fail(err)
			return
		}
		*k = *shape
		count := r.number()
		k.Holders = readList(r, func(h *analysis.ObjectHolder) {
			h.Type, h.Role, h.N = r.text(), r.text(), r.number()
		})
		k.SetData(count, bytes.Clone(r.bytes(r.length(1))))
	})
	return r.end()
}

const insertObjectsSQL = `
INSERT INTO snapshot_objects (snapshot_seq, objects) VALUES (?, ?)`

// objects reads the objects of the snapshots.
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
		if err = l.unpackObjects(blob, r.head); err != nil {
			return none, fmt.Errorf("snapshot %s: its objects: %w", r.id, err)
		}
		return none, nil
	}, objectsSQL, listOf(seqs))
	return err
}

const objectsSQL = `
SELECT snapshot_seq, objects
FROM snapshot_objects
WHERE snapshot_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`
