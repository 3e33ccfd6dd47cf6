package store

import (
	"fmt"
	"maps"
	"math"
	"strconv"

	"leakdiff/analysis"
)

// head is everything of a snapshot but its groups and objects. It is sealed as JSON. Id and
// label are columns of the row.
type head struct {
	analysis.Snapshot
	// A dump without objects differs from one that shows none.
	Objects map[string][]analysis.Object `json:"objects,omitzero"`
	// NotFinite are the figures that JSON has no numbers for.
	NotFinite  map[string]string
	Monitors   *analysis.Monitors
	Contention []analysis.Contention
	Heap       *analysis.Heap
	Sockets    *socketRows
	// Families is the number of groups.
	Families int
}

// socketRows are the connections as analysis.Sockets packs them.
type socketRows struct {
	N    int
	Rows []byte
}

// packHead seals the head of a snapshot.
func packHead(p *packer, snap *analysis.Snapshot) ([]byte, error) {
	h := head{Snapshot: *snap, Objects: snap.Objects, Monitors: snap.Monitors, Contention: snap.Contention, Heap: snap.Heap, Families: len(snap.Groups)}
	h.ID, h.Label, h.Groups = "", "", nil
	for name, v := range snap.Figures {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			continue
		}
		if h.NotFinite == nil {
			h.Figures, h.NotFinite = maps.Clone(snap.Figures), map[string]string{}
		}
		delete(h.Figures, name)
		h.NotFinite[name] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	if n := snap.Sockets.Len(); n > 0 {
		h.Sockets = &socketRows{n, snap.Sockets.Data()}
	}
	return p.sealJSON(&h)
}

// unpackHead undoes packHead. families is the number of groups, which the snapshot is without.
func unpackHead(p *packer, id, label string, blob []byte) (_ *analysis.Snapshot, families int, err error) {
	var h head
	if err := p.unsealJSON(blob, &h); err != nil {
		return nil, 0, fmt.Errorf("snapshot %s: %w", id, err)
	}
	snap := &h.Snapshot
	snap.ID, snap.Label = validText(id), validText(label)
	snap.Objects, snap.Monitors, snap.Contention, snap.Heap = h.Objects, h.Monitors, h.Contention, h.Heap
	for name, text := range h.NotFinite {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("snapshot %s: %w", id, err)
		}
		if snap.Figures == nil {
			snap.Figures = map[string]float64{}
		}
		snap.Figures[name] = v
	}
	if h.Sockets != nil {
		snap.Sockets = &analysis.Sockets{}
		snap.Sockets.SetData(h.Sockets.N, h.Sockets.Rows)
	}
	return snap, h.Families, nil
}
