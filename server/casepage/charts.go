package casepage

import (
	"context"
	"net/url"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/server/loader"
	"leakdiff/web/view"
)

// The further charts of a process take about 3 ms and 120 kB of a page. A page has them on
// request: ?charts=host/program, or ?charts=1 for the first processes. What is frozen or
// saved cannot be asked again, and has those of the first process of a small case.
const (
	maxDrawnUnasked = 1
	MaxDrawn        = 4
)

// moreCharts adds the data of the further charts. The report of a small case holds it; for
// other cases the evidence is loaded.
func (s *Service) moreCharts(ctx context.Context, in *view.CaseInput, c *loader.Report, query url.Values, why purpose) error {
	in.Charts = query.Get("charts")
	if in.Charts == "" && why == showing {
		return nil
	}
	drawn := drawnSeries(c.Said, in.Charts)
	if in.Charts == "" || !slices.ContainsFunc(drawn, func(i int) bool { return c.Said.Series[i].Drawn == nil }) {
		for _, i := range drawn {
			in.More[i].Drawn = c.Said.Series[i].Drawn
		}
		return nil
	}
	l, err := s.loader.Evidence(ctx, c.ID, loader.Part{Series: func(*report.Report) []int { return drawn }})
	if err != nil {
		return err
	}
	for _, i := range drawn {
		for k := range l.Built.Series {
			if l.Built.Series[k].Key == c.Said.Series[i].Key {
				in.More[i].Drawn = l.Built.Series[k].Drawn(&l.Built.Report.Series[k])
			}
		}
	}
	return nil
}

// drawnSeries returns the series whose charts are drawn, those that grow first.
func drawnSeries(judged *report.CaseReport, asked string) []int {
	var all []int
	for i := range judged.Report.Series {
		s := &judged.Report.Series[i]
		if len(s.Snapshots) < 2 || asked == "" && judged.Series[i].Drawn == nil {
			continue
		}
		all = append(all, i)
		if asked != "" && keyOf(s) == asked {
			return []int{i}
		}
	}
	most := MaxDrawn
	if asked == "" {
		most = maxDrawnUnasked
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return growing(&judged.Report.Series[b]) - growing(&judged.Report.Series[a])
	})
	return all[:min(len(all), most)]
}

// keyOf is the key of a series in addresses.
func keyOf(s *report.Series) string {
	host := ""
	if s.Host != nil {
		host = *s.Host
	}
	return view.SeriesKey(host, s.Process)
}

// growing returns 1 for a series with a growing family, else 0.
func growing(s *report.Series) int {
	if slices.ContainsFunc(s.Families, func(f report.Family) bool { return rises(f.Verdict) }) {
		return 1
	}
	return 0
}

func rises(v analysis.Verdict) bool {
	return v == analysis.Leaking || v == analysis.Suspicious || v == analysis.Scaling
}
