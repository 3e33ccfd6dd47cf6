package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Diagnosis is the one sentence of a case: the first line of every page, list, text and
// file.
type Diagnosis struct {
	Sentence string `json:"sentence"`
	// Verdict is the worst that no person set aside.
	Verdict analysis.Verdict `json:"verdict"`
}

// SentenceVersion rises with every change that could change the sentence or verdict of
// a case. Stored summaries are then recomputed.
const SentenceVersion = "3"

// mostSeriesTold is how many processes the sentence names.
const mostSeriesTold = 3

// Headline is the one sentence that a case is quoted with. Every output uses it.
// Processes with accused families come first, then those that rose, then the rest; one
// that was seen to hold the growth of another stands before it.
func (r *Report) Headline() string {
	h := headline{snapshots: make(map[string]*Snapshot, len(r.Snapshots))}
	for i := range r.Snapshots {
		h.snapshots[r.Snapshots[i].ID] = &r.Snapshots[i]
	}
	var told [3][]string
	for _, i := range r.seriesInOrder() {
		s := &r.Series[i]
		if text, place := h.series(s); s.Process != "" || i == 0 || place != placeRest {
			told[place] = append(told[place], text)
		}
	}
	parts := slices.Concat(told[0], told[1], told[2])
	if len(parts) == 0 {
		return "No evidence of any process was found."
	}
	more := len(parts) - mostSeriesTold
	if more <= 0 {
		return strings.Join(parts, " ")
	}
	rest := wording.Plural(more, "more process was read.", "more processes were read.")
	if growing := len(told[0]) - mostSeriesTold; growing > 0 {
		rest = wording.Plural(growing, "more process grows.", "more processes grow.")
	}
	return strings.Join(parts[:mostSeriesTold], " ") + " " + rest
}

// worst is the worst verdict of a family that no person called benign. A total that
// rose although no family did counts as grew.
func (r *Report) worst() analysis.Verdict {
	worst := analysis.TooFewPoints
	for i := range r.Series {
		if len(r.Series[i].TotalsRisen) > 0 && analysis.Grew.Rank() < worst.Rank() {
			worst = analysis.Grew
		}
		for k := range r.Series[i].Families {
			if v := r.Series[i].Families[k].accused(); v.Rank() < worst.Rank() {
				worst = v
			}
		}
	}
	return worst
}

// headline makes the sentence. snapshots are those of the report, by id.
type headline struct{ snapshots map[string]*Snapshot }

// The positions of a process in the sentence.
const (
	placeAccused = iota
	placeRose
	placeRest
)

func (h *headline) series(s *Series) (text string, place int) {
	name := s.named()
	if len(s.Snapshots) == 1 {
		return fmt.Sprintf("%s: %s in one snapshot.", name, h.inventory(s, 0)), placeRest
	}
	if f := s.worst(); f != nil {
		place = placeRose
		if rising(f.Verdict) {
			place = placeAccused
		}
		text := name + ": " + h.risen(s, f)
		return text + "; " + h.outcome(s, f) + ".", place
	}
	kind, totals := h.leading(s)
	switch aside, _ := s.setAside(); {
	case kind == "":
		return fmt.Sprintf("%s: %d snapshots.", name, len(s.Snapshots)), placeRest
	case !h.comparable(s):
		return name + ": " + h.nothing(s, kind, totals) + ".", placeRest
	case len(aside) > 0:
		return fmt.Sprintf("%s: %s; %s set aside as benign by a person, nothing else grows.", name, h.course(s, kind, totals, ""),
			wording.Plural(len(aside), "family grows and was", "families grow and were")), placeRest
	}
	for _, t := range s.TotalsRisen {
		return fmt.Sprintf("%s: %d to %d %s; %s", name, t.From, t.To, wording.Kinds(t.Kind), t.spread()), placeRose
	}
	text = name + ": " + h.course(s, kind, totals, "")
	if slices.ContainsFunc(s.Families, func(f Family) bool { return f.SetAside != nil && f.Verdict == analysis.Stable }) {
		return text + "; what grows is known, and no leak.", placeRest
	}
	if first, top := ends(totals); first >= 0 && top == lastKnown(totals) && *totals[top] > *totals[first] {
		text += ", " + noise(*totals[first], *totals[top])
	}
	return text + "; no growing family was found.", placeRest
}

