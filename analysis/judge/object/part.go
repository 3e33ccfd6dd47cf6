package object

import (
	"cmp"
	"slices"

	"leakdiff/analysis"
)

// keepParts notes the goroutines of the kinds that have as many objects as never before.
func (f *follower) keepParts(i int, now []part) {
	for _, k := range f.order {
		if n := len(k.roots[i]); n > 0 && n >= len(k.roots[k.best]) {
			k.best, k.parts = i, k.parts[:0]
		}
	}
	for _, p := range now {
		if k := f.all[p.object].kind; k.best == i {
			k.parts = append(k.parts, p.id)
		}
	}
}

// leastOfFamily is the share of the goroutines of a family that must be parts of objects of
// one kind, in percent.
const leastOfFamily = 80

// partBatch is how many goroutines of objects are looked for in one pass over a dump: each pass
// takes the time of reading all its goroutines, and each of them 16 bytes.
const partBatch = 1 << 18

// finder finds the families of the goroutines of kinds in one snapshot, the one with most of
// their objects, and the descriptors that they wait for.
type finder struct {
	in     *analysis.Snapshot
	most   int // of wanted goroutines in one pass
	kinds  []*Kind
	wanted []wanted
}

// wanted is a goroutine of an object of a kind.
type wanted struct {
	id   int64
	kind int32
	root bool
}

// add takes the parts and the roots of a kind, which must be sorted.
func (f *finder) add(k *Kind) {
	if len(f.wanted) > 0 && len(f.wanted)+len(k.parts) > f.most {
		f.find()
	}
	k.findDescriptors(f.in)
	roots := k.roots[k.best]
	for _, id := range k.parts {
		for len(roots) > 0 && roots[0] < id {
			roots = roots[1:]
		}
		f.wanted = append(f.wanted, wanted{id, int32(len(f.kinds)), len(roots) > 0 && roots[0] == id})
	}
	f.kinds, k.parts = append(f.kinds, k), nil
}

// find finds the families of the kinds that were added.
func (f *finder) find() {
	slices.SortFunc(f.wanted, func(a, b wanted) int { return cmp.Compare(a.id, b.id) })
	inside, begun, most := make([]int, len(f.kinds)), make([]int, len(f.kinds)), make([]int, len(f.kinds))
	for i := range f.in.Groups {
		g := &f.in.Groups[i]
		if g.Family.Kind != analysis.KindGoroutine || !g.Members.Numbered() {
			continue
		}
		clear(inside)
		clear(begun)
		all := 0
		for id := range g.Members.IDs() {
			all++
			at, _ := slices.BinarySearchFunc(f.wanted, id, func(w wanted, id int64) int { return cmp.Compare(w.id, id) })
			for ; at < len(f.wanted) && f.wanted[at].id == id; at++ {
				w := &f.wanted[at]
				if inside[w.kind]++; w.root {
					begun[w.kind]++
				}
			}
		}
		for n, k := range f.kinds {
			if begun[n] > most[n] {
				most[n], k.RootFamily = begun[n], g.Family.Fingerprint
			}
			if inside[n] > 0 && 100*inside[n] >= leastOfFamily*all {
				k.Families = append(k.Families, g.Family.Fingerprint)
			}
		}
	}
	f.kinds, f.wanted = f.kinds[:0], f.wanted[:0]
}

// findDescriptors counts the descriptors that goroutines of the objects wait for: a number
// stands where all objects together have as many times their own number.
func (k *Kind) findDescriptors(s *analysis.Snapshot) {
	fds := map[int64]bool{}
	for _, p := range s.Pairs {
		if _, ok := slices.BinarySearch(k.parts, p.Goroutine); ok {
			fds[int64(p.FD)] = true
		}
	}
	objects := k.Counts[k.best].N
	if objects == 0 || len(fds) == 0 || len(fds)%objects != 0 {
		return
	}
	k.Descriptors = len(fds) / objects
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Family.Kind != analysis.KindDescriptor || !g.Members.Identified() {
			continue
		}
		for id := range g.Members.Identities() {
			if fds[id.ID] {
				k.DescriptorFamilies = append(k.DescriptorFamilies, g.Family.Fingerprint)
				break
			}
		}
	}
}
