package ingest

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

// readText reads a text that may hold several dumps in a row, each of a time of its
// own.
func readText(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	before := r.progress.Goroutines
	d := newTextDumps(r, p)
	cfg := goroutine.Config{Path: p.path, Stacks: &r.dumped, Lines: d.line, Words: r.cfg.Objects}
	dump, problems, err := goroutine.ParseText(body, cfg, d.add)
	r.problem(problems...)
	d.reportOddities(p.path)
	for _, t := range d.all {
		r.tooManyLabels(p.path, t.unlabelled)
	}
	if err != nil && dump.Headers == 0 {
		r.progress.Goroutines = before
		return err
	}
	a.Members, a.Truncated = dump.Headers, dump.Truncated
	a.Outcome = atLeast(wording.Plural(dump.Headers, "goroutine", "goroutines"), dump.Truncated, dump.Refused)
	r.several(d.parts(p, dump), a, "dump")
	return nil
}

// textDumps divides the goroutines of one file among the dumps that it holds.
type textDumps struct {
	r *reader
	// dates finds the lines of date between the dumps of a loop, which hold the time
	// of each.
	dates *envelope.Dates
	all   []*textDump
	// begins are the offsets of the dumps, end that of the end of the last goroutine.
	begins []int64
	end    int64
	// more counts the goroutines of dumps beyond maxDumps, from line moreAt on.
	more   int
	moreAt int64
	// guessed is the first line where another dump begins only because an id comes
	// again; twice is that id.
	guessed, twice int64
	// profileAt is the offset of a profile in the text, -1 if it has none.
	profileAt int64
	// dashed is true if "-----" may stand within a dump: in a crash, and where Unwrap took
	// other lines out.
	dashed bool
	// borders are the offsets of lines that no dump has between two goroutines, beyond end.
	borders []int64
}

func newTextDumps(r *reader, p *part) *textDumps {
	first := newTextDump()
	first.notes, r.notes = r.notes, notes{}
	return &textDumps{
		r: r, dates: envelope.NewDates(r.written(p)), all: []*textDump{first}, begins: []int64{0}, profileAt: -1, dashed: p.artifact < 0,
	}
}

// maxBorder is how long a line between two dumps may be.
const maxBorder = 1000

func (d *textDumps) line(text []byte, offset int64) {
	d.dates.Line(text, offset)
	if len(d.borders) < maxDumps && len(text) <= maxBorder && (!d.dashed || !bytes.HasPrefix(bytes.TrimSpace(text), []byte("-----"))) && line.IsBorder(string(text)) {
		d.borders = append(d.borders, offset)
	}
	if d.profileAt < 0 && bytes.HasPrefix(text, []byte("goroutine profile: total ")) {
		d.profileAt = offset
	}
}

func (d *textDumps) add(g *goroutine.Goroutine) error {
	if d.more > 0 || d.beginsDump(g) && !d.begin(g) {
		d.more++
		return nil
	}
	t := d.all[len(d.all)-1]
	d.dashed = d.dashed || g.Opens || g.System || g.ID <= 0
	if t.dump.Headers == 0 {
		d.begins[len(d.begins)-1] = g.Offset
	}
	d.end = g.Offset + g.Length
	t.add(g)
	if d.r.cfg.Objects {
		t.tokens.Add(g)
	}
	d.r.progress.Goroutines++
	if d.r.progress.Goroutines%4096 == 0 {
		d.r.report()
	}
	return nil
}

// beginsDump reports whether a goroutine is the first of another dump: after a crash or
// a date, a prompt or a heading, as the one that writes it, or because its id was there before.
func (d *textDumps) beginsDump(g *goroutine.Goroutine) bool {
	t := d.all[len(d.all)-1]
	for len(d.borders) > 0 && d.borders[0] < d.end {
		d.borders = d.borders[1:]
	}
	bordered := len(d.borders) > 0 && d.borders[0] < g.Offset || g.State == "running" && d.dates.Between(d.end, g.Offset)
	if f := t.failure; f != nil && f.goroutine == g.ID && f.ofCompiler() && !g.Opens {
		return false // it prints the stack of its panic, and then its own
	}
	if d.opensCrash(g) || t.writes(g) || bordered && t.dump.Headers > 0 {
		return true
	}
	if !t.again(g) {
		return false
	}
	if d.guessed == 0 {
		d.guessed, d.twice = g.Line, g.ID
	}
	return true
}

