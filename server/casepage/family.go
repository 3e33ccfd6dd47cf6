package casepage

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/view"
)

// SightingsAPI is GET /api/v1/families/{fingerprint}. It lists the processes that show the
// family, the latest first, and its triage in all cases, each with a total.
func (s *Service) SightingsAPI(w http.ResponseWriter, r *http.Request) {
	fingerprint := response.PathValue(r, "fingerprint")
	seen, err := s.seenIn(r.Context(), fingerprint)
	if err == nil && len(seen.places) == 0 {
		err = response.Refuse("not_found", "there is no such family", fingerprint, "no case on this server holds it any more, or the fingerprint is wrong", "search for a function instead")
	}
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	memories, remarks, err := s.store.Memories(r.Context(), fingerprint, maxMemories)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	type listed struct {
		Case    string           `json:"case"`
		Title   string           `json:"title"`
		Process string           `json:"process"`
		Highest int              `json:"highest"`
		Verdict analysis.Verdict `json:"verdict"`
		// Recovered is true if the cause went away within the series.
		Recovered bool   `json:"recovered"`
		Link      string `json:"link"`
		URL       string `json:"url"`
	}
	type markJSON struct {
		Case string `json:"case"`
		triageJSON
	}
	places := []listed{}
	for _, p := range seen.places {
		link := "/families/" + url.PathEscape(fingerprint) + "?case=" + url.QueryEscape(p.caseID)
		places = append(places, listed{
			Case: p.caseID, Title: p.caseTitle, Process: p.process, Highest: p.highest, Verdict: p.verdict, Recovered: p.recovered,
			Link: link, URL: s.respond.Base(r) + link,
		})
	}
	triage := []markJSON{}
	for _, m := range memories {
		triage = append(triage, markJSON{m.CaseID, newTriageJSON(m.Mark)})
	}
	s.respond.ListJSON(w, r, map[string]any{
		"fingerprint": fingerprint, "cases": places, "total": seen.total, "triage": triage, "triage_total": remarks,
	})
}

// maxMembers bounds the members in the list of a family page.
const maxMembers = 100

// maxLifelines bounds the members followed on a family page.
const maxLifelines = 2000

func (s *Service) familySeries(r *http.Request, fingerprint string) (*loader.Loaded, *report.JudgedSeries, error) {
	missing := response.Refuse("not_found", "there is no such family", fingerprint, "no case on this server holds it any more, or the address is wrong", "start from the list of cases")
	caseID := r.URL.Query().Get("case")
	if caseID == "" {
		seen, err := s.store.FamilySightings(r.Context(), fingerprint, 1)
		if err != nil {
			return nil, nil, err
		}
		if len(seen.List) == 0 {
			return nil, nil, missing
		}
		caseID = seen.List[0].CaseID
	}
	wanted := r.URL.Query().Get("series")
	l, err := s.loader.Evidence(r.Context(), caseID, loader.Part{Series: func(all *report.Report) []int {
		out := []int{}
		for i := range all.Series {
			x := &all.Series[i]
			if !slices.ContainsFunc(x.Families, func(f report.Family) bool { return f.Fingerprint == fingerprint }) {
				continue
			}
			if len(out) == 0 || keyOf(x) == wanted {
				out = []int{i}
			}
		}
		return out
	}})
	if err != nil {
		return nil, nil, err
	}
	var found *report.JudgedSeries
	for i := range l.Built.Series {
		series := &l.Built.Series[i]
		if series.FamilySnapshot(fingerprint) < 0 {
			continue
		}
		if found == nil || seriesKey(series) == wanted {
			found = series
		}
	}
	if found == nil {
		return nil, nil, missing
	}
	return l, found, snapshotAsked(r, l)
}

func seriesKey(series *report.JudgedSeries) string {
	p := series.Snapshots[0].Process
	return view.SeriesKey(p.Host.Value, p.Name.Value)
}

func familyOf(l *loader.Loaded, series *report.JudgedSeries, fingerprint string) report.Family {
	for _, f := range seriesOf(l, series).Families {
		if f.Fingerprint == fingerprint {
			return f
		}
	}
	return report.Family{}
}

// chosen returns the index of the snapshot in which the family is shown: that of the
// query, else the last one with the family before its cause went away.
func chosen(r *http.Request, series *report.JudgedSeries, fingerprint string) int {
	at := series.FamilySnapshot(fingerprint)
	if wanted := r.URL.Query().Get("at"); wanted != "" {
		for i, snap := range series.Snapshots {
			if snap.ID == wanted && report.GroupOf(snap, fingerprint) != nil {
				at = i
			}
		}
	}
	return at
}

