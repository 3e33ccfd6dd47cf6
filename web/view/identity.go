package view

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// Identity is the page of what was recognised in a case: every value with its
// source, its confidence and a form to correct it.
type Identity struct {
	Shell  Shell
	CaseID string
	// Sentence sums up what is believed; Mind is what could be wrong.
	Sentence, Mind string
	// Said is the outcome of the edit that led here, with its number to undo it.
	Said     string
	SaidEdit int64
	// Refused is why a form was not taken whose field is not on the page.
	Refused string
	// NeedsKey says that forms ask for the owner key.
	NeedsKey bool
	Zone     ZoneForm
	Events   EventForm
	Series   []IdentitySeries
	// Paging is set where the case has more snapshots or processes than a page shows.
	Paging  *Paging
	LeftOut []LeftOutRow
	History []HistoryRow
	// The notes say how many entries of a list are not shown.
	LeftOutNote, HistoryNote string
	// Bundle is the one on whose page it stands, or empty.
	Bundle string
}

// URL is the address that takes the forms: URL("/undo") that undoes.
func (v Identity) URL(below string) string {
	to := caseURL(v.CaseID) + "/identity" + below
	if v.Bundle != "" {
		to += "?bundle=" + url.QueryEscape(v.Bundle)
	}
	return to
}

// pageURL is the address of a page of the snapshots.
func (v *Identity) pageURL(page int) string {
	to := caseURL(v.CaseID) + "/identity"
	if v.Bundle != "" {
		to = "/bundles/" + url.PathEscape(v.Bundle)
	}
	return to + "?page=" + strconv.Itoa(page) + "#processes"
}

// ZoneForm is the zone of times that were read without one.
type ZoneForm struct {
	Text, Value, Error string
}

// EventForm is what people say happened, with a form for more. At, Kind and Text
// are what a refused form held.
type EventForm struct {
	About    string
	Rows     []SaidRow
	Kinds    []string
	At, Kind string
	Text     string
	Hint     string
	// Error stands beside the field Wrong: time, kind or text.
	Error, Wrong string
}

// LoadForm is how much was asked of a process, with a form for more.
type LoadForm struct {
	About         string
	Rows          []SaidRow
	Name, Numbers string
	Hint          string
	// Error stands beside the field Wrong: name or numbers.
	Error, Wrong string
}

// SaidRow is something that a person said, with the number of the edit.
type SaidRow struct {
	Number      int64
	Text, Aside string
}

// IdentitySeries is one process with its snapshots.
type IdentitySeries struct {
	ID, Name, Host, About string
	// Sources says where the values come from.
	Sources string
	// Target is that of an edit of the whole series.
	Target string
	// Others are the series that this one can be merged into.
	Others []Choice
	Rows   []IdentitySnapshot
	// Theirs reports a program of the catalogue, which is not taken for the reader's own.
	Theirs bool
	// Unnamed reports numbers of which nothing says what they count.
	Unnamed bool
	Loads   LoadForm
}

// IdentitySnapshot is one snapshot. Up and Down are the new places of one without
// a time, empty where it cannot be moved.
type IdentitySnapshot struct {
	ID, Label, URL      string
	Time, Host, Process Cell
	PID, Version        Cell
	Start, StartSource  string
	StartConfidence     string
	// Later says which kinds of evidence are of another time.
	Later                   string
	Evidence                string
	Files                   []EvidenceFile
	Up, Down, From          string
	SplitValue, SplitError  string
	SplitTarget, MergeError string
}

// Cell is a believed value with its form.
type Cell struct {
	// Kind is that of the edit, Label the name of the field.
	Kind, Label string
	// Text is what is believed; Entry what the field holds.
	Text, Entry string
	Source      string
	Confidence  string
	Entered     bool
	// Scopes are the targets to choose from; one is not asked for.
	Scopes []Choice
	Scope  string
	Hint   string
	Error  string
	// ID names the field in the page.
	ID string
}

