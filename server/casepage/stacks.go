package casepage

import (
	"fmt"
	"net/http"

	"leakdiff/analysis"
	"leakdiff/server/loader"
	"leakdiff/web/view"
)

// StackView is what the pprof view of a page needs: its snapshots, one or A and B.
type StackView struct {
	// Shell is the frame of the page, Base its path.
	Shell view.Shell
	Base  string
	// CaseID is the case of B, OtherID that of A if it is another one.
	CaseID, OtherID string
	// State changes with the case.
	State     string
	Snapshots []*analysis.Snapshot
}

// SnapshotStacks returns the stacks of one snapshot.
func (s *Service) SnapshotStacks(r *http.Request, id string) (StackView, error) {
	l, series, i, err := s.snapshot(r, id)
	if err != nil {
		return StackView{}, err
	}
	snap := series.Snapshots[i]
	return StackView{
		Shell: s.snapshotView(l, series, i, r.URL.Query(), showing).Shell, Base: "/snapshots/" + snap.ID,
		CaseID: l.ID, State: revisionOf(l), Snapshots: []*analysis.Snapshot{snap},
	}, nil
}

// PairStacks returns the stacks of a comparison.
func (s *Service) PairStacks(r *http.Request, pair string) (StackView, error) {
	c, err := s.compare(r, pair)
	if err != nil {
		return StackView{}, err
	}
	out := StackView{
		Shell: s.diffView(r.Context(), c, r.URL.Query(), showing).Shell, Base: "/diff/" + c.result.A.ID + ".." + c.result.B.ID,
		CaseID: c.l.ID, State: revisionOf(c.l), Snapshots: []*analysis.Snapshot{c.result.A, c.result.B},
	}
	if c.la != c.l {
		out.OtherID = c.la.ID
	}
	return out, nil
}

func revisionOf(l *loader.Loaded) string { return fmt.Sprintf("%s+%d", l.ID, l.Revision) }
