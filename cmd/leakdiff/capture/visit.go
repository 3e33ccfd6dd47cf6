package capture

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"leakdiff/analysis/say/wording"
)

// visit is one round of one process.
type visit struct {
	c     *collector
	p     *process
	round int
	dir   string
	// pprof and metrics are its endpoints, empty for none.
	pprof, metrics address
	manifest       Manifest
	// The counts are for the line for people, -1 if unknown.
	goroutines, descriptors, watches int
	failed                           int
	// targets are the targets in fd/ by descriptor.
	targets map[int]string
	// quit is true if the process got SIGQUIT.
	quit bool
	// cut says that a step failed because its connection was ended.
	cut bool
}

func (c *collector) visit(n int, p *process) *visit {
	return &visit{c: c, p: p, round: n, dir: path.Join(c.top, "t"+strconv.Itoa(n), p.dir), goroutines: -1, descriptors: -1, watches: -1,
		manifest: Manifest{
			Schema: Schema, Tool: c.cfg.Tool, Host: c.cfg.Host, Kernel: c.kernel, BootID: c.bootID,
			Round: n, Rounds: c.cfg.Count, Every: c.cfg.Every.Seconds(), Late: c.late.Seconds(), Started: Time{c.cfg.Now()},
			Process: p.identity, Steps: []Step{},
			Load: Load{Goroutines: -1, MaxGoroutines: max(c.cfg.MaxGoroutines, 0), StepSeconds: c.cfg.Budget.Seconds()},
		}}
}

func (v *visit) label() string { return "t" + strconv.Itoa(v.round) }

// of names the round, and how many there are if that is known.
//
//	"t0 of 10", "t0"
func (v *visit) of() string {
	if v.c.cfg.Count == 0 {
		return v.label()
	}
	return fmt.Sprintf("%s of %d", v.label(), v.c.cfg.Count)
}

// run captures everything, first what is quick and changes at once. An error costs its own
// step only. run returns only errors of the archive.
func (v *visit) run(ctx context.Context) error {
	if v.p.identity.PID != 0 {
		v.attach(ctx)
		v.kernel(ctx)
	}
	v.endpoints(ctx)
	if v.p.identity.PID != 0 {
		v.tools(ctx)
		switch err := v.ended(ctx); {
		case err != nil && v.quit:
			v.skip("process", Done, errQuit)
		case err != nil:
			v.skip("process", Failed, fmt.Errorf("%w during this round", err))
		}
	}
	return v.finish(ctx.Err() != nil)
}

// ended returns why the process is no longer there, and nil if it is. A server closes its
// connections before its process ends: after a connection that was cut, the process has
// a second to do so.
func (v *visit) ended(ctx context.Context) error {
	const (
		most  = time.Second
		pause = 10 * time.Millisecond
	)
	err := v.c.same(v.p)
	if !v.cut || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for err == nil {
		select {
		case <-tick.C:
			err = v.c.same(v.p)
		case <-ctx.Done():
			return v.c.same(v.p)
		}
	}
	return err
}

// isCut reports whether an error is that of a connection that the other side ended.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// finish writes the manifest.
func (v *visit) finish(interrupted bool) error {
	m := &v.manifest
	m.Ended, m.Interrupted = Time{v.c.cfg.Now()}, interrupted
	v.c.addFiles(m.Steps)
	if m.Process.PodUID != "" || v.watches > 0 {
		m.Pods = v.pods()
	}
	for _, pod := range m.Pods {
		if pod.UID == m.Process.PodUID {
			m.Process.Pod = pod.Namespace + "/" + pod.Name
		}
	}
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	return v.c.archive.put(path.Join(v.dir, "manifest.json"), v.c.cfg.Now(), int64(len(text)), bytes.NewReader(text))
}

// pods returns those of the host and those that the process sees.
func (v *visit) pods() []Pod {
	out := pods("/")
	for _, pod := range pods(v.c.proc(v.p.identity.PID, "root")) {
		if !slices.Contains(out, pod) {
			out = append(out, pod)
		}
	}
	return out
}

// line describes the visit for people.
func (v *visit) line() string {
	var parts []string
	for _, part := range []struct {
		n         int
		one, many string
	}{{v.goroutines, "goroutine", "goroutines"}, {v.descriptors, "descriptor", "descriptors"}, {v.watches, "watch", "watches"}} {
		if part.n >= 0 {
			parts = append(parts, wording.Plural(part.n, part.one, part.many))
		}
	}
	if v.endedAsAsked() {
		parts = append(parts, errQuit.Error())
	}
	if v.failed > 0 {
		parts = append(parts, wording.Plural(v.failed, "step failed", "steps failed"))
	}
	return fmt.Sprintf("%s: %s: %s", v.of(), v.p.who(), strings.Join(parts, ", "))
}

// errQuit is why a process ended, which is no loss.
var errQuit = errors.New("it ended by SIGQUIT, as asked")

func (v *visit) endedAsAsked() bool {
	return slices.ContainsFunc(v.manifest.Steps, func(s Step) bool { return s.Name == "process" && s.Status == Done })
}

