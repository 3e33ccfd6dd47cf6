package casepage

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/flame"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/view"
)

// DeleteCaseAPI is DELETE /api/v1/cases/{id}. With ?permalinks=keep the permalinks of the
// case stay.
func (s *Service) DeleteCaseAPI(w http.ResponseWriter, r *http.Request) {
	if err := s.deleteCase(r, response.PathValue(r, "id"), "", r.URL.Query().Get("permalinks")); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// caseView makes the page of a case. The parameter "over" names fields in which this save
// replaced somebody else's value. known holds what other cases know of the findings.
func (s *Service) caseView(ctx context.Context, c *loader.Report, permalinks int, query url.Values, known map[string]view.CaseMemory, why purpose) (view.Case, error) {
	in := view.CaseInput{
		ID: c.ID, Title: c.Title, Sample: c.Sample != "", Report: c.Said.Report, Permalinks: permalinks, Engine: s.respond.Engine(), Frozen: bool(why),
		Fields: map[string]view.CaseField{}, Over: query["over"], NeedsKey: s.access.NeedsKey(ctx, c.ID), Query: query, Baselines: map[string]view.Baseline{}, Memories: known,
		KeepMembers: s.cfg.Keep.Members, KeepUploads: s.cfg.Keep.Uploads,
	}
	for name, f := range c.Fields {
		in.Fields[name] = view.CaseField(f)
	}
	for _, b := range c.Bundles {
		line := view.BundleLine{ID: b.ID, Name: b.Name, Status: string(b.Status), Size: wording.Bytes(b.Size), Snapshots: b.Snapshots, Problems: b.Problems, Bytes: b.Size}
		line.Progress, line.Taken = s.queue.Progress(ctx, b)
		if b.Error != nil && b.Status == store.Failed {
			line.Error = b.Error.Error()
		}
		in.Bundles = append(in.Bundles, line)
	}
	var members func(series int, fingerprint string) *analysis.Members
	if looksIntoMembers(query.Get("q")) {
		l, err := s.loader.Evidence(ctx, c.ID, loader.Part{})
		if err != nil {
			return view.Case{}, err
		}
		members = membersOf(l, c.Said)
	}
	in.More = view.MoreOf(c.Said, members)
	var unread error
	if query.Has("from") && query.Has("to") {
		in.RangeStack = func(fingerprint, first, last string) *report.RangeStack {
			l, err := s.loader.Evidence(ctx, c.ID, loader.PartOf(first, last))
			if err != nil {
				unread = err
				return nil
			}
			return rangeStack(l, fingerprint, first, last)
		}
	}
	if err := s.moreCharts(ctx, &in, c, query, why); err != nil {
		return view.Case{}, err
	}
	if err := s.baselines(ctx, &in, c, why); err != nil {
		return view.Case{}, err
	}
	return view.NewCase(in), unread
}

// rangeStack finds the stack of a family between two snapshots of a series.
func rangeStack(l *loader.Loaded, fingerprint, first, last string) *report.RangeStack {
	series, to := l.Line(last)
	if series == nil {
		return nil
	}
	from := slices.IndexFunc(series.Snapshots, func(s *analysis.Snapshot) bool { return s.ID == first })
	if from < 0 || to < 0 {
		return nil
	}
	return series.RangeStack(fingerprint, from, to)
}

// looksIntoMembers reports whether a filter asks for descriptor numbers or inodes. The
// report does not hold them, the evidence does.
func looksIntoMembers(text string) bool {
	f, err := filter.Parse(text)
	return err == nil && (f.Uses(filter.FD) || f.Uses(filter.Inode))
}

// membersOf finds members in the evidence by the key of a series. Positions may differ:
// the report and the evidence may be of different moments.
func membersOf(l *loader.Loaded, judged *report.CaseReport) func(series int, fingerprint string) *analysis.Members {
	return func(series int, fingerprint string) *analysis.Members {
		for i := range l.Built.Series {
			if l.Built.Series[i].Key == judged.Series[series].Key {
				return l.Built.Members(i, fingerprint)
			}
		}
		return nil
	}
}

// baselines adds the chosen baselines of the series.
func (s *Service) baselines(ctx context.Context, in *view.CaseInput, c *loader.Report, why purpose) error {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(c.Fields)), func(name string) bool {
		return strings.HasPrefix(name, baselineField) && c.Fields[name].Value != ""
	}) {
		return nil
	}
	l, err := s.loader.Evidence(ctx, c.ID, loader.Part{})
	if err != nil {
		return err
	}
	for i := range l.Built.Series {
		series := &l.Built.Series[i]
		if l.Fields[baselineField+seriesKey(series)].Value == "" {
			continue
		}
		baseline, err := s.baseline(ctx, l, series)
		if err != nil {
			return err
		}
		baseline.CaseTitle = otherTitle(baseline.CaseTitle, why)
		in.Baselines[seriesKey(series)] = baseline
	}
	return nil
}

