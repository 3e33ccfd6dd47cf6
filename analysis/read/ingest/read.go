package ingest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/read/lsof"
	"leakdiff/analysis/read/metrics"
	"leakdiff/analysis/read/procfs"
	"leakdiff/analysis/read/thread"
	"leakdiff/analysis/say/wording"
)

// reader collects what the members of one bundle hold.
type reader struct {
	cfg Config
	// formats is the table of formats, which holds readers that look things up in
	// it themselves.
	formats   map[string]formatReader
	artifacts []analysis.Artifact
	told      told
	parts     []*part
	// directories gathers fdinfo/ and fd/ members by directory and kind until the
	// walk ends, because archives have no order.
	directories map[directoryKey]*directory
	progress    Progress
	// archive is the name of the one upload that holds everything, "" where there are
	// several.
	archive string
	// lone says that all of the upload is one snapshot; stems are the words of file
	// names with the numbers that stand beside each.
	lone  bool
	stems map[string]map[string]bool
	// manifests are the parts that state when a directory was captured, by directory,
	// once all are read.
	manifests map[string]*part
	// former is what watches were on whose target is gone in some capture.
	former map[watchKey]formerTarget
	// skipped are the steps of captures that were not tried, told once.
	skipped map[string]bool
	// recoded are the files whose bytes in the upload are packed or encoded otherwise.
	recoded map[string]bool
	// empty are the files without a byte.
	empty []string
	// stacks remembers the names of functions for all dumps of an upload.
	stacks family.Stacks
	// states are shared among the families of all snapshots.
	states map[oneState]map[string]int
	// known remembers the families of descriptors and watches.
	known family.Known
	// content is the open member, hash its hash, text what is written to be hashed.
	content content
	hash    hash.Hash
	text    []byte
}

type directoryKey struct{ path, kind string }

type directory struct {
	part   *part
	hashes []string
	size   int64
	reason string
	broken int
}

func newReader(cfg Config) *reader {
	return &reader{cfg: cfg, formats: formats, told: newTold(cfg.Bundle.Budget), directories: map[directoryKey]*directory{}, recoded: map[string]bool{}, skipped: map[string]bool{}, progress: Progress{Stage: "unpacking"}, hash: sha256.New()}
}

func (r *reader) report() {
	if r.cfg.Progress != nil {
		r.cfg.Progress(r.progress)
	}
}

// member reads one file of the bundle.
func (r *reader) member(m *bundle.Member) error {
	r.progress.Files++
	defer r.report()
	if m.Type == bundle.Symlink {
		r.link(m)
		return nil
	}
	if m.Type != bundle.Regular {
		r.special(m)
		return nil
	}
	if len(m.Compressed) > 0 || m.Encoding != "" {
		r.recoded[m.Path] = true
	}
	chosen := r.cfg.Kinds[m.Path]
	if chosen == "" {
		if d := r.usual(m); d != nil {
			return r.file(d, m, r.open(m, nil), nil)
		}
	}
	head := detect.Head{Bytes: m.Head, Path: m.Path, Size: m.Size, Whole: m.Whole()}
	found := detect.Sniff(head)
	if found.NeedMore {
		head.Bytes = m.Peek(detect.SniffLimit)
		head.Whole = len(head.Bytes) < detect.SniffLimit
		found = detect.Sniff(head)
	}
	if chosen != "" {
		found = detect.Result{
			Kind: chosen, Confidence: analysis.High,
			Reason: fmt.Sprintf("chosen by a person; by its content it is %s: %s", found.Kind, found.Reason),
		}
	}
	body := r.open(m, r.knownHash(m, found.Kind))
	defer body.close()
	if gathered(found.Kind) {
		return r.gather(m, found, body)
	}
	a := analysis.Artifact{
		Path: m.Path, Kind: found.Kind, Reason: found.Reason, Confidence: found.Confidence,
		Files: 1, Modified: m.ModTime, Status: analysis.Ignored,
	}
	p := &part{path: m.Path, form: found.Kind, modified: m.ModTime}
	read := r.formats[found.Kind]
	var failed error
	before := r.told.errors()
	if read != nil {
		if !scanned[found.Kind] {
			m.Parsing()
		}
		a.Status = analysis.Read
		failed = read(r, body, p, &a)
	}
	// The rest is read so that the hash and the size are those of the whole.
	if err := cmp.Or(body.rest(), failed); err != nil {
		if stop := m.Stop(err); stop != nil {
			return stop
		}
	}
	if failed != nil {
		a.Status = analysis.Failed
		r.refused(m.Path, failed)
	}
	if read != nil {
		r.worst(&a, before)
	}
	if found.Kind == detect.Empty {
		a.Status = analysis.Empty
		r.empty = append(r.empty, m.Path)
	}
	a.Size, a.SHA256 = body.n, body.sum()
	a.Truncated = a.Truncated || m.Truncated()
	if m.Truncated() {
		r.cut(p)
	}
	r.advise(&a)
	index := len(r.artifacts)
	r.artifacts = append(r.artifacts, a)
	r.keep(p, index)
	r.progress.Bytes += body.n
	return nil
}

