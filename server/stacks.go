package server

import (
	"net/http"

	"leakdiff/analysis"
	"leakdiff/web/view"
)

// stackView are the snapshots of a page, one or A and B, for a view of their stacks beside it.
type stackView struct {
	// shell is the frame of the page, base its path.
	shell view.Shell
	base  string
	// caseID is the case of B, otherID the one of A where it is another one.
	caseID, otherID string
	// state changes with the case.
	state     string
	snapshots []*analysis.Snapshot
}

func (s *Server) snapshotStacks(r *http.Request, id string) (stackView, error) {
	l, line, i, err := s.snapshot(r, id)
	if err != nil {
		return stackView{}, err
	}
	snap := line.Snapshots[i]
	state, err := s.loader.State(r.Context(), l.ID)
	return stackView{
		shell: s.snapshotView(l, line, i, r.URL.Query(), showing).Shell, base: "/snapshots/" + snap.ID,
		caseID: l.ID, state: state.Key, snapshots: []*analysis.Snapshot{snap},
	}, err
}

func (s *Server) pairStacks(r *http.Request, pair string) (stackView, error) {
	c, err := s.compare(r, pair)
	if err != nil {
		return stackView{}, err
	}
	state, err := s.loader.State(r.Context(), c.l.ID)
	out := stackView{
		shell: s.diffView(c, r.URL.Query(), showing).Shell, base: "/diff/" + c.result.A.ID + ".." + c.result.B.ID,
		caseID: c.l.ID, state: state.Key, snapshots: []*analysis.Snapshot{c.result.A, c.result.B},
	}
	if c.la != c.l {
		out.otherID = c.la.ID
	}
	return out, err
}
