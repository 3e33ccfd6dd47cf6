package report

import (
	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

// Bisect compares the versions that the series of one program ran, on any host. It has
// no rows if no version is known.
func Bisect(judged []JudgedSeries, program string, family *analysis.Family) trend.Bisection {
	var all []trend.Exposure
	for i := range judged {
		if judged[i].Snapshots[0].Process.Name.Value == program {
			all = append(all, judged[i].Trend.Exposures(family)...)
		}
	}
	if len(all) == 0 {
		return trend.Bisection{}
	}
	return trend.Bisect(all)
}

// versions adds to each growth the version that brought it, if the case has several
// versions.
func versions(judged []JudgedSeries, series []Series) {
	several := map[string]bool{}
	first := map[string]string{}
	for i := range judged {
		for _, s := range judged[i].Snapshots {
			program, version := s.Process.Name.Value, s.Process.Version.Value
			if version == "" {
				continue
			}
			if first[program] == "" {
				first[program] = version
			}
			several[program] = several[program] || version != first[program]
		}
	}
	for i := range series {
		if !several[series[i].Process] {
			continue
		}
		for k := range series[i].Findings {
			f := &series[i].Findings[k]
			if !f.rises() {
				continue
			}
			g := judged[i].largest(f.Families[0])
			if g == nil {
				continue
			}
			if b := Bisect(judged, series[i].Process, g.Family); len(b.Rows) > 1 {
				f.Text += " " + sentence(b.Text())
				f.Evidence = append([]analysis.Evidence{{Rule: "versions", Text: b.Text()}}, f.Evidence...)
			}
		}
	}
}