func (d *textDumps) opensCrash(g *goroutine.Goroutine) bool {
	return g.Opens && d.all[len(d.all)-1].dump.Headers > 0
}

// begin begins another dump, or returns false if the file holds too many.
func (d *textDumps) begin(g *goroutine.Goroutine) bool {
	if len(d.all) == maxDumps {
		d.moreAt = g.Line
		return false
	}
	d.r.join(d.all[len(d.all)-1])
	t := newTextDump()
	t.notes, d.r.notes = d.r.notes, notes{}
	t.crash = d.opensCrash(g)
	d.all, d.begins = append(d.all, t), append(d.begins, g.Offset)
	return true
}

// reportOddities reports what the reader of the dumps must know about their borders.
func (d *textDumps) reportOddities(path string) {
	if d.profileAt >= 0 {
		d.r.problem(analysis.Problem{Path: path, Offset: d.profileAt, Severity: analysis.Warning,
			What: "a profile (debug=1) stands in the file and is not read", Why: "the file begins with a dump that has a block for each goroutine, which is another form",
			Hint: "put each into a file of its own"})
	}
	if d.guessed > 0 {
		d.r.problem(analysis.Problem{Path: path, Line: d.guessed, Offset: -1, Severity: analysis.Note,
			What: fmt.Sprintf("goroutine %d is here again, so another dump is taken to begin", d.twice),
			Why:  fmt.Sprintf("the file is read as %d dumps in a row; no line of date and no goroutine that writes a dump marks this border", len(d.all)),
			Hint: "if the text is one dump, it holds one goroutine twice: remove the second; else put each dump into a file of its own"})
	}
	if d.more > 0 {
		d.r.problem(analysis.Problem{Path: path, Line: d.moreAt, Offset: -1, Severity: analysis.Warning,
			What: fmt.Sprintf("the file holds more than %d dumps; the rest, %d goroutines from line %d on, is not read", maxDumps, d.more, d.moreAt),
			Why:  "so many snapshots of one file are more than a page can compare",
			Hint: "split the file there and add the rest to the case, or keep every tenth dump"})
	}
}

// parts makes a part of each dump; file describes the text as a whole.
func (d *textDumps) parts(p *part, file goroutine.Dump) []*part {
	times := d.dates.Of(d.begins)
	var parts []*part
	for i, t := range d.all {
		q := p.another(i)
		q.text = t
		q.dated(times[i])
		t.dump.Form = file.Form
		if len(d.all) == 1 {
			t.dump = file
		} else if i == len(d.all)-1 {
			t.dump.Truncated, t.dump.TruncatedWhy = file.Truncated, file.TruncatedWhy
		}
		q.outcome = atLeast(wording.Plural(t.dump.Headers, "goroutine", "goroutines"), t.dump.Truncated, t.dump.Refused)
		parts = append(parts, q)
	}
	return parts
}

// dated takes the time from a line before the dump.
func (p *part) dated(s envelope.Stamp) {
	if !s.Time.IsZero() {
		p.inner, p.zoneless, p.dayless = s.Time, s.Zoneless, s.Dayless
	}
}

// written is when a file was written at the latest.
func (r *reader) written(p *part) time.Time {
	now := r.cfg.Now()
	if p.modified.Year() < 2000 || p.modified.After(now) {
		return now
	}
	return p.modified
}

// maxDumps bounds the dumps of one file.
const maxDumps = 1000

