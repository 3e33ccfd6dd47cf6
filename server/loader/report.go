package loader

import (
	"context"
	"slices"

	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
	"leakdiff/store"
)

// Report is the report of a case with its fields, without the snapshots: loading a stored
// report reads no evidence.
type Report struct {
	store.Case
	Bundles []store.Bundle
	// Fields are the fields that users edit, by name.
	Fields map[string]store.Field
	// Said is shared and must not be changed.
	Said *report.CaseReport
}

// Report returns the current report of a case from memory, from the store, or from the
// evidence. It stores a new report later.
func (s *Loader) Report(ctx context.Context, caseID string) (*Report, error) {
	now, said, err := s.latestReport(ctx, caseID, s.later)
	if err != nil {
		return nil, err
	}
	out := &Report{Case: now, Said: said}
	out.Bundles, out.Fields, err = s.beside(ctx, caseID)
	return out, err
}

// latestReport passes keep the function that stores a new report.
func (s *Loader) latestReport(ctx context.Context, caseID string, keep func(func(context.Context))) (store.Case, *report.CaseReport, error) {
	return latest(ctx, s, caseID, func(now store.Case, known *knowledge.Catalogue) (*report.CaseReport, error) {
		return s.reportOf(ctx, now, known, keep)
	})
}

// reportOf returns the report of a case from memory, from the store, or from the evidence.
func (s *Loader) reportOf(ctx context.Context, now store.Case, known *knowledge.Catalogue, keep func(func(context.Context))) (*report.CaseReport, error) {
	return s.reports.once(ctx, revisionKey(now, known), func() (*report.CaseReport, error) {
		madeWith := s.madeWith(known)
		if madeWith != "" {
			if said := s.stored(ctx, now, madeWith); said != nil {
				return said, nil
			}
		}
		said, series, err := s.judge(ctx, now, known, madeWith)
		if err == nil && madeWith != "" && keep != nil {
			keep(func(ctx context.Context) { s.keep(ctx, now, madeWith, said, series) })
		}
		return said, err
	})
}

// madeWith is the key of a stored report besides its case: this program and the catalogue of
// leaks.
func (s *Loader) madeWith(known *knowledge.Catalogue) string {
	if s.program == nil {
		return ""
	}
	program := s.program()
	if program == "" {
		return ""
	}
	return program + "/" + known.Version()
}

// stored returns the stored report of a case, or nil if it is missing or unreadable and must
// be made again.
func (s *Loader) stored(ctx context.Context, now store.Case, madeWith string) *report.CaseReport {
	text, found, err := s.store.CaseReport(ctx, now.ID, now.Revision, madeWith)
	var said *report.CaseReport
	if err == nil && found {
		said, err = report.DecodeCase(text)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("a stored report could not be read", "case", now.ID, "error", err)
		return nil
	}
	return said
}

func (s *Loader) keep(ctx context.Context, now store.Case, madeWith string, said *report.CaseReport, series store.StoredJudgements) {
	text, err := said.Encode()
	if err == nil {
		err = s.store.KeepCaseReport(ctx, now.ID, now.Revision, madeWith, text, series)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("storing a report failed", "case", now.ID, "error", err)
	}
}

// Heads returns a case without report and evidence: process and time of each snapshot, in its
// series, after the edits.
func (s *Loader) Heads(ctx context.Context, caseID string) (*Loaded, error) {
	now, err := s.store.Case(ctx, caseID)
	if err != nil {
		return nil, err
	}
	known, _ := s.knowledge.Current()
	in, err := s.evidence(ctx, now, known)
	if err != nil {
		return nil, err
	}
	l := &Loaded{Case: now, Edits: in.edits, Said: in.said, BundleOf: in.bundleOf()}
	l.Built.Series = report.Group(l.Said.Snapshots)
	l.Bundles, l.Fields, err = s.beside(ctx, caseID)
	return l, err
}

// Brief returns the snapshots of a case after its edits, without groups.
func (s *Loader) Brief(ctx context.Context, caseID string) (identity.Outcome, error) {
	_, found, err := s.store.SnapshotHeads(ctx, caseID)
	if err != nil {
		return identity.Outcome{}, err
	}
	edits, err := s.store.Edits(ctx, caseID)
	return identity.Resolve(found, edits), err
}

// reportWeight estimates the bytes of a report: words for each family and a count for each
// snapshot.
func reportWeight(c *report.CaseReport) int {
	bytes := 0
	for i := range c.Report.Snapshots {
		bytes += 500 + 200*len(c.Report.Snapshots[i].Artifacts)
	}
	for _, s := range c.Report.Series {
		bytes += (len(s.Families) + len(s.Units) + len(s.Findings)) * (3_000 + 16*len(s.Snapshots))
	}
	return bytes
}

// Judge makes the report of a case after its evidence has changed, and stores it before it
// returns: the list says what the page says. revision is the one of the case that was judged.
func (s *Loader) Judge(ctx context.Context, caseID string) (revision int64, said *report.CaseReport, err error) {
	now, said, err := s.latestReport(ctx, caseID, func(work func(context.Context)) { work(ctx) })
	return now.Revision, said, err
}

// mostSingle is the number of snapshots from which a case is assumed to have a series of
// several.
const mostSingle = 32

// Snapshots returns a report for callers that need its snapshots alone. It reads no members if
// all series are single.
func (s *Loader) Snapshots(ctx context.Context, caseID string) (*report.CaseReport, error) {
	now, err := s.store.Case(ctx, caseID)
	if err != nil {
		return nil, err
	}
	longer, err := s.store.LongerThan(ctx, caseID, mostSingle)
	if err != nil {
		return nil, err
	}
	if !longer {
		known, _ := s.knowledge.Current()
		in, err := s.evidence(ctx, now, known)
		if err != nil {
			return nil, err
		}
		several := func(j report.JudgedSeries) bool { return len(j.Snapshots) > 1 }
		if !slices.ContainsFunc(report.Group(in.said.Snapshots), several) {
			for i := range in.said.Snapshots {
				in.said.Snapshots[i].Objects = nil // objects refer to members, which were not read
			}
			built := report.Build(in.said.Snapshots, in.said.Problems, in.options)
			return built.Said(), nil
		}
	}
	_, said, err := s.latestReport(ctx, caseID, s.later)
	return said, err
}
