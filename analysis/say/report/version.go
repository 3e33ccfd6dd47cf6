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
		if judged[i].Trend != nil && judged[i].Snapshots[0].Process.Name.Value == program {
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
func versions(series []SeriesJudgement) {
	for i := range series {
		for k := range series[i].Growths {
			lead := series[i].Growths[k]
			if lead.Lead == "" || len(series[i].Absent) == 0 {
				continue
			}
			var all []trend.Exposure
			for n := range series {
				if series[n].Series.Process == series[i].Series.Process {
					all = append(all, series[n].exposures(lead)...)
				}
			}
			f := &series[i].Series.Findings[k]
			if b := trend.Bisect(all); len(b.Rows) > 1 {
				f.Text += " " + sentence(b.Text())
				f.Evidence = append([]analysis.Evidence{{Rule: "versions", Text: b.Text()}}, f.Evidence...)
			}
		}
	}
}

// Versions are the programs that ran in more than one version, for Options.
func Versions(groups []JudgedSeries) map[string]bool {
	several, first := map[string]bool{}, map[string]string{}
	for i := range groups {
		for _, s := range groups[i].Snapshots {
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
	return several
}
