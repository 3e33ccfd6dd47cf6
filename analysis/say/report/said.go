package report

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"

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
	// Within are the names for people of the files of all stacks: those of the findings,
	// then those of the findings set aside.
	Within []string `json:",omitempty"`
	// Drawn is nil in a series of one snapshot and in large cases.
	Drawn *Drawn `json:",omitempty"`
}

// Said is the case without its evidence.
func (c *Case) Said() *CaseReport {
	out := &CaseReport{Report: c.Report, Series: make([]SeriesReport, len(c.Series)), Summary: Summary(*c)}
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
	for frame := range s.stackFrames() {
		out.Within = append(out.Within, frame.within)
	}
	return out
}

// stackFrames are the frames of the stacks of all findings.
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
	}
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
			if n != nil && *n > 0 {
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

// Encode writes what is said for the store; DecodeCase reads it.
func (c *CaseReport) Encode() ([]byte, error) { return json.Marshal(c) }

// DecodeCase undoes Encode. What another version of the program wrote is none of its
// business: who stores it keeps the version beside it.
func DecodeCase(text []byte) (*CaseReport, error) {
	out := &CaseReport{}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("a stored report: %w", err)
	}
	if len(out.Series) != len(out.Report.Series) {
		return nil, fmt.Errorf("a stored report: %d series of %d", len(out.Series), len(out.Report.Series))
	}
	for i := range out.Series {
		within := out.Series[i].Within
		for frame := range out.Report.Series[i].stackFrames() {
			if len(within) == 0 {
				return nil, fmt.Errorf("a stored report: series %d lacks names of files", i)
			}
			frame.within, within = within[0], within[1:]
		}
	}
	return out, nil
}