// knownHash gives the hash of the one input, if the member is that input itself and no
// part of it: evidence as it was sent.
func (r *reader) knownHash(m *bundle.Member, kind string) func() string {
	if r.formats[kind] == nil || m.FileTime.IsZero() || m.Size < 0 || len(m.Compressed) > 0 || m.Encoding != "" {
		return nil
	}
	return r.cfg.SHA256
}

// cut marks the dump at the end of a member that its archive cuts.
func (r *reader) cut(p *part) {
	if n := len(r.parts); n > 0 && r.newParts() < n {
		p = r.parts[n-1]
	}
	p.cut("its archive stops before its end")
}

// cut marks the dump of a part as one that is not whole.
func (p *part) cut(why string) {
	switch {
	case p.text != nil && !p.text.dump.Truncated:
		p.text.dump.Truncated, p.text.dump.TruncatedWhy = true, why
	case p.profile != nil:
		p.profile.profile.Truncated = true
	case p.threads != nil && !p.threads.dump.Truncated:
		p.threads.dump.Truncated, p.threads.dump.TruncatedWhy = true, why
	}
}

// scanned are kinds that hold no evidence unless a dump stands in them.
var scanned = map[string]bool{detect.Log: true, detect.Text: true, detect.JSON: true, detect.HTML: true}

// special lists a member without content of its own: a hard link names an earlier
// member, a device or pipe has none.
func (r *reader) special(m *bundle.Member) {
	reason := "a device, pipe or socket: it has no content in an archive"
	if m.Type == bundle.Hardlink {
		reason = "a hard link to " + strconv.Quote(clip(m.Link, 120)) + ", which is listed by itself"
	}
	r.artifacts = append(r.artifacts, analysis.Artifact{
		Path: m.Path, Kind: string(m.Type), Reason: reason, Confidence: analysis.High, Status: analysis.Ignored, Files: 1,
	})
}

// keep files the parts of an artifact under their capture directories. Readers of
// files that may hold several have put theirs into r.parts already; what p itself
// says, if anything, is one more.
func (r *reader) keep(p *part, artifact int) {
	added := r.parts[r.newParts():]
	for _, q := range added {
		q.artifact = artifact
		place(q)
	}
	if len(added) > 0 && !p.says() || r.formats[p.form] == nil || r.artifacts[artifact].Status != analysis.Read {
		return
	}
	p.artifact = artifact
	place(p)
	r.parts = append(r.parts, p)
}

// says reports whether a reader filled the part.
func (p *part) says() bool {
	return p.evidence() || p.figures != nil || p.mounts != nil || p.sysctls != nil
}

// newParts is the index of the first part that has no artifact yet.
func (r *reader) newParts() int {
	i := len(r.parts)
	for i > 0 && r.parts[i-1].artifact < 0 {
		i--
	}
	return i
}

