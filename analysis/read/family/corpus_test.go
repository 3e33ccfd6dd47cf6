package family_test

import (
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"leakdiff/analysis"
)

func open(t *testing.T, name string) io.Reader {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if !strings.HasSuffix(name, ".gz") {
		return f
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// sample is one stack and how often a file holds it.
type sample struct {
	id    int
	state string
	count int
	stack *analysis.Stack
}

var (
	headerLine = regexp.MustCompile(`^goroutine (\d+) .*?\[([^\],]*)[^\]]*\].*:$`)
	fileLine   = regexp.MustCompile(`^\t(.*):(\d+)( \+0x.*| fp=.*)?$`)
	recordLine = regexp.MustCompile(`^(\d+) @`)
	symbolLine = regexp.MustCompile(`^#\t0x[0-9a-f]+\t(.*)\+0x[0-9a-f]+\t+(.*):(\d+)$`)
)

// readText is a reader of its own for unlabelled debug=2 and crash text: the
// tests must not depend on the package that feeds family. It reads the corpus's
// well-formed files only.
func readText(t *testing.T, r io.Reader) []sample {
	t.Helper()
	var out []sample
	var pending string
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		line := scan.Text()
		if m := headerLine.FindStringSubmatch(line); m != nil {
			id, _ := strconv.Atoi(m[1])
			out = append(out, sample{id: id, state: m[2], count: 1, stack: &analysis.Stack{}})
			pending = ""
			continue
		}
		if len(out) == 0 {
			continue
		}
		if line == "" {
			pending = ""
			continue
		}
		stack := out[len(out)-1].stack
		if m := fileLine.FindStringSubmatch(line); m != nil && pending != "" {
			n, _ := strconv.Atoi(m[2])
			creator, created := strings.CutPrefix(pending, "created by ")
			if created {
				creator, _, _ = strings.Cut(creator, " in goroutine ")
				stack.CreatedBy = analysis.Frame{Func: creator, File: m[1], Line: n}
			} else {
				stack.Frames = append(stack.Frames, analysis.Frame{Func: bare(pending), File: m[1], Line: n})
			}
			pending = ""
			continue
		}
		if strings.HasPrefix(line, "...") {
			stack.Elided = -1
			continue
		}
		pending = line
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	kept := out[:0]
	for _, s := range out {
		if s.id != 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// bare cuts the arguments off a frame line: its last balanced parentheses.
func bare(line string) string {
	depth := 0
	for i := len(line) - 1; i > 0; i-- {
		switch line[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return line[:i]
			}
		}
	}
	return line
}

func readDebug1(t *testing.T, r io.Reader) []sample {
	t.Helper()
	var out []sample
	scan := bufio.NewScanner(r)
	for scan.Scan() {
		if m := recordLine.FindStringSubmatch(scan.Text()); m != nil {
			n, _ := strconv.Atoi(m[1])
			out = append(out, sample{count: n, stack: &analysis.Stack{}})
			continue
		}
		if m := symbolLine.FindStringSubmatch(scan.Text()); m != nil {
			n, _ := strconv.Atoi(m[3])
			stack := out[len(out)-1].stack
			stack.Frames = append(stack.Frames, analysis.Frame{Func: strings.TrimRight(m[1], "\t "), File: m[2], Line: n})
		}
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func readProto(t *testing.T, r io.Reader) []sample {
	t.Helper()
	p, err := profile.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	var out []sample
	for _, s := range p.Sample {
		stack := &analysis.Stack{}
		for _, location := range s.Location {
			for _, line := range location.Line {
				stack.Frames = append(stack.Frames, analysis.Frame{Func: line.Function.Name, File: line.Function.Filename, Line: int(line.Line)})
			}
		}
		out = append(out, sample{count: int(s.Value[0]), stack: stack})
	}
	return out
}
