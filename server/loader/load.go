// Package loader reads a case with its corrections and makes its report. It renders nothing:
// other packages make pages, links and summaries from its results.
package loader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/report"
	"leakdiff/server/response"
	"leakdiff/store"
)

// maxPairs bounds the cached comparisons of a case.
const maxPairs = 4

// pairs are the most recent comparisons of a case. A page with another filter, order or
// opened row needs the same comparison again.
type pairs struct {
	mu    sync.Mutex
	order []string
	by    map[string]diff.Result
}

// Pair returns the comparison of two snapshots, from the cache if possible.
func (l *Loaded) Pair(other *Loaded, idA, idB string, compare func() diff.Result) diff.Result {
	if other != l || l.pairs == nil {
		return compare()
	}
	key := idA + ".." + idB
	l.pairs.mu.Lock()
	found, ok := l.pairs.by[key]
	l.pairs.mu.Unlock()
	if ok {
		return found
	}
	found = compare()
	l.pairs.mu.Lock()
	defer l.pairs.mu.Unlock()
	if l.pairs.by == nil {
		l.pairs.by = map[string]diff.Result{}
	}
	if len(l.pairs.order) == maxPairs {
		delete(l.pairs.by, l.pairs.order[0])
		l.pairs.order = l.pairs.order[1:]
	}
	if _, twice := l.pairs.by[key]; !twice {
		l.pairs.order = append(l.pairs.order, key)
	}
	l.pairs.by[key] = found
	return found
}

// Store is the part of the database that the loader needs.
type Store interface {
	Case(ctx context.Context, id string) (store.Case, error)
	Bundles(ctx context.Context, caseID string) ([]store.Bundle, error)
	Edits(ctx context.Context, caseID string) ([]identity.Edit, error)
	Marks(ctx context.Context, caseID string) ([]store.Mark, error)
	Fields(ctx context.Context, caseID string) (map[string]store.Field, error)
	CaseReport(ctx context.Context, caseID string, revision int64, madeWith string) (report []byte, found bool, err error)
	KeepCaseReport(ctx context.Context, caseID string, revision int64, madeWith string, report []byte, series store.StoredJudgements) error
	SeriesJudgement(ctx context.Context, caseID, madeOf string) (judgement []byte, found bool, err error)
	CaseProblems(ctx context.Context, caseID string) ([]analysis.Problem, error)
	SnapshotHeads(ctx context.Context, caseID string) ([]analysis.Snapshot, error)
	SnapshotsPacked(ctx context.Context, caseID string) ([]analysis.Snapshot, error)
	SnapshotRows(ctx context.Context, caseID string) ([]store.SnapshotRow, error)
	FillSnapshots(ctx context.Context, rows []store.SnapshotRow, snapshots []*analysis.Snapshot) error
	FillFamilies(ctx context.Context, rows []store.SnapshotRow, snapshots []*analysis.Snapshot) error
}

// Knowledge returns the current catalogue of leaks.
type Knowledge interface {
	Current() (*knowledge.Catalogue, []analysis.Problem)
}

// Config lists the sources of a Loader.
type Config struct {
	Store     Store
	Knowledge Knowledge
	// Version is the version of the program, for reports.
	Version string
	// Program identifies this build, because another build may report something else about a
	// case. If it is nil or returns "", reports are not stored.
	Program func() string
	// Later runs work when no bundle is read; if it is nil, the work is dropped.
	Later func(work func(context.Context))
	Log   *slog.Logger
}

// Loader loads cases.
type Loader struct {
	store     Store
	knowledge Knowledge
	version   string
	program   func() string
	later     func(work func(context.Context))
	log       *slog.Logger
	// cases and reports cache the most recent ones, by case and revision.
	cases   *cache[Loaded]
	reports *cache[report.CaseReport]
}

// New returns a Loader.
func New(cfg Config) *Loader {
	// A large case takes memory and a core: more of them at once end no sooner.
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	return &Loader{
		store: cfg.Store, knowledge: cfg.Knowledge, version: cfg.Version, program: cfg.Program, later: cfg.Later, log: cfg.Log,
		cases: newCache(maxCases, (*Loaded).weight, slots), reports: newCache(maxReports, reportWeight, slots),
	}
}

