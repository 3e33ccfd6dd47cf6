package trend

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// A Key is a property that several families share: what created them, the package that they
// are in, or only their kind. A leak that makes a new family each time, a type for each tenant
// or a closure for each plugin, grows by its key and by no family (statistics.md R6).
type Key struct {
	// By says what Name is.
	By   KeyKind
	Kind analysis.Kind
	Name string
	// Families rose, most first. Of is how many families have the key.
	Families  []string
	Of        int
	Counts    analysis.Counts
	Judgement analysis.Judgement
	// Moving reports that members move between the families: these are states of one population.
	Moving bool
}

// KeyKind is creator, package, population, path or total. The name of a total is its kind, that of a
// population what its states share: a pool, the ends of sockets, a mount. That of a path has a star
// for the name in which its families differ.
type KeyKind string

const (
	ByCreator KeyKind = "creator"
	ByPackage KeyKind = "package"
	ByTotal   KeyKind = "total"

	ByPopulation KeyKind = "population"
	ByPath       KeyKind = "path"
)

// leastKeyed is how many families must share a key, and how many of them must have risen.
const leastKeyed = 3

// Keys returns the keys that grew although none of their families is accused, those that rose
// most first. A package is judged only by families of which no creator says as much, a total
// only where no other key of its kind grew.
func (s *Series) Keys() []Key {
	s.keysOnce.Do(func() { s.keys = s.findKeys() })
	return s.keys
}

func (s *Series) findKeys() []Key {
	told := map[string]bool{}
	paths := s.judgePaths()
	out := append(s.judgePopulations(), paths...)
	for _, k := range out {
		for _, print := range k.Families {
			told[print] = true
		}
	}
	for _, by := range []KeyKind{ByCreator, ByPackage} {
		for _, k := range s.judgeKeys(analysis.KindGoroutine, by, s.sharing(by, told)) {
			out = append(out, k)
			for _, print := range k.Families {
				told[print] = true
			}
		}
	}
	for _, kind := range totalKinds {
		if kind == analysis.KindGoroutine && len(out) > 0 || kind == analysis.KindDescriptor && len(paths) > 0 {
			continue
		}
		if t, ok := s.total(kind); ok && t.Risen {
			out = append(out, s.judgeKeys(kind, ByTotal, []sharing{s.allOf(kind)})...)
		}
	}
	slices.SortStableFunc(out, func(a, b Key) int { return cmp.Compare(b.Judgement.Rise, a.Judgement.Rise) })
	return out
}

// sharing are families of one key, in the order of their fingerprints.
type sharing struct {
	name  string
	kind  analysis.Kind
	parts []*part
}

// sharing groups the families that are told nowhere else: those of goroutines, or by population of
// every kind.
func (s *Series) sharing(by KeyKind, told map[string]bool) []sharing {
	at := map[[2]string]int{}
	var out []sharing
	for _, p := range s.ordered {
		if p.family.Kind != analysis.KindGoroutine && by != ByPopulation || told[p.family.Fingerprint] || s.in.Observer[p.family.Fingerprint] {
			continue
		}
		name := populationOf(p.family)
		if by == ByPackage {
			name = s.packageOf(p.family.Fingerprint)
		}
		if name == "" {
			continue
		}
		key := [2]string{string(p.family.Kind), name}
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, sharing{name: name, kind: p.family.Kind})
		}
		out[i].parts = append(out[i].parts, p)
	}
	slices.SortFunc(out, func(a, b sharing) int { return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind)) })
	return out
}

// allOf are the families of a kind.
func (s *Series) allOf(kind analysis.Kind) sharing {
	out := sharing{name: string(kind), kind: kind}
	for _, p := range s.ordered {
		if p.family.Kind == kind && !s.in.Observer[p.family.Fingerprint] {
			out.parts = append(out.parts, p)
		}
	}
	return out
}

// packageOf is the package of the first frame of a family outside the standard library, "" if
// it has none.
func (s *Series) packageOf(fingerprint string) string {
	for _, group := range s.groups[fingerprint] {
		if group == nil || len(group.Variants) == 0 || group.Variants[0].Stack == nil {
			continue
		}
		for _, frame := range group.Variants[0].Stack.Frames {
			if path := packageOutside(frame.Func); path != "" {
				return path
			}
		}
		return ""
	}
	return ""
}

