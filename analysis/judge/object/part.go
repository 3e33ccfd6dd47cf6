package object

import (
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

// findParts finds the families of the goroutines of a kind in the snapshot with most of its
// objects, and the descriptors that they wait for.
func (k *Kind) findParts(s *analysis.Snapshot) {
	k.findDescriptors(s)
	roots, most := slices.Sorted(slices.Values(k.roots[k.best])), 0
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Family.Kind != analysis.KindGoroutine || !g.Members.Numbered() {
			continue
		}
		inside, all, begun := 0, 0, 0
		for id := range g.Members.IDs() {
			all++
			if _, ok := slices.BinarySearch(k.parts, id); ok {
				inside++
				if _, ok := slices.BinarySearch(roots, id); ok {
					begun++
				}
			}
		}
		if begun > most {
			most, k.RootFamily = begun, g.Family.Fingerprint
		}
		if inside > 0 && 100*inside >= leastOfFamily*all {
			k.Families = append(k.Families, g.Family.Fingerprint)
		}
	}
	k.parts = nil
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
