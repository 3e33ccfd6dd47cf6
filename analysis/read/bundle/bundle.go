// Package bundle unpacks what was uploaded. It takes inputs (archives, packed files,
// loose files, symbolic links), removes every layer it knows (gzip, zip, tar, zstd, xz,
// bzip2, lz4, UTF-16, byte order marks) under one budget, and visits the files inside
// one after the other, as streams under safe display paths. It never extracts anything
// to a name and follows no link. It does not know what the files mean.
package bundle

import (
	"context"
	"io"
	"strings"
	"time"

	"leakdiff/analysis"
)

// Budget limits one walk as a whole, whatever the archives in it declare. A zero field
// takes its value from DefaultBudget.
type Budget struct {
	// Bytes is how much may come out of all decoders together, every layer of
	// nested archives counted, plus the inputs themselves.
	Bytes int64
	// Ratio is how often the packed size one packed stream may unpack to, once it
	// has given RatioFloor bytes. What is read while it is parsed as a dump does
	// not count: a million equal goroutines pack very well.
	Ratio      int64
	RatioFloor int64
	// Entries counts inputs and archive entries of any type.
	Entries int
	// Archives counts archives inside archives, in the whole bundle.
	Archives int
	// Depth is how many archives may lie inside each other, and how many packings
	// may lie around one file.
	Depth int
	// Duration is measured by Config.Now.
	Duration time.Duration
	// Problems is the number of problems that are listed; the rest is counted in one more.
	Problems int
}

// DefaultBudget is meant for one upload of a support bundle.
func DefaultBudget() Budget {
	return Budget{
		Bytes: 32 << 30, Ratio: 200, RatioFloor: 64 << 20, Entries: 200_000,
		Archives: 500, Depth: 4, Duration: 10 * time.Minute, Problems: 1000,
	}
}

func (b Budget) withDefaults() Budget {
	d := DefaultBudget()
	set := func(v *int64, def int64) {
		if *v <= 0 {
			*v = def
		}
	}
	setInt := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&b.Bytes, d.Bytes)
	set(&b.Ratio, d.Ratio)
	set(&b.RatioFloor, d.RatioFloor)
	setInt(&b.Entries, d.Entries)
	setInt(&b.Archives, d.Archives)
	setInt(&b.Depth, d.Depth)
	setInt(&b.Problems, d.Problems)
	if b.Duration <= 0 {
		b.Duration = d.Duration
	}
	return b
}

// Config controls the unpacking; the zero value works.
type Config struct {
	Budget Budget
	// TempDir takes unnamed copies of archives that need random access (zip) and
	// do not fit into memory; they are removed before Walk returns. Empty means
	// the system's.
	TempDir string
	// Now bounds plausible file times and measures the time budget; nil means
	// time.Now.
	Now func() time.Time
}

// Input is one uploaded or named file, or a symbolic link found beside them.
type Input struct {
	// Name is a path with slashes or backslashes; it becomes a display path.
	Name string
	// Size is in bytes, -1 if unknown; it is shown and never relied on.
	Size int64
	// ModTime counts like the time of an archive's entry; zero if it is not known.
	ModTime time.Time
	// Link is the target of a symbolic link, which has no content; Open is then
	// not called.
	Link string
	// Open returns the content. If the reader is also an io.ReaderAt and io.Seeker (an
	// *os.File), zip archives are read in place instead of being copied.
	Open func() (io.ReadCloser, error)
}

// Stats counts what a walk did.
type Stats struct {
	// Files are the regular files visited, Archives the archives opened.
	Files, Archives int
	// BytesIn were read from the inputs, BytesOut from the bodies of members.
	BytesIn, BytesOut int64
	// Stopped names the budget that ended the walk early: "bytes", "entries" or
	// "time"; empty if everything was walked.
	Stopped string
}

// Walk unpacks the inputs in order and calls visit for every file and link in them. The
// members of a single archive have paths without its name. With several inputs, members
// of an archive are "input!/member" and other files "input". The parts of one split
// file ("x.tar.gz-00" and "-01", "x.zip.001", "x.tar.partaa", "x.z01" and "x.zip") are
// read as that file, under its name; a problem names each part that is missing.
//
// Whatever is damaged, refused or over a budget becomes a problem, and the walk goes on
// with the next file. The error is ctx's, visit's, or a Fault with the code
// "unreadable" if no input could be opened.
func Walk(ctx context.Context, cfg Config, inputs []Input, visit func(*Member) error) (Stats, []analysis.Problem, error) {
	w := newWalk(ctx, cfg, visit)
	err := w.run(inputs)
	return w.stats, w.listed(), err
}

func (w *walk) run(inputs []Input) error {
	var failed error
	opened := 0
	uploads := w.join(inputs)
	for _, in := range uploads {
		if w.over() || !w.entry() {
			break
		}
		s := stream{path: cleanPath(in.Name), size: in.Size, modified: in.ModTime, parts: in.parts}
		if len(uploads) > 1 {
			s.path = w.names.take(s.path)
			s.named = true
		}
		if !w.wanted(s) {
			opened++
			continue
		}
		before := len(w.problems)
		if err := w.input(in.Input, s); err != nil {
			failed = err
			continue
		}
		w.further(in, before)
		opened++
	}
	w.tooDeep()
	if w.err != nil {
		return w.err
	}
	if failed != nil && opened == 0 {
		return &analysis.Fault{
			Code: "unreadable", What: "nothing could be opened", Why: failed.Error(),
			Hint: "check that the files exist and may be read", Err: failed,
		}
	}
	return nil
}

// input walks one input. It returns an error if the input could not be opened.
func (w *walk) input(in Input, s stream) error {
	w.at = s.path
	if in.Link != "" {
		w.link(s, Symlink, in.Link)
		return nil
	}
	rc, err := in.Open()
	if err != nil {
		w.problem(analysis.Error, s.path, "could not be opened", err.Error(), "check that the file exists and may be read")
		return err
	}
	defer rc.Close()
	s.random = randomAccess(rc)
	w.content(s, &inputReader{w: w, r: rc})
	return nil
}

// wanted reports whether s is, or may contain, what Open looks for.
func (w *walk) wanted(s stream) bool {
	if w.want == "" || w.want == s.path || !s.named {
		return true
	}
	below, ok := strings.CutPrefix(w.want, s.path)
	return ok && strings.HasPrefix(below, "!/")
}
