package casepage

import (
	"context"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
	"leakdiff/server/loader"
	"leakdiff/server/response"
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

// Summarise writes what the list of cases shows of a case. Where all of the case was
// read for that, its front is made of it and kept as well.
func (s *Service) Summarise(ctx context.Context, caseID string) error {
	ctx, cases := loader.OnShelf(ctx)
	built, err := s.loader.Briefly(ctx, caseID, true)
	if err != nil {
		return err
	}
	sum := report.Summary(built)
	known, _ := s.catalogue.Current()
	err = s.store.SetCaseSummary(ctx, caseID, store.Summary{
		Headline: sum.Headline, Verdict: string(sum.Verdict), Lowest: sum.Lowest, Highest: sum.Highest, Spark: sum.Spark, Lower: sum.Lower, Aside: sum.Aside,
		Endings: endings(built.Report.Series), Knowledge: summaryVersion(known),
	})
	if err == nil && cases.Has(caseID) {
		s.renewFront(ctx, caseID)
	}
	return err
}

// renewFront makes and keeps the page of a case that was loaded, unless it is there.
func (s *Service) renewFront(ctx context.Context, caseID string) {
	err := func() error {
		state, err := s.FrontState(ctx, caseID)
		if err != nil || state.Hash == "" {
			return err
		}
		if _, found, err := s.store.CasePage(ctx, caseID, "html", state.Hash); found || err != nil {
			return err
		}
		p, err := s.MakeFront(ctx, caseID, "html", state)
		if err == nil {
			s.KeepFront(ctx, caseID, p)
		}
		return err
	}()
	if err != nil && !response.IsNotFound(err) {
		s.log.Error("making the page of a case failed", "case", caseID, "error", err)
	}
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
