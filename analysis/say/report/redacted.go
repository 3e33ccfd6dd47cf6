package report

import (
	"leakdiff/analysis"
	"leakdiff/analysis/say/redact"
)

// Redacted is a copy of the case for Text in which r has replaced every name that it
// knows. With a nil r it is the case itself. Its Series hold only the parts that Text
// reads.
func (c Case) Redacted(r *redact.Redactor) (Case, error) {
	if r == nil {
		return c, nil
	}
	reports, err := redact.Copy(r, [2]Report{c.Report, c.listed})
	if err != nil {
		return Case{}, err
	}
	out := Case{Report: reports[0], listed: reports[1]}
	shown := out.Report.Snapshots // in the order of the series, see Build
	for _, j := range c.Series {
		series := JudgedSeries{Key: j.Key, Trend: j.Trend}
		for _, s := range j.Captures() {
			if k := len(series.Snapshots); k < len(j.Snapshots) && s.ID == j.Snapshots[k].ID {
				s = j.Snapshots[k]
			} else {
				shown = shown[1:] // it is not judged
				continue
			}
			copied := &analysis.Snapshot{ID: s.ID, Label: shown[0].Label, CapturedAt: s.CapturedAt, Totals: s.Totals, LowerBound: s.LowerBound, Inexact: s.Inexact}
			copied.Process.PID = s.Process.PID
			copied.Process.Name.Value = shown[0].Process
			series.Snapshots = append(series.Snapshots, copied)
			shown = shown[1:]
		}
		out.Series = append(out.Series, series)
	}
	return out, nil
}