// A taker writes the content of one file. It ends soon after ctx does.
type taker func(ctx context.Context, w io.Writer) error

// take runs a step with one file. It stores what was written before an error.
func (v *visit) take(ctx context.Context, name, file string, f taker) (Step, []byte) {
	s := Step{Name: name, Status: Done, At: Time{v.c.cfg.Now()}}
	spool, err := v.c.archive.spool()
	if err != nil {
		return v.closeStep(s, err), nil
	}
	head, err := v.within(ctx, spool, f)
	if errors.Is(err, errAbandoned) {
		// The taker may still write to the spool, so the spool stays open and is not used.
		return v.closeStep(s, err), nil
	}
	defer spool.Close()
	size, end := spool.Seek(0, io.SeekCurrent)
	if end == nil {
		_, end = spool.Seek(0, io.SeekStart)
	}
	if end != nil || size == 0 {
		return v.closeStep(s, errors.Join(err, end)), head
	}
	s.File, s.Bytes = file, size
	sum := sha256.New()
	if err := v.c.archive.put(path.Join(v.dir, file), s.At.Time, size, io.TeeReader(spool, sum)); err != nil {
		s.File = ""
		return v.closeStep(s, err), head
	}
	s.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return v.closeStep(s, err), head
}

var (
	errAbandoned = errors.New("it did not answer and was left alone")
	errTooLong   = errors.New("it is longer than what is kept of one file")
)

// within runs f with the budget of a step. It returns the first bytes written.
func (v *visit) within(ctx context.Context, spool *os.File, f taker) (head []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, v.c.cfg.Budget)
	defer cancel()
	w := &bounded{w: spool, left: maxFile}
	done := make(chan error, 1)
	go func() { done <- f(ctx, w) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		// A read of procfs cannot be interrupted. It gets a moment more and is then
		// abandoned.
		grace := time.NewTimer(time.Second)
		defer grace.Stop()
		select {
		case err = <-done:
		case <-grace.C:
			return nil, fmt.Errorf("%w after %s", errAbandoned, v.c.cfg.Budget)
		}
	}
	switch {
	case err == nil && w.left < 0:
		err = errTooLong
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("no end within %s", v.c.cfg.Budget)
	case err != nil && ctx.Err() != nil:
		err = errors.New("the capture was ended here")
	}
	return w.head, err
}

// bounded writes a limited number of bytes and stores the first ones.
type bounded struct {
	w    io.Writer
	left int64
	head []byte
}

func (b *bounded) Write(p []byte) (int, error) {
	const most = 256
	if room := most - len(b.head); room > 0 {
		b.head = append(b.head, p[:min(room, len(p))]...)
	}
	if b.left < int64(len(p)) {
		b.left = -1
		return 0, errTooLong
	}
	b.left -= int64(len(p))
	return b.w.Write(p)
}

// closeStep adds a step to the manifest.
func (v *visit) closeStep(s Step, err error) Step {
	s.MS = v.c.cfg.Now().Sub(s.At.Time).Milliseconds()
	if isNoPairs(err) {
		s.Error, s.Status = err.Error(), Skipped
	} else if err != nil {
		s.Error, s.Status = err.Error(), Failed
		if s.File != "" {
			s.Status = Partial
		}
		v.failed++
		v.cut = v.cut || isCut(err)
		v.c.addLoss(fmt.Sprintf("%s of %s: %s", s.Name, v.p.who(), s.Error))
	}
	v.manifest.Steps = append(v.manifest.Steps, s)
	return s
}

func (p *process) who() string {
	if p.identity.PID == 0 {
		return strings.TrimSpace(Shown(p.target.Pprof) + " " + Shown(p.target.Metrics))
	}
	return fmt.Sprintf("%s (%d)", p.identity.Name, p.identity.PID)
}

// skip adds a step without a file to the manifest.
func (v *visit) skip(name, status string, why error) {
	s := Step{Name: name, Status: status, At: Time{v.c.cfg.Now()}, Error: why.Error()}
	if status == Failed {
		v.failed++
		v.c.addLoss(fmt.Sprintf("%s of %s: %s", name, v.p.who(), s.Error))
	}
	v.manifest.Steps = append(v.manifest.Steps, s)
}

// entry is a file of a directory, in memory until all are read.
type entry struct {
	name string
	// text is the content, or the target of a link.
	text []byte
}