// EvidenceFile is a file that a snapshot was read from.
type EvidenceFile struct {
	Path, Kind, Reason, Confidence, Outcome string
}

// LeftOutRow is a snapshot that does not count.
type LeftOutRow struct {
	ID, Text string
}

// HistoryRow is one edit; Unused says why one in force changes nothing.
type HistoryRow struct {
	Number  int64
	What    string
	Applies string
	Note    string
	Made    string
	Undone  bool
	Unused  string
	// Lost says that this needs somebody's attention.
	Lost bool
}

// RefusedEdit is a form that was not taken, or the undoing of an edit.
type RefusedEdit struct {
	Edit  identity.Edit
	Undo  int64
	Fault *analysis.Fault
}

// IdentityInput is the input of the page. Done and Undone are the edit that
// led here, 0 for none.
type IdentityInput struct {
	CaseID, CaseTitle string
	Series            []report.JudgedSeries
	Said              identity.Outcome
	Edits             []identity.Edit
	// Bundle is the one on whose page it stands, or empty.
	Bundle string
	// Query is that of the address: page.
	Query        url.Values
	NeedsKey     bool
	Done, Undone int64
	Refused      *RefusedEdit
}

const (
	// A listing of a whole host has hundreds of processes, a long series thousands of
	// snapshots, each with a form behind every value.
	maxSeries       = 30
	maxIdentityRows = 80
	maxEdits        = 200
	maxLeftOut      = 200
)

type identityMaker struct {
	in     IdentityInput
	labels map[string]string
	// placed says that a refused form was found on the page.
	placed bool
}

// NewIdentity makes the page; the caller adds the shell's engine line.
func NewIdentity(in IdentityInput) Identity {
	m := &identityMaker{in: in, labels: map[string]string{}}
	for _, series := range in.Series {
		for _, s := range series.Snapshots {
			m.labels[s.ID] = Visible(s.Label)
		}
	}
	for _, s := range in.Said.LeftOut {
		m.labels[s.ID] = Visible(s.Label)
	}
	v := Identity{CaseID: in.CaseID, Bundle: in.Bundle, NeedsKey: in.NeedsKey, Sentence: m.sentence(), Mind: m.mind()}
	v.Shell = Shell{
		Sheet: "inventory",
		Title: "Processes, " + Visible(in.CaseTitle), Section: "cases", Here: "Processes",
		Crumbs: []Link{{"Cases", "/"}, {Visible(in.CaseTitle), caseURL(in.CaseID)}},
	}
	v.Zone, v.Events = m.zone(), m.events()
	for _, part := range m.page(&v) {
		v.Series = append(v.Series, m.series(part))
	}
	m.leftOut(&v)
	m.history(&v)
	v.Said, v.SaidEdit = m.said()
	if r := in.Refused; r != nil && !m.placed {
		v.Refused = faultWords(r.Fault)
	}
	return v
}

func faultWords(f *analysis.Fault) string {
	text := capital(f.What)
	if f.Why != "" {
		text += " (" + f.Why + ")"
	}
	text += "."
	if f.Hint != "" {
		text += " " + capital(f.Hint) + "."
	}
	return Visible(text)
}

// each calls f for every snapshot that counts.
func (m *identityMaker) each(f func(s *analysis.Snapshot)) {
	for _, series := range m.in.Series {
		for _, s := range series.Snapshots {
			f(s)
		}
	}
}

func (m *identityMaker) zone() ZoneForm {
	z := ZoneForm{Value: m.in.Said.Zone.String()}
	n := int64(0)
	m.each(func(s *analysis.Snapshot) {
		if s.Zoneless && !s.CapturedAt.IsZero() {
			n++
		}
	})
	z.Text = "Every time of this case came with its zone."
	if n > 0 {
		z.Text = wording.PagePlural(n, "time", "times") + " of this case came without a zone."
	}
	if r := m.in.Refused; r != nil && r.Edit.Kind == identity.Zone && r.Fault.Where == "value" {
		z.Value, z.Error, m.placed = r.Edit.Value, faultWords(r.Fault), true
	}
	return z
}

