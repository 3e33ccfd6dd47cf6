package page

import (
	"cmp"
	"context"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// OpenVerdict stands where it is open how a family ended.
const OpenVerdict = view.OpenVerdict

// usualDays are the days of a fleet that nobody chose.
const usualDays = 30

// FleetChoice reads the filter of the families over all hosts.
func FleetChoice(query url.Values, now time.Time) (c view.FleetChoice, q store.FleetQuery, err error) {
	c = view.FleetChoice{Text: query.Get("q"), Kind: query.Get("kind"), Sort: query.Get("sort"), New: query.Get("new") != "", Days: usualDays}
	if text := query.Get("days"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > view.AllDays {
			return c, q, response.Refuse("bad_request", "the days were not understood", text, "they are a number from 1 to "+strconv.Itoa(view.AllDays), "leave them out for "+strconv.Itoa(usualDays))
		}
		c.Days = n
	}
	if c.Kind != "" && !slices.Contains(view.FleetKinds(), analysis.Kind(c.Kind)) {
		return c, q, response.Refuse("bad_request", "there is no such kind", c.Kind, "the kinds are goroutine, thread, descriptor, watch and object", "use one of these, or leave it out")
	}
	if c.Sort != "" && c.Sort != "growth" && c.Sort != "hosts" {
		return c, q, response.Refuse("bad_request", "there is no such order", c.Sort, "families are sorted by growth or by hosts", "use one of these, or leave it out")
	}
	if c.Page, err = response.PageOfList(query); err != nil {
		return c, q, err
	}
	q = store.FleetQuery{
		Since: now.AddDate(0, 0, -c.Days), NewSince: now.AddDate(0, 0, -1), New: c.New,
		Kind: analysis.Kind(c.Kind), Text: c.Text, ByHosts: c.Sort == "hosts", Limit: recentCases,
	}
	q.Offset = (c.Page - 1) * q.Limit
	return c, q, nil
}

// FleetSentences are what is said of a page of families: what grew most, and how many are new.
func (s *Service) FleetSentences(c view.FleetChoice, found store.Fleet) (title, fresh string) {
	things := fleetThings(s.Nouns(), found.Families, c)
	if c.Page > 1 && found.First != nil {
		things = fleetThings(s.Nouns(), []store.FleetFamily{*found.First}, c)
	}
	var first view.FleetThing
	if len(things) > 0 {
		first = things[0]
	}
	if found.Total == 0 && c.Text == "" && c.Kind == "" && !c.New {
		return wording.FleetNothing(c.Days)
	}
	kind := analysis.Kind(c.Kind)
	return wording.FleetTitle(kind, first.Words, first.Growth, first.Hosts, first.Unnamed, c.Days, c.Sort == "hosts"), wording.FleetNew(kind, found.New)
}

// Fleet ranks what grew over all hosts.
func (s *Service) Fleet(w http.ResponseWriter, r *http.Request) {
	choice, q, err := FleetChoice(r.URL.Query(), s.now())
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	q.Aliases = s.Aliases
	found, err := s.store.Fleet(r.Context(), q)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	in := view.FleetInput{Choice: choice, Total: found.Total, New: found.New, Families: len(found.Families), Things: fleetThings(s.Nouns(), found.Families, choice)}
	in.Title, in.Fresh = s.FleetSentences(choice, found)
	if in.Heat, err = s.fleetHeat(r.Context(), in.Things, choice, q.Since); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	v := view.NewFleet(in)
	_, suffix := response.Twin(r.URL.Path)
	s.fleetTwin(w, r, suffix, "fleet", v, func(w io.Writer) error {
		head := []string{"kind", "family", "fingerprint", "growth", "hosts", "unnamed_series", "series", "first_seen", "last_seen", "new"}
		rows := make([][]any, len(found.Families))
		for i, f := range found.Families {
			rows[i] = []any{string(f.Family.Kind), f.Family.Title, f.Family.Fingerprint, f.Growth, f.Hosts, f.Unnamed, f.Series, &f.First, &f.Last, strconv.FormatBool(f.New)}
		}
		return report.SheetCSV(w, head, rows)
	})
}

// FleetSuffixes are those of the twins of /fleet. Its data is in the API.
var FleetSuffixes = []string{".md", ".txt", ".jira", ".csv"}

// fleetTwin writes a page of the fleet, or the twin with a suffix. It refuses redact=1 of a
// twin, which would leave names as they are.
func (s *Service) fleetTwin(w http.ResponseWriter, r *http.Request, suffix, name string, v view.Page, csv func(io.Writer) error) {
	v.Shell.Engine = s.respond.Engine()
	var made response.Content
	var err error
	switch {
	case suffix == "":
		s.respond.Page(w, r, http.StatusOK, page.HTML(v))
		return
	case r.URL.Query().Get(view.RedactParameter) != "":
		err = response.Refuse("bad_request", "the fleet is not redacted", r.URL.Path, "only names in the evidence of one case are known well enough to be replaced, and the fleet is of all cases", "leave redact=1 out, or take a twin of a case, or of a family in it, with redact=1")
	case suffix == ".csv":
		made, err = s.respond.TwinOf(r, suffix, response.Export{CSV: csv, Name: name})
	case slices.Contains(FleetSuffixes, suffix):
		made = response.WordsOf(suffix, v.Body)
	default:
		err = response.Refuse("not_found", "this page has no twin "+suffix, "", "it is words and figures", "take one of "+strings.Join(FleetSuffixes, ", ")+", or /api/v1/fleet")
	}
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	made.Tagged(w, r)
}

// FleetSeriesStore has the series of one family.
type FleetSeriesStore interface {
	FleetSeries(ctx context.Context, fingerprint string, since time.Time) (family analysis.Family, series []store.FleetSeries, cut bool, err error)
}

// FleetOf is a family over all hosts, of the days of the query.
func FleetOf(ctx context.Context, from FleetSeriesStore, nouns report.Nouns, fingerprint string, query url.Values, now time.Time) (view.FleetFamilyInput, error) {
	choice, q, err := FleetChoice(query, now)
	if err != nil {
		return view.FleetFamilyInput{}, err
	}
	family, series, cut, err := from.FleetSeries(ctx, fingerprint, q.Since)
	if err != nil {
		return view.FleetFamilyInput{}, err
	}
	if len(series) == 0 {
		return view.FleetFamilyInput{}, response.Refuse("not_found", "no host shows this family or object type", fingerprint, "no capture of "+wording.Plain(choice.Days, "day", "days")+" has it, or the fingerprint is wrong", "ask for more days, with ?days=365 in the address or --days 365 on the command line")
	}
	out := view.FleetFamilyInput{Choice: choice, Title: family.Title, Type: family.ObjectType(), Kind: family.Kind, Fingerprint: fingerprint, Hosts: fleetHosts(series)}
	if cut {
		out.Cut = wording.FleetCut(family.Kind, len(series))
	}
	out.Odd = oddHost(out.Hosts)
	out.Versions = fleetVersions(out.Hosts)
	named := map[string]bool{}
	growth, unnamed := 0, 0
	for _, x := range series {
		growth += x.Growth
		if x.Host == "" {
			unnamed++
		} else {
			named[x.Host] = true
		}
	}
	out.Named = len(named)
	things, _ := report.ThingsFirst(nouns, &family)
	out.Sentence = wording.FleetFamily(things, growth, out.Named, unnamed, choice.Days)
	return out, nil
}

// fleetHosts adds up the series of each process on each host, the ones that grew most first.
// Processes without a host name stand apart for each case. The verdict is that of the latest
// series, unless that is too short to end the leak of an earlier one, as for alerts.
func fleetHosts(series []store.FleetSeries) []view.FleetHost {
	type key struct{ host, process, unnamedIn string }
	at := map[key]int{}
	var out []view.FleetHost
	for _, x := range series {
		k := key{x.Host, x.Process, ""}
		if x.Host == "" {
			k.unnamedIn = x.CaseID
		}
		n, known := at[k]
		if !known {
			n = len(out)
			at[k] = n
			out = append(out, view.FleetHost{Host: x.Host, Process: x.Process, First: x.First})
		}
		h := &out[n]
		h.Series++
		h.Growth += x.Growth
		h.Hours += x.Last.Sub(x.First).Hours()
		if x.First.Before(h.First) {
			h.First = x.First
		}
		if !x.Last.Before(h.Last) {
			h.Last, h.CaseID, h.LastCount = x.Last, x.CaseID, x.LastCount
			h.Version, h.Benign = x.Version, x.Benign
			if !leaks(h.Verdict, h.Recovered) || leaks(x.Verdict, x.Recovered) || ends(x) {
				h.Verdict, h.Recovered = x.Verdict, x.Recovered
			}
		}
	}
	slices.SortStableFunc(out, func(a, b view.FleetHost) int { return cmp.Compare(b.Growth, a.Growth) })
	return out
}

func leaks(verdict string, recovered bool) bool {
	return verdict == string(analysis.Leaking) && !recovered
}

// ends reports whether a series says that a leak of an earlier one is over.
func ends(x store.FleetSeries) bool {
	switch analysis.Verdict(x.Verdict) {
	case "", analysis.Suspicious, analysis.Grew, analysis.New:
		return false
	}
	return x.Decisive
}

// byHost makes the processes of each named host one, with their worst verdict.
func byHost(processes []view.FleetHost) []view.FleetHost {
	at := map[string]int{}
	var out []view.FleetHost
	for _, p := range processes {
		if p.Host == "" {
			continue
		}
		n, known := at[p.Host]
		if !known {
			at[p.Host] = len(out)
			out = append(out, p)
			continue
		}
		h := &out[n]
		h.Growth += p.Growth
		if analysis.Verdict(p.Verdict).Rank() < analysis.Verdict(h.Verdict).Rank() {
			h.Verdict = p.Verdict
		}
	}
	slices.SortStableFunc(out, func(a, b view.FleetHost) int { return cmp.Compare(b.Growth, a.Growth) })
	return out
}

// Bounds of an odd host: fewer hosts have no rule to be an exception of, and what grew less
// or not by so many times more than the next one is no exception.
const (
	fewestHosts = 4
	oddRise     = 10
	oddTimes    = 5
)

// oddHost says which host alone differs from all others, by its verdict or else by its
// growth. It is empty without one.
func oddHost(processes []view.FleetHost) string {
	named := byHost(processes)
	if len(named) < fewestHosts {
		return ""
	}
	of := map[string][]string{}
	for _, h := range named {
		of[h.Verdict] = append(of[h.Verdict], h.Host)
	}
	if len(of) == 2 && len(of[""]) == 0 {
		for verdict, in := range of {
			for others, rest := range of {
				if others != verdict && len(in) == 1 {
					return wording.OddVerdict(in[0], verdict, others, len(rest))
				}
			}
		}
	}
	if top, next := named[0], named[1]; top.Growth >= oddRise && top.Growth >= oddTimes*max(next.Growth, 0) {
		return wording.OddGrowth(top.Host, top.Growth, next.Growth)
	}
	return ""
}

// fleetVersions counts hosts and verdicts of each version. It is empty if no version is
// known.
func fleetVersions(processes []view.FleetHost) (out []view.FleetVersion) {
	of := map[string][]view.FleetHost{}
	for _, p := range processes {
		of[p.Version] = append(of[p.Version], p)
	}
	if len(of) == 1 && len(of[""]) > 0 {
		return nil
	}
	for _, version := range slices.Sorted(maps.Keys(of)) {
		hosts := byHost(of[version])
		for _, p := range of[version] {
			if p.Host == "" { // each is a host that nobody named
				hosts = append(hosts, p)
			}
		}
		x := view.FleetVersion{Version: version, Hosts: len(hosts), Verdicts: map[string]int{}}
		for _, h := range hosts {
			x.Growth += h.Growth
			x.Verdicts[cmp.Or(h.Verdict, OpenVerdict)]++
		}
		out = append(out, x)
	}
	return out
}

// FleetFamily shows one family over all hosts.
func (s *Service) FleetFamily(w http.ResponseWriter, r *http.Request) {
	fingerprint, suffix := response.Twin(response.PathValue(r, "fingerprint"))
	in, err := FleetOf(r.Context(), s.store, s.Nouns(), fingerprint, r.URL.Query(), s.now())
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.fleetTwin(w, r, suffix, "fleet "+in.Title, view.NewFleetFamily(in), func(w io.Writer) error {
		head := []string{"host", "process", "growth", "hours", "count", "verdict", "version", "case", "series", "first_seen", "last_seen", "recovered", "benign"}
		rows := make([][]any, len(in.Hosts))
		for i, h := range in.Hosts {
			rows[i] = []any{h.Host, h.Process, h.Growth, int(math.Round(h.Hours)), h.LastCount, cmp.Or(h.Verdict, OpenVerdict), h.Version, h.CaseID, h.Series, &h.First, &h.Last, strconv.FormatBool(h.Recovered), strconv.FormatBool(h.Benign)}
		}
		return report.SheetCSV(w, head, rows)
	})
}

func (s *Service) now() time.Time { return s.cfg.Now() }
