package casepage

import (
	"context"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
	"leakdiff/store"
)

// summaryVersion is what a stored summary depends on beside its case: the catalogue and
// the rules that make sentence and verdict. Summaries of another version are made anew.
func summaryVersion(known *knowledge.Catalogue) string {
	return known.Version() + "/" + report.SentenceVersion
}

// Outdated are the cases whose summary is older than what it sums up: after a crash in
// between, where triage in one case speaks of others, and where more is known of leaks or
// the sentence is made in another way than then.
func (s *Service) Outdated(ctx context.Context) ([]string, error) {
	known, _ := s.catalogue.Current()
	return s.store.CasesToSummarise(ctx, summaryVersion(known))
}

// Summarise writes what the list of cases shows of a case. What is said of a case with
// several snapshots is stored on the way.
func (s *Service) Summarise(ctx context.Context, caseID string) error {
	judged, err := s.loader.Judge(ctx, caseID)
	if err != nil {
		return err
	}
	known, _ := s.catalogue.Current()
	sum := judged.Summary
	return s.store.SetCaseSummary(ctx, caseID, store.Summary{
		Headline: sum.Headline, Verdict: string(sum.Verdict), Lowest: sum.Lowest, Highest: sum.Highest, Spark: sum.Spark, Lower: sum.Lower, Aside: sum.Aside,
		Endings: endings(judged.Report.Series), Knowledge: summaryVersion(known),
	})
}

// endings are the families that did something else than stay as they were.
func endings(series []report.Series) []store.Ending {
	var out []store.Ending
	for _, s := range series {
		for _, f := range s.Families {
			if f.Verdict != analysis.Stable && f.Verdict != analysis.TooFewPoints {
				out = append(out, store.Ending{Process: s.Process, Fingerprint: f.Fingerprint, Verdict: string(f.Verdict), Recovered: f.RecoveredAt != nil})
			}
		}
	}
	return out
}
