package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// SentenceVersion rises with every change that could change the sentence or verdict of
// a case. Stored summaries are then recomputed.
const SentenceVersion = "23"

// worst is the worst verdict of a family that no person called benign. A total that
// rose although no family did counts as grew.
func (r *Report) worst() analysis.Verdict {
	worst := analysis.TooFewPoints
	for i := range r.Series {
		if len(r.Series[i].TotalsRisen) > 0 && analysis.Grew.Rank() < worst.Rank() {
			worst = analysis.Grew
		}
		for k := range r.Series[i].Findings {
			if f := &r.Series[i].Findings[k]; (f.Kind == SaturatedFinding || f.Key != nil && !r.Series[i].benign(f)) && f.Verdict.Rank() < worst.Rank() {
				worst = f.Verdict
			}
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

// place is the process behind a preposition, " in kubelet", or nothing if it has no name.
func (s *Series) place(preposition string) string {
	if s.nameless() {
		return ""
	}
	return " " + preposition + " " + s.Named()
}

// nameless reports a process of which nothing is known by which a sentence could name it.
func (s *Series) nameless() bool { return s.Process == "" && s.Called == "" && s.PID == nil }

// actor is the process as the subject of a sentence.
func (s *Series) actor() string {
	if s.nameless() {
		return "The process"
	}
	return s.Named()
}

// before is a sentence about the process.
func (s *Series) before(text string) string {
	if s.nameless() {
		return wording.Capital(text)
	}
	return s.Named() + ": " + text
}

// hosted is the process with its host.
func (s *Series) hosted() string {
	if s.Host == nil || *s.Host == "" {
		return s.Named()
	}
	return s.Named() + " on " + *s.Host
}

// Named is the process as sentences name it.
func (s *Series) Named() string {
	name := cmp.Or(s.Called, s.Process)
	switch {
	case name == "" && s.Unowned:
		name = "owner not known"
	case name == "":
		name = "an unnamed process"
	}
	if s.PID != nil {
		name += fmt.Sprintf(", pid %d", *s.PID)
	}
	return name
}

// owner is what a sentence says of the owner of sockets whose table does not name it.
func (s *Series) owner() string {
	if s.Unowned {
		return ", owner not known"
	}
	return ""
}

// course words counts over the snapshots of a series: "87 to 263 goroutines between t0
// and t7, back at 87 at t8". Counts of cut dumps are worded separately.
func (h *headline) course(s *Series, kind analysis.Kind, counts analysis.Counts, subject string) string {
	whole := h.whole(s, kind, counts)
	first, top := whole.FirstAt(), whole.HighestAt()
	if first < 0 {
		return "not captured"
	}
	last := whole.LastAt()
	from, to, end := whole[first].N, whole[top].N, whole[last].N
	counted := h.worded(s, kind)
	var text string
	switch {
	case len(slices.Compact(whole.Known())) == 1:
		text = fmt.Sprintf("%s%s throughout", wording.Members(counted, from), subject)
	case to <= from:
		text = fmt.Sprintf("%d to %d %s%s", from, end, wording.Kinds(counted), subject)
	default:
		text = fmt.Sprintf("%d to %d %s%s", from, to, wording.Kinds(counted), subject)
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

// leading is the kind that represents a series best: goroutines, else the first that
// half of its snapshots have.
func (h *headline) leading(s *Series) (analysis.Kind, analysis.Counts) {
	for _, k := range analysis.Kinds() {
		totals := h.totals(s, k)
		if n := len(totals.Known()); n*2 >= len(totals) && n > 0 {
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

func (h *headline) totals(s *Series, k analysis.Kind) analysis.Counts {
	out, as := make(analysis.Counts, len(s.Snapshots)), h.worded(s, k)
	for i := range out {
		if t := h.snapshot(s, i).Totals; t.Counted(k) == as {
			out[i] = analysis.CountOf(t.Of(k))
		} else if t.Of(k) != nil {
			out[i].State = analysis.NotShown // sockets alone, among captures of all descriptors
		}
	}
	return out
}

// worded is the kind as the totals of it are worded: sockets if no snapshot shows
// other descriptors.
func (h *headline) worded(s *Series, k analysis.Kind) analysis.Kind {
	counted := k
	for i := range s.Snapshots {
		if t := h.snapshot(s, i).Totals; t.Of(k) != nil {
			if counted = t.Counted(k); counted == k {
				return k
			}
		}
	}
	return counted
}

// whole returns counts without lower bounds.
func (h *headline) whole(s *Series, k analysis.Kind, counts analysis.Counts) analysis.Counts {
	return counts.Only(func(i int) bool { return !h.snapshot(s, i).Bounded(k) })
}

// Exactness is what the judged snapshot says of a kind. A report from before, which says
// nothing of kinds, has the mark of its cut dump.
func (s *Snapshot) Exactness(k analysis.Kind) analysis.Exactness {
	judged := analysis.Snapshot{LowerBound: s.LowerBound, Inexact: s.Inexact}
	return judged.Exactness(k)
}

// Bounded reports a kind whose counts are not exact: there are at least so many, and nothing
// is compared with them.
func (s *Snapshot) Bounded(k analysis.Kind) bool { return s.Exactness(k) != analysis.Exact }

func (h *headline) label(s *Series, i int) string { return h.snapshot(s, i).Label }
func (h *headline) epoch(s *Series, i int) int    { return h.snapshot(s, i).Epoch }

// comparable reports whether two snapshots of one process start have complete counts of
// one kind.
func (h *headline) comparable(s *Series) bool {
	return slices.ContainsFunc(analysis.Kinds(), func(k analysis.Kind) bool { return h.comparableKind(s, k) })
}

func (h *headline) comparableKind(s *Series, k analysis.Kind) bool {
	seen := map[int]bool{}
	for i, n := range h.whole(s, k, h.totals(s, k)) {
		if !n.Known() {
			continue
		}
		if seen[h.epoch(s, i)] {
			return true
		}
		seen[h.epoch(s, i)] = true
	}
	return false
}

// nothing words why a series with several snapshots cannot show growth.
func (h *headline) nothing(s *Series, kind analysis.Kind, totals analysis.Counts) string {
	cut, refused := 0, 0
	for i := range s.Snapshots {
		if snap := h.snapshot(s, i); snap.LowerBound || snap.Refused > 0 {
			cut++
		}
		if h.snapshot(s, i).Refused > 0 {
			refused++
		}
	}
	if text := h.declared(s); text != "" {
		return text
	}
	text := nothingSaid(cut, refused, len(s.Snapshots))
	if bounds := h.lowerBounds(s, kind, totals); bounds != "" {
		text = bounds + "; " + text
	}
	return text
}

// declared words what profiles without most of their records declare, "" if one of them declares
// nothing: "1,000 to 1,900 goroutines declared, stacks of 507: the dumps do not show which grew".
func (h *headline) declared(s *Series) string {
	for i := range s.Snapshots {
		if h.snapshot(s, i).Declared == 0 {
			return ""
		}
	}
	first, last := h.snapshot(s, 0), h.snapshot(s, len(s.Snapshots)-1)
	changed := [...]string{"ended", "stayed", "grew"}[1+cmp.Compare(last.Declared, first.Declared)]
	return fmt.Sprintf("%s to %s: the dumps do not show which %s", wording.Number(int64(first.Declared)), last.declared(), changed)
}

// lowerBounds words which counts of the kind are lower bounds, or returns "".
//
//	"at least 57 threads at t2 and 61 at t3"
//	"at least 57 threads in each of 4 dumps"
func (h *headline) lowerBounds(s *Series, kind analysis.Kind, counts analysis.Counts) string {
	var words []string
	least := 0
	for i, n := range counts {
		if !n.Known() || !h.snapshot(s, i).Bounded(kind) {
			continue
		}
		if len(words) == 0 || n.N < least {
			least = n.N
		}
		figure := strconv.Itoa(n.N)
		if len(words) == 0 {
			figure = "at least " + wording.Members(kind, n.N)
		}
		words = append(words, figure+" at "+h.label(s, i))
	}
	if n := len(words); n > 2 {
		return fmt.Sprintf("at least %s in each of %d dumps", wording.Members(kind, least), n)
	}
	return wording.List(words, 2)
}

// inventoryOf is the last known total of a kind, "at least 42 threads".
func (h *headline) inventoryOf(s *Series, kind analysis.Kind, totals analysis.Counts) string {
	text := wording.Members(kind, totals.Last())
	if at := totals.LastAt(); at >= 0 && h.snapshot(s, at).Bounded(kind) {
		text = "at least " + text
	}
	return text
}

// inventory lists the totals of one snapshot: "87 goroutines, 31 descriptors".
func (h *headline) inventory(s *Series, i int) string {
	var words []string
	snap := h.snapshot(s, i)
	for _, k := range analysis.Kinds() {
		switch n := snap.Totals.Of(k); {
		case n == nil:
		case k == analysis.KindGoroutine && snap.declared() != "":
			words = append(words, snap.declared())
		case snap.Bounded(k):
			words = append(words, "at least "+wording.Members(k, *n))
		default:
			words = append(words, wording.Members(snap.Totals.Counted(k), *n))
		}
	}
	if len(words) == 0 {
		return "nothing that can be counted"
	}
	return strings.Join(words, ", ")
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
	return fmt.Sprintf("%d new, %d gone, spread over groups none of which grew by itself.", *t.Born, *t.Gone)
}

// text is the paragraph shown in place of the sentence that nothing grows.
func (t TotalRise) text() string {
	return fmt.Sprintf("The %s rose from %d to %d: %s%s A later capture shows whether it goes on.", wording.Kinds(t.Kind), t.From, t.To, t.spread(), t.most())
}

// most names what rose most, a sentence for families and one for creators.
func (t TotalRise) most() string {
	list := func(rises []NamedRise) string {
		var words []string
		for _, f := range rises {
			words = append(words, f.Title+" +"+strconv.Itoa(f.Rise))
		}
		return strings.Join(words, ", ")
	}
	text := ""
	if len(t.Families) > 0 {
		text += " Most of all: " + list(t.Families) + "."
	}
	if len(t.Creators) > 0 && (len(t.Families) == 0 || t.Creators[0].Rise > t.Families[0].Rise) {
		text += " By creator: " + list(t.Creators) + "."
	}
	return text
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
			title := cmp.Or(j.names[f.Fingerprint].Function, j.Titles[f.Fingerprint])
			rise.Families = append(rise.Families, NamedRise{Fingerprint: f.Fingerprint, Title: title, Rise: f.Rise})
		}
		for _, f := range t.Creators {
			rise.Creators = append(rise.Creators, NamedRise{Title: f.Fingerprint, Rise: f.Rise})
		}
		out = append(out, rise)
	}
	return out
}