// worst makes an artifact "failed" when nothing of it was read and an error was
// named; before is how many had been.
func (r *reader) worst(a *analysis.Artifact, before int) {
	if a.Members > 0 {
		return
	}
	if r.told.errors() > before {
		a.Status = analysis.Failed
	}
}

// refused turns a parser's refusal into a problem.
func (r *reader) refused(where string, err error) {
	p := analysis.Problem{Path: where, Offset: -1, Severity: analysis.Error, What: "could not be read", Why: err.Error()}
	var fault *analysis.Fault
	if errors.As(err, &fault) {
		p.What, p.Why, p.Hint = fault.What, fault.Why, fault.Hint
		if fault.Code == "other_profile" {
			p.Severity = analysis.Note
		}
	}
	r.problem(p)
}

// advise names what was recognised but is not read, with what to do instead.
func (r *reader) advise(a *analysis.Artifact) {
	advice, ok := notRead[a.Kind]
	if !ok {
		return
	}
	r.problem(analysis.Problem{Path: a.Path, Offset: -1, Severity: analysis.Warning, What: advice.what, Why: a.Reason, Hint: advice.hint})
}

// notRead are kinds that hold evidence which this version does not take in.
var notRead = map[string]struct{ what, hint string }{
	detect.EmptyFDInfo: {"an empty fdinfo file was captured", "run cp -r /proc/PID/fdinfo DIR first, then archive DIR: tar trusts the size 0 that procfs states"},
}

type formatReader func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error

// formats are the readers of the kinds that this version understands. A reader
// fills the part and the artifact's counts; its error means that nothing usable
// was read.
var formats = map[string]formatReader{
	detect.GoroutineDebug2: readText,
	detect.GoroutineCrash:  readText,
	detect.GoroutineDebug1: readDebug1,
	detect.GoroutineProto:  readProto,
	detect.LsofTable:       listed(lsof.ParseTable),
	detect.LsofFields:      listed(lsof.ParseFields),
	detect.FDListing:       readListing,
	detect.FDInfoGrep:      readGrep,
	detect.Mountinfo:       readMountinfo,
	detect.Limits:          readLimits,
	detect.Status:          readStatus,
	detect.Stat:            readStat,
	detect.Cmdline:         readCmdline,
	detect.Sysctls:         readSysctls,
	detect.Metrics:         measured(metrics.Figures),
	detect.MetricsJSON:     measured(metrics.FiguresJSON),
	detect.LsofJSON:        listed(lsof.ParseJSON),
	detect.Lsfd:            listed(lsof.ParseLsfd),
	detect.SocketTable:     readSockets,
	detect.NetTable:        readNet,
	detect.ThreadDump:      threaded(thread.ParseText),
	detect.ThreadJSON:      threaded(thread.ParseJSON),
	detect.ThreadForeign:   readForeign,
	detect.ClientSummary:   readClients,
	detect.FDTargets:       readTargets,
	detect.NodeReport:      readNode,
	detect.InotifyTable:    readInotifyTable,
	detect.InodeList:       readInodes,
	detect.Wrapped:         readWrapped,
	detect.Log:             readWrapped,
	detect.Text:            readWrapped,
	detect.JSON:            readWrapped,
	detect.HTML:            readWrapped,
	detect.CapturedAt:      readCapturedAt,
	detect.Manifest:        readManifest,
	detect.Capture:         readCapture,
	detect.WatchTargets:    readHandles,
}

