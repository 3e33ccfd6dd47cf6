package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// What makes up most of a large process may have come slowly, which few captures, or captures
// without times, do not show. dominantTotal is how large such a process is, dominantShare the least
// share of the group in percent, settledCaptures in how many captures with times it must stand.
const (
	dominantTotal   = 1000
	dominantShare   = 90
	settledCaptures = 4
)

// takeHour is the step where such a group stands: what came over days does not show within minutes.
const takeHour = "Take five captures over an hour: they show whether more come, and how long each waits."

// dominant is the group outside the standard library that makes up most of a process, while the
// captures cannot show that it grows slowly. It is nil for what the catalogue knows as normal, for
// members that are replaced, and without such a group.
func (d *diagnosing) dominant(s *Series) (f *Family, total int) {
	for i := range s.Families {
		f := &s.Families[i]
		if f.Verdict != analysis.Stable || f.Normal != nil || f.SetAside != nil || !slices.ContainsFunc(f.Frames, func(name string) bool { return !family.OfStandardLibrary(name) }) {
			continue
		}
		counts, totals := d.whole(s, f.Kind, f.Counts), d.whole(s, f.Kind, d.totals(s, f.Kind))
		at := counts.LastAt()
		if at < 0 || totals[at].N < dominantTotal || 100*counts[at].N < dominantShare*totals[at].N || d.settled(s, totals, at) {
			continue
		}
		if l := f.Life; l == nil || l.RenewedAt == nil && 2*l.Kept >= l.Had {
			return f, totals[at].N
		}
	}
	return nil, 0
}

// settled reports counts of enough captures with times, of one start of the process, up to the
// capture at.
func (d *diagnosing) settled(s *Series, counts analysis.Counts, at int) bool {
	n := 0
	for i := range counts[:at+1] {
		if counts[i].Known() && d.epoch(s, i) == d.epoch(s, at) && d.snapshot(s, i).CapturedAt != nil {
			n++
		}
	}
	return n >= settledCaptures
}

// dominated words such a group, the fullest wording first, nil without one: "Cannot tell whether
// goroutines of app leak: 5067 of 5170 (98 %) are in main.watch, and 2 captures cannot show slow
// growth".
func (d *diagnosing) dominated(s *Series) []string {
	f, total := d.dominant(s)
	if f == nil {
		return nil
	}
	n, x := f.Counts.Last(), s.nameOf(d.nouns, f, nil)
	place := strings.TrimSpace(x.place)
	if place == "" || x.many != wording.Kinds(f.Kind) {
		place = strings.TrimSpace(x.all())
	}
	text := fmt.Sprintf("Cannot tell whether %s%s leak: %d of %d (%s) are %s", wording.Kinds(f.Kind), s.place("of"), n, total, wording.Share(float64(n)/float64(total)), place)
	captures := wording.Plural(len(s.Snapshots), "capture", "captures")
	if d.over(s, 0, len(s.Snapshots)-1) == "" {
		captures += " without times"
	}
	words := []string{text + ", and " + captures + " cannot show slow growth", text}
	if memory := s.memoryRises(); len(memory) > 0 {
		words = append([]string{text + "; " + memory[0]}, words...)
	}
	return words
}
