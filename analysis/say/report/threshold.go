package report

import (
	"fmt"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
)

// Threshold is a figure that circulates, beside the figure of the series.
type Threshold struct {
	Name string `json:"name"`
	Text string `json:"text"`
	Seen string `json:"seen,omitempty"`
	// Passed reports that the series is above it. It is a hint, never a verdict.
	Passed bool `json:"passed,omitempty"`
}

// thresholds returns the thresholds for the process and for the classes of its
// findings, beside the figures of this series.
func (j *JudgedSeries) thresholds(findings []Finding) []Threshold {
	var classes []string
	for _, f := range findings {
		classes = append(classes, f.Classes...)
	}
	var out []Threshold
	for _, t := range j.catalogue.Thresholds(j.Snapshots[0].Process.Name.Value, classes) {
		shown := Threshold{Name: t.Name, Text: t.Text}
		if t.Figure != "" {
			if shown.Seen, shown.Passed = j.against(t); shown.Seen == "" && len(t.Classes) == 0 {
				continue // nothing of this process can be compared with it
			}
		}
		out = append(out, shown)
	}
	return out
}

// against compares the totals of goroutines with a threshold. The first complete total
// is the baseline, the highest of its epoch is compared.
func (j *JudgedSeries) against(t knowledge.Threshold) (string, bool) {
	first, top, end := -1, -1, -1
	for i, s := range j.Snapshots {
		n := s.Totals.Goroutines
		if n == nil || s.Bounded(analysis.KindGoroutine) {
			continue
		}
		if first < 0 {
			first = i
		}
		if j.Trend.Epochs[i] != j.Trend.Epochs[first] {
			continue
		}
		end = i
		if top < 0 || *n > *j.Snapshots[top].Totals.Goroutines {
			top = i
		}
	}
	if first < 0 {
		return "", false
	}
	from, to, last := *j.Snapshots[first].Totals.Goroutines, *j.Snapshots[top].Totals.Goroutines, *j.Snapshots[end].Totals.Goroutines
	label := func(i int) string { return j.Snapshots[i].Label }
	switch t.Figure {
	case "total":
		if top == first {
			return fmt.Sprintf("%d at %s", from, label(first)), float64(to) > t.To
		}
		return fmt.Sprintf("%d at %s, %d at %s", from, label(first), to, label(top)), float64(to) > t.To
	case "rise":
		switch {
		case end == first:
			return "", false
		case top == first: // never above the first one
			return fmt.Sprintf("%+d from %s to %s", last-from, label(first), label(end)), false
		}
		text := fmt.Sprintf("+%d from %s to %s", to-from, label(first), label(top))
		if float64(to-from) > t.To && float64(last-from) <= t.To {
			return text + fmt.Sprintf(", back at %d at %s: they did not stay", last, label(end)), false
		}
		return text, float64(last-from) > t.To
	case "day_share":
		hours := j.Snapshots[end].CapturedAt.Sub(j.Snapshots[first].CapturedAt).Hours()
		if from == 0 || hours <= 0 || j.Snapshots[first].CapturedAt.IsZero() {
			return "", false
		}
		share := float64(last-from) / float64(from) / hours * 24
		if hours < 6 {
			return "", false // they say nothing about a day
		}
		return fmt.Sprintf("%+.0f %% per day", 100*share), share > t.To
	}
	return "", false
}
