package ingest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/procfs"
	"leakdiff/analysis/say/wording"
)

// captureManifest is the manifest.json that leakdiff collect and collect.sh put into
// the directory of one process in one round: leakdiff.capture/1.
type captureManifest struct {
	Tool    string    `json:"tool"`
	Host    string    `json:"host"`
	Round   int       `json:"round"`
	Rounds  int       `json:"rounds"`
	Started time.Time `json:"started"`
	// Late is by how many seconds the round began later than it was due.
	Late float64 `json:"late_seconds"`
	// Interrupted is true if the capture was ended during this round.
	Interrupted bool            `json:"interrupted"`
	Process     capturedProcess `json:"process"`
	Load        struct {
		Goroutines    int     `json:"goroutines"`
		StopMS        float64 `json:"stop_ms_estimate"`
		MaxGoroutines int     `json:"max_goroutines"`
	} `json:"load"`
	Pods []struct {
		UID       string `json:"uid"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"pods"`
	Steps []captureStep `json:"steps"`
	// whole are the steps that were done and whose files are as they were captured.
	whole map[string]bool
}

type capturedProcess struct {
	Name       string `json:"name"`
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
	Executable string `json:"executable"`
	Version    string `json:"version"`
	Go         string `json:"go"`
	Container  string `json:"container"`
	PodUID     string `json:"pod_uid"`
	Pod        string `json:"pod"`
	// NetworkNamespace is "net:[4026531840]".
	NetworkNamespace string `json:"network_namespace"`
}

// captureStep is one kind of evidence of the capture.
type captureStep struct {
	Name   string    `json:"step"`
	Status string    `json:"status"`
	File   string    `json:"file"`
	At     time.Time `json:"at"`
	SHA256 string    `json:"sha256"`
	Error  string    `json:"error"`
}

// The bounds of a manifest: more than any has, in bytes and in steps; how far a step
// may lie from the start of its round, in which every endpoint may hang; and how many
// bytes of its words are quoted.
const (
	captureLimit = 16 << 20
	mostSteps    = 200
	longestRound = 6 * time.Hour
	longestWords = 500
)

// readCapture reads the manifest of a capture: its process, its time, the failed steps,
// and the hashes, which are compared when all files have been read.
func readCapture(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	m := &captureManifest{whole: map[string]bool{}}
	if err := json.NewDecoder(io.LimitReader(body, captureLimit)).Decode(m); err != nil {
		return &analysis.Fault{Code: "unreadable", What: "the manifest of a capture is damaged", Why: err.Error(), Hint: "the files beside it are read as they are; their hashes are not compared"}
	}
	steps := len(m.Steps)
	m.bound()
	p.capture, p.host, p.pid, p.name = m, m.Host, m.Process.PID, m.Process.Name
	p.version = strings.Trim(strings.TrimSpace(m.Process.Version)+", "+m.Process.Go, ", ")
	if r.plausible(m.Started) {
		p.captured = m.Started.UTC()
	}
	r.disbelieve(m, p)
	lost := 0
	for _, s := range m.Steps {
		if s.Status == "done" {
			continue
		}
		lost++
		// What cannot be had of a process is missing in every round.
		why := fmt.Sprint(p.host, p.pid, s.Name, s.Error)
		if s.Status == "skipped" && r.skipped[why] {
			continue
		}
		r.skipped[why] = true
		r.problem(s.problem(m, p.path))
	}
	if more := steps - len(m.Steps); more > 0 {
		r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Warning,
			What: fmt.Sprintf("%d steps of the manifest are not looked at", more), Why: fmt.Sprintf("it lists %d, and %d are more than a capture has", steps, mostSteps),
			Hint: "the files beside it are read as they are; upload the manifest as leakdiff collect wrote it"})
	}
	a.Outcome = fmt.Sprintf("round %d of %d, %s", m.Round+1, m.Rounds, wording.Plural(steps, "step", "steps"))
	if m.Rounds == 0 { // they ended by what they showed
		a.Outcome = fmt.Sprintf("round %d, %s", m.Round+1, wording.Plural(steps, "step", "steps"))
	}
	if lost > 0 {
		a.Outcome += fmt.Sprintf(", %d without all of its evidence", lost)
	}
	if m.Late >= 1 {
		a.Outcome += fmt.Sprintf(", begun %.0f s late", m.Late)
	}
	for _, s := range m.Steps {
		if s.Name == "process" && s.Status == "done" && s.Error != "" {
			a.Outcome += "; " + s.Error
		}
	}
	if m.Interrupted {
		a.Outcome += ", interrupted"
	}
	return nil
}

// bound keeps the first steps, and cuts words to the length that is quoted.
func (m *captureManifest) bound() {
	m.Steps = slices.Clone(m.Steps[:min(len(m.Steps), mostSteps)])
	for i := range m.Steps {
		s := &m.Steps[i]
		s.Name, s.Error = clip(s.Name, longestWords), clip(s.Error, longestWords)
	}
	for _, word := range []*string{&m.Host, &m.Process.Name, &m.Process.Version, &m.Process.Go} {
		*word = clip(*word, longestWords)
	}
}