// identityPart is the snapshots of one series that a page shows.
type identityPart struct{ series, from, to int }

// page chooses what the page shows: the page of the address, or the one with the snapshot
// that an edit was about.
func (m *identityMaker) page(v *Identity) []identityPart {
	var pages [][]identityPart
	var firsts []int
	rows, all := maxIdentityRows, 0
	for i, series := range m.in.Series {
		for from := 0; from < len(series.Snapshots); {
			last := len(pages) - 1
			if rows == maxIdentityRows || len(pages[last]) == maxSeries {
				pages, firsts, rows = append(pages, nil), append(firsts, all), 0
				last++
			}
			to := min(len(series.Snapshots), from+maxIdentityRows-rows)
			pages[last] = append(pages[last], identityPart{i, from, to})
			rows, all = rows+to-from, all+to-from
			from = to
		}
	}
	if len(pages) == 0 {
		return nil
	}
	number, _, _, _ := paged(m.in.Query, len(pages), 1)
	if about := m.edited(); about != "" && m.in.Query.Get("page") == "" {
		number = 1 + max(0, slices.IndexFunc(pages, func(parts []identityPart) bool { return m.holds(parts, about) }))
	}
	if len(pages) > 1 {
		to := all
		if number < len(pages) {
			to = firsts[number]
		}
		v.Paging = newPaging("Snapshots", firsts[number-1], to, all, number, len(pages), func(page int) string {
			return v.pageURL(page)
		})
		v.Paging.Note = "Of " + wording.PagePlural(int64(len(m.in.Series)), "process", "processes") + "."
	}
	return pages[number-1]
}

// edited is the snapshot that a refused form or the edit that led here was about.
func (m *identityMaker) edited() string {
	target := ""
	for _, e := range m.in.Edits {
		if e.ID == m.in.Done || e.ID == m.in.Undone {
			target = e.Target
		}
	}
	if r := m.in.Refused; r != nil && r.Edit.Target != "" {
		target = r.Edit.Target
	}
	if id, ok := m.in.Said.Snapshot(target); ok {
		return id
	}
	_, id := cutTarget(target)
	return id
}

func (m *identityMaker) holds(parts []identityPart, id string) bool {
	return slices.ContainsFunc(parts, func(p identityPart) bool {
		return slices.ContainsFunc(m.in.Series[p.series].Snapshots[p.from:p.to], func(s *analysis.Snapshot) bool { return s.ID == id })
	})
}

func (m *identityMaker) series(part identityPart) IdentitySeries {
	index := part.series
	series := m.in.Series[index]
	first := series.Snapshots[0]
	n := int64(len(series.Snapshots))
	out := IdentitySeries{
		ID: "p" + strconv.Itoa(index+1), Name: printable(first.Process.Name.Value), Host: Visible(first.Process.Host.Value),
		About: wording.PagePlural(n, "snapshot", "snapshots"), Sources: sources(series.Snapshots), Target: "series:" + first.ID,
	}
	for i, other := range m.in.Series[:min(len(m.in.Series), maxSeries)] {
		if i != index {
			s := other.Snapshots[0]
			out.Others = append(out.Others, Choice{Value: "into:" + s.ID, Text: seriesWithPID(other)})
		}
	}
	for i := part.from; i < part.to; i++ {
		out.Rows = append(out.Rows, m.snapshot(out.ID, series, i, series.Snapshots[i]))
	}
	if part.to-part.from < len(series.Snapshots) {
		out.About += ", here " + wording.Exact(int64(part.from+1)) + " to " + wording.Exact(int64(part.to))
	}
	out.Theirs = report.ProjectOf(series.Snapshots) != ""
	out.Unnamed = slices.ContainsFunc(series.Snapshots, func(s *analysis.Snapshot) bool { return s.Totals.Numbers != nil })
	out.Loads = m.loads(series)
	return out
}

