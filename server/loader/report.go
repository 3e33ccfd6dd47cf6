package loader

import (
	"context"
	"slices"

	"leakdiff/analysis"
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
		return s.reports.once(ctx, revisionKey(now, known), func() (*report.CaseReport, error) { return s.said(ctx, now, known, keep) })
	})
}

func (s *Loader) said(ctx context.Context, now store.Case, known *knowledge.Catalogue, keep func(func(context.Context))) (*report.CaseReport, error) {
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
}

// ready returns the report of a case from memory or from the store, or nil if there is none.
func (s *Loader) ready(ctx context.Context, now store.Case, known *knowledge.Catalogue) *report.CaseReport {
	key := revisionKey(now, known)
	if said := s.reports.get(key); said != nil {
		return said
	}
	madeWith := s.madeWith(known)
	if madeWith == "" {
		return nil
	}
	said := s.stored(ctx, now, madeWith)
	if said != nil {
		s.reports.put(key, said)
	}
	return said
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

// LoadHeads is Load without families and verdicts: it returns process and time of each
// snapshot, in its series, after the edits.
func (s *Loader) LoadHeads(ctx context.Context, caseID string) (*Loaded, error) {
	now, err := s.store.Case(ctx, caseID)
	if err != nil {
		return nil, err
	}
	heads, err := s.store.SnapshotHeads(ctx, caseID)
	if err != nil {
		return nil, err
	}
	edits, err := s.store.Edits(ctx, caseID)
	if err != nil {
		return nil, err
	}
	l := &Loaded{Case: now, Edits: edits, Said: identity.Resolve(heads, edits)}
	l.Built.Series = report.Group(l.Said.Snapshots)
	rows, err := s.store.SnapshotRows(ctx, caseID)
	if err != nil {
		return nil, err
	}
	l.BundleOf = (&evidence{rows: rows}).bundleOf()
	l.Bundles, l.Fields, err = s.beside(ctx, caseID)
	return l, err
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

// Heads returns a report for callers that need snapshots alone. It reads no members if all
// series are single.
func (s *Loader) Heads(ctx context.Context, caseID string) (*report.CaseReport, error) {
	return s.brief(ctx, caseID)
}

// mostSingle is the number of snapshots from which a case is assumed to have a series of
// several.
const mostSingle = 32

func (s *Loader) brief(ctx context.Context, caseID string) (*report.CaseReport, error) {
	now, err := s.store.Case(ctx, caseID)
	if err != nil {
		return nil, err
	}
	single := now.Snapshots <= mostSingle
	if single {
		if single, err = s.single(ctx, caseID); err != nil {
			return nil, err
		}
	}
	if !single {
		_, said, err := s.latestReport(ctx, caseID, s.later)
		return said, err
	}
	found, err := s.store.SnapshotHeads(ctx, caseID)
	if err != nil {
		return nil, err
	}
	edits, err := s.store.Edits(ctx, caseID)
	if err != nil {
		return nil, err
	}
	said := identity.Resolve(found, edits)
	for i := range said.Snapshots {
		said.Snapshots[i].Objects = nil // objects refer to members, which were not read
	}
	marks, err := s.store.Marks(ctx, caseID)
	if err != nil {
		return nil, err
	}
	var problems []analysis.Problem
	if len(found) == 0 { // they are all that can be said of the case
		if problems, err = s.store.CaseProblems(ctx, caseID); err != nil {
			return nil, err
		}
	}
	known, _ := s.knowledge.Current()
	built := report.Build(said.Snapshots, problems, report.Options{Version: s.version, Events: happened(said), Loads: said.Loads, Triage: sorted(marks), Knowledge: known})
	return built.Said(), nil
}

// single reports whether every series of a case has one snapshot.
func (s *Loader) single(ctx context.Context, caseID string) (bool, error) {
	heads, err := s.store.SnapshotHeads(ctx, caseID)
	if err != nil {
		return false, err
	}
	edits, err := s.store.Edits(ctx, caseID)
	if err != nil {
		return false, err
	}
	several := func(j report.JudgedSeries) bool { return len(j.Snapshots) > 1 }
	return !slices.ContainsFunc(report.Group(identity.Resolve(heads, edits).Snapshots), several), nil
}
