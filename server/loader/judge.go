package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
	"leakdiff/store"
)

// mostFilled is the approximate number of snapshots that are read at once: at least one
// series, or several short ones.
const mostFilled = 256

// judge makes the report of a case, one series after the other. It reuses the stored
// judgements of unchanged series and loads only the series that it judges now. It returns
// the judgements to store.
func (s *Loader) judge(ctx context.Context, now store.Case, known *knowledge.Catalogue, madeWith string) (*report.CaseReport, store.StoredJudgements, error) {
	keep := store.StoredJudgements{New: map[string][]byte{}}
	in, err := s.evidence(ctx, now, known)
	if err != nil {
		return nil, keep, err
	}
	problems, err := s.store.CaseProblems(ctx, now.ID)
	if err != nil {
		return nil, keep, err
	}
	problems = append(in.said.Problems, problems...)
	groups := report.Group(in.said.Snapshots)
	report.Select(groups, in.options)
	in.options.Versions = report.Versions(groups)
	judged := make([]report.SeriesJudgement, len(groups))
	several := len(groups) > 1 && madeWith != ""
	if several {
		if keep.All, err = in.keys(groups, madeWith); err != nil {
			return nil, keep, err
		}
	}
	var open []int
	filled := 0
	fill := func() error {
		leave, err := s.admit(ctx, in.bytes(groups, open))
		if err != nil {
			return err
		}
		defer leave()
		if err := s.fill(ctx, in, groups, open, s.store.FillSnapshots); err != nil {
			return err
		}
		for _, i := range open {
			made := report.JudgeSeries(&groups[i], in.options)
			if several {
				if keep.New[keep.All[i]], err = made.Encode(); err != nil {
					return err
				}
			}
			judged[i] = *made
			for _, snap := range groups[i].Snapshots {
				snap.Groups, snap.Joined, snap.Pairs, snap.Sockets = nil, nil, nil, nil
			}
			groups[i] = report.JudgedSeries{}
		}
		open, filled = open[:0], 0
		return nil
	}
	for i := range groups {
		if several {
			found, err := s.storedJudgement(ctx, now, keep.All[i])
			if err != nil {
				return nil, keep, err
			}
			if found != nil {
				judged[i] = *found
				continue
			}
		}
		open = append(open, i)
		if filled += len(groups[i].Snapshots); filled >= mostFilled {
			if err := fill(); err != nil {
				return nil, keep, s.unlessMoved(ctx, now, err)
			}
		}
	}
	if err := fill(); err != nil {
		return nil, keep, s.unlessMoved(ctx, now, err)
	}
	in.said, groups = identity.Outcome{}, nil // frees memory as large as the report
	said := report.Join(judged, problems, in.options)
	return said, keep, s.unlessMoved(ctx, now, nil)
}

// fill reads the groups of the snapshots of the open series.
func (s *Loader) fill(ctx context.Context, in *evidence, groups []report.JudgedSeries, open []int, read func(context.Context, []store.SnapshotRow, []*analysis.Snapshot) error) error {
	at := in.rowsByID()
	var rows []store.SnapshotRow
	var snapshots []*analysis.Snapshot
	for _, i := range open {
		for _, snap := range groups[i].Snapshots {
			rows, snapshots = append(rows, at[snap.ID]), append(snapshots, snap)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return read(ctx, rows, snapshots)
}

// fillUnjudged reads the groups of captures that are not judged.
func (s *Loader) fillUnjudged(ctx context.Context, in *evidence, groups []report.JudgedSeries, ids []string) error {
	var alone []report.JudgedSeries
	var open []int
	for i := range groups {
		for _, snap := range groups[i].Captures() {
			if slices.Contains(ids, snap.ID) {
				alone, open = append(alone, report.JudgedSeries{Snapshots: []*analysis.Snapshot{snap}}), append(open, len(alone))
			}
		}
	}
	return s.fill(ctx, in, alone, open, s.store.FillSnapshots)
}

// unlessMoved returns errMoved if the case has changed since it was read.
func (s *Loader) unlessMoved(ctx context.Context, now store.Case, err error) error {
	then, failed := s.store.Case(ctx, now.ID)
	switch {
	case failed != nil:
		return failed
	case then.Revision != now.Revision:
		return errMoved
	}
	return err
}

// storedJudgement returns the stored judgement of a series, or nil if it is missing or
// unreadable and must be made again.
func (s *Loader) storedJudgement(ctx context.Context, now store.Case, madeOf string) (*report.SeriesJudgement, error) {
	text, found, err := s.store.SeriesJudgement(ctx, now.ID, madeOf)
	if err == nil && found {
		var judged *report.SeriesJudgement
		if judged, err = report.DecodeJudgement(text); err == nil {
			return judged, nil
		}
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("a stored judgement could not be read", "case", now.ID, "error", err)
	}
	return nil, ctx.Err()
}

// keys returns a key for each series that covers every input of its judgement.
func (in *evidence) keys(groups []report.JudgedSeries, madeWith string) ([]string, error) {
	shared, err := keyOf(madeWith, in.edits, in.options.Events, in.options.Loads)
	if err != nil {
		return nil, err
	}
	marks := map[string][]store.Mark{}
	for _, m := range in.marks {
		marks[m.Process] = append(marks[m.Process], m)
	}
	rows := in.rowsByID()
	out := make([]string, len(groups))
	for i := range groups {
		g := &groups[i]
		program := g.Snapshots[0].Process.Name.Value
		parts := []any{shared, g.Key, in.options.Versions[program], marks[program]}
		for _, snap := range g.Captures() {
			r := rows[snap.ID]
			parts = append(parts, r.Bundle, r.Generation, snap.ID, snap.Label, snap.Process, snap.CapturedAt, snap.TimeFact, snap.Order)
		}
		if out[i], err = keyOf(parts...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func keyOf(parts ...any) (string, error) {
	h := sha256.New()
	err := json.NewEncoder(h).Encode(parts)
	return hex.EncodeToString(h.Sum(nil)), err
}