// Loaded is a case with everything computed from it.
type Loaded struct {
	store.Case
	Bundles []store.Bundle
	// Built is the report over the snapshots after the edits.
	Built report.Case
	Edits []identity.Edit
	Said  identity.Outcome
	// Fields are the fields that users edit, by name.
	Fields map[string]store.Field
	Marks  []store.Mark
	// BundleOf is the bundle of each snapshot.
	BundleOf map[string]string
	// Known is the catalogue behind the report.
	Known *knowledge.Catalogue
	pairs *pairs
	// whole is the result of Load. Otherwise objects reports that Built follows objects, and
	// read are the indexes of the series whose evidence was read, nil for all; the others have
	// heads alone.
	whole, objects bool
	read           []int
}

// weight estimates the bytes of a loaded case: columns and verdicts for each member, words
// for each family of a snapshot.
func (l *Loaded) weight() int {
	bytes := 0
	for _, line := range l.Built.Series {
		for _, s := range line.Snapshots {
			bytes += 2_000 + 600*len(s.Groups)
			for i := range s.Groups {
				bytes += s.Groups[i].Members.Weight()
			}
		}
	}
	return bytes
}

// RequestCases are the cases of one request. Each is loaded once, so that all parts of an
// answer show the same revision.
type RequestCases struct {
	All []*Loaded
	// whole makes LoadFamilies return what Load returns.
	whole bool
}

type requestKey struct{}

// PerRequest adds RequestCases to the context of every request that changes nothing.
func PerRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			ctx, _ := WithCases(r.Context())
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// WithCases returns a context with RequestCases, and the RequestCases.
func WithCases(ctx context.Context) (context.Context, *RequestCases) {
	if have, ok := ctx.Value(requestKey{}).(*RequestCases); ok {
		return ctx, have
	}
	made := &RequestCases{}
	return context.WithValue(ctx, requestKey{}, made), made
}

// WithWholeCases is WithCases for what needs all the evidence of every case that it loads:
// what a redactor learns of names must not depend on the page.
func WithWholeCases(ctx context.Context) (context.Context, *RequestCases) {
	made := &RequestCases{whole: true}
	return context.WithValue(ctx, requestKey{}, made), made
}

// Load returns a judged case from the request, from the cache, or from the store.
func (s *Loader) Load(ctx context.Context, caseID string) (*Loaded, error) {
	return s.load(ctx, caseID, nil)
}

// part says what is read of a case, nil for everything: the series that pick returns, all for
// nil, with objects or without.
type part struct {
	pick    func(*report.Report) []int
	objects bool
}

// LoadFamilies is Load for pages that show no objects: it neither reads nor follows them,
// which is most of the work in a long series. Verdicts and findings are those of the report.
// Of the series that pick does not return it reads process and time of the snapshots alone; a
// nil pick takes all.
func (s *Loader) LoadFamilies(ctx context.Context, caseID string, pick func(*report.Report) []int) (*Loaded, error) {
	return s.load(ctx, caseID, &part{pick, false})
}

// LoadObjects is LoadFamilies with objects.
func (s *Loader) LoadObjects(ctx context.Context, caseID string, pick func(*report.Report) []int) (*Loaded, error) {
	return s.load(ctx, caseID, &part{pick, true})
}

// of returns the series of a report that the part has, nil for all.
func (p *part) of(r *report.Report) []int {
	if p.pick == nil {
		return nil
	}
	return p.pick(r)
}

// SeriesOf picks the series of snapshots.
func SeriesOf(ids ...string) func(*report.Report) []int {
	return func(r *report.Report) []int {
		out := []int{}
		for i := range r.Series {
			if slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(r.Series[i].Snapshots, id) }) {
				out = append(out, i)
			}
		}
		return out
	}
}

func (s *Loader) load(ctx context.Context, caseID string, wanted *part) (*Loaded, error) {
	cases, ok := ctx.Value(requestKey{}).(*RequestCases)
	if !ok {
		return s.loadCase(ctx, caseID, wanted)
	}
	if cases.whole {
		wanted = nil
	}
	for _, l := range cases.All {
		if l.ID == caseID && l.has(wanted) {
			return l, nil
		}
	}
	l, err := s.loadCase(ctx, caseID, wanted)
	if err == nil {
		cases.All = append(cases.All, l)
	}
	return l, err
}

// has reports that what is wanted was read.
func (l *Loaded) has(wanted *part) bool {
	switch {
	case l.whole || wanted == nil:
		return l.whole
	case wanted.objects && !l.objects:
		return false
	case l.read == nil:
		return true
	}
	picked := wanted.of(&l.Built.Report)
	return picked != nil && !slices.ContainsFunc(picked, func(i int) bool { return !slices.Contains(l.read, i) })
}