func readText(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	t := newTextDump()
	all := []*textDump{t}
	before := r.progress.Goroutines
	// The lines of date between the dumps of a loop say when each was taken.
	dates := envelope.NewDates(r.written(p))
	begins, end := []int64{0}, int64(0)
	// more counts the goroutines of dumps beyond those that are read, from line at on.
	more, at := 0, int64(0)
	// guessed is the first line where only an id that comes again, twice, says that
	// another dump begins.
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

// dated takes the time that a line before the dump tells.
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

// several files the parts of one artifact. Where there is more than one, each is
// a snapshot of its own and says which it is.
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

type listingParser func(io.Reader, string, func(int, *lsof.Row) error) (lsof.Listing, []analysis.Problem, error)

// listed reads a listing of descriptors: a part for every process of each of its
// rounds.
func listed(parse listingParser) func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	return func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
		type key struct{ ordinal, pid int }
		byProcess := map[key]*part{}
		var order []*part
		var last key
		var q *part
		words := newRowWords()
		rounds := 1
		dates := envelope.NewDates(r.written(p))
		all, problems, err := parse(io.TeeReader(body, dates), p.path, func(ordinal int, row *lsof.Row) error {
			rounds = max(rounds, ordinal+1)
			if row.Unreadable {
				return nil
			}
			if k := (key{ordinal, row.PID}); q == nil || k != last {
				q, last = byProcess[k], k
				if q == nil {
					q = p.another(ordinal)
					q.pid, q.name = row.PID, strings.Clone(row.Command)
					q.listing = &listing{command: q.name, rows: &rows{words: words}}
					byProcess[k] = q
					order = append(order, q)
				}
			}
			q.listing.user(row.User)
			if !row.IsDescriptor {
				q.listing.other++
				a.Rows++
				return nil
			}
			q.listing.rows.add(&row.Descriptor)
			r.progress.Descriptors++
			return nil
		})
		r.problem(problems...)
		if err != nil && all.Rows == 0 {
			return err
		}
		if all.Form == lsof.Headerless {
			r.problem(analysis.Problem{Path: p.path, Line: 1, Offset: 0, Severity: analysis.Note,
				What: "an excerpt of a listing, without its header", Why: "the columns are told by their look, and rows that were left out are not known",
				Hint: "upload the whole output: lsof -nP -p PID > lsof.txt"})
		}
		begins := make([]int64, len(all.PerPart))
		for i := range begins {
			begins[i] = all.PerPart[i].Offset
		}
		times := dates.Of(begins)
		for _, q := range order {
			if q.ordinal < len(times) {
				q.dated(times[q.ordinal])
			}
			a.Members += q.listing.rows.len()
			q.outcome = fmt.Sprintf("%s of %s", wording.Plural(q.listing.rows.len(), "descriptor", "descriptors"), processWord(q))
			q.section = rounds > 1
		}
		if a.Members > 0 {
			order = slices.DeleteFunc(order, func(q *part) bool { return q.listing.rows.len() == 0 })
		}
		a.Outcome = wording.Plural(a.Members, "descriptor", "descriptors")
		if len(order) > rounds {
			a.Outcome += fmt.Sprintf(" of %d processes", len(order)/rounds)
		}
		if rounds > 1 {
			a.Outcome += fmt.Sprintf(" in %d listings", rounds)
		}
		r.parts = append(r.parts, order...)
		return nil
	}
}

func readListing(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	p.links = []analysis.Descriptor{}
	_, problems, err := lsof.ParseListing(body, p.path, func(d *analysis.Descriptor) error {
		p.links = append(p.links, *d)
		return nil
	})
	r.problem(problems...)
	if err != nil && len(p.links) == 0 {
		return err
	}
	r.progress.Descriptors += len(p.links)
	a.Members = len(p.links)
	a.Outcome = wording.Plural(a.Members, "descriptor", "descriptors")
	return nil
}

func readGrep(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	infos, pid, problems, err := procfs.ParseGrep(body, p.path)
	r.problem(problems...)
	p.pid = pid
	if err != nil && len(infos) == 0 {
		return err
	}
	p.fdinfo = &fdinfoSet{infos: infos}
	countWatches(r, p.fdinfo, a)
	return nil
}

func countWatches(r *reader, set *fdinfoSet, a *analysis.Artifact) {
	a.Members, a.Watches = 0, 0
	for i := range set.infos {
		a.Watches += len(set.infos[i].Watches)
		if set.infos[i].FD >= 0 {
			a.Members++
		}
	}
	a.Members += set.empty
	r.progress.Watches += a.Watches
	r.progress.Descriptors += a.Members
	a.Outcome = fmt.Sprintf("%s, %s", wording.Plural(a.Members, "descriptor", "descriptors"), wording.Plural(a.Watches, "watch", "watches"))
}