// noise words a rise that is no growth: below the gate of 10 and 15 %, or above it and
// within what replaced members cause.
func noise(from, to int) string {
	if rise := to - from; rise >= 10 && 100*rise >= 15*from {
		return fmt.Sprintf("rose by %d, not distinguishable from noise", rise)
	}
	return "within noise"
}

// named is the process as sentences name it.
func (s *Series) named() string {
	name := s.Process
	if name == "" {
		name = "an unnamed process"
	}
	if s.PID != nil {
		name += fmt.Sprintf(", pid %d", *s.PID)
	}
	return name
}

// worst is the family with the worst verdict among those that rose and that no person
// called benign. Of several it is the first kind with the largest rise. It is nil if
// none rose.
func (s *Series) worst() *Family {
	var out *Family
	for i := range s.Families {
		f := &s.Families[i]
		if !f.accused().Rose() {
			continue
		}
		if out == nil || f.Verdict.Rank() < out.Verdict.Rank() || f.Verdict == out.Verdict && slices.Index(analysis.Kinds(), f.Kind) < slices.Index(analysis.Kinds(), out.Kind) {
			out = f
		}
	}
	return out
}

// risen words the course of the total that a family belongs to, or its own if the total
// did not rise.
func (h *headline) risen(s *Series, f *Family) string {
	totals := h.totals(s, f.Kind)
	if first, top := ends(h.whole(s, f.Kind, totals)); first >= 0 && *totals[top] > *totals[first] {
		return h.course(s, f.Kind, totals, "")
	}
	title, _, _ := strings.Cut(f.Title, " <- ")
	return h.course(s, f.Kind, f.Counts, " in "+title)
}

// course words counts over the snapshots of a series: "87 to 263 goroutines between t0
// and t7, back at 87 at t8". Counts of cut dumps are worded separately.
func (h *headline) course(s *Series, kind analysis.Kind, counts []*int, subject string) string {
	whole := h.whole(s, kind, counts)
	first, top := ends(whole)
	if first < 0 {
		return "not captured"
	}
	last := lastKnown(whole)
	from, to, end := *whole[first], *whole[top], *whole[last]
	var text string
	switch {
	case len(slices.Compact(known(whole))) == 1:
		text = fmt.Sprintf("%d %s%s throughout", from, wording.Kinds(kind), subject)
	case to <= from:
		text = fmt.Sprintf("%d to %d %s%s", from, end, wording.Kinds(kind), subject)
	default:
		text = fmt.Sprintf("%d to %d %s%s", from, to, wording.Kinds(kind), subject)
		if len(s.Snapshots) > 2 {
			text += " between " + h.label(s, first) + " and " + h.label(s, top)
		}
		switch {
		case last > top && h.epoch(s, last) != h.epoch(s, top):
			text += fmt.Sprintf(", restarted with %d at %s", end, h.label(s, last))
		case last > top && end <= from+(to-from)/2:
			text += fmt.Sprintf(", back at %d at %s", end, h.label(s, last))
		}
	}
	if bounds := h.lowerBounds(s, kind, counts); bounds != "" {
		text += ", " + bounds
	}
	return text
}

// outcome words how many families have the worst verdict: "3 families are leaking", "2
// families were leaking until t8", "main.wait grew: 40 new, 0 gone, 212 of 212 still
// there".
func (h *headline) outcome(s *Series, worst *Family) string {
	n, over, until := 0, 0, ""
	for i := range s.Families {
		f := &s.Families[i]
		if f.accused() != worst.Verdict {
			continue
		}
		n++
		if f.RecoveredAt != nil {
			over++
			until = *f.RecoveredAt
		}
	}
	title, _, _ := strings.Cut(worst.Title, " <- ")
	switch worst.Verdict {
	case analysis.Stopped:
		return told(n, title, "grew and has stopped", "families grew and have stopped", worst, "stopped")
	case analysis.Grew:
		return told(n, title, "grew", "families grew", worst, "turnover")
	case analysis.New:
		return told(n, title, "is new", "families are new", worst, "turnover")
	}
	word := map[analysis.Verdict]string{analysis.Leaking: "leaking", analysis.Suspicious: "suspicious", analysis.Scaling: "growing with its load"}[worst.Verdict]
	if over == n {
		return fmt.Sprintf("%s %s until %s", wording.Plural(n, "family was", "families were"), word, h.labelOf(until))
	}
	return fmt.Sprintf("%s %s", wording.Plural(n, "family is", "families are"), word)
}

