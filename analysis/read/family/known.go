package family

import (
	"strings"

	"leakdiff/analysis"
)

// Known remembers the families of descriptors and watches between the snapshots of an
// upload: those of a node repeat the same files and peers, and forming a family costs a
// hash. The zero value is ready, and its memory is bounded. Only one goroutine at a
// time may use it.
type Known struct {
	descriptors map[descriptorKey]*analysis.Family
	watches     map[watchKey]*analysis.Family
	// connections are by the canonical text of their key, which is written to text.
	connections map[string]*analysis.Family
	text        []byte
}

// maxKnown is how many families of each sort are remembered.
const maxKnown = 1 << 13

// descriptorKey is all that the family of a descriptor depends on that is no
// connection.
type descriptorKey struct {
	kind, name, protocol, state, local string
	deleted                            bool
	watches, access                    string
}

// watchKey is all that the family of a watch depends on.
type watchKey struct {
	mount, fstype, status string
	root                  bool
	mask                  uint32
}

// NewSockets is an index of the descriptors of one snapshot, to be filled by Add.
func (k *Known) NewSockets() *Sockets {
	s := NewSockets(nil)
	s.known = k
	return s
}

// descriptor remembers what form makes of d.
func (k *Known) descriptor(d *analysis.Descriptor, watches int, form func(*analysis.Descriptor, int) *analysis.Family) *analysis.Family {
	if k == nil {
		return form(d, watches)
	}
	key := descriptorKey{d.Type, d.Name, d.Protocol, d.State, d.Local, d.Deleted, watchClass(watches), unnamedAccess(d)}
	f := k.descriptors[key]
	if f != nil {
		return f
	}
	f = form(d, watches)
	if len(k.descriptors) < maxKnown {
		if k.descriptors == nil {
			k.descriptors = map[descriptorKey]*analysis.Family{}
		}
		for _, s := range []*string{&key.kind, &key.name, &key.protocol, &key.state, &key.local, &key.access} {
			*s = strings.Clone(*s)
		}
		k.descriptors[key] = f
	}
	return f
}

// connection remembers what form makes of the parts of a key.
func (k *Known) connection(parts [5]string, form func() *analysis.Family) *analysis.Family {
	if k == nil {
		return form()
	}
	k.text = k.text[:0]
	for _, p := range parts {
		k.text = append(append(k.text, p...), '\n')
	}
	f := k.connections[string(k.text)]
	if f != nil {
		return f
	}
	f = form()
	if len(k.connections) < maxKnown {
		if k.connections == nil {
			k.connections = map[string]*analysis.Family{}
		}
		k.connections[string(k.text)] = f
	}
	return f
}

// OfTarget is the function of that name.
func (k *Known) OfTarget(w analysis.Watch, t WatchTarget) *analysis.Family {
	key := watchKey{t.Mount, t.FSType, t.Status, w.Inode == rootInode(t.FSType), w.Mask & 0xfff}
	f := k.watches[key]
	if f != nil {
		return f
	}
	f = OfTarget(w, t)
	if len(k.watches) < maxKnown {
		if k.watches == nil {
			k.watches = map[watchKey]*analysis.Family{}
		}
		k.watches[key] = f
	}
	return f
}
