// Package ingest turns the bytes of one bundle into snapshots. It takes inputs
// (archives and loose files) and walks them once. It names every member by its content
// and hands it to the parser of its format. Once it knows all of the bundle, it decides
// which artifacts belong to the same process at the same time. It is the only package
// that knows all parsers. It does not know storage, pages, or what the families mean.
package ingest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/say/wording"
)

// Engine is the version of the rules that turn bytes into snapshots; results of
// an older engine are computed again on request.
const Engine = 11

// Config controls the reading of a bundle; the zero value reads with default limits.
type Config struct {
	Bundle bundle.Config
	// Progress is called often and must return quickly; it may be nil.
	Progress func(Progress)
	// Now bounds plausible times; nil means time.Now.
	Now func() time.Time
	// SHA256 returns the hash of the one input in lower-case hex, once it was read to
	// its end; nil if the caller does not hash it. An input with a ModTime and a Size
	// that is no archive is then not hashed again.
	SHA256 func() string
	// Packed leaves goroutines, descriptors and watches packed in Members, as the store
	// takes them: a tenth of the memory of columns.
	Packed bool
	// Deferred leaves the snapshots of the result without Groups. Result.GroupsOf returns
	// those of one snapshot, so that a bundle never has all of them in memory.
	Deferred bool
	// Kinds are as what files are read, by their path in the bundle, whatever they are
	// recognised as: one of Kinds, or Ignore.
	Kinds map[string]string
	// Objects joins the goroutines of each dump to objects (Snapshot.Joined). It costs up
	// to 32 MiB beside what a dump of a million goroutines takes without.
	Objects bool
}

// Ignore is the kind of a file that a person leaves out.
const Ignore = "ignore"

// Kinds are the kinds that a file can be read as on demand, sorted.
func Kinds() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(formats)), func(kind string) bool {
		switch kind {
		case detect.Manifest, detect.Capture, detect.WatchTargets, detect.GoroutineFDs, detect.CapturedAt, detect.Log, detect.JSON, detect.HTML, detect.Text:
			return true // parts of a capture, and what is only looked through
		}
		return false
	})
}

// Progress is how far an ingest has come.
type Progress struct {
	// Stage is unpacking, grouping or done.
	Stage string
	// Files were unpacked so far; Bytes is their unpacked size.
	Files int
	Bytes int64
	// Goroutines, Threads, Descriptors and Watches were read so far.
	Goroutines, Threads, Descriptors, Watches int
	// Snapshots were formed so far.
	Snapshots int
}

// Text describes the progress in words.
func (p Progress) Text() string {
	switch p.Stage {
	case "grouping":
		return wording.Plural(p.Files, "file", "files") + " read, forming groups"
	case "saving", "done":
		return wording.Plural(p.Files, "file", "files") + " read, " + wording.Plural(p.Snapshots, "dump", "dumps")
	}
	parts := []string{wording.Plural(p.Files, "file", "files")}
	for _, read := range []struct {
		kind analysis.Kind
		n    int
	}{{analysis.KindGoroutine, p.Goroutines}, {analysis.KindThread, p.Threads}, {analysis.KindDescriptor, p.Descriptors}, {analysis.KindWatch, p.Watches}} {
		if read.n > 0 {
			parts = append(parts, wording.PagePlural(int64(read.n), string(read.kind), wording.Kinds(read.kind)))
		}
	}
	return strings.Join(parts, ", ")
}

// Result is all that one bundle holds.
type Result struct {
	Artifacts []analysis.Artifact
	Problems  []analysis.Problem
	// Snapshots are in time order, untimed ones at their natural place.
	Snapshots []analysis.Snapshot
	// Unpacked is the number of bytes after unpacking.
	Unpacked int64

	// packed are the groups of Deferred snapshots.
	packed []packedGroups
	table  *groupTable
}

// GroupsOf returns the groups of the snapshot at a place, sorted by fingerprint, with
// their members packed. They are returned once: the result keeps nothing of them.
func (r *Result) GroupsOf(place int) []analysis.Group {
	groups := r.table.unpack(r.packed[place])
	r.packed[place] = packedGroups{}
	slices.SortFunc(groups, func(f, g analysis.Group) int {
		return strings.Compare(f.Family.Fingerprint, g.Family.Fingerprint)
	})
	return groups
}

// Run reads all inputs as one bundle. It fails only when ctx ends or nothing
// could be opened at all; everything else becomes a problem of the result.
func Run(ctx context.Context, cfg Config, inputs []bundle.Input) (Result, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := newReader(cfg)
	if len(inputs) == 1 {
		r.archive = inputs[0].Name
	} else {
		r.cfg.SHA256 = nil
	}
	stats, problems, err := bundle.Walk(ctx, cfg.Bundle, inputs, r.member)
	if err != nil {
		return Result{}, err
	}
	r.problems.list = append(r.problems.list, problems...) // the walk has bounded them
	r.closeDirectories()
	r.verify()
	r.reportEmpty()
	r.progress.Stage = "grouping"
	r.report()
	snapshots, packed := r.snapshots()
	r.sayBounds()
	r.problems.close()
	r.nothingFound(snapshots)
	r.countProblems()
	r.progress.Stage = "done"
	r.progress.Snapshots = len(snapshots)
	r.report()
	result := Result{Artifacts: r.artifacts, Problems: r.problems.list, Snapshots: snapshots, Unpacked: stats.BytesOut, packed: packed, table: r.table}
	if !cfg.Deferred {
		result.fill(!cfg.Packed)
	}
	return result, nil
}