// told names one family, or counts several and names the first of them, with the
// figures of a rule.
func told(n int, title, one, several string, f *Family, rule string) string {
	text := title + " " + one
	if n > 1 {
		text = fmt.Sprintf("%d %s, among them %s", n, several, title)
	}
	for _, e := range f.Evidence {
		if e.Rule == rule {
			return text + ": " + e.Text
		}
	}
	return text + fmt.Sprintf(": %+d", f.Rise)
}

// leading is the kind that represents a series best: goroutines, else the first that
// half of its snapshots have.
func (h *headline) leading(s *Series) (analysis.Kind, []*int) {
	for _, k := range analysis.Kinds() {
		totals := h.totals(s, k)
		if n := len(known(totals)); n*2 >= len(totals) && n > 0 {
			return k, totals
		}
	}
	return "", nil
}

func (h *headline) snapshot(s *Series, i int) *Snapshot {
	if snap := h.snapshots[s.Snapshots[i]]; snap != nil {
		return snap
	}
	return &Snapshot{}
}

func (h *headline) totals(s *Series, k analysis.Kind) []*int {
	out := make([]*int, len(s.Snapshots))
	for i := range out {
		out[i] = h.snapshot(s, i).Totals.Of(k)
	}
	return out
}

// whole returns counts without lower bounds.
func (h *headline) whole(s *Series, k analysis.Kind, counts []*int) []*int {
	out := make([]*int, len(s.Snapshots))
	copy(out, counts)
	for i := range out {
		if h.snapshot(s, i).bounded(k) {
			out[i] = nil
		}
	}
	return out
}

func (s *Snapshot) bounded(k analysis.Kind) bool {
	return s.LowerBound && (k == analysis.KindGoroutine || k == analysis.KindThread)
}

func (h *headline) label(s *Series, i int) string { return h.snapshot(s, i).Label }
func (h *headline) epoch(s *Series, i int) int    { return h.snapshot(s, i).Epoch }

func (h *headline) labelOf(id string) string {
	if snap := h.snapshots[id]; snap != nil {
		return snap.Label
	}
	return id
}

// comparable reports whether two snapshots of one process start have complete counts of
// one kind.
func (h *headline) comparable(s *Series) bool {
	for _, k := range analysis.Kinds() {
		seen := map[int]bool{}
		for i, n := range h.whole(s, k, h.totals(s, k)) {
			if n == nil {
				continue
			}
			if seen[h.epoch(s, i)] {
				return true
			}
			seen[h.epoch(s, i)] = true
		}
	}
	return false
}

// nothing words why a series with several snapshots cannot show growth.
func (h *headline) nothing(s *Series, kind analysis.Kind, totals []*int) string {
	cut, refused := 0, 0
	for i := range s.Snapshots {
		if h.snapshot(s, i).LowerBound {
			cut++
		}
		if h.snapshot(s, i).Refused > 0 {
			refused++
		}
	}
	text := nothingSaid(cut, refused, len(s.Snapshots))
	if bounds := h.lowerBounds(s, kind, totals); bounds != "" {
		text = bounds + "; " + text
	}
	return text
}

// lowerBounds words which counts of the kind are lower bounds, or returns "".
//
//	"at least 57 threads at t2 and 61 at t3"
//	"at least 57 threads at t2 and lower bounds at 3 more snapshots"
func (h *headline) lowerBounds(s *Series, kind analysis.Kind, counts []*int) string {
	var words []string
	for i, n := range counts {
		if n == nil || !h.snapshot(s, i).bounded(kind) {
			continue
		}
		figure := strconv.Itoa(*n)
		if len(words) == 0 {
			figure = "at least " + wording.Members(kind, *n)
		}
		words = append(words, figure+" at "+h.label(s, i))
	}
	if n := len(words); n > 2 {
		words = []string{words[0], fmt.Sprintf("lower bounds at %d more snapshots", n-1)}
	}
	return wording.List(words, 2)
}