// several files the parts of one artifact. Of several parts, each becomes a snapshot of
// its own, with its number in the outcome.
func (r *reader) several(parts []*part, a *analysis.Artifact, noun string) {
	for i, q := range parts {
		if len(parts) == 1 {
			q.outcome, q.ordinal = "", 0
			continue
		}
		q.section = true
		q.outcome = fmt.Sprintf("%s %d of %d: %s", noun, i+1, len(parts), q.outcome)
	}
	if len(parts) > 1 {
		a.Outcome += " in " + wording.Plural(len(parts), noun, noun+"s")
	}
	r.parts = append(r.parts, parts...)
}

// readDebug1 reads a text that may hold several profiles, each of a time of its own.
func readDebug1(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	var all []*profileDump
	dates := envelope.NewDates(r.written(p))
	profiles, problems, err := goroutine.ParseDebug1(io.TeeReader(body, dates), goroutine.Config{Path: p.path, Stacks: &r.dumped}, func(rec *goroutine.Record) error {
		for len(all) <= rec.Profile {
			all = append(all, &profileDump{})
		}
		return all[rec.Profile].add(rec)
	})
	r.problem(problems...)
	if err != nil {
		return err
	}
	begins := make([]int64, len(profiles))
	for i := range profiles {
		begins[i] = profiles[i].Offset
	}
	times := dates.Of(begins)
	r.severalProfiles(p, a, profiles, all, func(q *part, i int) { q.dated(times[i]) })
	return nil
}

// severalProfiles files the profiles of one artifact; identify states what else is known
// of the one with an index.
func (r *reader) severalProfiles(p *part, a *analysis.Artifact, profiles []goroutine.Profile, all []*profileDump, identify func(*part, int)) {
	var parts []*part
	records, refused := 0, 0
	before := map[string]int{} // a profile of the leaked goroutines is no further one of all
	for i, profile := range profiles {
		if len(all) == i {
			all = append(all, &profileDump{})
		}
		q := p.another(before[profile.Sample])
		before[profile.Sample]++
		q.profile = all[i]
		q.profile.profile = profile
		r.tooManyLabels(p.path, q.profile.unlabelled)
		identify(q, i)
		q.outcome = profileOutcome(profile.Sum, profile.Records, profile.Truncated, profile.Refused)
		a.Members += profile.Sum
		a.Truncated = a.Truncated || profile.Truncated
		records, refused = records+profile.Records, refused+profile.Refused
		parts = append(parts, q)
	}
	a.Outcome = profileOutcome(a.Members, records, a.Truncated, refused)
	r.several(parts, a, "profile")
}

// readOTLP reads a file of the OpenTelemetry collector, which may hold profiles of several
// processes and times.
func readOTLP(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	var all []*profileDump
	profiles, problems, err := goroutine.ParseOTLP(body, goroutine.Config{Path: p.path, Stacks: &r.dumped}, func(rec *goroutine.Record) error {
		for len(all) <= rec.Profile {
			all = append(all, &profileDump{})
		}
		return all[rec.Profile].add(rec)
	})
	r.problem(problems...)
	if err != nil {
		return err
	}
	r.severalProfiles(p, a, profiles, all, func(q *part, i int) {
		f := &profiles[i]
		q.inner, q.host = f.Time, f.Resource.Host
		if f.Resource.PID > 0 {
			q.pid = f.Resource.PID
		}
		if q.name = f.Resource.Process; q.name == "" {
			q.name = programName(f.Executable)
		}
	})
	return nil
}

func profileOutcome(sum, records int, cut bool, refused int) string {
	return atLeast(wording.Plural(sum, "goroutine", "goroutines")+" in "+wording.Plural(records, "record", "records"), cut, refused)
}

func readProto(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	d := &profileDump{}
	var t *textDump
	profile, problems, err := goroutine.ParseProto(body, goroutine.Config{Path: p.path, Stacks: &r.dumped}, func(rec *goroutine.Record) error {
		if rec.Goroutine == nil {
			return d.add(rec)
		}
		if t == nil {
			t = newTextDump()
		}
		rec.Goroutine.Dumper = dumping(rec.Stack)
		t.add(rec.Goroutine)
		r.progress.Goroutines++
		return nil
	})
	r.problem(problems...)
	if err != nil {
		return err
	}
	p.inner = profile.Time
	p.name = programName(profile.Executable)
	a.Members, a.Truncated = profile.Sum, profile.Truncated
	if t != nil {
		r.tooManyLabels(p.path, t.unlabelled)
		p.text, p.form = t, detect.GoroutineDebug3
		a.Kind, a.Reason = detect.GoroutineDebug3, a.Reason+", with the id of each goroutine"
		a.Outcome = wording.Plural(profile.Sum, "goroutine", "goroutines")
		return nil
	}
	r.tooManyLabels(p.path, d.unlabelled)
	d.profile = profile
	p.profile = d
	a.Outcome = profileOutcome(profile.Sum, profile.Records, profile.Truncated, 0)
	return nil
}