func (s *Service) familyView(r *http.Request, l *loader.Loaded, series *report.JudgedSeries, fingerprint string, why purpose) (view.Family, error) {
	judged := series.Judged[fingerprint]
	at := chosen(r, series, fingerprint)
	group := report.GroupOf(series.Snapshots[at], fingerprint)
	in := view.FamilyInput{
		CaseID: l.ID, CaseTitle: l.Title, Process: series.Snapshots[0].Process.Name.Value,
		Family: familyOf(l, series, fingerprint), Judgement: judged, Evidence: series.Evidence(group.Family),
		Counts: series.Trend.Counts(fingerprint), Epochs: series.Trend.Epochs, Lifelines: series.Trend.Lifelines(fingerprint, maxLifelines),
		SnapshotIndex: at, Engine: s.respond.Engine(), Frozen: bool(why), Catalogue: l.Known,
		SeriesKey: seriesKey(series), Taken: series.Taken(), Places: seriesOf(l, series).Places(), Events: series.Trend.Events(), Hours: series.Trend.Births(fingerprint, at),
		Kin: related(l, series, fingerprint), Locks: locks(series, fingerprint, at), Bisection: report.Bisect(l.Built.Series, series.Snapshots[0].Process.Name.Value, group.Family),
	}
	for _, snap := range series.Snapshots {
		in.IDs = append(in.IDs, snap.ID)
		in.Labels = append(in.Labels, snap.Label)
		in.Lower = append(in.Lower, snap.Bounded(group.Family.Kind))
		in.Times = append(in.Times, snap.CapturedAt)
		in.Groups = append(in.Groups, report.GroupOf(snap, fingerprint))
		in.Thinned = append(in.Thinned, snap.Thinned)
	}
	if len(group.Variants) > 0 {
		in.Steps = family.Explain(group.Variants[0].Stack)
	}
	snap := series.Snapshots[at]
	bundleID := l.BundleOf[snap.ID]
	in.Members, in.Statements = members(group, snap, bundleID), snap.Statements
	said := seriesOf(l, series)
	in.Facts = said.FactsOf(fingerprint)
	in.Watched, in.PprofLabels = snap.Watched[fingerprint], snap.Labels[fingerprint]
	in.Ancestries = series.AncestryTraces(fingerprint, at)
	in.Code = s.code(l, series, at, series.LocatedStack(fingerprint, at), why)
	if err := s.firstLines(r, &in, group, snap, bundleID, why); err != nil {
		return view.Family{}, err
	}
	seen, err := s.seenIn(r.Context(), fingerprint)
	if err != nil {
		return view.Family{}, err
	}
	in.Sightings, in.MoreSightings = seen.elsewhere(fingerprint, l.ID)
	if err := s.addTriage(r, &in, l, max(0, seen.cases-1)); err != nil {
		return view.Family{}, err
	}
	return view.NewFamily(in), nil
}

// addTriage adds the triage of the family, in this case and in others.
func (s *Service) addTriage(r *http.Request, in *view.FamilyInput, l *loader.Loaded, otherCases int) error {
	fingerprint := in.Family.Fingerprint
	in.Triage = view.TriageInput{NeedsKey: s.access.NeedsKey(r.Context(), l.ID), Remembers: s.catalogue.OwnFile() != "", Over: r.URL.Query().Get("over") == "triage", OtherCases: otherCases}
	for _, e := range s.catalogue.EntriesOf(l.Known, fingerprint) {
		in.Triage.Kept = append(in.Triage.Kept, view.Link{Text: view.Visible(e.Title), URL: view.EntryURL(e.ID)})
	}
	for _, m := range l.Marks {
		if m.Process == in.Process && m.Fingerprint == fingerprint {
			in.Triage.Triage, in.Triage.Replaced = m.Triage, m.Replaced
		}
	}
	var err error
	in.Triage.Memories, err = s.triageElsewhere(r.Context(), fingerprint, l.ID)
	return err
}

// triageElsewhere returns the triage of a family in cases other than this one.
func (s *Service) triageElsewhere(ctx context.Context, fingerprint, caseID string) ([]view.TriageMemory, error) {
	memories, _, err := s.store.Memories(ctx, fingerprint, maxMemories)
	if err != nil {
		return nil, err
	}
	var out []view.TriageMemory
	for _, x := range memories {
		if x.CaseID != "" && x.CaseID == caseID {
			continue
		}
		address := ""
		if x.CaseID != "" {
			address = familyIn(fingerprint, x.CaseID)
		}
		out = append(out, view.TriageMemory{Process: x.Process, CaseTitle: x.CaseTitle, URL: address, Triage: x.Triage})
	}
	return out, nil
}

