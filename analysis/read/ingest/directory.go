package ingest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/read/procfs"
	"leakdiff/analysis/say/wording"
)

type directoryKey struct{ path, kind string }

type directory struct {
	part   *part
	hashes []string
	size   int64
	reason string
	broken int
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
			r.bounds.keep(set, &set.infos[i], m.Path)
			r.progress.Watches += set.infos[i].Watched()
		}
	}
	stop := r.file(d, m, body, failed)
	d.part.fdinfo.cut = d.part.fdinfo.cut || m.Truncated()
	return stop
}

// file counts a file of a directory; failed is the error of reading it, if any.
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

// usual reads a file like the ones before it in its directory, if all of its lines
// prove its kind. Otherwise it returns nil, and the file is sniffed.
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
	r.bounds.keep(d.part.fdinfo, &info, m.Path)
	d.part.fdinfo.add(info)
	r.progress.Watches += info.Watched()
	return d
}

func (s *fdinfoSet) add(info procfs.FDInfo) {
	if len(s.infos) == cap(s.infos) {
		s.infos = slices.Grow(s.infos, max(16, len(s.infos))) // they are large
	}
	s.infos = append(s.infos, info)
	s.cut = s.cut || info.Cut
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

// costOfEmpty is the severity of an empty fdinfo: a note where it is archived beside the fdinfo of
// which it is a copy, since nothing is lost then.
func (r *reader) costOfEmpty(path string) analysis.Severity {
	archive := strings.LastIndex(path, "!/")
	if archive < 0 {
		return analysis.Warning
	}
	beside := path[:strings.LastIndexByte(path[:archive], '/')+1] + "fdinfo/"
	for k, d := range r.directories {
		if k.path == beside && d.part.fdinfo != nil && len(d.part.fdinfo.infos) > 0 {
			return analysis.Note
		}
	}
	return analysis.Warning
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
				Path: k.path, Offset: -1, Severity: r.costOfEmpty(k.path),
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
	d.part.pid = line.PathPID(k.path)
	r.artifacts = append(r.artifacts, a)
	place(d.part)
	r.parts = append(r.parts, d.part)
}

// directoryOf returns the path up to and with its last slash: "t0/fdinfo/" for
// "t0/fdinfo/7".
func directoryOf(p string) string { return p[:strings.LastIndexByte(p, '/')+1] }