// errMoved means that a case changed during the read, so that the result belongs to no
// revision.
var errMoved = errors.New("the case changed while it was read")

const (
	// loadTries bounds the reads of a case that changes meanwhile, mostTries those of a case
	// whose bundles are deleted meanwhile.
	loadTries = 3
	mostTries = 30
)

// latest repeats make until the case has the same revision before and after. If the case
// keeps changing, it returns the last result.
func latest[T any](ctx context.Context, s *Loader, caseID string, make func(store.Case, *knowledge.Catalogue) (*T, error)) (store.Case, *T, error) {
	for try := 1; ; try++ {
		now, err := s.store.Case(ctx, caseID)
		if err != nil {
			return now, nil, err
		}
		known, _ := s.knowledge.Current()
		made, err := make(now, known)
		if moved := errors.Is(err, errMoved); moved && (try < loadTries || made == nil && try < mostTries) {
			continue
		} else if err != nil && (!moved || made == nil) {
			return now, nil, err
		}
		return now, made, nil
	}
}

// revisionKey identifies a case at a revision with a catalogue.
func revisionKey(c store.Case, known *knowledge.Catalogue) string {
	return fmt.Sprintf("%s+%d/%s", c.ID, c.Revision, known.Version())
}

func (s *Loader) loadCase(ctx context.Context, caseID string, wanted *part) (*Loaded, error) {
	now, l, err := latest(ctx, s, caseID, func(now store.Case, known *knowledge.Catalogue) (*Loaded, error) {
		key := revisionKey(now, known)
		if wanted != nil && s.cases.get(key) == nil {
			if said := s.ready(ctx, now, known); said != nil {
				read := wanted.of(&said.Report)
				return s.cases.once(ctx, fmt.Sprint(key, "/part", wanted.objects, read), func() (*Loaded, error) {
					return s.computePart(ctx, now, known, said, read, wanted.objects)
				})
			}
		}
		return s.cases.once(ctx, key, func() (*Loaded, error) { return s.compute(ctx, now, known) })
	})
	if err != nil {
		return nil, err
	}
	fresh := *l
	fresh.Case = now
	fresh.Bundles, fresh.Fields, err = s.beside(ctx, caseID)
	return &fresh, err
}

// beside returns the bundles and fields of a case, which change without a new revision.
func (s *Loader) beside(ctx context.Context, caseID string) ([]store.Bundle, map[string]store.Field, error) {
	bundles, err := s.store.Bundles(ctx, caseID)
	if err != nil {
		return nil, nil, err
	}
	fields, err := s.store.Fields(ctx, caseID)
	return bundles, fields, err
}

// compute reads the snapshots of a case and makes its report. The error is errMoved if the
// case has another revision afterwards.
func (s *Loader) compute(ctx context.Context, now store.Case, known *knowledge.Catalogue) (*Loaded, error) {
	in, err := s.evidence(ctx, now, known, s.store.SnapshotsPacked)
	if err != nil {
		return nil, err
	}
	l := in.loaded(now, known)
	l.whole = true
	then, err := s.store.Case(ctx, now.ID)
	if err != nil {
		return nil, err
	}
	l.Built = report.Build(l.Said.Snapshots, in.problems, in.options)
	if then.Revision != now.Revision {
		return l, errMoved
	}
	return l, nil
}

// computePart is compute with a report that is made already, for some series, nil for all.
func (s *Loader) computePart(ctx context.Context, now store.Case, known *knowledge.Catalogue, said *report.CaseReport, read []int, objects bool) (*Loaded, error) {
	in, err := s.evidence(ctx, now, known, s.store.SnapshotHeads)
	if err != nil {
		return nil, err
	}
	l := in.loaded(now, known)
	groups := report.Group(l.Said.Snapshots)
	if len(groups) != len(said.Report.Series) {
		return nil, s.unlessMoved(ctx, now, fmt.Errorf("a report of %d series for a case of %d", len(said.Report.Series), len(groups)))
	}
	if read != nil {
		read = in.versionsOf(groups, read)
	}
	l.read = read
	fill := read
	if fill == nil {
		for i := range groups {
			fill = append(fill, i)
		}
	}
	from := s.store.FillFamilies
	if l.objects = objects; objects {
		from = s.store.FillSnapshots
	}
	if err := s.fill(ctx, in, groups, fill, from); err != nil {
		return nil, s.unlessMoved(ctx, now, err)
	}
	l.Built = report.Part(groups, fill, objects, said, in.options)
	if err := s.unlessMoved(ctx, now, nil); err != nil {
		return l, err
	}
	return l, nil
}