// readPprof reads what the pprof tool prints of a goroutine profile. Functions of -top make no
// families, since a goroutine counts for each on its stack.
func readPprof(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	d := &profileDump{}
	profile, functions, problems, err := goroutine.ParsePprof(body, goroutine.Config{Path: p.path, Stacks: &r.dumped}, d.add)
	r.problem(problems...)
	if err != nil {
		return err
	}
	d.profile, d.functions = profile, functions
	p.profile, p.inner, p.name = d, profile.Time, programName(profile.Executable)
	a.Members, a.Truncated = profile.Sum, profile.Truncated
	a.Outcome = profileOutcome(profile.Sum, profile.Records, profile.Truncated, 0)
	return nil
}

func (d *profileDump) add(rec *goroutine.Record) error {
	d.label(rec)
	d.stacks = append(d.stacks, rec.Stack)
	d.counts = append(d.counts, rec.Count)
	d.offsets = append(d.offsets, goroutine.Record{Line: rec.Line, Offset: rec.Offset, Length: rec.Length})
	return nil
}

// label keeps the labels of a record.
func (d *profileDump) label(rec *goroutine.Record) {
	labels := analysis.LabelsOf(rec.Labels)
	if labels == "" {
		return
	}
	set, known := d.sets[labels]
	switch {
	case !known && len(d.sets) >= maxLabelled:
		d.unlabelled = min(d.unlabelled+rec.Count, math.MaxInt32)
		return
	case !known:
		if d.sets == nil {
			d.sets, d.labels = map[analysis.Labels]analysis.Labels{}, map[int]analysis.Labels{}
		}
		set, d.sets[labels] = labels, labels
	}
	d.labels[len(d.stacks)] = set
}

// readTrace reads the goroutines that live at the end of an execution trace.
func readTrace(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	t, w := newTextDump(), newWindow()
	add := func(g *goroutine.Goroutine) error {
		t.add(g)
		w.add(g)
		r.progress.Goroutines++
		return nil
	}
	trace, problems, err := goroutine.ParseTrace(body, goroutine.Config{Path: p.path, Stacks: &r.dumped}, add)
	r.problem(problems...)
	if err != nil {
		return err
	}
	t.dump = trace.Dump
	w.births, w.texts, w.partial = trace.Births, nil, 10*trace.Bare > trace.Headers
	p.text, p.window, p.inner = t, w, trace.Time
	a.Members, a.Truncated = trace.Headers, trace.Truncated
	a.Outcome = atLeast(wording.Plural(trace.Headers, "goroutine", "goroutines"), trace.Truncated, 0)
	clock := ""
	if trace.Time.IsZero() {
		clock = "it does not say when, as no trace before Go 1.25 does; "
	}
	r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Note,
		What: windowSaid(&trace),
		Why:  clock + "an execution trace holds every start and end in its window, and who lives at its end; it shows the go statements of those that started in it",
		Hint: "a second trace or a dump, minutes later, shows whether those who stayed ever end"})
	return nil
}

// windowSaid says who came and went in a trace.
//
//	"in the 5 s of the trace 120 goroutines started, 60 of them live at its end, and 80 ended"
func windowSaid(t *goroutine.Trace) string {
	return fmt.Sprintf("in the %s of the trace %s started, %d of them live at its end, and %d ended", wording.Duration(t.Window), wording.Plural(t.Started, "goroutine", "goroutines"), t.Stayed, t.Ended)
}
