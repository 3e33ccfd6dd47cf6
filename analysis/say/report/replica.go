package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// A replica is the odd one out if a group has at least oddTimes as many members as in the median
// of the others, and at least oddMore more.
const (
	oddTimes = 2
	oddMore  = 20
)

// mostReplicas is how many replicas a sentence names with their figures.
const mostReplicas = 4

// replicas are the series of a case of one program on several hosts, one dump each, in the order
// of their names; nil for other cases.
func (r *Report) replicas() []int {
	var out []int
	for i := range r.Series {
		s, first := &r.Series[i], &r.Series[0]
		if len(s.Snapshots) != 1 || s.Host == nil || s.Named() != first.Named() {
			return nil
		}
		out = append(out, i)
	}
	if len(out) < 2 {
		return nil
	}
	slices.SortFunc(out, func(a, b int) int { return strings.Compare(*r.Series[a].Host, *r.Series[b].Host) })
	return out
}

// sideBySide compares replicas: who is the odd one out, else that none stands out. The fullest wording
// comes first.
func (d *diagnosing) sideBySide(all []int) []string {
	first := &d.r.Series[all[0]]
	kind, _ := d.leading(first)
	head := wording.Plural(len(all), "replica", "replicas") + first.place("of") + " with one dump each"
	if kind == "" {
		return []string{head}
	}
	if odd, f, rest := d.odd(all); odd >= 0 {
		s := &d.r.Series[odd]
		what := s.nameOf(d.nouns, f, nil)
		others := strconv.Itoa(rest[0])
		if last := rest[len(rest)-1]; last != rest[0] {
			others += " to " + strconv.Itoa(last)
		}
		short := fmt.Sprintf("%s is the odd one out of %s: %s", *s.Host, head, what.words(f.Counts.Last()))
		return []string{short + ", in the others " + others, short}
	}
	counts, of := d.compares(all, kind)
	var each []string
	for k, i := range all {
		each = append(each, fmt.Sprintf("%s %d", *d.r.Series[i].Host, counts[k]))
	}
	tail := of + "; none stands out"
	if d.anyDeclared(all) {
		tail = of + " declared" // without their stacks no group of them can stand out
	}
	between := fmt.Sprintf("%s: %d to %d %s", head, slices.Min(counts), slices.Max(counts), tail)
	if len(all) > mostReplicas {
		return []string{between}
	}
	return []string{fmt.Sprintf("%s: %s %s", head, wording.Commas(each, mostReplicas), tail), between}
}

// anyDeclared reports that a dump declares goroutines whose stacks it lacks.
func (d *diagnosing) anyDeclared(all []int) bool {
	return slices.ContainsFunc(all, func(i int) bool { return d.snapshot(&d.r.Series[i], 0).Declared > 0 })
}

// compares are the members by which replicas are compared, with their name: those of the largest
// group of the first if it is most of the dump, else all.
func (d *diagnosing) compares(all []int, kind analysis.Kind) (counts []int, of string) {
	first := &d.r.Series[all[0]]
	for _, i := range all {
		n := d.totals(&d.r.Series[i], kind).Last()
		if kind == analysis.KindGoroutine {
			n = max(n, d.snapshot(&d.r.Series[i], 0).Declared)
		}
		counts = append(counts, n)
	}
	if d.anyDeclared(all) {
		return counts, wording.Kinds(d.worded(first, kind))
	}
	for k := range first.Families {
		f := &first.Families[k]
		if n := f.Counts[0]; f.Kind != kind || !n.Known() || 2*n.N < counts[0] {
			continue
		}
		own := []int{f.Counts[0].N}
		for _, i := range all[1:] {
			if x := d.r.Series[i].family(f.Fingerprint); x != nil && x.Counts[0].Known() {
				own = append(own, x.Counts[0].N)
			}
		}
		if len(own) == len(all) {
			what := first.nameOf(d.nouns, f, nil)
			return own, what.all()
		}
	}
	return counts, wording.Kinds(d.worded(first, kind))
}

// odd is the replica of which a group is far larger than in the others, the group and its members
// in the others in order; -1 without one. Of two that differ the larger one counts.
func (d *diagnosing) odd(all []int) (series int, most *Family, rest []int) {
	series, more := -1, oddMore-1
	for _, i := range all {
		s := &d.r.Series[i]
		for k := range s.Families {
			f := &s.Families[k]
			others, known := d.inOthers(all, i, f)
			if !known || !f.Counts[0].Known() {
				continue
			}
			n, median := f.Counts[0].N, others[len(others)/2]
			if n >= oddTimes*median && n-median > more {
				series, most, rest, more = i, f, others, n-median
			}
		}
	}
	return series, most, rest
}

// inOthers are the members of a family in the other replicas, in order. known is false if the
// dump of one could not show them.
func (d *diagnosing) inOthers(all []int, but int, f *Family) (out []int, known bool) {
	for _, i := range all {
		if i == but {
			continue
		}
		s, n := &d.r.Series[i], 0
		if x := s.family(f.Fingerprint); x != nil && x.Counts[0].Known() {
			n = x.Counts[0].N
		} else if x != nil || d.snapshot(s, 0).Totals.Of(f.Kind) == nil || d.snapshot(s, 0).Bounded(f.Kind) || s.creators() != d.r.Series[but].creators() {
			return nil, false
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return out, true
}

// creators reports that the dumps show who starts the goroutines: where those of one replica do
// and of another do not, no group of the one is known to be absent in the other.
func (s *Series) creators() bool {
	return slices.ContainsFunc(s.Families, func(f Family) bool { return f.CreatedBy != "" })
}

// acquitAged takes back what the ages in a single dump of a replica accuse: what all replicas hold
// alike is no growth of one.
func (r *Report) acquitAged() {
	for _, i := range r.replicas() {
		s := &r.Series[i]
		aged := map[string]bool{}
		s.Findings = slices.DeleteFunc(s.Findings, func(f Finding) bool {
			if f.Verdict != analysis.Suspicious || f.Marked() {
				return false
			}
			for _, print := range f.Families {
				aged[print] = true
			}
			return true
		})
		for k := range s.Families {
			if f := &s.Families[k]; aged[f.Fingerprint] && f.Verdict == analysis.Suspicious {
				f.Verdict = analysis.TooFewPoints
			}
		}
	}
}