// plausible reports whether evidence can be of a time.
func (r *reader) plausible(at time.Time) bool {
	return at.Year() >= 2000 && at.Before(r.cfg.Now().Add(24*time.Hour))
}

// disbelieve takes the times from steps that cannot be of their round.
func (r *reader) disbelieve(m *captureManifest, p *part) {
	lost, first := 0, captureStep{}
	for i := range m.Steps {
		s := &m.Steps[i]
		if s.At.IsZero() || r.plausible(m.Started) && r.plausible(s.At) && s.At.Sub(m.Started).Abs() <= longestRound {
			continue
		}
		if lost++; lost == 1 {
			first = *s
		}
		s.At = time.Time{}
	}
	if lost == 0 {
		return
	}
	why := fmt.Sprintf("%s is said to be of %s, its round of %s: ", first.Name, first.At.UTC().Format(time.RFC3339), m.Started.UTC().Format(time.RFC3339))
	switch {
	case !r.plausible(m.Started):
		why += "the round itself lies before 2000 or in the future"
	case !r.plausible(first.At):
		why += "that lies before 2000 or in the future"
	default:
		why += fmt.Sprintf("no step is %d hours away from its round", longestRound/time.Hour)
	}
	r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Warning,
		What: "the manifest has " + wording.Plural(lost, "step whose time is not believed", "steps whose times are not believed"), Why: why,
		Hint: "their evidence counts as of the time of the snapshot; look after the clock of the host"})
}

// problem is what a step lost: "goroutines debug=2 at t3: no end within 10s".
func (s captureStep) problem(m *captureManifest, where string) analysis.Problem {
	p := analysis.Problem{Path: where, Offset: -1, Severity: analysis.Warning, Why: cmp.Or(s.Error, "the manifest does not say why"),
		What: fmt.Sprintf("%s at t%d was not captured", s.Name, m.Round),
		Hint: "the other evidence of this round does not depend on it; capture again if it matters"}
	switch s.Status {
	case "partial":
		p.What = fmt.Sprintf("%s at t%d is not whole", s.Name, m.Round)
	case "skipped":
		p.Severity = analysis.Note
	}
	return p
}

// verify compares the files that a manifest lists with the files that were read.
func (r *reader) verify() {
	byPath, parts := map[string]*analysis.Artifact{}, map[string][]*part{}
	for i := range r.artifacts {
		byPath[r.artifacts[i].Path] = &r.artifacts[i]
	}
	for _, p := range r.parts {
		parts[p.path] = append(parts[p.path], p)
	}
	for _, p := range slices.Clone(r.parts) {
		if p.capture == nil {
			continue
		}
		for _, s := range p.capture.Steps {
			if s.File == "" {
				continue
			}
			where := directoryOf(p.path) + s.File
			if r.verifyStep(p, s, byPath[where]) && s.Status == "done" {
				p.capture.whole[s.Name] = true
			}
			if more := r.instead(p, s, byPath[where], parts[where]); more > 0 {
				continue // the one that counts ends where the next begins
			}
			if s.Status == "partial" {
				// A dump may end between two goroutines and look whole.
				for _, q := range parts[where] {
					q.cut("the capture did not get to its end")
				}
			}
		}
	}
}

// instead reports a step's file that does not hold one dump. If it holds no goroutine
// at all it stays as it is. Of several dumps the first is the step's and the others are
// taken out. It returns how many it took out.
func (r *reader) instead(p *part, s captureStep, a *analysis.Artifact, parts []*part) int {
	var more []*part
	for _, q := range parts {
		if q.text != nil || q.profile != nil || q.threads != nil {
			more = append(more, q)
		}
	}
	if len(more) == 0 {
		if a != nil && s.Status == "done" && strings.HasPrefix(s.Name, "goroutines ") && !strings.HasPrefix(a.Kind, "goroutine") {
			r.problem(analysis.Problem{Path: a.Path, Offset: -1, Severity: analysis.Warning,
				What: fmt.Sprintf("%s at t%d holds no goroutine", s.Name, p.capture.Round), Why: "the endpoint answered with something else, and the capture took it for a dump: " + a.Reason,
				Hint: "look at the file, give the capture the address and the header that the endpoint wants, and capture again"})
		}
		return 0
	}
	first := slices.MinFunc(more, func(a, b *part) int { return cmp.Compare(a.ordinal, b.ordinal) })
	if len(more) == 1 {
		return 0
	}
	first.ordinal, first.section = 0, false
	r.parts = slices.DeleteFunc(r.parts, func(q *part) bool { return q != first && slices.Contains(more, q) })
	r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Warning,
		What: fmt.Sprintf("%s at t%d repeats itself: only the first of %d dumps counts", s.Name, p.capture.Round, len(more)),
		Why:  "one step of a capture is one instant, and an endpoint answers a request with one dump",
		Hint: "ask the endpoint by hand, and look at what stands between it and the capture"})
	return len(more) - 1
}

