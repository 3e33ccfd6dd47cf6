// Package histogram reads class histograms of a JVM: how many objects of each class its heap
// holds, and their bytes. It does not compare them.
package histogram

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
)

const (
	// mostClasses bounds the classes that are kept of a histogram: those with most bytes.
	mostClasses = 300
	// mostHistograms bounds those of one file.
	mostHistograms = 500
)

// Histogram is one table of a text.
type Histogram struct {
	analysis.Heap
	// PID is the process that jcmd prints above its table, 0 without one.
	PID int
	// Begins is the offset of its titles.
	Begins int64
	// Refused counts lines that begin like a row and are none.
	Refused int
	// Total reports that the sum of all rows was read, which is the last line.
	Total bool
}

// IsTitles reports the line of titles above a table.
//
//	" num     #instances         #bytes  class name (module)"  HotSpot, jcmd GC.class_histogram and jmap -histo
//	"num   object count     total size    class name"          OpenJ9
func IsTitles(text string) bool { return titles.MatchString(text) }

var (
	titles = expression.Lazy(`^\s*num\s+(?:#instances\s+#bytes\s+[Cc]lass name|object count\s+total size\s+class name)(?: \(module\))?\s*$`)
	row    = expression.Lazy(`^\s*\d+:?\s+(\d+)\s+(\d+)\s+(\S.*?)(?: \([^()\s]+\))?\s*$`)
	total  = expression.Lazy(`^\s*Total:?\s+(\d+)\s+(\d+)\s*$`)
	ofPID  = expression.Lazy(`^\s*(\d{1,9}):\s*$`)
	like   = expression.Lazy(`^\s*\d+:?\s`)
)

// Parse reads the histograms of a text. What stands between them is passed over. The error is that of
// r, or an *analysis.Fault with the code "no_histogram" for a text without any.
func Parse(r io.Reader, path string) ([]Histogram, []analysis.Problem, error) {
	p := parser{problems: &line.Problems{Path: path}}
	in := line.NewReader(r)
	for l := range in.All() {
		p.line(l)
	}
	p.end()
	err := in.Failure(path)
	if err == nil && p.seen == 0 {
		err = &analysis.Fault{Code: "no_histogram", What: "the file has no class histogram", Why: `no line reads "num #instances #bytes class name"`, Hint: "write one with jcmd PID GC.class_histogram"}
	}
	return p.found, p.problems.All(), err
}

type parser struct {
	problems *line.Problems
	found    []Histogram
	// seen counts tables, also those that are not kept. open is set within one.
	seen int
	open bool
	// pid is that of the line before the titles.
	pid int
	// byName are the rows of the table by their class.
	byName map[string]int
}

func (p *parser) line(l line.Line) {
	text := l.Text
	if IsTitles(text) {
		p.end()
		p.begin(l)
		return
	}
	if m := ofPID.FindStringSubmatch(text); m != nil {
		p.end()
		p.pid, _ = strconv.Atoi(m[1])
		return
	}
	if !p.open {
		return
	}
	h := &p.found[len(p.found)-1]
	switch m := row.FindStringSubmatch(text); {
	case m != nil:
		p.add(h, ClassName(m[3]), number(m[1]), number(m[2]))
		return
	case like.MatchString(text):
		h.Refused++
		p.problems.Add(analysis.Warning, l, "a row of the histogram was not understood", line.Quote(text)+" lacks objects, bytes or a class", "take the histogram again; the other rows were read")
		return
	}
	if m := total.FindStringSubmatch(text); m != nil {
		h.Objects, h.Bytes, h.Total = number(m[1]), number(m[2]), true
		p.end()
		return
	}
	if strings.Trim(text, " -\t") != "" && len(h.Rows) > 0 { // what comes behind a table without its end
		p.end()
	}
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // one too large becomes the largest
	return n
}

func (p *parser) begin(l line.Line) {
	if p.seen++; p.seen > mostHistograms {
		if p.seen == mostHistograms+1 {
			p.problems.Add(analysis.Warning, l, fmt.Sprintf("the file holds more than %d histograms; the rest is not read", mostHistograms), "so many of one file are more than a page can compare", "put the rest into a file of its own")
		}
		return
	}
	p.open, p.byName = true, map[string]int{}
	p.found = append(p.found, Histogram{Heap: analysis.Heap{By: analysis.HeapByClass}, PID: p.pid, Begins: l.Offset})
	p.pid = 0
}

// add counts a row. Classes of one name, of several loaders, are one.
func (p *parser) add(h *Histogram, name string, objects, size int64) {
	if at, known := p.byName[name]; known {
		h.Rows[at].Objects, h.Rows[at].Bytes = sum(h.Rows[at].Objects, objects), sum(h.Rows[at].Bytes, size)
		return
	}
	if len(h.Rows) >= mostRows {
		h.More++
		return
	}
	name = strings.Clone(name)
	p.byName[name] = len(h.Rows)
	h.Rows = append(h.Rows, analysis.HeapRow{Name: name, Bytes: size, Objects: objects})
}

// mostRows bounds the rows that are held until a table ends: they come in the order of their bytes.
const mostRows = 50_000

func sum(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

// end completes the table being read, if any.
func (p *parser) end() {
	if !p.open {
		return
	}
	p.open = false
	h := &p.found[len(p.found)-1]
	if h.LowerBound = !h.Total || h.Refused > 0; !h.Total {
		for i := range h.Rows {
			h.Objects, h.Bytes = sum(h.Objects, h.Rows[i].Objects), sum(h.Bytes, h.Rows[i].Bytes)
		}
	}
	slices.SortStableFunc(h.Rows, func(a, b analysis.HeapRow) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.Name, b.Name))
	})
	h.More += max(0, len(h.Rows)-mostClasses)
	h.Rows = slices.Clone(h.Rows[:min(len(h.Rows), mostClasses)])
}

// primitives are the letters of arrays without objects in them.
var primitives = map[byte]string{'Z': "boolean", 'B': "byte", 'C': "char", 'D': "double", 'F': "float", 'I': "int", 'J': "long", 'S': "short"}

// ClassName writes the name of a class as source code does.
//
//	"[B" = "byte[]", "[[Lcom.acme.Session;" = "com.acme.Session[][]", "com.acme.Session" = "com.acme.Session"
func ClassName(name string) string {
	element := strings.TrimLeft(name, "[")
	depth := len(name) - len(element)
	if depth == 0 || element == "" {
		return name
	}
	if class, ok := strings.CutPrefix(element, "L"); ok && strings.HasSuffix(class, ";") {
		element = strings.TrimSuffix(class, ";")
	} else if word := primitives[element[0]]; word != "" && len(element) == 1 {
		element = word
	} else {
		return name
	}
	return element + strings.Repeat("[]", min(depth, 255))
}

// Tell reports a text that has the titles of a table and a row below them.
func Tell(text []byte) bool {
	titled := false
	for l := range bytes.Lines(text) {
		l = bytes.TrimRight(l[:min(len(l), 1024)], "\r\n")
		switch {
		case titles.Match(l):
			titled = true
		case titled && row.Match(l):
			return true
		}
	}
	return false
}
