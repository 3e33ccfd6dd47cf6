package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

type captureOut struct {
	Do      string `json:"do" jsonschema:"the next step"`
	Command string `json:"command,omitempty"`
	// Limits name what the verdicts cannot exclude.
	Limits  []string  `json:"limits,omitempty" jsonschema:"what the captures cannot exclude, by process"`
	Decides []decides `json:"decides,omitempty" jsonschema:"growths whose verdict a later capture decides, the soonest first"`
	More    string    `json:"more,omitempty"`
}

// decides is a growth that more captures decide.
type decides struct {
	Series  int     `json:"series"`
	Process string  `json:"process"`
	Family  string  `json:"family" jsonschema:"fingerprint for the tool family"`
	Title   string  `json:"title"`
	Verdict string  `json:"verdict"`
	Hours   float64 `json:"hours" jsonschema:"hours after the last capture"`
}

// mostDeciding is how many growths and limits are listed.
const mostDeciding = 10

func (t *tools) nextCapture(ctx context.Context, in caseIn) (captureOut, error) {
	c, err := t.cases.Report(ctx, in.Case)
	if err != nil {
		return captureOut{}, err
	}
	r := c.Report
	out := captureOut{Do: "Nothing more needs to be captured to decide a verdict."}
	if next := r.Diagnosis.Next; next != nil {
		out.Do, out.Command = next.Text, next.Command
	}
	var all []decides
	for i := range r.Series {
		s := &r.Series[i]
		for _, l := range s.Limits {
			out.Limits = append(out.Limits, cmp.Or(s.Process, s.Named())+": "+l)
		}
		for _, f := range s.Families {
			if f.DecidesIn > 0 {
				all = append(all, decides{i, s.Process, f.Fingerprint, f.Title, string(f.Verdict), f.DecidesIn})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b decides) int { return cmp.Compare(a.Hours, b.Hours) })
	out.Decides = all[:min(len(all), mostDeciding)]
	if left := max(0, len(all)-mostDeciding) + max(0, len(out.Limits)-mostDeciding); left > 0 {
		out.More = fmt.Sprintf("%d more are not listed: findings has a filter by process", left)
	}
	out.Limits = out.Limits[:min(len(out.Limits), mostDeciding)]
	return out, nil
}
