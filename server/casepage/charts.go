package casepage

import (
	"net/url"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/report"
	"leakdiff/server/loader"
	"leakdiff/web/view"
)

// The further charts of a process take about 3 ms and 120 kB of a page. They are made
// on every view, folded, for the first process of a case as small as most are; of
// others and of larger cases where the reader asks for them, ?charts=host/program or
// ?charts=1 for the first of all.
const (
	maxDrawnUnasked = 1
	maxDrawnPoints  = 100
	MaxDrawn        = 4
)

// moreCharts adds what the further charts of a case are made from.
func moreCharts(in *view.CaseInput, l *loader.Loaded, query url.Values) {
	in.Charts = query.Get("charts")
	for _, i := range drawnLines(l, in.Charts) {
		in.More[i].Drawn = drawnOf(&l.Built.Series[i], &l.Built.Report.Series[i])
	}
}

// drawnLines are the series whose charts are drawn: those that grow before others.
func drawnLines(l *loader.Loaded, asked string) []int {
	var all []int
	points := 0
	for i := range l.Built.Series {
		if n := len(l.Built.Series[i].Snapshots); n > 1 {
			all = append(all, i)
			points += n
			if asked != "" && seriesKey(&l.Built.Series[i]) == asked {
				return []int{i}
			}
		}
	}
	most := MaxDrawn
	if asked == "" {
		most = maxDrawnUnasked
		if points > maxDrawnPoints {
			return nil
		}
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return growing(&l.Built.Report.Series[b]) - growing(&l.Built.Report.Series[a])
	})
	return all[:min(len(all), most)]
}

// growing is 1 for a series with a growing family, 0 for another.
func growing(s *report.Series) int {
	if slices.ContainsFunc(s.Families, func(f report.Family) bool { return rises(f.Verdict) }) {
		return 1
	}
	return 0
}

func rises(v analysis.Verdict) bool {
	return v == analysis.Leaking || v == analysis.Suspicious || v == analysis.Scaling
}

func drawnOf(line *report.JudgedSeries, s *report.Series) *view.CaseDrawn {
	out := &view.CaseDrawn{States: map[analysis.Kind][]map[string]int{}, Cohorts: map[string][]trend.Cohort{}}
	for _, k := range []analysis.Kind{analysis.KindGoroutine, analysis.KindThread} {
		out.States[k] = statesOver(line.Snapshots, k)
	}
	for i := range s.Families {
		if f := &s.Families[i]; rises(f.Verdict) {
			out.Cohorts[f.Fingerprint] = line.Trend.Cohorts(f.Fingerprint)
		}
	}
	return out
}

// statesOver counts the members of a kind by state in each snapshot.
func statesOver(snapshots []*analysis.Snapshot, kind analysis.Kind) []map[string]int {
	out := make([]map[string]int, len(snapshots))
	for i, s := range snapshots {
		for k := range s.Groups {
			g := &s.Groups[k]
			if g.Family == nil || g.Family.Kind != kind {
				continue
			}
			for state, n := range g.States {
				if out[i] == nil {
					out[i] = map[string]int{}
				}
				out[i][state] += n
			}
		}
	}
	return out
}
