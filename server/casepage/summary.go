package casepage

import (
	"cmp"
	"context"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
	"leakdiff/store"
)

// countedVersion rises when summaries count more.
const countedVersion = "states"

// summaryVersion is the version of the catalogue, of the rules for sentence and verdict, and
// of what is counted. A summary of another version is outdated.
func summaryVersion(known *knowledge.Catalogue) string {
	return known.Version() + "/" + report.SentenceVersion + "/" + countedVersion
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
		Headline: sum.Headline, Verdict: string(sum.Verdict), State: sum.State, Process: sum.Process, Host: sum.Host, Lowest: sum.Lowest, Highest: sum.Highest, Spark: sum.Spark, Lower: sum.Lower, Aside: sum.Aside,
		Endings: endings(judged.Report.Series), Objects: objectCounts(judged), Knowledge: summaryVersion(known),
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
				rise := f.Rise
				if f.RecoveredAt != nil {
					rise = 0
				}
				out = append(out, store.Ending{Process: s.Process, Fingerprint: f.Fingerprint, Verdict: string(f.Verdict), Recovered: f.RecoveredAt != nil, Rise: rise, Snapshot: last})
			}
		}
	}
	return out
}

// objectCounts returns the types of objects of all series with their verdicts.
func objectCounts(judged *report.CaseReport) (out []store.ObjectCount) {
	for i := range judged.Series {
		series := &judged.Report.Series[i]
		verdicts := objectVerdicts(series)
		for _, x := range judged.Series[i].Objects {
			out = append(out, store.ObjectCount{
				Name: x.Name, Type: x.Type, Version: x.Version, Verdict: string(verdicts[x.Type].verdict), Recovered: verdicts[x.Type].recovered,
				First: store.ObjectSight{Snapshot: series.Snapshots[x.First], Count: x.FirstCount},
				Last:  store.ObjectSight{Snapshot: series.Snapshots[x.Last], Count: x.LastCount},
			})
		}
	}
	return out
}

// objectVerdict is how the objects of a type ended.
type objectVerdict struct {
	verdict   analysis.Verdict
	recovered bool
}

// objectVerdicts returns the worst verdict of each type whose objects changed; of two equal ones the
// one that did not recover. Objects accuse nobody if every family that holds them was called benign.
// They recovered if all these families did.
func objectVerdicts(s *report.Series) map[string]objectVerdict {
	benign, lasting := map[string]bool{}, map[string]bool{}
	for i := range s.Families {
		f := &s.Families[i]
		benign[f.Fingerprint] = f.Triage != nil && f.Triage.State == analysis.Benign
		lasting[f.Fingerprint] = f.RecoveredAt == nil
	}
	accused := func(fingerprint string) bool { return !benign[fingerprint] }
	lasts := func(fingerprint string) bool { return lasting[fingerprint] }
	out := map[string]objectVerdict{}
	for i := range s.Objects {
		o := &s.Objects[i]
		if o.Verdict == analysis.Stable || o.Verdict == analysis.TooFewPoints || len(o.Families) > 0 && !slices.ContainsFunc(o.Families, accused) {
			continue
		}
		recovered := len(o.Families) > 0 && !slices.ContainsFunc(o.Families, lasts)
		known, ok := out[o.Type]
		if worse := cmp.Compare(o.Verdict.Rank(), known.verdict.Rank()); !ok || worse < 0 || worse == 0 && known.recovered {
			out[o.Type] = objectVerdict{o.Verdict, recovered}
		}
	}
	return out
}
