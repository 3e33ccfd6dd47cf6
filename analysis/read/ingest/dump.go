package ingest

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/say/wording"
)

func readText(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	t := newTextDump()
	all := []*textDump{t}
	before := r.progress.Goroutines
	// The lines of date between the dumps of a loop hold the time of each.
	dates := envelope.NewDates(r.written(p))
	begins, end := []int64{0}, int64(0)
	// more counts the goroutines of dumps beyond those that are read, from line at on.
	more, at := 0, int64(0)
	// guessed is the first line where another dump begins only because an id comes
	// again; twice is that id.
	guessed, twice := int64(0), int64(0)
	profileAt := int64(-1)
	cfg := goroutine.Config{Path: p.path, Lines: func(line []byte, offset int64) {
		dates.Line(line, offset)
		if profileAt < 0 && bytes.HasPrefix(line, []byte("goroutine profile: total ")) {
			profileAt = offset
		}
	}}
	dump, problems, err := goroutine.ParseText(body, cfg, func(g *goroutine.Goroutine) error {
		dated := g.State == "running" && dates.Between(end, g.Offset)
		crash := g.Opens && t.dump.Headers > 0
		said := crash || t.writes(g) || dated && t.dump.Headers > 0
		if more == 0 && (said || t.again(g)) {
			if !said && guessed == 0 {
				guessed, twice = g.Line, g.ID
			}
			if len(all) == maxDumps {
				more, at = 1, g.Line
				return nil
			}
			t = newTextDump()
			t.crash = crash
			all, begins = append(all, t), append(begins, g.Offset)
		}
		if more > 0 {
			more++
			return nil
		}
		if t.dump.Headers == 0 {
			begins[len(begins)-1] = g.Offset
		}
		end = g.Offset + g.Length
		t.add(g)
		r.progress.Goroutines++
		if r.progress.Goroutines%4096 == 0 {
			r.report()
		}
		return nil
	})
	r.problem(problems...)
	if profileAt >= 0 {
		r.problem(analysis.Problem{Path: p.path, Offset: profileAt, Severity: analysis.Warning,
			What: "a profile (debug=1) stands in the file and is not read", Why: "the file begins with a dump that has a block for each goroutine, which is another form",
			Hint: "put each into a file of its own"})
	}
	if guessed > 0 {
		r.problem(analysis.Problem{Path: p.path, Line: guessed, Offset: -1, Severity: analysis.Note,
			What: fmt.Sprintf("goroutine %d is here again, so another dump is taken to begin", twice),
			Why:  fmt.Sprintf("the file is read as %d dumps in a row; no line of date and no goroutine that writes a dump marks this border", len(all)),
			Hint: "if the text is one dump, it holds one goroutine twice: remove the second; else put each dump into a file of its own"})
	}
	if more > 0 {
		r.problem(analysis.Problem{Path: p.path, Line: at, Offset: -1, Severity: analysis.Warning,
			What: fmt.Sprintf("the file holds more than %d dumps; the rest, %d goroutines from line %d on, is not read", maxDumps, more, at),
			Why:  "so many snapshots of one file are more than a page can compare",
			Hint: "split the file there and add the rest to the case, or keep every tenth dump"})
	}
	if err != nil && dump.Headers == 0 {
		r.progress.Goroutines = before
		return err
	}
	a.Members, a.Truncated = dump.Headers, dump.Truncated
	a.Outcome = wording.Plural(dump.Headers, "goroutine", "goroutines")
	if dump.Truncated {
		a.Outcome = "at least " + a.Outcome + ", cut"
	}
	times := dates.Of(begins)
	var parts []*part
	for i, t := range all {
		q := p.another(i)
		q.text = t
		q.dated(times[i])
		t.dump.Form = dump.Form
		if len(all) == 1 {
			t.dump = dump
		} else if t == all[len(all)-1] {
			t.dump.Truncated, t.dump.TruncatedWhy = dump.Truncated, dump.TruncatedWhy
		}
		q.outcome = wording.Plural(t.dump.Headers, "goroutine", "goroutines")
		parts = append(parts, q)
	}
	r.several(parts, a, "dump")
	return nil
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
		a.Outcome += fmt.Sprintf(" in %d %ss", len(parts), noun)
	}
	r.parts = append(r.parts, parts...)
}

// readDebug1 reads a text that may hold several profiles, each of a time of its own.
func readDebug1(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	var all []*profileDump
	dates := envelope.NewDates(r.written(p))
	profiles, problems, err := goroutine.ParseDebug1(io.TeeReader(body, dates), goroutine.Config{Path: p.path}, func(rec *goroutine.Record) error {
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
		q.dated(times[i])
		q.outcome = profileOutcome(profile.Sum, profile.Records, profile.Refused)
		a.Members += profile.Sum
		a.Truncated = a.Truncated || profile.Truncated
		records, refused = records+profile.Records, refused+profile.Refused
		parts = append(parts, q)
	}
	a.Outcome = profileOutcome(a.Members, records, refused)
	r.several(parts, a, "profile")
	return nil
}

func profileOutcome(sum, records, refused int) string {
	return atLeast(wording.Plural(sum, "goroutine", "goroutines")+" in "+wording.Plural(records, "record", "records"), refused)
}

func readProto(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	d := &profileDump{}
	profile, problems, err := goroutine.ParseProto(body, goroutine.Config{Path: p.path}, d.add)
	r.problem(problems...)
	if err != nil {
		return err
	}
	d.profile = profile
	p.profile = d
	p.inner = profile.Time
	p.name = programName(profile.Executable)
	a.Members, a.Truncated = profile.Sum, profile.Truncated
	a.Outcome = profileOutcome(profile.Sum, profile.Records, 0)
	return nil
}

func (d *profileDump) add(rec *goroutine.Record) error {
	d.stacks = append(d.stacks, rec.Stack)
	d.counts = append(d.counts, rec.Count)
	d.offsets = append(d.offsets, goroutine.Record{Line: rec.Line, Offset: rec.Offset, Length: rec.Length})
	return nil
}
