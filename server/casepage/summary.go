package casepage

import (
	"context"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
	"leakdiff/store"
)

// summaryVersion is the version of the catalogue and of the rules for sentence and
// verdict. A summary of another version is outdated.
func summaryVersion(known *knowledge.Catalogue) string {
	return known.Version() + "/" + report.SentenceVersion
}

// Outdated returns the cases whose summary is older than its input: after a crash, after
// triage in another case, or with a summary of another version.
func (s *Service) Outdated(ctx context.Context) ([]string, error) {
	known, _ := s.catalogue.Current()
	return s.store.CasesToSummarise(ctx, summaryVersion(known))
}

// Summarise stores the row of a case in the list of cases. The report of a case with
// several snapshots is stored on the way.
func (s *Service) Summarise(ctx context.Context, caseID string) error {
	revision, judged, err := s.loader.Judge(ctx, caseID)
	if err != nil {
		return err
	}
	known, _ := s.catalogue.Current()
	sum := judged.Summary
	err = s.store.SetCaseSummary(ctx, caseID, revision, store.Summary{
		Headline: sum.Headline, Verdict: string(sum.Verdict), Process: sum.Process, Host: sum.Host, Lowest: sum.Lowest, Highest: sum.Highest, Spark: sum.Spark, Lower: sum.Lower, Aside: sum.Aside,
		Endings: endings(judged.Report.Series), Knowledge: summaryVersion(known),
	})
	if err == nil {
		s.cfg.Changed()
	}
	return err
}

// endings returns the families that did not stay as they were.
func endings(series []report.Series) []store.Ending {
	var out []store.Ending
	for _, s := range series {
		last := ""
		if n := len(s.Snapshots); n > 0 {
			last = s.Snapshots[n-1]
		}
		for _, f := range s.Families {
			if f.Verdict != analysis.Stable && f.Verdict != analysis.TooFewPoints {
				out = append(out, store.Ending{Process: s.Process, Fingerprint: f.Fingerprint, Verdict: string(f.Verdict), Recovered: f.RecoveredAt != nil, Snapshot: last})
			}
		}
	}
	return out
}