// inventory lists the totals of one snapshot: "87 goroutines, 31 descriptors".
func (h *headline) inventory(s *Series, i int) string {
	var words []string
	snap := h.snapshot(s, i)
	for _, k := range analysis.Kinds() {
		switch n := snap.Totals.Of(k); {
		case n == nil:
		case snap.bounded(k):
			words = append(words, "at least "+wording.Members(k, *n))
		default:
			words = append(words, wording.Members(k, *n))
		}
	}
	if len(words) == 0 {
		return "nothing that can be counted"
	}
	return strings.Join(words, ", ")
}

// ends returns the indexes of the first known count and of the largest, -1 without any.
func ends(counts []*int) (first, top int) {
	first, top = -1, -1
	for i, n := range counts {
		if n == nil {
			continue
		}
		if first < 0 {
			first = i
		}
		if top < 0 || *n > *counts[top] {
			top = i
		}
	}
	return first, top
}

// known returns the known counts.
func known(counts []*int) []int {
	var out []int
	for _, n := range counts {
		if n != nil {
			out = append(out, *n)
		}
	}
	return out
}

// lastKnown is the index of the last known count, -1 without any.
func lastKnown(counts []*int) int {
	for i := len(counts) - 1; i >= 0; i-- {
		if counts[i] != nil {
			return i
		}
	}
	return -1
}

// TotalRise is a total whose rise no single family explains.
type TotalRise struct {
	Kind analysis.Kind `json:"kind"`
	From int           `json:"from"`
	To   int           `json:"to"`
	// Born and Gone are members by identity, null if they cannot be followed.
	Born *int `json:"born"`
	Gone *int `json:"gone"`
	// Families rose most of all. Creators started most of the new goroutines.
	Families []NamedRise `json:"families"`
	Creators []NamedRise `json:"creators,omitempty"`
}

// NamedRise is the rise of a family, or of what a function created.
type NamedRise struct {
	// Fingerprint is empty for a creator.
	Fingerprint string `json:"fingerprint,omitempty"`
	Title       string `json:"title"`
	Rise        int    `json:"rise"`
}

// spread words a rise that is spread over many families: "31 new, 11 gone, spread over
// families none of which grew by itself."
func (t TotalRise) spread() string {
	if t.Born == nil || t.Gone == nil {
		return fmt.Sprintf("%d more by the counts, which do not show who came and who left.", t.To-t.From)
	}
	return fmt.Sprintf("%d new, %d gone, spread over families none of which grew by itself.", *t.Born, *t.Gone)
}

// text is the paragraph shown in place of the sentence that nothing grows.
func (t TotalRise) text() string {
	text := fmt.Sprintf("The %s rose from %d to %d: %s", wording.Kinds(t.Kind), t.From, t.To, t.spread())
	list := func(rises []NamedRise) string {
		var words []string
		for _, f := range rises {
			words = append(words, f.Title+" +"+strconv.Itoa(f.Rise))
		}
		return strings.Join(words, ", ")
	}
	if len(t.Families) > 0 {
		text += " Most of all: " + list(t.Families) + "."
	}
	if len(t.Creators) > 0 {
		text += " By creator: " + list(t.Creators) + "."
	}
	return text + " One more capture in 30 minutes shows whether it goes on."
}

// totalsRisen returns the totals that forbid the sentence that nothing grew.
func (j *JudgedSeries) totalsRisen() []TotalRise {
	var out []TotalRise
	for _, t := range j.Trend.Totals() {
		if !t.Risen {
			continue
		}
		rise := TotalRise{Kind: t.Kind, From: t.From, To: t.To, Families: []NamedRise{}}
		if t.Born >= 0 {
			rise.Born, rise.Gone = &t.Born, &t.Gone
		}
		for _, f := range t.Families {
			title, _, _ := strings.Cut(j.Titles[f.Fingerprint], " <- ")
			rise.Families = append(rise.Families, NamedRise{Fingerprint: f.Fingerprint, Title: title, Rise: f.Rise})
		}
		for _, f := range t.Creators {
			rise.Creators = append(rise.Creators, NamedRise{Title: f.Fingerprint, Rise: f.Rise})
		}
		out = append(out, rise)
	}
	return out
}