// mostRecalled bounds the findings for which other cases are searched.
const mostRecalled = 12

// leading returns the first family of each finding about growth.
func leading(r report.Report) []string {
	var out []string
	for _, series := range r.Series {
		for _, f := range series.Findings {
			if grows := f.Kind == "" || f.Kind == report.FollowFinding || f.Kind == report.NoLeakFinding; grows && len(f.Families) > 0 && len(out) < mostRecalled && !slices.Contains(out, f.Families[0]) {
				out = append(out, f.Families[0])
			}
		}
	}
	return out
}

// memories returns what other cases know of the families.
func (s *Service) memories(ctx context.Context, caseID string, prints []string) (map[string]view.CaseMemory, error) {
	out := map[string]view.CaseMemory{}
	for _, print := range prints {
		cases, err := s.store.FamilyCases(ctx, print)
		if err != nil {
			return nil, err
		}
		memory := view.CaseMemory{OtherCases: max(0, cases-1)}
		if memory.OtherCases > 0 {
			if memory.Said, err = s.triageElsewhere(ctx, print, caseID); err != nil {
				return nil, err
			}
		}
		out[print] = memory
	}
	return out, nil
}

// DeleteCase handles the form that deletes a case.
func (s *Service) DeleteCase(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	if err := s.deleteCase(r, response.PathValue(r, "id"), r.PostFormValue("key"), r.FormValue("permalinks")); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.respond.Redirect(w, r, "/")
}

// deleteCase deletes a case and withdraws its permalinks, unless they are to be kept. The
// log names the case and the request.
func (s *Service) deleteCase(r *http.Request, id, key, permalinks string) error {
	if _, err := s.store.Case(r.Context(), id); err != nil {
		return err
	}
	role, err := s.access.Edit(r, id, key)
	if err != nil {
		return err
	}
	bundles, err := s.store.Bundles(r.Context(), id)
	if err != nil {
		return err
	}
	fate := store.WithdrawPermalinks
	if permalinks == "keep" {
		fate = store.KeepPermalinks
	}
	for _, b := range bundles {
		s.queue.Cancel(b.ID)
	}
	// The deletion goes on if the sender leaves, so that the log is right.
	ctx := context.WithoutCancel(r.Context())
	if err := s.store.DeleteCase(ctx, id, fate); err != nil {
		s.log.Warn("deleting a case failed", append(s.access.By(r, role), "case", id, "error", err)...)
		return err
	}
	s.log.Info("case deleted", append(s.access.By(r, role), "case", id, "bundles", len(bundles))...)
	s.queue.Notify() // a job that found no room may have it now
	s.cfg.Changed()
	return nil
}

// onlySnapshot returns the part of a case's report that is about one snapshot, with its
// families.
func onlySnapshot(l *loader.Loaded, series *report.JudgedSeries, i int) report.Report {
	all, id := l.Built.Report, series.Snapshots[i].ID
	out := all
	out.Snapshots = nil
	for _, s := range all.Snapshots {
		if s.ID == id {
			s.Families = series.SnapshotFamilies(series.Snapshots[i])
			out.Snapshots = append(out.Snapshots, s)
		}
	}
	out.Series = []report.Series{}
	for _, s := range all.Series {
		for _, have := range s.Snapshots {
			if have == id {
				s.Locks = series.LocksAt(i)
				out.Series = append(out.Series, s)
			}
		}
	}
	return out
}

