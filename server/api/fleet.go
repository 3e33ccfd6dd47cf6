package api

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"leakdiff/analysis"
	"leakdiff/server/page"
	"leakdiff/server/response"
)

// FleetAPI is GET /api/v1/fleet?sort=&kind=&q=&days=&new=&limit=&page=. It ranks the families
// over all hosts, or the types of objects.
func (s *Service) FleetAPI(w http.ResponseWriter, r *http.Request) {
	choice, q, err := page.FleetChoice(r.URL.Query(), s.cfg.Now())
	if err == nil {
		q.Limit, err = response.LimitOf(r.URL.Query())
	}
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	q.Aliases, q.Offset = s.cfg.Pages.Aliases, (choice.Page-1)*q.Limit
	found, err := s.store.Fleet(r.Context(), q)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	type family struct {
		Fingerprint   string        `json:"fingerprint"`
		Kind          analysis.Kind `json:"kind"`
		Title         string        `json:"title"`
		Type          *string       `json:"type"`
		Growth        int           `json:"growth"`
		Hosts         int           `json:"hosts"`
		UnnamedSeries int           `json:"unnamed_series"`
		Series        int           `json:"series"`
		FirstSeen     time.Time     `json:"first_seen"`
		LastSeen      time.Time     `json:"last_seen"`
		New           bool          `json:"new"`
		Link          string        `json:"link"`
		URL           string        `json:"url"`
	}
	title, fresh := s.cfg.Pages.FleetSentences(choice, found)
	out := struct {
		Sentence string   `json:"sentence"`
		Fresh    string   `json:"new_sentence"`
		Days     int      `json:"days"`
		Families []family `json:"families"`
		Total    int      `json:"total"`
		New      int      `json:"new"`
		Page     int      `json:"page"`
		Next     string   `json:"next,omitempty"`
	}{Sentence: title + ".", Fresh: fresh, Days: choice.Days, Families: []family{}, Total: found.Total, New: found.New, Page: choice.Page}
	for _, f := range found.Families {
		link := "/fleet/" + url.PathEscape(f.Family.Fingerprint)
		x := family{
			Fingerprint: f.Family.Fingerprint, Kind: f.Family.Kind, Title: f.Family.Title, Type: orNull(f.Family.ObjectType()), Growth: f.Growth, Hosts: f.Hosts, UnnamedSeries: f.Unnamed, Series: f.Series,
			FirstSeen: f.First, LastSeen: f.Last, New: f.New, Link: link, URL: s.respond.Base(r) + link,
		}
		out.Families = append(out.Families, x)
	}
	if q.Offset+len(found.Families) < found.Total && len(found.Families) > 0 {
		out.Next = s.respond.NextPage(w, r, choice.Page)
	}
	s.respond.ListJSON(w, r, out)
}

// FleetFamilyAPI is GET /api/v1/fleet/{fingerprint}?days=&limit=&page=. It shows one family
// over all hosts, or one type of objects.
func (s *Service) FleetFamilyAPI(w http.ResponseWriter, r *http.Request) {
	limit, limitErr := response.LimitOf(r.URL.Query())
	in, err := page.FleetOf(r.Context(), s.store, s.cfg.Pages.Nouns(), response.PathValue(r, "fingerprint"), r.URL.Query(), s.cfg.Now())
	if err = cmp.Or(limitErr, err); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	type host struct {
		Host      *string   `json:"host"`
		Process   string    `json:"process"`
		Case      string    `json:"case"`
		Series    int       `json:"series"`
		Growth    int       `json:"growth"`
		LastCount int       `json:"last_count"`
		FirstSeen time.Time `json:"first_seen"`
		LastSeen  time.Time `json:"last_seen"`
		Version   *string   `json:"version"`
		Verdict   string    `json:"verdict"`
		Recovered bool      `json:"recovered"`
		Benign    bool      `json:"benign"`
	}
	type version struct {
		Version  *string        `json:"version"`
		Hosts    int            `json:"hosts"`
		Growth   int            `json:"growth"`
		Verdicts map[string]int `json:"verdicts"`
	}
	hosts, versions := []host{}, []version{}
	from := min((in.Choice.Page-1)*limit, len(in.Hosts))
	for _, h := range in.Hosts[from:min(from+limit, len(in.Hosts))] {
		x := host{
			Host: orNull(h.Host), Process: h.Process, Case: h.CaseID, Series: h.Series, Growth: h.Growth, LastCount: h.LastCount, FirstSeen: h.First, LastSeen: h.Last,
			Version: orNull(h.Version), Verdict: cmp.Or(h.Verdict, page.OpenVerdict), Recovered: h.Recovered, Benign: h.Benign,
		}
		hosts = append(hosts, x)
	}
	for _, v := range in.Versions {
		versions = append(versions, version{orNull(v.Version), v.Hosts, v.Growth, v.Verdicts})
	}
	out := map[string]any{
		"fingerprint": in.Fingerprint, "kind": in.Kind, "title": in.Title, "type": orNull(in.Type), "sentence": in.Sentence + ".", "odd": orNull(in.Odd), "cut": orNull(in.Cut), "days": in.Choice.Days,
		"hosts": hosts, "versions": versions, "total": len(in.Hosts), "page": in.Choice.Page,
	}
	if from+len(hosts) < len(in.Hosts) && len(hosts) > 0 {
		out["next"] = s.respond.NextPage(w, r, in.Choice.Page)
	}
	s.respond.ListJSON(w, r, out)
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