// packageOutside is the import path of a function, "" for one of the standard library.
func packageOutside(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	dot := strings.IndexByte(function[slash:], '.')
	if dot < 0 {
		return ""
	}
	path := function[:slash+dot]
	if first, _, _ := strings.Cut(path, "/"); path == "main" || strings.Contains(first, ".") {
		return path
	}
	return ""
}

// judgeKeys judges the keys of which enough families rose.
func (s *Series) judgeKeys(kind analysis.Kind, by KeyKind, all []sharing) []Key {
	var found []Key
	var united []sharing
	for _, m := range all {
		if rose := s.risenOf(m.parts); len(rose) >= leastKeyed {
			found = append(found, Key{By: by, Kind: kind, Name: m.name, Of: len(m.parts), Families: rose})
			united = append(united, m)
		}
	}
	return s.judgeUnited(kind, found, united)
}

// judgeUnited judges the families of each key as one: counts are added, identities are united.
// It returns the keys that rose.
func (s *Series) judgeUnited(kind analysis.Kind, found []Key, united []sharing) []Key {
	if len(found) == 0 {
		return nil
	}
	in := s.in
	in.Epochs, in.Snapshots = s.Epochs, make([]*analysis.Snapshot, len(s.Snapshots))
	for i, snap := range s.Snapshots {
		whole := *snap
		whole.Groups = nil
		for _, m := range united {
			if group := s.unite(&analysis.Family{Kind: kind, Fingerprint: m.name}, m.parts, i); group.Count > 0 {
				whole.Groups = append(whole.Groups, group)
			}
		}
		in.Snapshots[i] = &whole
	}
	series := NewSeries(in)
	judged := series.JudgeAll()
	var out []Key
	for at, k := range found {
		k.Judgement, k.Counts = judged[united[at].name], series.Counts(united[at].name)
		if len(s.Snapshots) < fewestCohortPoints && k.Judgement.Verdict == analysis.Suspicious {
			k.Judgement.Verdict = analysis.Grew // the start of something large looks the same
		}
		if k.Judgement.Verdict == analysis.New && !s.anyNew(k.Families) {
			k.Judgement.Verdict = analysis.Grew // a family of it that is new is said by itself
		}
		if v := k.Judgement.Verdict; v.Rose() && v != analysis.New && v != analysis.Scaling {
			out = append(out, k)
		}
	}
	return out
}

func (s *Series) anyNew(families []string) bool {
	return slices.ContainsFunc(families, func(print string) bool { return s.judgements().byFingerprint[print].verdict() == analysis.New })
}

// unite is what the families of a key have in one snapshot.
func (s *Series) unite(family *analysis.Family, parts []*part, at int) analysis.Group {
	out := analysis.Group{Family: family, OldestWait: -1}
	whole := true
	for _, p := range parts {
		if group := s.groups[p.family.Fingerprint][at]; group != nil {
			out.Count += group.Count
			whole = whole && allIdentified(group)
			c := out.Members.Fill()
			if family.Kind == analysis.KindGoroutine {
				c.ID = group.Members.AppendIDs(c.ID)
				continue
			}
			for id := range group.Members.Identities() {
				c.ID, c.Sub, c.Hash = append(c.ID, id.ID), append(c.Sub, id.Sub), append(c.Hash, id.Hash)
			}
		}
	}
	if !whole {
		out.Members = analysis.Members{}
	}
	return out
}

// risenOf are the families that rose, most first, nil where one of them is accused, most of the
// rise is told by families, or they are too few.
func (s *Series) risenOf(parts []*part) []string {
	if len(parts) < leastKeyed {
		return nil
	}
	var rose []Share
	told, all := 0, 0
	for _, p := range parts {
		verdict := s.judgements().byFingerprint[p.family.Fingerprint].verdict()
		switch verdict {
		case analysis.Leaking, analysis.Suspicious, analysis.Scaling:
			return nil
		}
		gain := 0
		for _, run := range p.comparable() {
			gain += run[len(run)-1].count - run[0].count
		}
		if gain <= 0 {
			continue
		}
		if all += gain; verdict.Rose() && verdict != analysis.New {
			told += gain // it is a finding itself
		}
		rose = append(rose, Share{Fingerprint: p.family.Fingerprint, Rise: gain})
	}
	if 2*told > all {
		return nil
	}
	slices.SortStableFunc(rose, func(a, b Share) int { return cmp.Compare(b.Rise, a.Rise) })
	var out []string
	for _, r := range rose {
		out = append(out, r.Fingerprint)
	}
	return out
}
