package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mattn/go-isatty"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/wording"
)

// terminal reports that a stream is one.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// colored reports whether standard output shows colours and nobody forbids them.
func (m *Main) colored() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal(m.Stdout)
}

// progress is a line on standard error about work that takes longer than a second: how many
// bytes of the inputs were read.
type progress struct {
	to io.Writer
	// word is what is done, after what is done when all inputs were read.
	word, after string
	total       int64 // 0 if a size is not known
	read        atomic.Int64
	from        time.Time
	done        chan struct{}
	ended       chan struct{}
	// detail is what the reader says.
	detail atomic.Pointer[string]
}

// barWidth is that of the bar, barEvery how often it is drawn.
const (
	barWidth = 30
	barEvery = 200 * time.Millisecond
)

// progress counts what is read of inputs and, if standard error is a terminal, shows it. end
// must be called.
func (m *Main) progress(word, after string, inputs []bundle.Input) *progress {
	p := &progress{to: m.Stderr, word: word, after: after, from: time.Now()}
	if !terminal(m.Stderr) {
		return p
	}
	p.watch(inputs)
	p.done, p.ended = make(chan struct{}), make(chan struct{})
	go p.show()
	return p
}

// watch counts the bytes that are read of inputs.
func (p *progress) watch(inputs []bundle.Input) {
	known := true
	for i := range inputs {
		in := &inputs[i]
		known = known && in.Size >= 0
		p.total += max(0, in.Size)
		open := in.Open
		if open == nil {
			continue
		}
		in.Open = func() (io.ReadCloser, error) {
			body, err := open()
			if f, ok := body.(*os.File); ok && err == nil {
				return countedFile{f, &p.read}, nil
			}
			return countedReader{body, &p.read}, err
		}
	}
	if !known {
		p.total = 0
	}
}

// step takes what the reader says.
func (p *progress) step(now ingest.Progress) {
	if p.done != nil {
		text := wording.Plural(now.Files, "file", "files")
		p.detail.Store(&text)
	}
}

func (p *progress) show() {
	defer close(p.ended)
	tick := time.NewTicker(barEvery)
	defer tick.Stop()
	shown := false
	for {
		select {
		case <-p.done:
			if shown {
				fmt.Fprint(p.to, "\r\x1b[K")
			}
			return
		case <-tick.C:
			if time.Since(p.from) >= time.Second {
				fmt.Fprint(p.to, "\r\x1b[K"+p.line())
				shown = true
			}
		}
	}
}

// line is the bar in words:
//
//	reading [##########                    ]  33 %, 120 MB of 360 MB, 12 files
func (p *progress) line() string {
	read := p.read.Load()
	text := p.word
	switch {
	case p.total > 0 && read >= p.total:
		text = p.after + ", " + wording.Bytes(p.total)
	case p.total > 0:
		full := int(read * barWidth / p.total)
		text += fmt.Sprintf(" [%s%s] %3d %%, %s of %s", strings.Repeat("#", full), strings.Repeat(" ", barWidth-full), read*100/p.total, wording.Bytes(read), wording.Bytes(p.total))
	default:
		text += " " + wording.Bytes(read)
	}
	if detail := p.detail.Load(); detail != nil {
		text += ", " + *detail
	}
	return strings.ReplaceAll(text, "\u00a0", " ")
}

// end removes the line.
func (p *progress) end() {
	if p.done != nil {
		close(p.done)
		<-p.ended
	}
}

// countedReader counts the bytes that are read.
type countedReader struct {
	io.ReadCloser
	n *atomic.Int64
}

func (r countedReader) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	r.n.Add(int64(n))
	return n, err
}

// countedFile counts the bytes that are read of a file, which can be read at any place.
type countedFile struct {
	*os.File
	n *atomic.Int64
}

func (f countedFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.n.Add(int64(n))
	return n, err
}

func (f countedFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	f.n.Add(int64(n))
	return n, err
}

// WriteTo hides that of the file, which would not count.
func (f countedFile) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{f})
}
