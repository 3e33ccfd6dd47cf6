package ingest

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

// readWrapped reads the dumps inside a log, a JSON string or a page. Each is unwrapped,
// named by its content like any file, and read by the same parser. Its places are those
// in the file around it.
func readWrapped(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	var streamed []*wrapped
	sections, info, problems, err := envelope.Unwrap(body, envelope.Config{
		Path: p.path, Now: r.cfg.Now(),
		Stream: func(text io.Reader) { streamed = append(streamed, r.dump(text, p, envelope.KindGoroutine)) },
	})
	r.problem(problems...)
	var parts []*part
	for i := range sections {
		s := &sections[i]
		var w *wrapped
		if s.Streamed > 0 {
			w = streamed[s.Streamed-1]
		} else {
			w = r.held(s, p)
		}
		read := r.section(s, w, a)
		if s.Excerpt && len(read) > 0 {
			r.excerpt(s, p)
		}
		parts = append(parts, read...)
		if w.fault != nil {
			r.refused(p.path, w.fault)
		}
	}
	if len(parts) == 0 {
		if a.Kind != detect.Wrapped {
			a.Status = analysis.Ignored
		}
		if info.LoneHeaders > 0 && a.Kind == detect.Wrapped {
			a.Outcome = wording.Plural(info.LoneHeaders, "crash trace", "crash traces") + ", no dump"
		}
		return err
	}
	if info.Unproven > 0 {
		r.problem(analysis.Problem{
			Path: p.path, Offset: -1, Severity: analysis.Warning,
			What: wording.Plural(info.Unproven, "goroutine header is", "goroutine headers are") + " not read",
			Why:  "no stack below it, no minutes and no creator say that it is more than a mention",
			Hint: wholeDump,
		})
	}
	if a.Kind != detect.Wrapped {
		a.Kind, a.Confidence = detect.Wrapped, analysis.High
		a.Reason = fmt.Sprintf("%s in it: %s", wording.Plural(len(parts), "dump", "dumps"), info.Form)
	}
	a.Members = 0
	for i, q := range parts {
		q.ordinal, q.section = i, true
		n, _ := q.own()
		a.Members += n
		if len(parts) > 1 {
			q.outcome = fmt.Sprintf("dump %d of %d: %s", i+1, len(parts), q.outcome)
		}
	}
	a.Status = analysis.Read
	a.Outcome = wording.Plural(a.Members, "goroutine", "goroutines")
	if parts[0].threads != nil {
		a.Outcome = wording.Plural(a.Members, "thread", "threads")
	}
	if len(parts) > 1 {
		a.Outcome += fmt.Sprintf(" in %d dumps", len(parts))
	}
	r.parts = append(r.parts, parts...)
	return nil
}

// readBlocks reads the listings in the code blocks of a ticket, each named by its content
// like any file. What stands around them is prose.
func readBlocks(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	return r.listings(body, envelope.Config{Blocks: true}, p, a)
}

// readOutputs reads the listings and dumps that the commands of a shell session printed.
func readOutputs(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	return r.listings(body, envelope.Config{Commands: true}, p, a)
}

// listings reads each part of a text as the file that it would have been. Listings of one
// process in one form are captures in time.
func (r *reader) listings(body io.Reader, cfg envelope.Config, p *part, a *analysis.Artifact) error {
	cfg.Path, cfg.Now = p.path, r.written(p)
	sections, _, problems, err := envelope.Unwrap(body, cfg)
	r.problem(problems...)
	var parts []*part
	var outcomes []string
	type series struct {
		process
		name, within string
		sockets      bool
		form         string
	}
	next, above := map[series]int{}, map[series]*part{}
	of := func(q *part) series {
		if !cfg.Commands {
			return series{sockets: q.sockets != nil}
		}
		return series{q.process(), q.name, q.within, q.sockets != nil, q.form}
	}
	var reads []*wrapped
	ports := map[envelope.Source]int{}
	for i := range sections {
		s := &sections[i]
		w := r.held(s, p)
		if w.fault != nil {
			r.refused(p.path, w.fault)
		}
		if w.parts = r.section(s, w, a); len(w.parts) > 0 && s.Source.Port > 0 {
			if at := placeOf(s.Source); ports[at] == 0 {
				ports[at] = s.Source.Port
			} else if ports[at] != s.Source.Port {
				ports[at] = -1
			}
		}
		reads = append(reads, w)
	}
	for i, w := range reads {
		read, s := w.parts, &sections[i]
		if len(read) == 0 {
			continue
		}
		for _, q := range read {
			if s.Source.Port > 0 && ports[placeOf(s.Source)] < 0 {
				q.host = cmp.Or(q.host, "localhost") + ":" + strconv.Itoa(s.Source.Port)
			}
		}
		last := map[series]int{}
		for _, q := range read {
			if p := above[of(q)]; p != nil && q.joins(p) && (cfg.Commands || q.commanded() && p.commanded()) {
				rows := len(p.sockets) + len(q.sockets)
				p.join(q)
				w.counts.Rows -= rows - len(p.sockets)
				continue
			}
			q.ordinal += next[of(q)]
			last[of(q)], above[of(q)] = max(last[of(q)], q.ordinal+1), q
			parts = append(parts, q)
		}
		maps.Copy(next, last)
		a.Members, a.Rows, a.Watches = a.Members+w.counts.Members, a.Rows+w.counts.Rows, a.Watches+w.counts.Watches
		outcomes = append(outcomes, w.counts.Outcome)
	}
	for _, q := range parts {
		q.section = next[of(q)] > 1
	}
	a.Outcome = strings.Join(outcomes, "; ")
	r.parts = append(r.parts, parts...)
	return err
}