// familyIn is the address of a family in a case.
func familyIn(fingerprint, caseID string) string {
	return "/families/" + fingerprint + "?case=" + url.QueryEscape(caseID)
}

// related finds the families of the series that explain this one: those of its unit, the
// possible holders of what it waits for, and those that may wait for it.
func related(l *loader.Loaded, series *report.JudgedSeries, fingerprint string) view.FamilyKin {
	var out view.FamilyKin
	reported := seriesOf(l, series)
	byPrint := map[string]report.Family{}
	for _, f := range reported.Families {
		byPrint[f.Fingerprint] = f
	}
	id := series.Trend.UnitOf(fingerprint)
	for i := range reported.Units {
		if reported.Units[i].ID == id {
			out.Unit = &reported.Units[i]
		}
	}
	for _, u := range series.Trend.Units() {
		if u.ID != id {
			continue
		}
		for _, share := range u.Families {
			if share.Fingerprint != fingerprint {
				out.Members = append(out.Members, view.Kin{Family: byPrint[share.Fingerprint], Ratio: share.Ratio})
			}
		}
	}
	for _, suspect := range series.Trend.Suspects(fingerprint) {
		out.Holders = append(out.Holders, view.Kin{Family: byPrint[suspect.Fingerprint], Why: series.Reasons(suspect.Why)})
	}
	for _, p := range series.Trend.Explain() {
		if p.Section == trend.MayHold && len(p.Families) > 0 && p.Families[0] == fingerprint {
			out.Behind = append(out.Behind, view.Kin{Family: byPrint[p.Of], Why: series.Reasons(p.Why)})
		}
	}
	return out
}

// maxLocks bounds the locks that a family page names.
const maxLocks = 3

func locks(series *report.JudgedSeries, fingerprint string, at int) []trend.Hold {
	holds := series.Trend.Holds(fingerprint, at)
	return holds[:min(len(holds), maxLocks)]
}

// Bounds of what is read and listed of a family in other cases: sightings, places on its
// page, triage.
const (
	maxSightings = 2000
	maxPlaces    = 100
	maxMemories  = 200
)

// place is a process of a case that shows a family, and how the family ended there.
type place struct {
	caseID, caseTitle, process string
	// counts are of the latest snapshots with the family, the earliest first.
	counts    analysis.Counts
	highest   int
	verdict   analysis.Verdict
	recovered bool
}

// course writes the counts in words. The counts leave out snapshots without the family:
// only the verdict shows that the family is gone.
func (p *place) course() string {
	if len(p.counts) == 0 {
		return ""
	}
	text := report.Rises(p.counts, nil)
	if !slices.ContainsFunc(p.counts, func(n analysis.Count) bool { return n.N != p.counts[0].N }) {
		text = strconv.Itoa(p.counts[0].N)
	}
	text += " in " + wording.PagePlural(int64(len(p.counts)), "snapshot", "snapshots")
	if p.verdict == analysis.Gone {
		text += ", then none"
	}
	return text
}

// seen is where a family was seen, the latest capture first. cases and total count all
// cases and places, listed or not.
type seen struct {
	places       []place
	cases, total int
}

// seenIn finds the processes of all cases that show a family.
func (s *Service) seenIn(ctx context.Context, fingerprint string) (seen, error) {
	found, err := s.store.FamilySightings(ctx, fingerprint, maxSightings)
	if err != nil {
		return seen{}, err
	}
	out := seen{cases: found.Cases, total: found.Places}
	at := map[[2]string]int{}
	var ids []string
	for i := range found.List {
		x := &found.List[i]
		key := [2]string{x.CaseID, x.Process}
		n, have := at[key]
		if !have {
			n = len(out.places)
			at[key] = n
			out.places = append(out.places, place{caseID: x.CaseID, caseTitle: x.CaseTitle, process: x.Process, highest: x.Highest})
			ids = append(ids, x.CaseID)
		}
		out.places[n].counts = append(out.places[n].counts, analysis.Counted(x.Count))
	}
	for i := range out.places {
		slices.Reverse(out.places[i].counts)
	}
	slices.Sort(ids)
	endings, err := s.store.EndingsOf(ctx, fingerprint, slices.Compact(ids))
	out.end(at, endings)
	return out, err
}

