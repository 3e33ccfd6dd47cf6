package report

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/filter"
)

// CaseReport is all that is said of a case at one revision: the report, and what pages
// draw beside it. It needs no snapshot and can be stored.
type CaseReport struct {
	Report Report
	// Series are in the order of Report.Series.
	Series []SeriesReport
	// Summary is what a list shows of the case.
	Summary CaseSummary
}

// SeriesReport is what Report leaves out of one series.
type SeriesReport struct {
	// Key names the series in its case.
	Key string
	// Events are those that people gave and those that the snapshots show.
	Events []trend.Event `json:",omitempty"`
	// Points are the explanation of what grows.
	Points []trend.Point `json:",omitempty"`
	// PerHour is the slope of each family that has one in members per hour.
	PerHour map[string]float64 `json:",omitempty"`
	// NoWait names the families of goroutines with ids of which no member had waited a
	// minute in the last snapshot that shows the family.
	NoWait map[string]bool `json:",omitempty"`
	// Objects are the types of its objects, those with most objects first.
	Objects []ObjectSights `json:",omitempty"`
	// Drawn is nil in a series of one snapshot and in large cases.
	Drawn *Drawn `json:",omitempty"`
}

// ObjectSights are the first and the last capture of a series with objects of a type. A
// capture without a time is none.
type ObjectSights struct {
	Name, Type string
	// First and Last index the snapshots of the series, the counts are those of objects.
	First, Last, FirstCount, LastCount int
	// Version is that of the program at the last one, or empty.
	Version string `json:",omitempty"`
}

// Said is the case without its evidence.
func (c *Case) Said() *CaseReport {
	out := &CaseReport{Report: c.Report, Series: make([]SeriesReport, len(c.Series)), Summary: c.Summary()}
	points := 0
	for i := range c.Series {
		if n := len(c.Series[i].Snapshots); n > 1 {
			points += n
		}
	}
	for i := range c.Series {
		out.Series[i] = c.Series[i].report(&c.Report.Series[i])
		if points <= mostDrawnPoints && len(c.Series[i].Snapshots) > 1 {
			out.Series[i].Drawn = c.Series[i].Drawn(&c.Report.Series[i])
		}
	}
	return out
}

func (j *JudgedSeries) report(s *Series) SeriesReport {
	out := SeriesReport{Key: j.Key, Events: j.Trend.Events(), Points: j.Trend.Explain(), PerHour: map[string]float64{}, NoWait: map[string]bool{}}
	for i := range s.Families {
		f := &s.Families[i]
		if judgement := j.Judged[f.Fingerprint]; judgement.SlopeUnit == "per hour" {
			out.PerHour[f.Fingerprint] = judgement.Slope
		}
		if g := j.last(f.Fingerprint); g != nil && g.OldestWait < 0 && f.Kind == analysis.KindGoroutine && g.Members.Identified() {
			out.NoWait[f.Fingerprint] = true
		}
	}
	out.Objects = j.sights()
	return out
}

// sights adds up the objects of each type, whatever their shape, at most mostObjects types. A
// type of which every object is one goroutine is left out: its family says as much.
func (j *JudgedSeries) sights() (out []ObjectSights) {
	at := map[string]int{}
	composed := map[string]bool{}
	for i, snap := range j.Snapshots {
		if snap.Joined == nil || snap.CapturedAt.IsZero() {
			continue
		}
		for k := range snap.Joined.Kinds {
			kind := &snap.Joined.Kinds[k]
			n, known := at[kind.Type]
			if !known {
				n = len(out)
				at[kind.Type] = n
				out = append(out, ObjectSights{Name: kind.Name, Type: kind.Type, First: i, Last: -1})
			}
			if kind.Parts > 1 || snap.Joined.Threads {
				composed[kind.Type] = true
			}
			x := &out[n]
			if x.Last < i {
				x.Last, x.LastCount, x.Version = i, 0, snap.Process.Release()
			}
			x.LastCount += kind.Count
			if x.First == i {
				x.FirstCount += kind.Count
			}
		}
	}
	out = slices.DeleteFunc(out, func(x ObjectSights) bool { return !composed[x.Type] })
	slices.SortFunc(out, func(a, b ObjectSights) int {
		return cmp.Or(cmp.Compare(max(b.FirstCount, b.LastCount), max(a.FirstCount, a.LastCount)), strings.Compare(a.Type, b.Type))
	})
	return out[:min(len(out), mostObjects)]
}

// stackFrames are the frames of the stacks of all findings and of memberStacks.
func (s *Series) stackFrames() iter.Seq[*StackFrame] {
	return func(yield func(*StackFrame) bool) {
		for _, findings := range [][]Finding{s.Findings, s.SetAside} {
			for i := range findings {
				for k := range findings[i].Stack {
					if !yield(&findings[i].Stack[k]) {
						return
					}
				}
			}
		}
		for _, x := range s.memberStacks() {
			for n := range x.Stack {
				if !yield(&x.Stack[n]) {
					return
				}
			}
		}
	}
}

// memberStacks are the stacks of those in deadlocks and of the goroutine that failed.
func (s *Series) memberStacks() (out []MemberStack) {
	if s.Locks != nil {
		for i := range s.Locks.Cycles {
			out = append(out, s.Locks.Cycles[i].Stacks...)
		}
	}
	if s.Died != nil {
		out = append(out, s.Died.Stacks...)
	}
	return out
}

