package ingest

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/gauge"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/read/lsof"
	"leakdiff/analysis/read/metrics"
	"leakdiff/analysis/read/thread"
	"leakdiff/analysis/read/tracer"
)

// reader collects what the members of one bundle hold.
type reader struct {
	cfg Config
	// formats is the table of formats, which holds readers that look things up in
	// it themselves.
	formats   map[string]formatReader
	artifacts []analysis.Artifact
	problems  problemList
	parts     []*part
	// directories gathers fdinfo/ and fd/ members by directory and kind until the
	// walk ends, because archives have no order.
	directories map[directoryKey]*directory
	progress    Progress
	// archive is the name of the one upload that holds everything, "" if there are
	// several.
	archive string
	// lone is true if all of the upload is one snapshot; stems are the words of file
	// names with the numbers beside each.
	lone  bool
	stems map[string]map[string]bool
	// manifests are the parts that state when a directory was captured, by directory,
	// once all are read.
	manifests map[string]*part
	// bounds are what was kept and what was not.
	bounds bounds
	// tables are the socket tables of the last snapshot.
	tables socketTables
	// former is what watches were on whose target is gone in some capture.
	former map[watchKey]formerTarget
	// groups are those of all snapshots.
	groups []*group
	// pods are "namespace/name" by uid.
	pods map[string]string
	// skipped are the steps of captures that were not tried, reported once.
	skipped map[string]bool
	// recoded are the files whose bytes in the upload are packed or encoded otherwise.
	recoded map[string]bool
	// empty are the files without a byte.
	empty []string
	// helps are what to capture instead of files that hold no dump, by their paths.
	helps map[string]string
	// unread are the stacks of other languages in such files.
	unread map[string]string
	// dumped are the stacks that the goroutine dumps of an upload share.
	dumped goroutine.Stacks
	// stacks remembers their families, and the names of functions.
	stacks family.Stacks
	// table has what packed groups name by numbers.
	table *groupTable
	// shapes are those of the objects of all dumps, by what makes them.
	shapes map[string]*analysis.ObjectKind
	// known remembers the families of descriptors and watches.
	known family.Known
	// content is the open member, hash its hash, text what is written to be hashed.
	content content
	hash    hash.Hash
	text    []byte
	// buffers and notes are those of an earlier member, to be used again.
	buffers [][]byte
	notes   notes
}

