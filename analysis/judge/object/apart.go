package object

import (
	"slices"

	"leakdiff/analysis"
)

// A dump with few objects may join, by who created whom, what the other dumps of a series
// leave apart: a worker that started two others is a part of one thing with them as long as
// most workers did. Over a series the larger number of dumps decides, or objects would come
// and go without a birth and an end.

// role is a role of goroutines that most dumps show alone.
type role struct {
	alone *analysis.ObjectKind
	// families are those of its goroutines, by fingerprint.
	families map[string]bool
}

// objectsOf returns the objects of each snapshot, nil without any: as its dump joined them,
// but for roles that the series shows alone more often than joined by a creator.
func objectsOf(snapshots []*analysis.Snapshot) []*analysis.Objects {
	out := make([]*analysis.Objects, len(snapshots))
	for i, s := range snapshots {
		if s.Joined != nil && s.Joined.LeftOut == "" {
			out[i] = s.Joined
		}
	}
	if len(snapshots) == 1 {
		return out // one dump decides for itself
	}
	roles := rolesApart(snapshots, out)
	if len(roles) == 0 {
		return out
	}
	for i, o := range out {
		if o != nil && slices.ContainsFunc(o.Kinds, func(k analysis.ObjectKind) bool { return len(within(&k, roles)) > 0 }) {
			out[i] = split(snapshots[i], o, roles)
		}
	}
	return out
}

// rolesApart finds the roles that stand alone more often than they are joined.
func rolesApart(snapshots []*analysis.Snapshot, objects []*analysis.Objects) map[string]*role {
	alone, joined := map[string]int{}, map[string]int{}
	best := map[string]int{} // the snapshot with most goroutines of the role alone
	most := map[string]*analysis.ObjectKind{}
	for i, o := range objects {
		if o == nil {
			continue
		}
		for at := range o.Kinds {
			k := &o.Kinds[at]
			switch {
			case k.Parts == 1:
				name := k.Each[0].Role
				alone[name] += k.Count
				if most[name] == nil || k.Count > most[name].Count {
					most[name], best[name] = k, i
				}
			case k.Level == analysis.ByParent:
				for _, r := range k.Each {
					joined[r.Role] += k.Count * r.N
				}
			}
		}
	}
	out := map[string]*role{}
	for name, n := range joined {
		if alone[name] <= n {
			continue
		}
		if families := familiesOf(snapshots[best[name]], most[name]); len(families) > 0 {
			out[name] = &role{most[name], families}
		}
	}
	return out
}

// familiesOf are the families of which nearly all goroutines are objects of a kind.
func familiesOf(s *analysis.Snapshot, k *analysis.ObjectKind) map[string]bool {
	var ids []int64
	for row := range k.Rows() {
		ids = append(ids, row.Root)
	}
	slices.Sort(ids)
	out := map[string]bool{}
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Family.Kind != analysis.KindGoroutine || !g.Members.Numbered() {
			continue
		}
		inside, all := 0, 0
		for id := range g.Members.IDs() {
			all++
			if _, ok := slices.BinarySearch(ids, id); ok {
				inside++
			}
		}
		if inside > 0 && 100*inside >= leastOfFamily*all {
			out[g.Family.Fingerprint] = true
		}
	}
	return out
}

// within are the roles of a joined kind that the series shows alone.
func within(k *analysis.ObjectKind, roles map[string]*role) (names []string) {
	if k.Parts == 1 || k.Level != analysis.ByParent {
		return nil
	}
	for _, r := range k.Each {
		if roles[r.Role] != nil {
			names = append(names, r.Role)
		}
	}
	return names
}

// split returns the objects of a snapshot with the goroutines of some roles as objects of
// their own.
func split(s *analysis.Snapshot, o *analysis.Objects, roles map[string]*role) *analysis.Objects {
	of := map[int64]string{}
	for i := range s.Groups {
		for name, r := range roles {
			if r.families[s.Groups[i].Family.Fingerprint] {
				for id := range s.Groups[i].Members.IDs() {
					of[id] = name
				}
			}
		}
	}
	out := &analysis.Objects{}
	for at := range o.Kinds {
		k := &o.Kinds[at]
		names := within(k, roles)
		if len(names) == 0 {
			out.Kinds = append(out.Kinds, *k)
			continue
		}
		out.Kinds = append(out.Kinds, splitKind(k, names, of, roles)...)
	}
	return out
}

// splitKind returns what is left of a kind, then the goroutines of each role.
func splitKind(k *analysis.ObjectKind, names []string, of map[int64]string, roles map[string]*role) []analysis.ObjectKind {
	left := analysis.ObjectKind{Name: k.Name, Type: k.Type, Level: k.Level, Holders: k.Holders}
	for _, r := range k.Each {
		if !slices.Contains(names, r.Role) {
			left.Each = append(left.Each, r)
			left.Parts += r.N
		}
	}
	alone := make([]analysis.ObjectKind, len(names))
	for i, name := range names {
		a := roles[name].alone
		alone[i] = analysis.ObjectKind{Name: a.Name, Type: a.Type, Each: a.Each, Level: a.Level, Parts: 1}
	}
	for row := range k.Rows() {
		var rest []int64
		for _, id := range row.Parts {
			if i := slices.Index(names, of[id]); i >= 0 {
				alone[i].Append(analysis.ObjectRow{Root: id, Parts: []int64{id}})
			} else {
				rest = append(rest, id)
			}
		}
		if len(rest) == 0 {
			continue
		}
		root := rest[0]
		if slices.Contains(rest, row.Root) {
			root = row.Root
		}
		left.Append(analysis.ObjectRow{Root: root, Parts: rest})
	}
	if left.Count == 0 {
		return alone
	}
	if left.Parts == 0 { // goroutines of a family that no role names
		left.Each, left.Parts = k.Each, k.Parts
	}
	return append([]analysis.ObjectKind{left}, alone...)
}