// caseOf returns the case that the query names, else the newest case with the snapshot.
func (s *Service) caseOf(r *http.Request, id string) (string, error) {
	if caseID := r.URL.Query().Get("case"); caseID != "" {
		return caseID, nil
	}
	return s.newestCase(r, id)
}

func noSnapshot(id string) error {
	return response.Refuse("not_found", "there is no such snapshot", id, "its case or bundle was deleted, or the address is wrong", "start from the list of cases")
}

// snapshot finds a snapshot in the case of the query, else in the newest case that holds
// it.
func (s *Service) snapshot(r *http.Request, id string) (*loader.Loaded, *report.JudgedSeries, int, error) {
	caseID, err := s.caseOf(r, id)
	if err != nil {
		return nil, nil, 0, err
	}
	l, err := s.loader.Evidence(r.Context(), caseID, loader.PartOf(id))
	if err != nil {
		return nil, nil, 0, err
	}
	if series, i := l.Line(id); series != nil {
		return l, series, i, nil
	}
	if l.LeftOut(id) {
		return nil, nil, 0, loader.LeftOutFault(id)
	}
	return nil, nil, 0, noSnapshot(id)
}

func (s *Service) snapshotView(l *loader.Loaded, series *report.JudgedSeries, i int, query url.Values, why purpose) view.Page {
	snap := series.Snapshots[i]
	in := view.SnapshotInput{
		CaseID: l.ID, CaseTitle: l.Title, Snapshot: snap, Titles: series.Titles, Families: seriesOf(l, series).Families,
		Others: choicesOf(l), BundleID: l.BundleOf[snap.ID], Locks: series.LocksAt(i), Heap: series.HeapAt(i), Query: query, Engine: s.respond.Engine(), Frozen: bool(why),
	}
	if i > 0 {
		in.Previous = choice(series.Snapshots[i-1], false)
	}
	if i+1 < len(series.Snapshots) {
		in.Next = choice(series.Snapshots[i+1], false)
	}
	kinds := view.FlameKinds(snap)
	if kind := view.FlameKind(query.Get("kind"), kinds); kind != "" && (query.Get("kind") == "" || query.Get("kind") == string(kind)) {
		in.Flame = flame.Of(snap.Groups, kind)
	}
	return view.NewSnapshot(in)
}

// choicesOf lists all snapshots of a case for the select boxes.
func choicesOf(l *loader.Loaded) []view.Choice {
	var all []*analysis.Snapshot
	for _, series := range l.Built.Series {
		all = append(all, series.Captures()...)
	}
	return choices(all)
}

func choices(all []*analysis.Snapshot) []view.Choice {
	days := map[string]bool{}
	for _, s := range all {
		if !s.CapturedAt.IsZero() {
			days[view.ShortDay(s.CapturedAt)] = true
		}
	}
	var out []view.Choice
	for _, s := range all {
		out = append(out, choice(s, len(days) > 1))
	}
	return out
}

// choice is the entry of one snapshot in a select box: "t1, 02:58:36, 115 goroutines". It
// has the day if the case covers several days.
func choice(s *analysis.Snapshot, dated bool) view.Choice {
	words := []string{s.Label}
	switch {
	case s.CapturedAt.IsZero():
	case dated:
		words = append(words, view.ShortDay(s.CapturedAt)+" "+wording.Clock(s.CapturedAt))
	default:
		words = append(words, wording.Clock(s.CapturedAt))
	}
	for _, k := range analysis.Kinds() {
		if n := s.Totals.Of(k); n != nil {
			text := wording.Members(s.Totals.Counted(k), *n)
			if s.Bounded(k) {
				text = "≥ " + text
			}
			words = append(words, text)
			break
		}
	}
	return view.Choice{Value: s.ID, Label: s.Label, Text: strings.Join(words, ", "), Group: s.Process.Name.Value}
}

// RawDownload sends one whole artifact as text, whatever it holds.
func (s *Service) RawDownload(w http.ResponseWriter, r *http.Request) {
	_, body, err := s.artifact(r)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	defer body.Close()
	response.AsAttachment(w, r.URL.Query().Get("path"))
	response.Send(w, body)
}
