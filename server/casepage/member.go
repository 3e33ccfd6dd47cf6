package casepage

import (
	"net/http"

	"leakdiff/analysis/say/report"
	"leakdiff/server/loader"
	"leakdiff/server/response"
)

// member is a goroutine, thread, descriptor or watch of a case through its captures.
type member struct {
	l    *loader.Loaded
	data report.Following
}

// member finds one by its name, as of report.ParseWanted: in the series of the query, else in all of
// the case.
func (s *Service) member(r *http.Request, name string) (member, error) {
	caseID, wanted := r.URL.Query().Get("case"), r.URL.Query().Get("series")
	if caseID == "" {
		return member{}, response.Refuse("bad_request", "the address names no case", name, "a number names a member of one process", "open the case and follow the members of its families")
	}
	if _, err := report.ParseWanted(name); err != nil {
		return member{}, response.Refuse("bad_request", "the address names no member", name, "it is a kind with a number", "write goroutine:42, thread:31, fd:12, inode:90112 or watch:5.3")
	}
	l, err := s.loader.Evidence(r.Context(), caseID, loader.Part{Series: func(all *report.Report) []int {
		out := []int{}
		for i := range all.Series {
			if wanted == "" || keyOf(&all.Series[i]) == wanted {
				out = append(out, i)
			}
		}
		return out
	}})
	if err != nil {
		return member{}, err
	}
	var chosen []int
	for i := range l.Built.Series {
		if len(l.Built.Series[i].Snapshots) > 0 && (wanted == "" || seriesKey(&l.Built.Series[i]) == wanted) {
			chosen = append(chosen, i)
		}
	}
	out := member{l: l}
	if len(chosen) > 0 {
		if out.data, err = l.Built.Follow(name, chosen...); err == nil {
			return out, nil
		}
	}
	return member{}, response.Refuse("not_found", "no capture of the case has such a member", name, "it ended before the first one, was never there, or the captures are counts without ids", "open the case and follow the members of its families")
}
