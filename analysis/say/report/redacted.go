package report

import (
	"leakdiff/analysis"
	"leakdiff/analysis/say/redact"
)

// Redacted is a copy of the case for Text in which r has replaced every name that it
// knows; with a nil r it is the case itself. Its Lines hold only the parts that Text reads.
func (c Case) Redacted(r *redact.Redactor) (Case, error) {
	if r == nil {
		return c, nil
	}
	reports, err := redact.Copy(r, [2]Report{c.Report, c.listed})
	if err != nil {
		return Case{}, err
	}
	out := Case{Report: reports[0], listed: reports[1]}
	shown := out.Report.Snapshots // in the order of the lines, see Build
	for _, l := range c.Lines {
		line := Line{Key: l.Key, Trend: l.Trend}
		for _, s := range l.Snapshots {
			copied := &analysis.Snapshot{ID: s.ID, Label: shown[0].Label, CapturedAt: s.CapturedAt, Totals: s.Totals, LowerBound: s.LowerBound, Incomplete: s.Incomplete}
			copied.Process.PID = s.Process.PID
			copied.Process.Name.Value = shown[0].Process
			line.Snapshots = append(line.Snapshots, copied)
			shown = shown[1:]
		}
		out.Lines = append(out.Lines, line)
	}
	return out, nil
}
