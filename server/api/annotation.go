package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"leakdiff/analysis/say/wording"
	"leakdiff/server/response"
	"leakdiff/store"
)

// mostAnnotations bounds the answer; annotationDays is the time to look back without from.
const (
	mostAnnotations = 500
	annotationDays  = 30
)

// annotation is what leaks, or did, in a process of a case, as dashboards mark it: from the first
// capture that shows it to the last one, in milliseconds since 1970.
type annotation struct {
	Time    int64    `json:"time"`
	TimeEnd int64    `json:"timeEnd"`
	Title   string   `json:"title"`
	Text    string   `json:"text"`
	Tags    []string `json:"tags"`
}

// AnnotationsAPI is GET /api/v1/annotations?from=&to=, in milliseconds since 1970. Its answer
// is a list alone, as the data sources of Grafana read it.
func (s *Service) AnnotationsAPI(w http.ResponseWriter, r *http.Request) {
	now := s.cfg.Now()
	from, err := milliseconds(r.URL.Query(), "from", now.AddDate(0, 0, -annotationDays))
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	to, err := milliseconds(r.URL.Query(), "to", now)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	found, _, err := s.store.Leaks(r.Context(), store.LeakQuery{Since: from, Until: to, Recovered: true, Limit: mostAnnotations})
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	out := []annotation{}
	for _, l := range found {
		a := annotation{
			Time: l.First.UnixMilli(), TimeEnd: l.Last.UnixMilli(), Title: wording.Printable(l.Title),
			Text: wording.Printable(wording.Leaks(l.Process, l.Host, l.Families)) + " " + s.respond.Base(r) + "/cases/" + l.CaseID, Tags: []string{"leaking"},
		}
		for _, name := range []string{l.Process, l.Host} {
			if name != "" {
				a.Tags = append(a.Tags, wording.Printable(name))
			}
		}
		out = append(out, a)
	}
	s.respond.ListJSON(w, r, out)
}

// milliseconds reads a time of a query.
func milliseconds(query url.Values, name string, without time.Time) (time.Time, error) {
	text := query.Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > 253_402_300_799_999 {
		return time.Time{}, response.Refuse("bad_request", "this time was not understood", fmt.Sprintf("%s=%s", name, text), "times are milliseconds since 1970", "send it as ${__"+name+"} of Grafana, or leave it out")
	}
	return time.UnixMilli(n), nil
}