// sources: "Time from captured_at (certain); host from an option in cmdline
// (medium); program from stat or status (certain)."
func sources(snapshots []*analysis.Snapshot) string {
	var out []string
	for _, field := range []struct {
		name string
		of   func(*analysis.Snapshot) analysis.Fact
	}{
		{"time", func(s *analysis.Snapshot) analysis.Fact { return s.TimeFact }},
		{"host", func(s *analysis.Snapshot) analysis.Fact { return s.Process.Host }},
		{"program", func(s *analysis.Snapshot) analysis.Fact { return s.Process.Name }},
		{"pid", func(s *analysis.Snapshot) analysis.Fact { return s.Process.PID }},
		{"version", func(s *analysis.Snapshot) analysis.Fact { return s.Process.Version }},
		{"start", func(s *analysis.Snapshot) analysis.Fact { return s.Process.Start }},
	} {
		var words []string
		for _, s := range snapshots {
			if f := field.of(s); f.Known() && !slices.Contains(words, sourceWords(f)) {
				words = append(words, sourceWords(f))
			}
		}
		if len(words) > 0 {
			out = append(out, field.name+" from "+wording.List(words, 3))
		}
	}
	if len(out) == 0 {
		return "Nothing in the files says whose they are."
	}
	return capital(strings.Join(out, "; ")) + "."
}

// seriesWithPID names a series, with its pid where it is one of several of its name:
// "bash on node-7, pid 11".
func seriesWithPID(series report.JudgedSeries) string {
	p := series.Snapshots[0].Process
	if strings.Count(series.Key, "\x00") > 1 && p.PID.Known() {
		return seriesWords(p) + ", pid " + Visible(p.PID.Value)
	}
	return seriesWords(p)
}

// seriesWords names a process: "kubelet on node-7".
func seriesWords(p analysis.Process) string {
	if p.Host.Known() {
		return processName(p) + " on " + Visible(p.Host.Value)
	}
	return processName(p)
}

func (m *identityMaker) snapshot(id string, series report.JudgedSeries, i int, s *analysis.Snapshot) IdentitySnapshot {
	out := IdentitySnapshot{
		ID: id + "-" + strconv.Itoa(i+1), Label: m.labels[s.ID], URL: snapshotURL(s.ID, m.in.CaseID),
		Start: "not known", Evidence: totalsWords(s.Totals), SplitTarget: "from:" + s.ID, From: s.ID,
	}
	if f := s.Process.Start; f.Known() {
		out.Start, out.StartSource, out.StartConfidence = strings.TrimSuffix(startWords(Visible(f.Value)), " after boot"), Visible(f.Source), string(f.Confidence)
	}
	if out.Evidence == "" {
		out.Evidence = "figures only"
	}
	if later := laterWords(*s); later != "" {
		out.Later = capital(later) + "."
	}
	for _, a := range s.Artifacts {
		out.Files = append(out.Files, evidenceFile(a))
	}
	scopes := m.scopes(series, i, s)
	out.Time = m.cell(out.ID, identity.Time, "Time", s.TimeFact, []Choice{{Value: s.ID}})
	out.Time.Text, out.Time.Entry = "not known", ""
	if !s.CapturedAt.IsZero() {
		out.Time.Text = wording.Time(s.CapturedAt)
		out.Time.Entry = s.CapturedAt.UTC().Format("2006-01-02 15:04:05.999999999") // with what a second hides
	}
	out.Time.Hint = "In UTC, or with an offset such as +01:00. Empty: not known."
	if zone := m.in.Said.Zone; zone.String() != "UTC" {
		if out.Time.Entry != "" {
			out.Time.Entry += " UTC"
		}
		out.Time.Hint = "Of the zone " + Visible(zone.String()) + " unless UTC or an offset stands behind it. Empty: not known."
	}
	out.Host = m.cell(out.ID, identity.Host, "Host", s.Process.Host, scopes)
	out.Process = m.cell(out.ID, identity.Process, "Program", s.Process.Name, scopes)
	out.Version = m.cell(out.ID, identity.Version, "Version", s.Process.Version, scopes)
	out.PID = m.cell(out.ID, identity.PID, "Pid", s.Process.PID, slices.Concat(scopes[len(scopes)-1:], scopes[:len(scopes)-1]))
	m.move(&out, series, i)
	m.refuse(&out, s)
	return out
}