// Facts returns what is known of a family of a series, for filters, but its members: the
// figures of the last snapshot that holds it, and the change over the series.
func (c *CaseReport) Facts(series int) func(*Family) *filter.Facts {
	s, more := &c.Report.Series[series], &c.Series[series]
	labels := sync.OnceValue(func() []string { return c.labels(series) })
	return func(f *Family) *filter.Facts {
		facts := FactsOf(f)
		facts.Process = s.Process
		for i, n := range f.Counts {
			if n.Any() {
				facts.Labels = append(facts.Labels, labels()[i])
			}
		}
		if slope, known := more.PerHour[f.Fingerprint]; known {
			facts.Growth = filter.Known(slope)
		}
		if more.NoWait[f.Fingerprint] {
			facts.Wait = filter.Known(0)
		}
		return facts
	}
}

// labels are those of the snapshots of a series, which stand together in the report.
func (c *CaseReport) labels(series int) []string {
	ids := c.Report.Series[series].Snapshots
	if len(ids) == 0 {
		return nil
	}
	from := slices.IndexFunc(c.Report.Snapshots, func(s Snapshot) bool { return s.ID == ids[0] })
	labels := make([]string, 0, len(ids))
	for i := range ids {
		labels = append(labels, c.Report.Snapshots[from+i].Label)
	}
	return labels
}

// stored is a CaseReport on its way to the store. Columns of counts are packed: they are most
// of a long series, and JSON takes ten times as long to read them.
type stored struct {
	CaseReport
	Columns []byte
	// Within are the names for people of the files of all stacks, series by series.
	Within []string
}

// Encode writes what is said for the store; DecodeCase reads it.
func (c *CaseReport) Encode() ([]byte, error) {
	out := stored{CaseReport: *c}
	out.Report.Series = slices.Clone(c.Report.Series)
	for i := range out.Report.Series {
		for frame := range c.Report.Series[i].stackFrames() {
			out.Within = append(out.Within, frame.within)
		}
		out.Report.Series[i] = c.Report.Series[i].withoutColumns(&out.Columns)
	}
	return json.Marshal(out)
}

// withoutColumns returns the series without its lists of counts, which it appends to packed.
func (s *Series) withoutColumns(packed *[]byte) Series {
	out := *s
	out.Families, out.Units, out.Objects = slices.Clone(s.Families), slices.Clone(s.Units), slices.Clone(s.Objects)
	out.Findings, out.SetAside = slices.Clone(s.Findings), slices.Clone(s.SetAside)
	for column := range out.columns() {
		*packed = appendColumn(*packed, *column)
		*column = nil
	}
	return out
}

// readColumns reads what withoutColumns has appended and returns what follows.
func (s *Series) readColumns(packed []byte) (rest []byte, err error) {
	for column := range s.columns() {
		if *column, packed, err = readColumn(packed); err != nil {
			return nil, err
		}
	}
	return packed, nil
}

// columns are the lists of counts of a series, in a fixed order.
func (s *Series) columns() iter.Seq[*analysis.Counts] {
	return func(yield func(*analysis.Counts) bool) {
		for i := range s.Families {
			if !yield(&s.Families[i].Counts) {
				return
			}
		}
		for i := range s.Units {
			if !yield(&s.Units[i].Counts) || !yield(&s.Units[i].Members) {
				return
			}
		}
		for i := range s.Objects {
			if o := &s.Objects[i]; !yield(&o.Counts) || !yield(&o.Born) || !yield(&o.Ended) {
				return
			}
		}
		for _, findings := range [][]Finding{s.Findings, s.SetAside} {
			for i := range findings {
				if !yield(&findings[i].Counts) {
					return
				}
			}
		}
	}
}

// appendColumn writes 0 for nil, else the length and one; then for each entry its state where it
// is not known, else the difference to the known one before, zigzag and two; all as uvarints.
func appendColumn(b []byte, column analysis.Counts) []byte {
	if column == nil {
		return binary.AppendUvarint(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(column))+1)
	last := 0
	for _, n := range column {
		if !n.Known() {
			b = append(b, byte(n.State))
			continue
		}
		by := n.N - last
		b = binary.AppendUvarint(b, uint64(by<<1^by>>63)+uint64(analysis.Known))
		last = n.N
	}
	return b
}

var errDamaged = errors.New("a stored report: its counts or names of files are damaged")

// readColumn undoes appendColumn and returns what follows.
func readColumn(b []byte) (column analysis.Counts, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if b = b[max(size, 0):]; size <= 0 || n > uint64(len(b))+1 {
		return nil, nil, errDamaged
	}
	if n == 0 {
		return nil, b, nil
	}
	column = make(analysis.Counts, n-1)
	last := 0
	for i := range column {
		by, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, nil, errDamaged
		}
		if b = b[size:]; by < uint64(analysis.Known) {
			column[i].State = analysis.CountState(by)
			continue
		}
		by -= uint64(analysis.Known)
		last += int(by>>1) ^ -int(by&1)
		column[i] = analysis.Counted(last)
	}
	return column, b, nil
}

// DecodeCase undoes Encode of the same version: who stores a report keeps the version beside
// it.
func DecodeCase(text []byte) (*CaseReport, error) {
	var in stored
	if err := jsonv2.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("a stored report: %w", err)
	}
	out := &in.CaseReport
	if len(out.Series) != len(out.Report.Series) {
		return nil, fmt.Errorf("a stored report: %d series of %d", len(out.Series), len(out.Report.Series))
	}
	var err error
	for i := range out.Series {
		if in.Columns, err = out.Report.Series[i].readColumns(in.Columns); err != nil {
			return nil, err
		}
		for frame := range out.Report.Series[i].stackFrames() {
			if len(in.Within) == 0 {
				return nil, errDamaged
			}
			frame.within, in.Within = in.Within[0], in.Within[1:]
		}
	}
	return out, nil
}
