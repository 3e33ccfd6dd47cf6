package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"leakdiff/analysis"
	"leakdiff/analysis/column"
)

// storedObjects are the objects of a dump and the pairs of goroutines and descriptors. They are
// sealed columns: this value as JSON, the pairs, and the rows of each kind as packed by
// analysis.ObjectKind.
type storedObjects struct {
	Joined  bool
	Threads bool
	LeftOut string
	Kinds   []storedKind
}

// storedKind is a kind without its rows. Shape is the part that is equal in many dumps.
type storedKind struct {
	Shape   jsontext.Value
	Count   int
	Holders []analysis.ObjectHolder
}

// maxPairs bounds the pairs of a snapshot.
const maxPairs = 1 << 26

func packObjects(p *packer, snap *analysis.Snapshot) ([]byte, error) {
	var out storedObjects
	var rows [][]byte
	if o := snap.Joined; o != nil {
		out = storedObjects{Joined: true, Threads: o.Threads, LeftOut: o.LeftOut}
		for i := range o.Kinds {
			k := &o.Kinds[i]
			shape := analysis.ObjectKind{Name: k.Name, Type: k.Type, Level: k.Level, Parts: k.Parts, Each: k.Each}
			text, err := json.Marshal(&shape, sealedJSON)
			if err != nil {
				return nil, err
			}
			out.Kinds = append(out.Kinds, storedKind{text, k.Count, k.Holders})
			rows = append(rows, k.Data())
		}
	}
	text, err := json.Marshal(&out, sealedJSON)
	if err != nil {
		return nil, err
	}
	goroutines, descriptors := make([]int64, len(snap.Pairs)), make([]int, len(snap.Pairs))
	for i, pair := range snap.Pairs {
		goroutines[i], descriptors[i] = pair.Goroutine, pair.FD
	}
	c := column.Writer(len(text))
	c.Bytes(&text)
	column.Numbers(c, maxPairs, &goroutines)
	column.Numbers(c, maxPairs, &descriptors)
	for i := range rows {
		c.Bytes(&rows[i])
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	return p.seal(c.Data())
}

func (l *loader) unpackObjects(blob []byte, snap *analysis.Snapshot) error {
	values, err := l.p.unsealBriefly(blob)
	if err != nil {
		return err
	}
	var text []byte
	var goroutines []int64
	var descriptors []int
	c := column.Reader(values)
	c.Bytes(&text)
	column.Numbers(c, maxPairs, &goroutines)
	column.Numbers(c, maxPairs, &descriptors)
	if c.Err() != nil || len(goroutines) != len(descriptors) {
		return errors.Join(c.Err(), fmt.Errorf("%d descriptors of %d goroutines", len(descriptors), len(goroutines)))
	}
	for i, id := range goroutines {
		snap.Pairs = append(snap.Pairs, analysis.Pair{Goroutine: id, FD: descriptors[i]})
	}
	var in storedObjects
	if err := json.Unmarshal(text, &in, sealedJSON); err != nil {
		return err
	}
	if !in.Joined {
		return c.End()
	}
	snap.Joined = &analysis.Objects{Threads: in.Threads, LeftOut: in.LeftOut}
	for _, k := range in.Kinds {
		shape, err := l.readShape(k.Shape)
		if err != nil {
			return err
		}
		var rows []byte
		c.Bytes(&rows)
		kind := *shape
		kind.Holders = k.Holders
		kind.SetData(k.Count, bytes.Clone(rows))
		snap.Joined.Kinds = append(snap.Joined.Kinds, kind)
	}
	return c.End()
}

func (l *loader) readShape(text jsontext.Value) (*analysis.ObjectKind, error) {
	if k := l.shapes[string(text)]; k != nil {
		return k, nil
	}
	k := &analysis.ObjectKind{}
	if err := json.Unmarshal(text, k, sealedJSON); err != nil {
		return nil, err
	}
	l.shapes[string(text)] = k
	return k, nil
}

const insertObjectsSQL = `
INSERT INTO snapshot_objects (snapshot_seq, objects) VALUES (?, ?)`

// objects reads the objects of the snapshots.
func (l *loader) objects(ctx context.Context, rows []*snapshotRow) error {
	var seq int64
	var blob sql.RawBytes
	_, err := l.each(ctx, rows, objectsSQL, []any{&seq, &blob}, func(r *snapshotRow) error {
		if err := l.unpackObjects(blob, r.head); err != nil {
			return fmt.Errorf("snapshot %s: its objects: %w", r.id, err)
		}
		return nil
	})
	return err
}

const objectsSQL = `
SELECT snapshot_seq, objects
FROM snapshot_objects
WHERE snapshot_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))`
