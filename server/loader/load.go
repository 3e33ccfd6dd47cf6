// Package loader reads a case with its corrections and makes its report. It renders nothing:
// other packages make pages, links and summaries from its results.
package loader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/report"
	"leakdiff/server/memory"
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
	SnapshotHeads(ctx context.Context, caseID string) ([]store.SnapshotRow, []analysis.Snapshot, error)
	LongerThan(ctx context.Context, caseID string, n int) (bool, error)
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
	// Gate admits by the size of the evidence.
	Gate *memory.Gate
}

// Loader loads cases.
type Loader struct {
	store     Store
	knowledge Knowledge
	version   string
	program   func() string
	later     func(work func(context.Context))
	log       *slog.Logger
	gate      *memory.Gate
	// cases and reports cache the most recent ones, by case and revision.
	cases   *cache[Loaded]
	reports *cache[report.CaseReport]
}

// New returns a Loader.
func New(cfg Config) *Loader {
	return &Loader{
		store: cfg.Store, knowledge: cfg.Knowledge, version: cfg.Version, program: cfg.Program, later: cfg.Later, log: cfg.Log, gate: cfg.Gate,
		cases: newCache(maxCases, (*Loaded).weight), reports: newCache(maxReports, reportWeight),
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
	// Report is the report of the case, of which Built has the working material. It is shared
	// and must not be changed.
	Report *report.CaseReport
	pairs  *pairs
	// objects reports that Built follows objects. read are the indexes of the series whose
	// evidence was read, nil for all; the others have heads alone. shown are the captures that
	// were read although they are not judged.
	objects bool
	read    []int
	shown   []string
}

// weight estimates the bytes of a loaded case: columns and verdicts for each member, words
// for each family of a snapshot.
func (l *Loaded) weight() int {
	bytes := 0
	for _, line := range l.Built.Series {
		for _, s := range line.Captures() {
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
	// whole makes Evidence read everything.
	whole bool
}

type requestKey struct{}

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

// Part says what is read of the evidence of a case.
type Part struct {
	// Series picks series of its report; nil picks all. Of a long series the captures that are
	// judged are read.
	Series func(*report.Report) []int
	// Shown are captures that are read even if they are not judged.
	Shown []string
	// Objects has objects read and followed too, which is most of the work in a long series.
	Objects bool
}

// PartOf is the part for pages of some snapshots.
func PartOf(ids ...string) Part { return Part{Series: SeriesOf(ids...), Shown: ids} }

// of returns the series of a report that the part has, nil for all.
func (p Part) of(r *report.Report) []int {
	if p.Series == nil {
		return nil
	}
	return p.Series(r)
}

// SeriesOf picks the series of snapshots.
func SeriesOf(ids ...string) func(*report.Report) []int {
	return func(r *report.Report) []int {
		out := []int{}
		for i := range r.Series {
			if slices.ContainsFunc(ids, func(id string) bool {
				return slices.Contains(r.Series[i].Captures, id) || slices.Contains(r.Series[i].Snapshots, id)
			}) {
				out = append(out, i)
			}
		}
		return out
	}
}

// unjudged returns those of ids that are captures of the report and not judged.
func unjudged(r *report.Report, ids []string) (out []string) {
	for i := range r.Series {
		for _, id := range ids {
			if slices.Contains(r.Series[i].Captures, id) && !slices.Contains(r.Series[i].Snapshots, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

// Evidence returns a case with its report and a part of its evidence, from the request, from
// memory or from the store. Of the other series it has process and time of the snapshots
// alone.
func (s *Loader) Evidence(ctx context.Context, caseID string, wanted Part) (*Loaded, error) {
	cases, ok := ctx.Value(requestKey{}).(*RequestCases)
	if !ok {
		return s.load(ctx, caseID, wanted)
	}
	if cases.whole {
		wanted = Part{Shown: wanted.Shown, Objects: true}
	}
	for _, l := range cases.All {
		if l.ID == caseID && l.has(wanted) {
			return l, nil
		}
	}
	l, err := s.load(ctx, caseID, wanted)
	if err == nil {
		cases.All = append(cases.All, l)
	}
	return l, err
}

// has reports that what is wanted was read.
func (l *Loaded) has(wanted Part) bool {
	if wanted.Objects && !l.objects {
		return false
	}
	if !l.shows(wanted.Shown...) {
		return false
	}
	picked := wanted.of(&l.Built.Report)
	missing := func(i int) bool { return !slices.Contains(l.read, i) }
	return l.read == nil || picked != nil && !slices.ContainsFunc(picked, missing)
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

func (s *Loader) load(ctx context.Context, caseID string, wanted Part) (*Loaded, error) {
	now, l, err := latest(ctx, s, caseID, func(now store.Case, known *knowledge.Catalogue) (*Loaded, error) {
		said, err := s.reportOf(ctx, now, known, s.later)
		if said == nil {
			return nil, err
		}
		read, shown := wanted.of(&said.Report), unjudged(&said.Report, wanted.Shown)
		// All series are nil, none an empty list: the key must tell them apart.
		return s.cases.once(ctx, fmt.Sprintf("%s %t %#v %q", revisionKey(now, known), wanted.Objects, read, shown), func() (*Loaded, error) {
			return s.compute(ctx, now, known, said, read, shown, wanted.Objects)
		})
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

// compute reads the evidence of some series of a case, nil for all, and of the captures of shown,
// which are not judged. The error is errMoved if the case has another revision than now.
func (s *Loader) compute(ctx context.Context, now store.Case, known *knowledge.Catalogue, said *report.CaseReport, read []int, shown []string, objects bool) (*Loaded, error) {
	in, err := s.evidence(ctx, now, known)
	if err != nil {
		return nil, err
	}
	l := &Loaded{Case: now, Edits: in.edits, Marks: in.marks, Said: in.said, Known: known, Report: said, pairs: &pairs{}, BundleOf: in.bundleOf(), shown: shown}
	groups := report.Group(l.Said.Snapshots)
	report.Select(groups, in.options)
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
	leave, err := s.admit(ctx, in.bytes(groups, fill, shown...))
	if err != nil {
		return nil, err
	}
	defer untilAnswered(ctx, leave)
	if err = s.fill(ctx, in, groups, fill, from); err == nil {
		err = s.fillUnjudged(ctx, in, groups, shown)
	}
	if err != nil {
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

// evidence is what the report of a case is made of, but for problems and groups.
type evidence struct {
	edits []identity.Edit
	marks []store.Mark
	rows  []store.SnapshotRow
	// said contains the snapshots after the edits.
	said    identity.Outcome
	options report.Options
}

func (s *Loader) evidence(ctx context.Context, now store.Case, known *knowledge.Catalogue) (*evidence, error) {
	var in evidence
	var err error
	if in.edits, err = s.store.Edits(ctx, now.ID); err != nil {
		return nil, err
	}
	if in.marks, err = s.store.Marks(ctx, now.ID); err != nil {
		return nil, err
	}
	var snapshots []analysis.Snapshot
	if in.rows, snapshots, err = s.store.SnapshotHeads(ctx, now.ID); err != nil {
		return nil, err
	}
	in.said = identity.Resolve(snapshots, in.edits)
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

// LeftOut reports whether a user excluded the snapshot from the case.
func (l *Loaded) LeftOut(snapshotID string) bool {
	return slices.ContainsFunc(l.Said.LeftOut, func(s analysis.Snapshot) bool { return s.ID == snapshotID })
}

// LeftOutFault is the fault about an excluded snapshot.
func LeftOutFault(snapshotID string) error {
	return response.Refuse("not_found", "this snapshot was left out of its case", snapshotID, "a person took it out of all series and verdicts", "take it back in on the page of files and processes")
}

// Line finds the series of a snapshot and its index there. A capture that is not judged is a
// series of its own. The series is nil for one that the case does not have or that was not read.
func (l *Loaded) Line(snapshotID string) (*report.JudgedSeries, int) {
	if !l.shows(snapshotID) {
		return nil, -1
	}
	return l.Built.Snapshot(snapshotID)
}

// shows reports that those of ids that are captures and not judged were read.
func (l *Loaded) shows(ids ...string) bool {
	return !slices.ContainsFunc(unjudged(&l.Built.Report, ids), func(id string) bool { return !slices.Contains(l.shown, id) })
}