// versionsOf adds the other series of programs of which the case has several versions: which
// version brought a growth is found over all of them.
func (in *evidence) versionsOf(groups []report.JudgedSeries, read []int) []int {
	several := report.Versions(groups)
	program := func(i int) string { return groups[i].Snapshots[0].Process.Name.Value }
	for i := range groups {
		if several[program(i)] && !slices.Contains(read, i) && slices.ContainsFunc(read, func(k int) bool { return program(k) == program(i) }) {
			read = append(read, i)
		}
	}
	return read
}

// loaded is a case without its report.
func (in *evidence) loaded(now store.Case, known *knowledge.Catalogue) *Loaded {
	return &Loaded{Case: now, Edits: in.edits, Marks: in.marks, Said: in.said, Known: known, pairs: &pairs{}, BundleOf: in.bundleOf()}
}

// evidence is every input of the report of a case.
type evidence struct {
	edits []identity.Edit
	marks []store.Mark
	rows  []store.SnapshotRow
	// said contains the snapshots after the edits.
	said     identity.Outcome
	problems []analysis.Problem
	options  report.Options
}

func (s *Loader) evidence(ctx context.Context, now store.Case, known *knowledge.Catalogue, read func(context.Context, string) ([]analysis.Snapshot, error)) (*evidence, error) {
	var in evidence
	var err error
	if in.edits, err = s.store.Edits(ctx, now.ID); err != nil {
		return nil, err
	}
	if in.marks, err = s.store.Marks(ctx, now.ID); err != nil {
		return nil, err
	}
	snapshots, err := read(ctx, now.ID)
	if err != nil {
		return nil, err
	}
	if in.rows, err = s.store.SnapshotRows(ctx, now.ID); err != nil {
		return nil, err
	}
	problems, err := s.store.CaseProblems(ctx, now.ID)
	if err != nil {
		return nil, err
	}
	in.said = identity.Resolve(snapshots, in.edits)
	in.problems = append(in.said.Problems, problems...)
	in.options = report.Options{Version: s.version, Events: happened(in.said), Loads: in.said.Loads, Triage: sorted(in.marks), Knowledge: known}
	return &in, nil
}

func (in *evidence) rowsByID() map[string]store.SnapshotRow {
	out := make(map[string]store.SnapshotRow, len(in.rows))
	for _, r := range in.rows {
		out[r.ID] = r
	}
	return out
}

func (in *evidence) bundleOf() map[string]string {
	out := make(map[string]string, len(in.rows))
	for _, r := range in.rows {
		out[r.ID] = r.Bundle
	}
	return out
}

// sorted converts the marks of families for reports.
func sorted(marks []store.Mark) map[report.Sorted]analysis.Triage {
	out := map[report.Sorted]analysis.Triage{}
	for _, m := range marks {
		out[report.Sorted{Process: m.Process, Fingerprint: m.Fingerprint}] = m.Triage
	}
	return out
}

// happened converts the events that users entered for verdicts.
func happened(said identity.Outcome) []trend.Event {
	var out []trend.Event
	for _, e := range said.Events {
		out = append(out, trend.Event{At: e.At, Kind: e.Kind, Text: e.Text})
	}
	return out
}

// Brief returns the snapshots of a case after its edits, without groups.
func (s *Loader) Brief(ctx context.Context, caseID string) (identity.Outcome, error) {
	found, err := s.store.SnapshotHeads(ctx, caseID)
	if err != nil {
		return identity.Outcome{}, err
	}
	edits, err := s.store.Edits(ctx, caseID)
	if err != nil {
		return identity.Outcome{}, err
	}
	return identity.Resolve(found, edits), nil
}

// LeftOut reports whether a user excluded the snapshot from the case.
func (l *Loaded) LeftOut(snapshotID string) bool {
	return slices.ContainsFunc(l.Said.LeftOut, func(s analysis.Snapshot) bool { return s.ID == snapshotID })
}

// LeftOutFault is the fault about an excluded snapshot.
func LeftOutFault(snapshotID string) error {
	return response.Refuse("not_found", "this snapshot was left out of its case", snapshotID, "a person took it out of all series and verdicts", "take it back in on the identity page of the case")
}

// Line finds the series of a snapshot and its index there.
func (l *Loaded) Line(snapshotID string) (*report.JudgedSeries, int) {
	return l.Built.Snapshot(snapshotID)
}