func readMountinfo(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	mounts, problems, err := procfs.ParseMountinfo(body, p.path)
	r.problem(problems...)
	p.mounts = mounts
	a.Outcome = wording.Plural(len(mounts), "mount", "mounts")
	return err
}

func readLimits(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	limits, problems, err := procfs.ParseLimits(body, p.path)
	r.problem(problems...)
	p.limits = &limits
	if soft, ok := limits.OpenFiles(); ok {
		a.Outcome = fmt.Sprintf("limit of %d open files", soft)
	}
	return err
}

func readStatus(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	status, problems, err := procfs.ParseStatus(body, p.path)
	r.problem(problems...)
	p.status, p.pid, p.name = &status, status.PID, status.Name
	a.Outcome = fmt.Sprintf("%s, pid %d", status.Name, status.PID)
	return err
}

func readStat(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	stat, problems, err := procfs.ParseStat(body, p.path)
	r.problem(problems...)
	p.stat, p.pid, p.name = &stat, stat.PID, stat.Comm
	a.Outcome = fmt.Sprintf("%s, pid %d, started at tick %d", stat.Comm, stat.PID, stat.StartTicks)
	return err
}

func readCmdline(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	words, problems, err := procfs.ParseCmdline(body, p.path)
	r.problem(problems...)
	p.cmdline = words
	a.Outcome = wording.Plural(len(words), "argument", "arguments")
	return err
}

func readSysctls(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	values, problems, err := procfs.ParseSysctls(body, p.path)
	r.problem(problems...)
	p.sysctls = values
	a.Outcome = wording.Plural(len(values), "setting", "settings")
	return err
}

type metricsParser func(io.Reader, string) (map[string]float64, metrics.Info, []analysis.Problem, error)

func measured(parse metricsParser) func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	return func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
		figures, info, problems, err := parse(body, p.path)
		r.problem(problems...)
		p.figures, p.version, p.inner = figures, versionText(info), info.Time
		a.Outcome = wording.Plural(len(figures), "figure", "figures")
		return err
	}
}

func readSockets(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	_, problems, err := lsof.ParseSockets(body, p.path, p.socket)
	return r.tabled(p, a, problems, err)
}

func readNet(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	_, problems, err := procfs.ParseNet(body, p.path, p.socket)
	return r.tabled(p, a, problems, err)
}

func (p *part) socket(s *analysis.Socket) error {
	p.sockets = append(p.sockets, *s)
	return nil
}

func (r *reader) tabled(p *part, a *analysis.Artifact, problems []analysis.Problem, err error) error {
	r.problem(problems...)
	a.Rows = len(p.sockets)
	a.Outcome = wording.Plural(len(p.sockets), "socket", "sockets")
	return err
}

// versionText is "v1.34.4, go1.26.8", as far as the page tells.
func versionText(info metrics.Info) string {
	var words []string
	for _, w := range []string{info.Version(), info.GoVersion} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, ", ")
}

func readCapturedAt(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	text, err := io.ReadAll(io.LimitReader(body, 256))
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	if err != nil {
		return &analysis.Fault{Code: "unreadable", What: "is no RFC 3339 time", Why: strconv.Quote(strings.TrimSpace(string(text))), Hint: "write one time such as 2026-11-21T02:58:36Z into it"}
	}
	if !r.plausible(at) {
		return &analysis.Fault{Code: "unreadable", What: "is no plausible time", Why: at.UTC().Format(time.RFC3339) + " lies before 2000 or in the future", Hint: "correct the time, or delete the file: the order of the names is used then"}
	}
	p.captured = at.UTC()
	a.Outcome = at.UTC().Format("2006-01-02 15:04:05 UTC")
	return nil
}

