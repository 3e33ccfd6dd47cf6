package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// What the figures of snapshots are: members, or the change to another snapshot.
const (
	showMembers  = ""
	showBase     = "base"
	showPrevious = "previous"
)

// Load is something that figures can be divided by, by snapshot; only on request,
// because shares hide leaks.
type Load struct {
	// Name is what the address says, Words what the page says: "kubelet running
	// pods", "hour of uptime".
	Name, Words string
	Values      map[string]float64
}

// Baseline is the snapshot that figures of a series are compared to.
type Baseline struct {
	Snapshot *analysis.Snapshot
	// CaseID and CaseTitle are set where it is of another case.
	CaseID, CaseTitle string
	// Chosen says that a person chose it, Gone that what was chosen is not there any
	// more; the first snapshot is used otherwise.
	Chosen, Gone bool
}

// words names the baseline: "t0, the first snapshot", "t3 of case Healthy node,
// chosen".
func (b *Baseline) words() string {
	if b.Snapshot == nil {
		return "none"
	}
	text := Visible(b.Snapshot.Label)
	if b.CaseID != "" {
		text += " of the case " + Visible(b.CaseTitle)
	}
	if b.Chosen {
		return text + ", chosen"
	}
	if b.Gone {
		return text + ", the first snapshot; the chosen one is not there any more"
	}
	return text + ", the first snapshot"
}

// foreign says that the baseline is of another process than a snapshot, "" where it
// is of the same.
func (b *Baseline) foreign(s *analysis.Snapshot) string {
	if b.Snapshot == nil || b.Snapshot.Process.Key() == s.Process.Key() {
		return ""
	}
	of := func(p analysis.Process) string {
		if p.Host.Known() {
			return printable(p.Name.Value) + " on " + Visible(p.Host.Value)
		}
		return printable(p.Name.Value)
	}
	return fmt.Sprintf("The baseline is of %s and the figures of %s: counts of two processes are compared.", of(b.Snapshot.Process), of(s.Process))
}

// columns writes the figures of families in snapshots.
type columns struct {
	show     string
	base     *analysis.Snapshot
	previous map[string]*analysis.Snapshot
	load     *Load
	counts   map[*analysis.Snapshot]map[string]int
}

// newColumns reads what a page's address asks of its figures.
func newColumns(show, per string, base *analysis.Snapshot, previous map[string]*analysis.Snapshot, loads []Load) columns {
	c := columns{base: base, previous: previous, counts: map[*analysis.Snapshot]map[string]int{}}
	if show == showBase && base != nil || show == showPrevious {
		c.show = show
	}
	for i := range loads {
		if loads[i].Name == per {
			c.load = &loads[i]
		}
	}
	return c
}

// plain reports figures that are members and nothing else.
func (c *columns) plain() bool { return c.show == showMembers && c.load == nil }

// against is the snapshot that a figure is the change to; nil where there is none.
func (c *columns) against(s *analysis.Snapshot) *analysis.Snapshot {
	switch c.show {
	case showBase:
		return c.base
	case showPrevious:
		return c.previous[s.ID]
	}
	return nil
}

// count returns how many members a family has in a snapshot; false where its kind was not
// captured.
func (c *columns) count(s *analysis.Snapshot, f *analysis.Family) (int, bool) {
	if s == nil || s.Totals.Of(f.Kind) == nil {
		return 0, false
	}
	of := c.counts[s]
	if of == nil {
		of = make(map[string]int, len(s.Groups))
		for i := range s.Groups {
			of[s.Groups[i].Family.Fingerprint] = s.Groups[i].Count
		}
		c.counts[s] = of
	}
	return of[f.Fingerprint], true
}

// figure is one cell: its text and, where it is a change, its sign.
type figure struct {
	Text string
	Sign int
	// Changed says that the cell is a change, which is drawn with its sign.
	Changed bool
}

// of writes n members of a family in a snapshot.
func (c *columns) of(s *analysis.Snapshot, f *analysis.Family, n int) figure {
	if c.plain() {
		return figure{Text: atLeast(wording.Number(int64(n)), s.Bounded(f.Kind))}
	}
	value, ok := c.scaled(s, n)
	if !ok {
		return figure{Text: "n/a"}
	}
	if c.show == showMembers {
		return figure{Text: atLeast(decimal(value), s.Bounded(f.Kind))}
	}
	to := c.against(s)
	before, known := c.count(to, f)
	if !known || to.Bounded(f.Kind) || s.Bounded(f.Kind) {
		return figure{Text: "n/a"}
	}
	from, ok := c.scaled(to, before)
	if !ok {
		return figure{Text: "n/a"}
	}
	return change(value - from)
}

// scaled divides by the load of the snapshot, where one was asked for.
func (c *columns) scaled(s *analysis.Snapshot, n int) (float64, bool) {
	if c.load == nil {
		return float64(n), true
	}
	by, known := c.load.Values[s.ID]
	if !known || by <= 0 {
		return 0, false
	}
	return float64(n) / by, true
}

// change writes a difference with its sign.
func change(v float64) figure {
	out := figure{Text: decimal(v), Changed: true}
	switch {
	case v > 0:
		out.Text, out.Sign = "+"+out.Text, 1
	case v < 0:
		out.Sign = -1
	}
	return out
}

// decimal writes a number with at most three digits behind the point: "0.083",
// "−1.5", "12", and "10 000".
func decimal(v float64) string {
	if v == math.Trunc(v) || math.Abs(v) >= 1000 {
		return wording.Number(int64(math.Round(v)))
	}
	places := 3
	if math.Abs(v) >= 10 {
		places = 1
	}
	text := strings.TrimRight(strconv.FormatFloat(v, 'f', places, 64), "0")
	return strings.Replace(wording.Clause(text), "-", minus, 1)
}

// words say what the figures are, "" where they are members.
func (c *columns) words(b *Baseline) string {
	var words []string
	switch c.show {
	case showBase:
		words = append(words, "change to the baseline "+b.words())
	case showPrevious:
		words = append(words, "change to the snapshot before each")
	}
	if c.load != nil {
		words = append(words, "members per "+c.load.Words)
	}
	return strings.Join(words, ", ")
}
