package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"leakdiff/analysis"
	"leakdiff/analysis/column"
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
	// Largest is the stack of who holds what most wait for, of the largest group with one, or of what
	// opened it, in a series of one snapshot.
	Largest *Trace `json:",omitempty"`
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
	if len(j.Snapshots) == 1 {
		out.Largest = j.largestTrace(s)
	}
	return out
}

// largestTrace is the stack of the holder of the lock that most of a process with one snapshot wait
// for, else of its largest group that has one, nil without any.
func (j *JudgedSeries) largestTrace(s *Series) *Trace {
	if x := j.lockStack(s); x != nil {
		return &Trace{Caption: "Stack of " + x.Who + ", at " + j.Snapshots[0].Label, Rows: traceRows(x.Stack)}
	}
	for _, f := range s.Largest() {
		if opened := j.AncestryTraces(f.Fingerprint, 0); f.Kind == analysis.KindDescriptor && len(opened) > 0 {
			return &opened[0]
		}
		if l := j.LocatedStack(f.Fingerprint, 0); l != nil {
			return l.Trace(j.Snapshots[0].Label)
		}
	}
	return nil
}

// Largest are the groups of the first snapshot of a process, those with most members first and the
// threads of a JVM itself last: of the first kind that has any.
func (s *Series) Largest() (out []*Family) {
	for _, kind := range analysis.Kinds() {
		for i := range s.Families {
			if f := &s.Families[i]; f.Kind == kind && len(f.Counts) > 0 && f.Counts[0].Known() && !analysis.IsWhole(f.Attributes) {
				out = append(out, f)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	slices.SortStableFunc(out, LargerFirst)
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

// labels are those of the judged snapshots of a series, whose captures stand together in the
// report.
func (c *CaseReport) labels(series int) []string {
	ids := c.Report.Series[series].Snapshots
	if len(ids) == 0 {
		return nil
	}
	from := slices.IndexFunc(c.Report.Snapshots, func(s Snapshot) bool { return s.ID == ids[0] })
	labels := make([]string, 0, len(ids))
	for _, s := range c.Report.Snapshots[from:] {
		if len(labels) < len(ids) && s.ID == ids[len(labels)] {
			labels = append(labels, s.Label)
		}
	}
	return labels
}

// storedJSON is the form of a CaseReport and of a SeriesJudgement in the store. Counts are
// packed: they are most of a long series, and JSON takes ten times as long to read them. Frames
// keep their names for people.
var storedJSON = jsonv2.JoinOptions(
	jsonv2.FormatNilSliceAsNull(true), jsonv2.FormatNilMapAsNull(true), jsontext.AllowInvalidUTF8(true), jsonv1.FormatDurationAsNano(true),
	jsonv2.WithMarshalers(jsonv2.JoinMarshalers(jsonv2.MarshalFunc(packCounts), jsonv2.MarshalToFunc(writeFrame))),
	jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(jsonv2.UnmarshalFunc(unpackCounts), jsonv2.UnmarshalFromFunc(readFrame))),
)

// Encode writes what is said for the store; DecodeCase reads it.
func (c *CaseReport) Encode() ([]byte, error) { return jsonv2.Marshal(c, storedJSON) }

// DecodeCase undoes Encode of the same version: who stores a report keeps the version beside
// it.
func DecodeCase(text []byte) (*CaseReport, error) {
	out := &CaseReport{}
	if err := jsonv2.Unmarshal(text, out, storedJSON); err != nil {
		return nil, fmt.Errorf("a stored report: %w", err)
	}
	if len(out.Series) != len(out.Report.Series) {
		return nil, fmt.Errorf("a stored report: %d series of %d", len(out.Series), len(out.Report.Series))
	}
	return out, nil
}

// maxCounts bounds the snapshots of a series.
const maxCounts = 1 << 24

// packCounts writes states and numbers. A count that is not known has the number before it.
func packCounts(counts analysis.Counts) ([]byte, error) {
	if counts == nil {
		return []byte("null"), nil
	}
	states, numbers := make([]int, len(counts)), make([]int, len(counts))
	last := 0
	for i, n := range counts {
		if n.Known() {
			last = n.N
		}
		states[i], numbers[i] = int(n.State), last
	}
	c := column.Writer(16)
	column.Numbers(c, maxCounts, &states)
	column.Numbers(c, maxCounts, &numbers)
	if c.Err() != nil {
		return nil, c.Err()
	}
	return jsonv2.Marshal(c.Data())
}

var errDamaged = errors.New("counts are damaged")

// unpackCounts undoes packCounts.
func unpackCounts(text []byte, counts *analysis.Counts) error {
	*counts = nil
	if string(text) == "null" {
		return nil
	}
	var packed []byte
	if err := jsonv2.Unmarshal(text, &packed); err != nil {
		return err
	}
	var states, numbers []int
	c := column.Reader(packed)
	column.Numbers(c, maxCounts, &states)
	column.Numbers(c, maxCounts, &numbers)
	if c.End() != nil || len(states) != len(numbers) {
		return errDamaged
	}
	out := make(analysis.Counts, len(states))
	for i, state := range states {
		switch {
		case state < 0 || state > int(analysis.Known):
			return errDamaged
		case state == int(analysis.Known):
			out[i] = analysis.Counted(numbers[i])
		default:
			out[i].State = analysis.CountState(state)
		}
	}
	*counts = out
	return nil
}

// storedFrame is a StackFrame with its name for people.
type storedFrame struct {
	plainFrame
	Within string `json:"within,omitempty"`
}

type plainFrame StackFrame

func writeFrame(e *jsontext.Encoder, f StackFrame) error {
	return jsonv2.MarshalEncode(e, storedFrame{plainFrame(f), f.within})
}

func readFrame(d *jsontext.Decoder, f *StackFrame) error {
	var in storedFrame
	if err := jsonv2.UnmarshalDecode(d, &in); err != nil {
		return err
	}
	*f = StackFrame(in.plainFrame)
	f.within = in.Within
	return nil
}