// placeOf is where a command asks, whatever port and file.
func placeOf(s envelope.Source) envelope.Source {
	s.Port, s.PID, s.Program, s.Path = 0, 0, "", ""
	return s
}

// wholeDump is how to get what a ticket shows a part of.
const wholeDump = "upload the whole dump: curl -o goroutines.txt 'http://HOST:PORT/debug/pprof/goroutine?debug=2'"

// excerpt notes that a text shows a part of a dump.
func (r *reader) excerpt(s *envelope.Section, p *part) {
	r.problem(analysis.Problem{
		Path: p.path, Line: s.Line, Offset: s.Offset, Severity: analysis.Note,
		What: wording.Plural(s.Headers, "goroutine is", "goroutines are") + " shown of a process that has more",
		Why:  "a text shows a part of a dump",
		Hint: wholeDump,
	})
}

// wrapped is what was read of one dump before its places in the file are known.
type wrapped struct {
	parts    []*part
	problems []analysis.Problem
	counts   analysis.Artifact
	fault    error
}

// held reads a dump that Unwrap kept.
func (r *reader) held(s *envelope.Section, p *part) *wrapped {
	body, err := s.Open()
	if err != nil {
		return &wrapped{fault: err}
	}
	defer body.Close()
	return r.dump(body, p, s.Kind)
}

// dump reads one unwrapped dump, a block of a ticket or the output of a command as the file
// that it would have been.
func (r *reader) dump(text io.Reader, p *part, kind string) *wrapped {
	w := &wrapped{}
	// One byte more than is looked at shows whether that is all.
	rest := bufio.NewReaderSize(text, detect.SniffLimit+1)
	head, err := rest.Peek(detect.SniffLimit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		w.fault = err
		return w
	}
	found := detect.Sniff(detect.Head{Bytes: head[:min(len(head), detect.SniffLimit)], Size: -1, Whole: len(head) <= detect.SniffLimit,
		Block: kind == envelope.KindBlock || kind == envelope.KindOutput, Below: kind == envelope.KindOutput})
	read := r.formats[found.Kind]
	if read == nil || !holdsMembers[found.Kind] && !(kind != envelope.KindGoroutine && kind != envelope.KindThread && printedKinds[found.Kind]) {
		return w
	}
	inner := &part{path: p.path, form: found.Kind, modified: p.modified, artifact: -1}
	before, restore := len(r.parts), r.problems.separate()
	w.fault = read(r, rest, inner, &w.counts)
	w.parts, w.problems = slices.Clone(r.parts[before:]), restore()
	r.parts = r.parts[:before]
	if len(w.parts) == 0 && (inner.says() || inner.sockets != nil) {
		w.parts = append(w.parts, inner)
	}
	return w
}

// hostOfPath is the host or pod that a directory or the name of a file is called after, "" if none is.
//
//	"t1/node2/kubelet/goroutine.txt" "node2.txt"   "node2"
func hostOfPath(name string) string {
	for _, word := range append(strings.Split(path.Dir(name), "/"), stemOf(path.Base(name))) {
		if line.IsHost(word) {
			return word
		}
	}
	return ""
}

// moved is a place in the file, of one in the unwrapped text.
func moved(at analysis.Place, places *envelope.Places) analysis.Place {
	at.Line, at.Offset = places.Locate(at.Offset)
	return at
}

