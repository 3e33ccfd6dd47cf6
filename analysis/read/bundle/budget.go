package bundle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// headSize is how much of every file is looked at before it is named, and the
// size of every buffer.
const headSize = 64 << 10

// walk is the state of one walk. It is used by one goroutine only.
type walk struct {
	ctx      context.Context
	budget   Budget
	tempDir  string
	now      func() time.Time
	deadline time.Time
	visit    func(*Member) error
	// want is the display path that Open looks for; empty visits everything.
	want string

	stats    Stats
	problems []analysis.Problem
	unlisted int
	names    names
	// at is the display path that is being unpacked.
	at string
	// err is ctx's or visit's error; nothing goes on after it.
	err error

	spent   int64
	entries int
	nested  int
	deep    tally
	// windows counts the decoders in use that keep a large window.
	windows int
	// parsing lifts the ratio limit while a member is read as a dump.
	parsing bool

	free   []*countedReader
	flates []flateReader
	head   []byte
	peeker *bufio.Reader
	// small is the member of smallLeaf.
	small Member
}

func newWalk(ctx context.Context, cfg Config, visit func(*Member) error) *walk {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	b := cfg.Budget.withDefaults()
	return &walk{
		ctx: ctx, budget: b, tempDir: cfg.TempDir, now: cfg.Now, visit: visit,
		deadline: cfg.Now().Add(b.Duration), names: newNames(),
	}
}

// errStopped ends every stream once a budget of the whole walk is used up.
var errStopped = errors.New("a limit of the whole upload was reached")

// errReported ends a stream whose loss is among the problems already.
var errReported = errors.New("the rest was lost")

// over reports whether the walk has ended.
func (w *walk) over() bool { return w.err != nil || w.stats.Stopped != "" }

// check is called wherever bytes move, so that neither ctx nor the time budget
// can be overrun by input that yields nothing.
func (w *walk) check() error {
	if w.err != nil {
		return w.err
	}
	if w.stats.Stopped != "" {
		return errStopped
	}
	if err := w.ctx.Err(); err != nil {
		w.err = err
		return err
	}
	if w.now().After(w.deadline) {
		return w.stop("time", fmt.Sprintf("the upload took longer than %v to unpack", w.budget.Duration),
			"upload the dumps themselves instead of the whole bundle")
	}
	return nil
}

// stop ends the walk for the budget of that name.
func (w *walk) stop(budget, why, hint string) error {
	w.problem(analysis.Error, w.at, "unpacking stopped here", why+"; what comes after this file was not looked at", hint)
	w.stats.Stopped = budget
	return errStopped
}

// spend takes n unpacked bytes from the budget.
func (w *walk) spend(n int) error {
	w.spent += int64(n)
	if w.spent <= w.budget.Bytes || w.over() {
		return w.check()
	}
	return w.stop("bytes", fmt.Sprintf("the upload unpacks to more than %s", wording.Size(w.budget.Bytes)),
		"upload the dumps themselves instead of the whole bundle")
}

// entry takes one entry from the budget.
func (w *walk) entry() bool {
	w.entries++
	if w.entries <= w.budget.Entries {
		return w.check() == nil
	}
	w.stop("entries", fmt.Sprintf("the upload holds more than %d files", w.budget.Entries),
		"upload only the directories that hold dumps")
	return false
}

func (w *walk) problem(severity analysis.Severity, path, what, why, hint string) {
	w.coded("", severity, path, what, why, hint)
}

// broken notes that the stream at a path ended as b says.
func (w *walk) broken(severity analysis.Severity, path string, b *broken) {
	w.coded(b.code, severity, path, b.what, b.why, b.hint)
}

func (w *walk) coded(code analysis.ProblemCode, severity analysis.Severity, path, what, why, hint string) {
	if w.want != "" {
		return
	}
	if len(w.problems) >= w.budget.Problems {
		w.unlisted++
		return
	}
	w.problems = append(w.problems, analysis.Problem{
		Path: path, Offset: -1, Severity: severity, Code: code, What: what, Why: why, Hint: hint,
	})
}