// verifyStep reports whether a file of a step is there and has the hash that it had when it was
// captured.
func (r *reader) verifyStep(p *part, s captureStep, a *analysis.Artifact) bool {
	switch {
	case a == nil:
		r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Warning,
			What: clip(path.Base(s.File), longestWords) + " is missing", Why: "the manifest of the capture names it, and it is not in the upload",
			Hint: "upload the archive as leakdiff collect wrote it"})
	case s.SHA256 == "" || r.recoded[a.Path]:
	case a.SHA256 == s.SHA256 || a.SHA256 == r.joinedSum(a, s.SHA256):
		return true
	case a.Truncated:
		r.problem(analysis.Problem{Path: a.Path, Offset: -1, Severity: analysis.Warning,
			What: "is shorter than when it was captured", Why: "its archive ends inside it: its hash is not that of the manifest", Hint: "upload the whole archive"})
	default:
		r.problem(analysis.Problem{Path: a.Path, Offset: -1, Severity: analysis.Warning,
			What: "differs from what was captured", Why: "its SHA-256 is " + clip(a.SHA256, 12) + " and the manifest of the capture says " + clip(s.SHA256, 12),
			Hint: "it was changed or damaged after the capture; upload the archive as leakdiff collect wrote it"})
	}
	return false
}

// joinedSum is the hash that one file of joined fdinfo files has as an artifact, which
// is made as for a directory.
func (r *reader) joinedSum(a *analysis.Artifact, sum string) string {
	if !gathered(a.Kind) {
		return ""
	}
	joined := sha256.Sum256([]byte(path.Base(a.Path) + " " + sum + "\n"))
	return hex.EncodeToString(joined[:])
}

// capture is the manifest that the snapshot's directory holds, nil without one.
func (g *group) capture() *part {
	for _, p := range g.context {
		if p.capture != nil && p.dir == g.dir {
			return p
		}
	}
	return nil
}

// captureSteps are the steps that time each kind of evidence, the one whose figures
// count first.
var captureSteps = map[analysis.Kind][]string{
	analysis.KindGoroutine:  {"goroutines debug=2", "goroutines debug=1", "goroutines proto", "sigquit"},
	analysis.KindThread:     {"threads", "sigquit"},
	analysis.KindDescriptor: {"fdinfo", "fd", "lsof", "node report"},
	analysis.KindWatch:      {"fdinfo"},
}

// stepTimes sets the time of each kind of evidence that was taken at another time than
// the snapshot: an endpoint that hangs puts minutes between the two.
func (g *group) stepTimes(s *analysis.Snapshot) {
	p := g.capture()
	if p == nil || s.CapturedAt.IsZero() {
		return
	}
	for kind, names := range captureSteps {
		at := p.capture.when(names)
		if s.Totals.Of(kind) == nil || at.IsZero() {
			continue
		}
		delete(s.Times, kind)
		if at.Sub(s.CapturedAt).Abs() > sameInstant {
			if s.Times == nil {
				s.Times = map[analysis.Kind]time.Time{}
			}
			s.Times[kind] = at.UTC()
		}
	}
}

func (m *captureManifest) when(names []string) time.Time {
	for _, name := range names {
		for _, s := range m.Steps {
			if s.Name == name && s.File != "" {
				return s.At
			}
		}
	}
	return time.Time{}
}

// podNames are those of the capture: "namespace/name" by uid.
func (m *captureManifest) podNames() map[string]string {
	out := make(map[string]string, len(m.Pods))
	for _, pod := range m.Pods {
		out[pod.UID] = pod.Namespace + "/" + pod.Name
	}
	return out
}

// cut reports an fdinfo that was not read to its end: its archive stops within it, or the
// capture says so.
func (b *builder) cut(fdinfo *part) bool {
	if fdinfo == nil || fdinfo.fdinfo == nil {
		return false
	}
	return fdinfo.fdinfo.cut || b.partial("fdinfo")
}

// partial reports a step of the capture that did not get to its end.
func (b *builder) partial(step string) bool {
	p := b.g.capture()
	return p != nil && slices.ContainsFunc(p.capture.Steps, func(s captureStep) bool {
		return s.Status == "partial" && s.Name == step
	})
}

// networkNamespace is the inode of the network namespace, 0 if it is unknown.
func (p capturedProcess) networkNamespace() float64 {
	text, found := strings.CutPrefix(p.NetworkNamespace, "net:[")
	text, closed := strings.CutSuffix(text, "]")
	inode, err := strconv.ParseUint(text, 10, 53) // as a figure is exact
	if !found || !closed || err != nil {
		return 0
	}
	return float64(inode)
}

// start is the process' start as in stat, "" if unknown.
func (p capturedProcess) start() string {
	if p.StartTicks == 0 {
		return ""
	}
	return strconv.FormatUint(p.StartTicks, 10)
}

func readHandles(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	handles, problems, err := procfs.ParseHandles(body, p.path)
	r.problem(problems...)
	p.handles = handles
	a.Rows = len(handles)
	a.Outcome = wording.Plural(len(handles), "watched file handle", "watched file handles")
	return err
}
