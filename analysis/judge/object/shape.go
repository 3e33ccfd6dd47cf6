package object

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// kindKey tells kinds apart: the type and the roles of the shape that is usual for it.
type kindKey struct{ typ, roles string }

// shape is a usual shape of a type.
type shape struct {
	each  []analysis.ObjectRole
	parts int
	level analysis.ObjectLevel
	name  string
	roles string
	count int
}

// chooseShapes finds the kinds of each type: shapes that share a role are one kind, because
// one dump joins what another one, with fewer objects, leaves apart. The usual shape of a
// kind is the most frequent.
func (f *follower) chooseShapes(objects []*analysis.Objects) {
	all := map[string]map[string]*shape{}
	for _, o := range objects {
		if o == nil {
			continue
		}
		for i := range o.Kinds {
			k := &o.Kinds[i]
			by := all[k.Type]
			if by == nil {
				by = map[string]*shape{}
				all[k.Type] = by
			}
			roles := rolesOf(k.Each)
			if by[roles] == nil {
				by[roles] = &shape{each: k.Each, parts: k.Parts, level: k.Level, name: k.Name, roles: roles}
			}
			by[roles].count += k.Count
		}
	}
	f.shapes = make(map[string]map[string]*shape, len(all))
	for typ, by := range all {
		list := make([]*shape, 0, len(by))
		for _, s := range by {
			list = append(list, s)
		}
		slices.SortFunc(list, func(a, b *shape) int {
			return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.parts, a.parts), strings.Compare(a.roles, b.roles))
		})
		f.shapes[typ] = connect(list)
	}
}

// connect gives every role the usual shape of its kind: the first in the list of those that
// it is connected with by shapes.
func connect(list []*shape) map[string]*shape {
	usual := map[string]*shape{}
	for _, s := range list {
		kind := s
		for _, r := range s.each {
			if found := usual[r.Role]; found != nil && (kind == s || slices.Index(list, found) < slices.Index(list, kind)) {
				kind = found
			}
		}
		for _, r := range s.each {
			if other := usual[r.Role]; other != nil && other != kind {
				for role, of := range usual {
					if of == other {
						usual[role] = kind
					}
				}
			}
			usual[r.Role] = kind
		}
	}
	return usual
}

func rolesOf(each []analysis.ObjectRole) string {
	roles := make([]string, 0, len(each))
	for _, r := range each {
		roles = append(roles, strings.Repeat("+", r.N)+r.Role)
	}
	slices.Sort(roles)
	return strings.Join(roles, "\n")
}