// gathered reports whether files of the kind stand for one descriptor each and
// are one artifact together.
func gathered(kind string) bool { return kind == detect.FDInfo || kind == detect.EmptyFDInfo }

// gather adds one fdinfo file to its directory. A file outside a directory of
// numbers is an artifact of its own.
func (r *reader) gather(m *bundle.Member, found detect.Result, body *content) error {
	fd, err := strconv.Atoi(path.Base(m.Path))
	dir := directoryOf(m.Path)
	if err != nil {
		fd, dir = -1, m.Path
	}
	d := r.directory(dir, detect.FDInfo, found.Reason)
	if d.part.fdinfo == nil {
		d.part.fdinfo = &fdinfoSet{}
	}
	var failed error
	if found.Kind == detect.EmptyFDInfo {
		d.part.fdinfo.empty++
	} else {
		set := d.part.fdinfo
		before := len(set.infos)
		var problems []analysis.Problem
		problems, failed = set.read(m, body, fd)
		r.problem(problems...)
		for i := before; i < len(set.infos); i++ {
			r.progress.Watches += len(set.infos[i].Watches)
		}
	}
	return r.file(d, m, body, failed)
}

// file counts a file of a directory whose content was read as far as it could be.
func (r *reader) file(d *directory, m *bundle.Member, body *content, failed error) error {
	if err := cmp.Or(body.rest(), failed); err != nil {
		if stop := m.Stop(err); stop != nil {
			return stop
		}
	}
	if failed != nil {
		d.broken++
		r.refused(m.Path, failed)
	}
	r.progress.Descriptors++
	d.part.wrote(m.ModTime)
	d.size += body.n
	r.text = append(append(append(r.text[:0], path.Base(m.Path)...), ' '), body.sum()...)
	d.hashes = append(d.hashes, string(r.text))
	r.progress.Bytes += body.n
	return nil
}

// usual reads a file like the ones before it in its directory, which says by all of its
// lines what it is; nil leaves it to be named first.
func (r *reader) usual(m *bundle.Member) *directory {
	dir := directoryOf(m.Path)
	d := r.directories[directoryKey{dir, detect.FDInfo}]
	if d == nil || d.part.fdinfo == nil || !m.Whole() {
		return nil
	}
	fd, err := strconv.ParseUint(m.Path[len(dir):], 10, 31)
	if err != nil {
		return nil
	}
	info, ok := procfs.ParseUsual(m.Head, int(fd))
	if !ok {
		return nil
	}
	d.part.fdinfo.add(info)
	r.progress.Watches += len(info.Watches)
	return d
}

func (s *fdinfoSet) add(info procfs.FDInfo) {
	if len(s.infos) == cap(s.infos) {
		s.infos = slices.Grow(s.infos, max(16, len(s.infos))) // they are large
	}
	s.infos = append(s.infos, info)
}

// read adds one file of /proc/PID/fdinfo, or many that were joined into one below
// headings ("==> 25 <==").
func (s *fdinfoSet) read(m *bundle.Member, body io.Reader, fd int) ([]analysis.Problem, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(m.Head), []byte("==")) {
		info, problems, err := procfs.ParseFDInfo(body, m.Path, fd)
		s.add(info)
		return problems, err
	}
	joined, problems, err := procfs.ParseAnnotated(body, m.Path)
	for i := range joined {
		s.add(joined[i].FDInfo)
	}
	return problems, err
}

// link keeps a symbolic link's target as data: the descriptors of /proc/PID/fd.
func (r *reader) link(m *bundle.Member) {
	fd, err := strconv.Atoi(path.Base(m.Path))
	if err != nil || fd < 0 {
		r.artifacts = append(r.artifacts, analysis.Artifact{
			Path: m.Path, Kind: "link", Reason: "a symbolic link; its target is " + strconv.Quote(clip(m.Link, 120)) + " and is not followed",
			Confidence: analysis.High, Status: analysis.Ignored, Files: 1,
		})
		return
	}
	d := r.directory(directoryOf(m.Path), detect.FDLink, "symbolic links named by descriptor numbers")
	d.part.wrote(m.ModTime)
	descriptor := procfs.Link(fd, m.Link)
	d.part.links = append(d.part.links, descriptor)
	d.hashes = append(d.hashes, path.Base(m.Path)+" "+m.Link)
	r.progress.Descriptors++
}