// fill gives all snapshots their groups.
func (r *Result) fill(columns bool) {
	for i := range r.Snapshots {
		groups := r.GroupsOf(i)
		if columns {
			for g := range groups {
				groups[g].Members.Unpack()
			}
		}
		r.Snapshots[i].Groups = groups
	}
	r.packed, r.table = nil, nil
}

// fewEmpty is how many empty files are reported one by one.
const fewEmpty = 3

// reportEmpty names the empty files: some collectors leave dozens of them, which
// must not bury the other problems.
func (r *reader) reportEmpty() {
	const why, hint = "the endpoint or the command that fills it did not answer", "capture it again if it matters"
	if len(r.empty) <= fewEmpty {
		for _, path := range r.empty {
			r.problem(analysis.Problem{Path: path, Offset: -1, Severity: analysis.Note, Code: analysis.EmptyFile, What: "this file is empty", Why: why, Hint: hint})
		}
		return
	}
	r.problem(analysis.Problem{Path: r.empty[0], Offset: -1, Severity: analysis.Note, Code: analysis.EmptyFiles,
		What: fmt.Sprintf("%d files were empty", len(r.empty)),
		Why:  why, Hint: "the list of files names them; " + hint})
}

// nothingFound reports that a bundle held no evidence at all: without this problem the
// result would read as "no leak".
func (r *reader) nothingFound(snapshots []analysis.Snapshot) {
	if len(snapshots) > 0 {
		return
	}
	// It is listed however many others there are.
	say := func(p analysis.Problem) { r.problems.list = append(r.problems.list, p) }
	code := analysis.NoDumps
	what, why := fmt.Sprintf("none of the %d files holds a dump", len(r.artifacts)), "their kinds are found by content, and no kind of them is about a process"
	hint := "upload a goroutine dump (/debug/pprof/goroutine?debug=2), a copy of /proc/PID/fdinfo made with cp -r, or the output of lsof -nP"
	if len(r.artifacts) == 1 {
		hint = cmp.Or(r.helps[r.artifacts[0].Path], hint)
	}
	switch {
	case len(r.artifacts) == 0 && len(r.problems.list) > 0:
		what, why = "no file of this upload could be read", "the problems above say why"
	case len(r.artifacts) == 0:
		what, why = "no file is in this upload", "the archive or directory is empty"
	case len(r.artifacts) == 1:
		code, what, why = analysis.NoDump, r.noDump(r.artifacts[0].Path), r.artifacts[0].Reason
	}
	if r.tablesOnly() {
		say(analysis.Problem{
			Path: r.firstPath(), Offset: -1, Severity: analysis.Error,
			What: "socket tables alone belong to no process",
			Why:  "no process holds a socket of the table: those in TIME_WAIT, and others whose process is gone, are the kernel's",
			Hint: "take it as root and with all states: ss -tunap or netstat -anp; or upload lsof -nP -p PID of the process beside it",
		})
		return
	}
	say(analysis.Problem{
		Path: r.firstPath(), Offset: -1, Severity: analysis.Error, Code: code,
		What: what,
		Why:  why,
		Hint: hint,
	})
	if len(r.artifacts) > 1 {
		r.helpful()
	}
}

// noDump says what a file without a dump holds, as far as that is stacks of another language.
func (r *reader) noDump(path string) string {
	switch what := r.unread[path]; {
	case what == "":
		return "this file holds no dump"
	case strings.HasPrefix(what, "a "):
		return "this file holds " + what + ", which is not read"
	default:
		return "this file holds " + what + ", which are not read"
	}
}

// mostHelped bounds the files of an upload without a dump whose kinds are told.
const mostHelped = 5

// helpful reports what the first files are that hold no dump, and what would help instead.
func (r *reader) helpful() {
	n := 0
	for i := range r.artifacts {
		a := &r.artifacts[i]
		help := r.helps[a.Path]
		if help == "" {
			continue
		}
		if n++; n > mostHelped {
			return
		}
		r.problem(analysis.Problem{Path: a.Path, Offset: -1, Severity: analysis.Note, Code: analysis.NoDump,
			What: r.noDump(a.Path), Why: a.Reason, Hint: help})
	}
}

// tablesOnly reports whether all that was read are socket tables.
func (r *reader) tablesOnly() bool {
	tables := 0
	for _, a := range r.artifacts {
		if a.Status == analysis.Read {
			if a.Kind != detect.NetTable && a.Kind != detect.SocketTable {
				return false
			}
			tables++
		}
	}
	return tables > 0
}

func (r *reader) firstPath() string {
	if len(r.artifacts) == 0 {
		return ""
	}
	return r.artifacts[0].Path
}

func (r *reader) countProblems() {
	at := map[string]int{}
	for i := range r.artifacts {
		at[r.artifacts[i].Path] = i
	}
	for _, p := range r.problems.list {
		if i, ok := at[p.Path]; ok {
			r.artifacts[i].Problems++
		} else if i, ok := at[directoryOf(p.Path)]; ok {
			r.artifacts[i].Problems++
		}
	}
}
