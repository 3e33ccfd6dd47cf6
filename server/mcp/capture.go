package mcp

import (
	"cmp"
	"context"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

type captureOut struct {
	Next *report.Action `json:"next"` // as diagnosis.next of leakdiff.report/1; null where no verdict is open
	// Limits name what the verdicts cannot exclude.
	Limits   []string                `json:"verdict_limits,omitempty"` // what the captures cannot exclude, by process
	Decides  []decides               `json:"decides,omitempty"`        // growths whose verdict a later capture decides, the soonest first
	Captures []report.ProcessCapture `json:"captures"`                 // the command for each process
	rest
}

// decides is a growth that more captures decide, in fields of the contract.
type decides struct {
	Series      int              `json:"series"`
	Process     string           `json:"process"`
	Fingerprint string           `json:"fingerprint"` // for the tool family
	Title       string           `json:"title"`
	Verdict     analysis.Verdict `json:"verdict"`
	DecidesIn   float64          `json:"decides_in_hours"` // after the last capture
}

// mostDeciding is how many growths and limits are listed.
const mostDeciding = 10

func (t *tools) nextCapture(ctx context.Context, in caseIn) (captureOut, error) {
	c, err := t.cases.Report(ctx, in.Case)
	if err != nil {
		return captureOut{}, err
	}
	r := c.Report
	out := captureOut{Next: r.Diagnosis.Capture(), rest: rest{Left: left{}}}
	var all []decides
	for i := range r.Series {
		s := &r.Series[i]
		for _, l := range s.Limits {
			out.Limits = append(out.Limits, cmp.Or(s.Process, s.Named())+": "+l)
		}
		for _, f := range s.Families {
			if f.DecidesIn > 0 {
				all = append(all, decides{i, s.Process, f.Fingerprint, f.Title, f.Verdict, f.DecidesIn})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b decides) int { return cmp.Compare(a.DecidesIn, b.DecidesIn) })
	out.Decides = cut(out.Left, "decides", all, mostDeciding)
	out.Limits = cut(out.Left, "verdict_limits", out.Limits, mostDeciding)
	out.Captures = cut(out.Left, "captures", r.Captures(), mostDeciding)
	return out, nil
}