// section adds to the parts of a dump what is known from the log around it.
func (r *reader) section(s *envelope.Section, w *wrapped, a *analysis.Artifact) []*part {
	for _, at := range w.problems {
		if at.Offset >= 0 {
			at.Line, at.Offset = s.Locate(at.Offset)
		}
		r.problem(at)
	}
	for _, q := range w.parts {
		q.relocate(s)
		switch {
		case s.Kind == envelope.KindOutput:
			q.name, q.host = cmp.Or(q.name, s.Source.Program), cmp.Or(q.host, s.Source.Host)
		case s.Kind != envelope.KindBlock:
			q.name, q.host = s.Source.Program, s.Source.Host
		}
		if q.name == "" {
			q.name = s.Source.Container
		}
		if s.Source.Pod != "" {
			// A pod's own host name; the pods of one node are not one process.
			q.host, q.container = podHost(s.Source.Namespace, s.Source.Pod), s.Source.Container
		}
		q.within = cmp.Or(q.within, s.Source.Path)
		q.host = cmp.Or(hostOfPath(s.Source.Path), q.host) // a copy of its file may be on another host
		if q.pid == 0 {
			q.pid = s.Source.PID
		}
		q.source = s.Form
		if !s.Time.IsZero() && (q.inner.IsZero() || q.zoneless && !s.Zoneless) {
			// The dump's own line names no zone; the log's does.
			q.inner, q.zoneless, q.dayless = s.Time, s.Zoneless, s.Dayless
		}
		if s.Truncated {
			r.cut(q)
		}
		a.Truncated = a.Truncated || s.Truncated || w.counts.Truncated
		if q.outcome == "" {
			q.outcome = w.counts.Outcome
		}
		if s.Source.Path != "" {
			q.outcome = s.Source.Path + ": " + q.outcome
		}
	}
	return w.parts
}

// holdsMembers are the kinds whose dumps are looked for inside other text.
var holdsMembers = map[string]bool{
	detect.GoroutineDebug2: true, detect.GoroutineCrash: true, detect.GoroutineDebug1: true,
	detect.ThreadDump: true, detect.ThreadJSON: true, detect.Javacore: true, detect.HotThreads: true,
	detect.LsofTable: true, detect.Lsfd: true, detect.SocketTable: true,
}

// printed reports whether a command printed the part.
func (p *part) printed() bool { return p.source == envelope.FormCommand }

// printedKinds are read of the output of a command and of a block as well.
var printedKinds = map[string]bool{
	detect.FDListing: true, detect.FDInfoGrep: true, detect.InotifyTable: true, detect.ThreadTable: true, detect.NetTable: true,
	detect.LsofFields: true, detect.LsofJSON: true, detect.Wrapped: true, detect.CommandOutput: true, detect.ClassHistogram: true,
}

// relocate turns places in the unwrapped text into places in the file.
func (p *part) relocate(s *envelope.Section) {
	places := s.Places()
	if p.text != nil {
		for _, c := range p.text.stacks {
			c.Packed = relocated(c.Packed, places)
		}
	}
	if p.threads != nil {
		for _, g := range p.threads.groups {
			m := g.Members.Fill()
			for i := range m.Offset {
				m.Line[i], m.Offset[i], m.Length[i] = spanOf(places, m.Offset[i], m.Length[i])
			}
		}
	}
	if p.listing != nil {
		p.listing.rows = p.listing.rows.relocated(places)
	}
	for i := range p.sockets {
		p.sockets[i].Place = moved(p.sockets[i].Place, places)
	}
	for i := range p.links {
		p.links[i].Place = moved(p.links[i].Place, places)
	}
	if p.fdinfo != nil {
		for _, info := range p.fdinfo.infos {
			for i := range info.Watches {
				info.Watches[i].Place = moved(info.Watches[i].Place, places)
			}
		}
	}
	if p.profile != nil {
		for i := range p.profile.offsets {
			rec := &p.profile.offsets[i]
			offset := rec.Offset
			rec.Line, rec.Offset = places.Locate(offset)
			_, end := places.Locate(offset + rec.Length)
			rec.Length = max(end-rec.Offset, 0)
		}
	}
}

// spanOf is the place in the file of length bytes at an offset of the unwrapped text.
func spanOf(places *envelope.Places, offset int64, length int32) (line, at int64, n int32) {
	line, at = places.Locate(offset)
	_, end := places.Locate(offset + int64(length))
	return line, at, int32(min(max(end-at, 0), 1<<31-1))
}

func relocated(p *analysis.Packed, places *envelope.Places) *analysis.Packed {
	out := new(analysis.Packed)
	for m := range p.All() {
		m.Line, m.Offset, m.Length = spanOf(places, m.Offset, m.Length)
		out.Append(m)
	}
	return out
}