// scopes are the targets of an edit, the whole series first and one snapshot last.
func (m *identityMaker) scopes(series report.JudgedSeries, i int, s *analysis.Snapshot) []Choice {
	one := Choice{Value: s.ID, Text: m.labels[s.ID] + " only"}
	n := len(series.Snapshots)
	if n == 1 {
		return []Choice{one}
	}
	out := []Choice{{Value: "series:" + s.ID, Text: "all " + strconv.Itoa(n) + " of this series"}}
	if i > 0 && i < n-1 {
		out = append(out, Choice{Value: "from:" + s.ID, Text: m.labels[s.ID] + " and later"})
	}
	return append(out, one)
}

func (m *identityMaker) cell(row string, kind identity.Kind, label string, f analysis.Fact, scopes []Choice) Cell {
	c := Cell{
		Kind: string(kind), Label: label, Text: "not known", Source: Visible(f.Source), Confidence: string(f.Confidence),
		Entered: strings.HasPrefix(f.Source, "entered by a person"), Scopes: scopes, ID: row + "-" + string(kind),
	}
	if f.Known() {
		c.Text = Visible(f.Value)
		c.Entry = c.Text
	}
	return c
}

// move offers another place to a snapshot without a time.
func (m *identityMaker) move(out *IdentitySnapshot, series report.JudgedSeries, i int) {
	if !series.Snapshots[i].CapturedAt.IsZero() {
		return
	}
	if i > 0 {
		out.Up = "before:" + series.Snapshots[i-1].ID
	}
	if i+1 < len(series.Snapshots) {
		out.Down = "after:" + series.Snapshots[i+1].ID
	}
}

// refuse puts the words of a refused form beside its field.
func (m *identityMaker) refuse(out *IdentitySnapshot, s *analysis.Snapshot) {
	r := m.in.Refused
	if r == nil || m.placed {
		return
	}
	if _, id := cutTarget(r.Edit.Target); id != s.ID {
		return
	}
	words := faultWords(r.Fault)
	for _, c := range []*Cell{&out.Time, &out.Host, &out.Process, &out.PID, &out.Version} {
		if c.Kind == string(r.Edit.Kind) {
			c.Error, c.Hint, c.Entry, c.Scope, m.placed = words, "", Visible(r.Edit.Value), r.Edit.Target, true
		}
	}
	if r.Edit.Kind == identity.Series && strings.HasPrefix(r.Edit.Target, "from:") {
		out.SplitError, out.SplitValue, m.placed = words, Visible(r.Edit.Value), true
	}
}

func cutTarget(target string) (scope, id string) {
	if scope, id, ok := strings.Cut(target, ":"); ok {
		return scope, id
	}
	return "", target
}

func evidenceFile(a analysis.Artifact) EvidenceFile {
	out := EvidenceFile{Path: Visible(a.Path), Kind: a.Kind, Reason: Visible(a.Reason), Confidence: string(a.Confidence), Outcome: Visible(a.Outcome)}
	if out.Outcome == "" {
		out.Outcome = string(a.Status)
	}
	if a.Problems > 0 {
		out.Outcome += ", " + wording.PagePlural(int64(a.Problems), "problem", "problems")
	}
	return out
}