func newReader(cfg Config) *reader {
	return &reader{cfg: cfg, formats: formats, problems: newProblemList(cfg.Bundle.Budget), directories: map[directoryKey]*directory{}, table: &groupTable{}, recoded: map[string]bool{}, skipped: map[string]bool{}, helps: map[string]string{}, unread: map[string]string{}, progress: Progress{Stage: "unpacking"}, hash: sha256.New()}
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
	found := sniff(m, chosen)
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
	if scanned[found.Kind] && m.Whole() && !envelope.Promises(m.Head) {
		read = nil // most files of a support bundle
	}
	var failed error
	before := r.problems.errors()
	if read != nil {
		if !scanned[found.Kind] {
			m.Parsing()
		}
		a.Status = analysis.Read
		facts := r.factsBeside(found.Kind, p)
		failed = read(r, facts.tee(body), p, &a)
		r.beside(facts, p)
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
	if found.Help != "" && a.Status == analysis.Ignored {
		r.helps[m.Path], r.unread[m.Path] = found.Help, found.Unread
	}
	a.Size, a.SHA256 = body.n, body.sum()
	a.Truncated = a.Truncated || m.Truncated()
	if m.Truncated() {
		r.cut(p)
	}
	r.advise(&a)
	r.progress.Bytes += body.n
	if len(r.artifacts) >= mostFiles && a.Status != analysis.Read && r.newParts() == len(r.parts) {
		r.bounds.files++
		return nil
	}
	index := len(r.artifacts)
	r.artifacts = append(r.artifacts, a)
	r.keep(p, index)
	return nil
}

// sniff names the kind of a member; a kind that a person chose counts more than the
// content.
func sniff(m *bundle.Member, chosen string) detect.Result {
	head := detect.Head{Bytes: m.Head, Path: m.Path, Size: m.Size, Whole: m.Whole()}
	found := detect.Sniff(head)
	if found.NeedMore {
		head.Bytes = m.Peek(detect.SniffLimit)
		head.Whole = len(head.Bytes) < detect.SniffLimit
		found = detect.Sniff(head)
	}
	if chosen == "" {
		return found
	}
	return detect.Result{
		Kind: chosen, Confidence: analysis.High,
		Reason: fmt.Sprintf("chosen by a person; by its content it is %s: %s", found.Kind, found.Reason),
	}
}

// knownHash returns the hash of the one input if the member is that input itself and no
// part of it: evidence as it was sent.
func (r *reader) knownHash(m *bundle.Member, kind string) func() string {
	if r.formats[kind] == nil || !m.Loose || m.Size < 0 || len(m.Compressed) > 0 || m.Encoding != "" {
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
	case p.contention != nil:
		for i := range p.contention {
			p.contention[i].LowerBound = true
		}
	case p.heap != nil:
		p.heap.LowerBound = true
	case p.fdinfo != nil:
		p.fdinfo.cut = true
	case p.threads != nil && !p.threads.dump.Truncated:
		p.threads.dump.Truncated, p.threads.dump.TruncatedWhy = true, why
	default:
		p.stops = true
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

// keep files the parts of an artifact under their capture directories. Readers of files
// that may hold several have put theirs into r.parts already; if p holds anything
// itself, it is one more.
func (r *reader) keep(p *part, artifact int) {
	if extra := len(r.parts) - mostParts; extra > 0 {
		r.bounds.parts += extra
		r.parts = r.parts[:mostParts]
	}
	added := r.parts[r.newParts():]
	for _, q := range added {
		q.artifact = artifact
		place(q)
		r.form(q.text)
	}
	if len(added) > 0 && !p.says() || r.formats[p.form] == nil || r.artifacts[artifact].Status != analysis.Read {
		return
	}
	if len(r.parts) >= mostParts {
		r.bounds.parts++
		return
	}
	p.artifact = artifact
	place(p)
	r.form(p.text)
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
	if r.problems.errors() > before {
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
	detect.GoroutineDebug3: readProto,
	detect.ExecutionTrace:  readTrace,
	detect.OTLPProfiles:    readOTLP,
	detect.GoroutinePprof:  readPprof,
	detect.ContentionText:  readContention,
	detect.ContentionProto: readContentionProto,
	detect.HeapText:        readHeap(goroutine.ParseHeapText),
	detect.HeapProto:       readHeap(goroutine.ParseHeapProto),
	detect.ClassHistogram:  readHistograms,
	detect.LsofTable:       listed(lsof.ParseTable),
	detect.LsofFields:      listed(lsof.ParseFields),
	detect.FDListing:       readListing,
	detect.FDInfoGrep:      readGrep,
	detect.Strace:          traced(tracer.ParseStrace),
	detect.OpenEvents:      traced(tracer.ParseEvents),
	detect.Mountinfo:       readMountinfo,
	detect.Limits:          readLimits,
	detect.Status:          readStatus,
	detect.Stat:            readStat,
	detect.Cmdline:         readCmdline,
	detect.Sysctls:         readSysctls,
	detect.Metrics:         measured(metrics.Pages),
	detect.Counts:          countsBy(gauge.Parse),
	detect.Jolokia:         countsBy(gauge.ParseJolokia),
	detect.LimitLog:        readLog,
	detect.VersionList:     listedVersions(gauge.ParseVersions),
	detect.PackageJSON:     listedVersions(gauge.ParsePackageJSON),
	detect.PodTable:        listedPods(gauge.ParsePods),
	detect.PodJSON:         listedPods(gauge.ParsePodsJSON),
	detect.ProcessTable:    listedProcesses,
	detect.MetricsJSON:     measured(metrics.PagesJSON),
	detect.LsofJSON:        listed(lsof.ParseJSON),
	detect.Lsfd:            listed(lsof.ParseLsfd),
	detect.SocketTable:     readSockets,
	detect.NetTable:        readNet,
	detect.ThreadDump:      threaded(thread.ParseText),
	detect.ThreadJSON:      threaded(thread.ParseJSON),
	detect.Javacore:        threaded(thread.ParseJavacore),
	detect.HotThreads:      threaded(thread.ParseHotThreads),
	detect.ThreadForeign:   readForeign,
	detect.ClientSummary:   readClients,
	detect.FDTargets:       readTargets,
	detect.NodeReport:      readNode,
	detect.InotifyTable:    readInotifyTable,
	detect.ThreadTable:     readInotifyTable,
	detect.InodeList:       readInodes,
	detect.Wrapped:         readWrapped,
	detect.ListingBlocks:   readBlocks,
	detect.CommandOutput:   readOutputs,
	detect.Log:             readWrapped,
	detect.Text:            readWrapped,
	detect.JSON:            readWrapped,
	detect.HTML:            readWrapped,
	detect.CapturedAt:      readCapturedAt,
	detect.Manifest:        readManifest,
	detect.Capture:         readCapture,
	detect.WatchTargets:    readHandles,
	detect.GoroutineFDs:    readPairs,
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