// end sets how the family ended in each place. Without a stored ending the verdict is
// stable. Endings are stored under the name of the process after edits: the only place of
// a case without an ending gets the ending that matches no place.
func (s *seen) end(at map[[2]string]int, endings []store.CaseEnding) {
	renamed := map[string]store.CaseEnding{}
	for _, e := range endings {
		if i, have := at[[2]string{e.CaseID, e.Process}]; have {
			s.places[i].verdict, s.places[i].recovered = analysis.Verdict(e.Verdict), e.Recovered
		} else if _, have := renamed[e.CaseID]; !have {
			renamed[e.CaseID] = e
		}
	}
	without := map[string]int{}
	for _, p := range s.places {
		if p.verdict == "" {
			without[p.caseID]++
		}
	}
	for i := range s.places {
		p := &s.places[i]
		if p.verdict != "" {
			continue
		}
		p.verdict = analysis.Stable
		if e, have := renamed[p.caseID]; have && without[p.caseID] == 1 {
			p.verdict, p.recovered = analysis.Verdict(e.Verdict), e.Recovered
		}
	}
}

// elsewhere lists the places in other cases, each with its course. more counts the places
// that are not listed.
func (s *seen) elsewhere(fingerprint, caseID string) (out []view.Sighting, more int) {
	more = s.total
	for _, p := range s.places {
		if p.caseID == caseID {
			more--
			continue
		}
		if len(out) == maxPlaces {
			continue
		}
		more--
		x := view.Sighting{CaseTitle: p.caseTitle, URL: familyIn(fingerprint, p.caseID), Counts: p.process + ": " + p.course(), Verdict: string(p.verdict)}
		if p.recovered {
			x.Said = wording.Recovered
		}
		out = append(out, x)
	}
	return out, more
}

// members lists the oldest members with the addresses of their raw lines.
func members(g *analysis.Group, snap *analysis.Snapshot, bundleID string) []view.FamilyMember {
	var out []view.FamilyMember
	for _, m := range g.Members.First(maxMembers) {
		out = append(out, view.FamilyMember{Member: m, RawURL: rawURL(m, snap, bundleID)})
	}
	return out
}

func rawURL(m analysis.Member, snap *analysis.Snapshot, bundleID string) string {
	path, ok := artifactPath(m, snap)
	if !ok || m.Place.Length == 0 {
		return ""
	}
	return view.RawURL(bundleID, path, m.Place.Offset, m.Place.Length)
}

// artifactPath returns the file that a member was read from. In a directory of fdinfo
// files it is the file of the member's descriptor.
func artifactPath(m analysis.Member, snap *analysis.Snapshot) (string, bool) {
	if m.Place.Artifact >= len(snap.Artifacts) {
		return "", false
	}
	path := snap.Artifacts[m.Place.Artifact].Path
	if strings.HasSuffix(path, "/") {
		path += strconv.FormatInt(m.Identity.ID, 10)
	}
	return path, true
}

// mostUnpacked is the size in bytes of a bundle of one archive up to which a page shows raw
// lines unasked: to reach them, all that stands before them is unpacked.
const mostUnpacked = 8 << 20

// firstLines adds the raw lines of the oldest member. If they cannot be opened any more,
// the page lacks only them. A page of a large archive has the link to them; what is frozen
// has them.
func (s *Service) firstLines(r *http.Request, in *view.FamilyInput, g *analysis.Group, snap *analysis.Snapshot, bundleID string, why purpose) error {
	if len(in.Members) == 0 {
		return nil
	}
	m := in.Members[0].Member
	path, ok := artifactPath(m, snap)
	if !ok || m.Place.Length == 0 {
		return nil
	}
	for _, a := range snap.Artifacts {
		if a.Path == path && a.Kind == "goroutine-proto" {
			return nil // a binary file has no lines
		}
	}
	b, err := s.store.Bundle(r.Context(), bundleID)
	if err != nil {
		return err
	}
	in.RawTitle, in.RawURL = path, in.Members[0].RawURL
	if why == showing && b.Size > mostUnpacked && !slices.ContainsFunc(b.Files, func(f store.File) bool { return f.Name == path }) {
		in.RawDeep = wording.Bytes(b.Size)
		return nil
	}
	body, err := s.raw.OpenArtifact(r.Context(), b, path)
	if err != nil {
		var fault *analysis.Fault
		if errors.As(err, &fault) {
			return nil
		}
		return err
	}
	defer body.Close()
	cut, first, size, err := cutOut(body, m.Place.Offset, int(min(m.Place.Length, 8<<10)))
	if err != nil {
		return err
	}
	raw := view.NewRaw(view.RawInput{Bundle: bundleID, Path: path, Excerpt: cut.text, Offset: cut.offset, FirstLine: first, Size: size})
	in.RawExcerpt = raw.Lines
	return nil
}