func (w *walk) listed() []analysis.Problem {
	if w.unlisted == 0 {
		return w.problems
	}
	return append(w.problems, analysis.Problem{
		Offset: -1, Severity: analysis.Warning, What: fmt.Sprintf("%d more problems are not listed", w.unlisted),
		Why:  fmt.Sprintf("at most %d are kept for one upload", w.budget.Problems),
		Hint: "the listed ones usually have the same cause",
	})
}

// inputReader reads an input and takes its bytes from the budget.
type inputReader struct {
	w *walk
	r io.Reader
}

func (t *inputReader) Read(p []byte) (int, error) {
	if err := t.w.check(); err != nil {
		return 0, err
	}
	n, err := t.r.Read(p)
	t.w.stats.BytesIn += int64(n)
	if stop := t.w.spend(n); stop != nil {
		return n, stop
	}
	return n, err
}

// A countedReader is a buffered stream that knows how much of it was consumed. The
// buffer is a *bufio.Reader because flate reads exactly as much as it needs of
// one, and fastest.
type countedReader struct {
	w  *walk
	r  io.Reader
	n  int64
	br *bufio.Reader
}

func (w *walk) counted(r io.Reader) *countedReader {
	if last := len(w.free) - 1; last >= 0 {
		l := w.free[last]
		w.free = w.free[:last]
		l.r, l.n = r, 0
		l.br.Reset(l)
		return l
	}
	l := &countedReader{w: w, r: r}
	l.br = bufio.NewReaderSize(l, headSize)
	return l
}

// close releases the reader and its buffer; it must not be used afterwards.
func (l *countedReader) close() {
	l.br.Reset(nil)
	l.r = nil
	l.w.free = append(l.w.free, l)
}

func (l *countedReader) Read(p []byte) (int, error) {
	if err := l.w.check(); err != nil {
		return 0, err
	}
	// A caller with a huge buffer must not overrun the budgets in one read.
	n, err := l.r.Read(p[:min(len(p), 4*headSize)])
	l.n += int64(n)
	return n, err
}

func (l *countedReader) consumed() int64 { return l.n - int64(l.br.Buffered()) }

// meter reads a decoder and enforces the budgets on what comes out of it.
type meter struct {
	w *walk
	r io.Reader
	// in is how many packed bytes the decoder took.
	in      func() int64
	counted int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := guard(m.r, p)
	if stop := m.w.spend(n); stop != nil {
		return n, stop
	}
	if m.w.parsing {
		return n, err
	}
	m.counted += int64(n)
	if m.counted > m.w.budget.RatioFloor && m.counted/m.w.budget.Ratio > m.in() {
		return n, &broken{
			what: "unpacking of this file was stopped", cut: true,
			why:  fmt.Sprintf("it unpacks to more than %d times its packed size", m.w.budget.Ratio),
			hint: "if it is a dump, unpack it and upload it by itself",
		}
	}
	return n, err
}

// guard turns a decoder's panic into an error: decoders of other authors read
// hostile bytes here, and one bad member must not end the service.
func guard(r io.Reader, p []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			n, err = 0, &broken{what: "is damaged", cut: true, why: fmt.Sprintf("its decoder gave up: %v", v), hint: reupload}
		}
	}()
	return r.Read(p)
}

// broken explains in words why a stream ended.
type broken struct {
	what, why, hint string
	code            analysis.ProblemCode
	// cut is true if data is missing. Otherwise all data is there but not trusted.
	cut bool
	err error
}

func (b *broken) Error() string { return b.what + ": " + b.why }
func (b *broken) Unwrap() error { return b.err }

const reupload = "make the archive again and compare its size before uploading"

// explain puts any error of a stream into words.
func explain(err error) *broken {
	var b *broken
	switch {
	case errors.As(err, &b):
		return b
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &broken{what: "stops before its end", code: analysis.CutFile, cut: true, why: "the data ends in the middle", hint: reupload, err: err}
	}
	return &broken{what: "is damaged", cut: true, why: err.Error(), hint: reupload, err: err}
}