func (r *reader) directory(dir, kind, reason string) *directory {
	key := directoryKey{dir, kind}
	d := r.directories[key]
	if d == nil {
		d = &directory{part: &part{path: dir, form: kind}, reason: reason}
		r.directories[key] = d
	}
	return d
}

// closeDirectories makes one artifact and one part of every gathered directory,
// in the order of their names.
func (r *reader) closeDirectories() {
	keys := make([]directoryKey, 0, len(r.directories))
	for k := range r.directories {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		return keys[i].path < keys[j].path || keys[i].path == keys[j].path && keys[i].kind < keys[j].kind
	})
	for _, k := range keys {
		r.closeDirectory(k, r.directories[k])
	}
	r.directories = nil
}

func (r *reader) closeDirectory(k directoryKey, d *directory) {
	sort.Strings(d.hashes)
	sum := sha256.New()
	for _, h := range d.hashes {
		r.text = append(append(r.text[:0], h...), '\n')
		sum.Write(r.text)
	}
	a := analysis.Artifact{
		Path: k.path, Kind: k.kind, Reason: d.reason, Confidence: analysis.High, Status: analysis.Read,
		Files: len(d.hashes), Size: d.size, SHA256: hex.EncodeToString(sum.Sum(nil)), Modified: d.part.modified,
	}
	if set := d.part.fdinfo; set != nil {
		less := func(i, j int) bool { return set.infos[i].FD < set.infos[j].FD }
		if !sort.SliceIsSorted(set.infos, less) {
			sort.Slice(set.infos, less)
		}
		watches, descriptors := r.progress.Watches, r.progress.Descriptors
		countWatches(r, set, &a)
		r.progress.Watches, r.progress.Descriptors = watches, descriptors
		if len(set.infos) == 0 && set.empty > 0 {
			a.Kind, a.Status = detect.EmptyFDInfo, analysis.Empty
			a.Outcome = fmt.Sprintf("%s, no content", wording.Plural(set.empty, "descriptor", "descriptors"))
			r.problem(analysis.Problem{
				Path: k.path, Offset: -1, Severity: analysis.Warning,
				What: "fdinfo was captured with tar and is empty",
				Why:  fmt.Sprintf("all %d files have 0 bytes; procfs states the size 0 and tar trusts it, so nothing can be said of watches", set.empty),
				Hint: "run cp -r /proc/PID/fdinfo DIR first, then archive DIR",
			})
		} else if set.empty > 0 {
			r.problem(analysis.Problem{
				Path: k.path, Offset: -1, Severity: analysis.Warning,
				What: fmt.Sprintf("%d of %d fdinfo files are empty", set.empty, len(d.hashes)),
				Why:  "they were closed or archived while procfs stated the size 0; the watches of these descriptors are not counted",
				Hint: "run cp -r /proc/PID/fdinfo DIR first, then archive DIR",
			})
		}
		if d.broken == len(d.hashes) && d.broken > 0 {
			a.Status = analysis.Failed
		}
	} else {
		sort.Slice(d.part.links, func(i, j int) bool { return d.part.links[i].FD < d.part.links[j].FD })
		a.Members = len(d.part.links)
		a.Outcome = wording.Plural(a.Members, "descriptor", "descriptors")
	}
	d.part.artifact = len(r.artifacts)
	d.part.pid = pidOf(k.path)
	r.artifacts = append(r.artifacts, a)
	place(d.part)
	r.parts = append(r.parts, d.part)
}

// directoryOf is the path up to and with its last slash: "t0/fdinfo/7" gives
// "t0/fdinfo/".
func directoryOf(p string) string { return p[:strings.LastIndexByte(p, '/')+1] }

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
