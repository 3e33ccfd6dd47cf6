package procfs

import (
	"io"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// Annotated is one descriptor of a file that joins many fdinfo files.
type Annotated struct {
	FDInfo
	// Target is the fd link's target, "" if the heading did not have it.
	Target string
}

// ParseAnnotated reads many fdinfo files joined into one, each below a heading:
// what "tail -n +1 /proc/PID/fdinfo/*" or "head" prints, or a loop over the links.
// A target with a line feed continues on the next line. The error is that of r
// only.
//
//	==> /proc/2706/fdinfo/25 <==
//	== 25 -> anon_inode:inotify
func ParseAnnotated(r io.Reader, path string) ([]Annotated, []analysis.Problem, error) {
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	var all []Annotated
	var body *fdinfoReader
	watches := 0
	flush := func() {
		if body != nil {
			all[len(all)-1].FDInfo = body.finish()
		}
	}
	for l := range in.All() {
		head, ok := heading(l)
		if ok && len(all) >= maxEntries {
			probs.Add(analysis.Warning, l, "too many descriptors", "only the first "+strconv.Itoa(maxEntries)+" are read",
				"split the file by process")
			break
		}
		switch {
		case ok:
			flush()
			all = append(all, head)
			body = newFDInfoReader(head.FD, probs, &watches)
			body.info.PID = head.PID
		case body == nil:
			noteNoHeading(probs, l)
		case body.info.Bodies == 0 && head.continues(l, all[len(all)-1].Target):
			all[len(all)-1].Target = clip(all[len(all)-1].Target + "\n" + l.Text)
		case strings.HasPrefix(l.Text, "==") || strings.Contains(l.Text, " -> ") || strings.Contains(l.Text, "/fdinfo/"):
			probs.Add(analysis.Warning, l, "a heading was not understood: there are more descriptors than are counted", line.Quote(l.Text)+" is neither \"== FD -> target\" nor \"==> path <==\"",
				"look at the raw line, where something cut in, and list the directory again")
		default:
			body.read(l, l.Text)
		}
	}
	flush()
	return all, probs.All(), in.Failure(path)
}

// continues reports whether l is the rest of a target that holds a line feed: it
// stands between a heading with a target and the first line of fdinfo.
func (Annotated) continues(l line.Line, target string) bool {
	return target != "" && !isHeaderKey(l.Text) && !strings.HasPrefix(l.Text, "inotify ")
}

func noteNoHeading(probs *line.Problems, l line.Line) {
	if strings.TrimSpace(l.Text) == "" {
		return
	}
	probs.Add(analysis.Note, l, "a line stands before the first heading",
		line.Quote(l.Text)+" is neither \"== FD -> target\" nor \"==> path <==\"", "nothing: the sections below were read")
}

// heading reads the line above a section; target names of bpf maps and the like
// are no paths, so that the descriptor number decides.
//
//	"== 25 -> anon_inode:inotify"      FD 25, Target "anon_inode:inotify"
//	"==> /proc/2706/fdinfo/25 <=="     PID 2706, FD 25
func heading(l line.Line) (Annotated, bool) {
	if name, ok := fileHeading(l.Text); ok {
		pid, fd, _, found := splitGrep(name + ":")
		return Annotated{FDInfo: FDInfo{FD: fd, PID: pid}}, found
	}
	rest, ok := strings.CutPrefix(l.Text, "== ")
	if !ok {
		return Annotated{}, false
	}
	digits, target, ok := strings.Cut(rest, " -> ")
	fd, err := strconv.Atoi(digits)
	if !ok || err != nil || fd < 0 {
		return Annotated{}, false
	}
	return Annotated{FDInfo: FDInfo{FD: fd}, Target: clip(target)}, true
}