// takeDirectory runs a step with a directory of files or of links.
func (v *visit) takeDirectory(ctx context.Context, name, dir string, put func(string, time.Time, []byte) error, hash func(entry) string, read func(context.Context) ([]entry, error)) []entry {
	s := Step{Name: name, Status: Done, At: Time{v.c.cfg.Now()}}
	type answer struct {
		entries []entry
		err     error
	}
	done := make(chan answer, 1)
	ctx, cancel := context.WithTimeout(ctx, v.c.cfg.Budget)
	defer cancel()
	go func() {
		entries, err := read(ctx)
		done <- answer{entries, err}
	}()
	var got answer
	select {
	case got = <-done:
	case <-ctx.Done():
		grace := time.NewTimer(time.Second)
		defer grace.Stop()
		select {
		case got = <-done:
		case <-grace.C:
			v.closeStep(s, fmt.Errorf("%w after %s", errAbandoned, v.c.cfg.Budget))
			return nil
		}
	}
	if len(got.entries) > manyFiles {
		v.join(s, dir+".txt", got.entries, got.err)
		return got.entries
	}
	var lines []string
	err := got.err
	for _, e := range got.entries {
		if err := put(path.Join(v.dir, dir, e.name), s.At.Time, e.text); err != nil {
			v.closeStep(s, err)
			return nil
		}
		lines = append(lines, e.name+" "+hash(e)+"\n")
		s.Bytes += int64(len(e.text))
	}
	if len(lines) > 0 {
		slices.Sort(lines)
		sum := sha256.Sum256([]byte(strings.Join(lines, "")))
		s.File, s.Files, s.SHA256 = dir+"/", len(lines), hex.EncodeToString(sum[:])
	}
	v.closeStep(s, err)
	return got.entries
}

// manyFiles is how many files a directory may have. Ten rounds of a process with ten
// thousand descriptors would make more files than a reader accepts.
const manyFiles = 1000

// join makes one file of a directory: fdinfo files with headings as "tail -n +1" prints
// them, links as lines "N -> TARGET".
func (v *visit) join(s Step, file string, entries []entry, err error) {
	var text bytes.Buffer
	for _, e := range entries {
		if s.Name == "fd" {
			fmt.Fprintf(&text, "%s -> %s\n", e.name, strings.ReplaceAll(string(e.text), "\n", " "))
		} else {
			fmt.Fprintf(&text, "==> fdinfo/%s <==\n%s\n", e.name, e.text)
		}
	}
	if broken := v.putFile(path.Join(v.dir, file), s.At.Time, text.Bytes()); broken != nil {
		v.closeStep(s, broken)
		return
	}
	sum := sha256.Sum256(text.Bytes())
	s.File, s.Bytes, s.SHA256 = file, int64(text.Len()), hex.EncodeToString(sum[:])
	v.closeStep(s, err)
}

func (v *visit) putFile(name string, at time.Time, text []byte) error {
	return v.c.archive.put(name, at, int64(len(text)), bytes.NewReader(text))
}

func (v *visit) putLink(name string, at time.Time, text []byte) error {
	return v.c.archive.link(name, at, string(text))
}

func hashOfFile(e entry) string {
	sum := sha256.Sum256(e.text)
	return hex.EncodeToString(sum[:])
}

func targetOfLink(e entry) string { return string(e.text) }

// copyOf reads a whole file of procfs, whatever size it states.
func copyOf(name string) taker {
	return func(_ context.Context, w io.Writer) error {
		f, err := os.Open(name)
		if err != nil {
			return withoutPath(err)
		}
		defer f.Close()
		_, err = io.Copy(w, f)
		return withoutPath(err)
	}
}

// withoutPath removes the path from an error of a file, since the step names it.
func withoutPath(err error) error {
	var of *os.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// numbered returns the names in a directory that are numbers, in order.
func numbered(dir string) ([]int, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, withoutPath(err)
	}
	var out []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// listing is what was read of a directory, with the error that ended it.
type listing struct {
	entries []entry
	size    int
	err     error
}

// add reads one file. It returns false for a descriptor that is closed meanwhile. After an error
// nothing more is read.
func (l *listing) add(fd int, read func(string) ([]byte, error), dir string) bool {
	if l.err != nil {
		return true
	}
	name := strconv.Itoa(fd)
	text, err := read(filepath.Join(dir, name))
	switch {
	case err != nil && gone(err) == errGone:
		return false
	case err != nil:
		l.err = withoutPath(err)
		return true
	}
	if l.size += len(text); l.size > maxFile {
		l.err = errTooLong
		return true
	}
	l.entries = append(l.entries, entry{name, text})
	return true
}

// descriptorFiles reads fdinfo/ and fd/ in one pass, number by number: read one after the other, the two
// of a busy process differ by what was opened and closed meanwhile. Each file is read by itself, for
// an archiver would trust the size 0 of procfs.
func (v *visit) descriptorFiles(ctx context.Context, fdinfo, fd string) (infos, links listing) {
	fds, err := numbered(fdinfo)
	if infos.err = err; err != nil {
		fds, links.err = numbered(fd)
	}
	for i, n := range fds {
		if ctx.Err() != nil {
			late := fmt.Errorf("%d of %d were read within %s", i, len(fds), v.c.cfg.Budget)
			infos.err, links.err = cmp.Or(infos.err, late), cmp.Or(links.err, late)
			return infos, links
		}
		before := infos
		if infos.add(n, os.ReadFile, fdinfo) && !links.add(n, readLink, fd) {
			infos = before
		}
	}
	return infos, links
}

// readLink returns the target of a link.
func readLink(name string) ([]byte, error) {
	target, err := os.Readlink(name)
	return []byte(target), err
}
