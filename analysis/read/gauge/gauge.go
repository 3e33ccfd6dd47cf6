// Package gauge reads counts that people and scripts collect over time: lines of a page of
// metrics with the names of their files or times in front, numbers one to a line below dates
// or prompts, and log lines with a label that the table knows. It knows what figure each is
// of and at which point in time it stands; it does not add up and does not judge.
package gauge

import (
	_ "embed"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/line"
)

// Unnamed is the figure of numbers of which nothing says what they count.
const Unnamed = "count"

// Sample is one number.
type Sample struct {
	// Figure is one of the table, or Unnamed.
	Figure string
	Value  float64
	// Owner is the process that a prompt or a heading above names.
	Owner line.Owner
	// Within is the file that stands in front of the line, as grep prints it.
	Within string
	// Stamp is the time on the line, zero without one.
	Stamp envelope.Stamp
	// Point numbers the points in time of the text.
	Point int
	// Line counts from 1. Offset is in bytes.
	Line, Offset int64
}

// Samples are those of a text.
type Samples struct {
	All []Sample
	// Begins are the offsets of the first sample of each point that is kept.
	Begins []int64
	// Points is how many points the text has. Of many one in Every is kept, and the last.
	Points, Every int
	// Refused is the number of lines that are no sample, date, prompt or heading, Left that of
	// samples of a point that has too many.
	Refused, Left int
}

// mostOfPoint bounds the samples of one point: a capture names a process or two and a few figures
// of each.
const mostOfPoint = 1000

// Parse reads a text. written is until when it was written. A new point begins where a date,
// another time or another file stands, and where the same figure of the same process comes
// again: several captures in one text are never added up. At most most points are kept, evenly.
// The error is that of r.
func Parse(r io.Reader, name string, written time.Time, most int) (out Samples, problems []analysis.Problem, err error) {
	found := &line.Problems{Path: name}
	in := line.NewReader(r)
	p := parser{written: written, byName: ofName(name), seen: map[key]bool{}}
	t := thinned{most: most, every: 1}
	for l := range in.All() {
		s, what := p.line(strings.TrimSpace(l.Text))
		switch what {
		case refused:
			if out.Refused++; out.Refused == 1 {
				found.Add(analysis.Note, l, "a line is no count", line.Quote(strings.TrimSpace(l.Text))+" is no number with a known name", "nothing: the other lines were read")
			}
		case sampled:
			if len(p.seen) >= mostOfPoint && !p.apart(&s) {
				out.Left++
				continue
			}
			if p.begins(s) {
				t.begin(out.Points, l.Offset)
				out.Points++
			}
			s.Line, s.Offset, s.Within = l.Number, l.Offset, strings.Clone(s.Within)
			t.last().samples = append(t.last().samples, s)
		}
	}
	out.Every = t.every
	for i, at := range t.points {
		out.Begins = append(out.Begins, at.begins)
		for _, s := range at.samples {
			s.Point = i
			out.All = append(out.All, s)
		}
	}
	return out, found.All(), in.Failure(name)
}

// thinned keeps one point in every and the last. Where there are too many, it keeps half of them.
type thinned struct {
	most, every int
	points      []point
}

type point struct {
	number  int
	begins  int64
	samples []Sample
}

func (t *thinned) last() *point { return &t.points[len(t.points)-1] }

func (t *thinned) begin(number int, offset int64) {
	if n := len(t.points); n > 0 && t.last().number%t.every != 0 {
		t.points = t.points[:n-1] // it was the last one
	}
	if len(t.points) >= t.most {
		t.every *= 2
		t.points = slices.DeleteFunc(t.points, func(x point) bool { return x.number%t.every != 0 })
	}
	t.points = append(t.points, point{number: number, begins: offset})
}

// Tell counts the first lines of a text with this name that are samples, and those that are
// neither samples nor dates, prompts, headings or comments.
func Tell(lines []string, name string) (samples, others int) {
	p := parser{byName: ofName(name), written: time.Unix(1<<31, 0)}
	for _, l := range lines {
		switch _, what := p.line(strings.TrimSpace(l)); what {
		case sampled:
			samples++
		case refused:
			others++
		}
	}
	return samples, others
}

// IsAssignments reports a page of "key = value" below "section:", as consul info prints it, with a
// number that the table knows.
func IsAssignments(lines []string) bool {
	rows, known := 0, false
	for _, l := range lines {
		text := strings.TrimSpace(l)
		m := assignment.FindStringSubmatch(text)
		if m != nil && m[1] != "" {
			known = known || ofLabel(m[1]) != ""
		}
		if m != nil {
			rows++
		}
	}
	return known && rows >= 8 && 10*rows >= 9*len(lines)
}

var assignment = expression.Lazy(`^(?:[a-z_]+:|([a-z][\w.]*) = .*)$`)

// IsUnnamed reports whether the name of a file does not say what its numbers are of.
func IsUnnamed(name string) bool { return ofName(name) == "" }

// sort is what a line is.
type sort int

const (
	refused sort = iota
	passed       // a date, prompt, heading or comment
	sampled
)

type key struct {
	figure, within string
	owner          line.Owner
}

type parser struct {
	written time.Time
	// byName is the figure that the name of the file says, byCommand that of the command above.
	byName, byCommand string
	owner             line.Owner
	// border is set behind a date: the next sample begins a point.
	border bool
	// last is the latest sample, seen are those of its point.
	last Sample
	seen map[key]bool
}

// begins reports whether a sample begins a point.
func (p *parser) begins(s Sample) bool {
	again := len(p.seen) == 0 || p.apart(&s)
	if again {
		clear(p.seen)
	}
	p.seen[s.key()], p.last, p.border = true, s, false
	return again
}

// apart reports that a sample is of another point than the last one.
func (p *parser) apart(s *Sample) bool {
	return p.border || p.seen[s.key()] || !s.Stamp.Time.Equal(p.last.Stamp.Time) || directory(s.Within) != directory(p.last.Within)
}

func (s *Sample) key() key { return key{s.Figure, s.Within, s.Owner} }

func directory(within string) string {
	if within == "" {
		return ""
	}
	return path.Dir(within)
}

func (p *parser) line(text string) (s Sample, what sort) {
	if text == "" || text == "--" {
		return s, passed
	}
	_, lone := number(text) // which may be a date: 1793527200
	if !lone && !strings.Contains(text, "$ ") && !strings.Contains(text, "# ") {
		// Most lines are samples, and all else takes much longer to tell.
		if s, ok := p.sampleOf(text); ok {
			return s, sampled
		}
	}
	if envelope.IsDate([]byte(text)) {
		p.border = true
		return s, passed
	}
	if c, ok := line.ReadCommand(text); ok && !lone {
		p.owner = c.Owner
		if !c.Heading {
			p.byCommand = ofCommand(c.Text)
		}
		if m := listed.FindStringSubmatch(c.Text); m != nil && p.owner.PID == 0 {
			p.owner.PID, _ = strconv.Atoi(m[1])
		}
		return s, passed
	}
	if m := bean.FindStringSubmatch(text); m != nil {
		p.byCommand = ofLabel(m[1])
		return s, passed
	}
	if strings.HasPrefix(text, "#") || headWord.MatchString(text) {
		return s, passed
	}
	if s, ok := p.sampleOf(text); ok {
		return s, sampled
	}
	return s, refused
}

// sampleOf reads a line that is a sample, with what may stand in front of it.
func (p *parser) sampleOf(text string) (s Sample, ok bool) {
	s.Owner = p.owner
	if m := inState.FindStringSubmatch(text); m != nil {
		s.Figure = states + stateOf(m[2])
		s.Value, ok = number(m[1])
		return s, ok
	}
	if m := inFunction.FindStringSubmatch(text); m != nil && isFunction(m[2]) {
		s.Figure = functions + m[2] + stateEnd
		s.Value, ok = number(m[1])
		return s, ok
	}
	if m := grepped.FindStringSubmatch(text); m != nil {
		s.Within, text = m[1], m[2]
	}
	if m := unixTime.FindStringSubmatch(text); m != nil {
		seconds, _ := strconv.ParseInt(m[1], 10, 64)
		s.Stamp, text = envelope.Stamp{Time: time.Unix(seconds, 0).UTC()}, m[2]
	} else if stamp, rest, ok := envelope.CutTime(text, p.written); ok {
		s.Stamp, text = stamp, strings.TrimLeft(rest, " \t:;,|-")
	}
	s.Figure, s.Value, ok = p.sample(text)
	return s, ok
}

// sample reads a number alone, a metric, or the first label that the table knows.
func (p *parser) sample(text string) (figure string, value float64, ok bool) {
	if value, ok = number(text); ok {
		switch {
		case p.byCommand != "":
			return p.byCommand, value, true
		case p.byName != "":
			return p.byName, value, true
		}
		return Unnamed, value, true
	}
	if m := metric.FindStringSubmatch(text); m != nil {
		if figure = known().labels[normal(m[1])]; figure != "" {
			value, ok = number(m[2])
			return figure, value, ok
		}
	}
	for _, m := range labelled.FindAllStringSubmatch(text, -1) {
		if figure = ofLabel(m[1]); m[1] == "Value" {
			figure = p.byCommand
		}
		if figure != "" {
			value, ok = number(m[2])
			return figure, value, ok
		}
	}
	return "", 0, false
}

// Sockets in one state are a figure for each: sockets{state="CLOSE_WAIT"}.
const states, stateEnd = `sockets{state="`, `"}`

// Goroutines in one function are a figure for each: functions{name="main.(*queue).drain"}.
const functions = `functions{name="`

// isFunction tells a function of Go from the name of a host or file, which has dots too: it has a
// receiver, the path of a package, or is of package main.
func isFunction(name string) bool {
	return strings.Contains(name, ".(") || strings.HasPrefix(name, "main.") && name != "main.go" || strings.Contains(name, "/") && !fileName.MatchString(name)
}

var fileName = expression.Lazy(`\.(?:go|js|ts|py|java|c|h|html?|json|ya?ml|txt|log|conf|sh|md|so|png|css)$`)

// Function is the function that a figure counts goroutines in.
func Function(figure string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(figure, functions); !ok {
		return "", false
	}
	return strings.CutSuffix(name, stateEnd)
}

// SocketState is the state that a figure counts sockets in.
func SocketState(figure string) (state string, ok bool) {
	if state, ok = strings.CutPrefix(figure, states); !ok {
		return "", false
	}
	return strings.CutSuffix(state, stateEnd)
}

func stateOf(word string) string {
	word = strings.ReplaceAll(word, "-", "_")
	if word == "ESTAB" {
		word = "ESTABLISHED"
	}
	return word + stateEnd
}

var (
	// inState is a row of "netstat -ant | awk '{print $6}' | sort | uniq -c", or of ss.
	inState = expression.Lazy(`^(\d+) (ESTAB(?:LISHED)?|TIME[-_]WAIT|CLOSE[-_]WAIT|LISTEN|SYN[-_](?:SENT|RECV)|FIN[-_]WAIT[-_]?[12]|LAST[-_]ACK|CLOSING|CLOSED?|UNCONN)$`)
	// inFunction is a row of "sort | uniq -c" over functions of Go stacks.
	inFunction = expression.Lazy(`^(\d+) ((?:[\w.~-]+/)*[\w~-]+\.(?:\(\*?[\w.\[\]…]+\)\.)?[A-Za-z_][\w.\[\]…-]*)(?:\(.*\))?$`)
	// listed is the process that lsof or ps lists alone.
	listed = expression.Lazy(`\b(?:lsof|ps)\b[^|;]*? -p ?(\d{1,9})(?:[\s;&|'"]|$)`)
	// bean is the heading of jmxterm above "Value = 20;".
	bean    = expression.Lazy(`^#mbean = [^:]*:(?:.*,)?name=([^,:]+)`)
	grepped = expression.Lazy(`^([\w.@+-]*(?:/[\w.@+-]+)+|[\w@+-][\w.@+-]*\.\w+):(.+)$`)
	// unixTime is a time in seconds in front of a number alone.
	unixTime = expression.Lazy(`^(1\d{9})(?:\.\d+)?[ \t]+(\d[\d.]*)$`)
	metric   = expression.Lazy(`^([A-Za-z_:][\w:.]*)(?:\{.*\})? (\S+)(?: \d{10,13})?$`)
	// labelled is a label of at most four words with its number: `open FDs: 34`,
	// `goroutines=120`, `"heapUsed": 81`.
	labelled = expression.Lazy(`((?:[A-Za-z][\w.-]*[ ])*[A-Za-z][\w.-]*)"?\s*(?:[:=]|\bis\b)\s*"?(\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\b`)
)

// number reads a number that is not below 0, with separators of thousands.
func number(text string) (float64, bool) {
	if text == "" || text[0] < '0' || text[0] > '9' || len(text) > 24 {
		return 0, false
	}
	if strings.Contains(text, ",") && !thousands.MatchString(text) {
		return 0, false // two cells of a table
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	return v, err == nil && !strings.ContainsAny(text, "xX_pP")
}

var thousands = expression.Lazy(`^\d{1,3}(?:,\d{3})+(?:\.\d+)?$`)

//go:embed table.txt
var text string

type table struct {
	labels         map[string]string
	commands, name []pattern
}

type pattern struct {
	figure string
	of     *regexp.Regexp
}

var known = sync.OnceValue(func() table { return parse(text) })

func parse(text string) table {
	t := table{labels: map[string]string{}}
	for row := range strings.Lines(text) {
		words := strings.Fields(row)
		if len(words) < 3 || words[0] == "#" {
			continue
		}
		switch figure := words[1]; words[0] {
		case "label":
			for _, name := range words[2:] {
				t.labels[normal(name)] = figure
			}
		case "command":
			t.commands = append(t.commands, pattern{figure, regexp.MustCompile(strings.Join(words[2:], " "))})
		case "name":
			t.name = append(t.name, pattern{figure, regexp.MustCompile("(?i)" + strings.Join(words[2:], " "))})
		}
	}
	return t
}

// normal writes a label as the table compares it: "Open FDs", "open_fds" and "open-fds" are one.
func normal(label string) string {
	return strings.NewReplacer(" ", "", "_", "", "-", "", ".", "").Replace(strings.ToLower(label))
}

// ofLabel finds the figure of the last words of a label: "total open FDs".
func ofLabel(label string) string {
	words := strings.Fields(label)
	for from := max(0, len(words)-4); from < len(words); from++ {
		if figure := known().labels[normal(strings.Join(words[from:], " "))]; figure != "" {
			return figure
		}
	}
	return ""
}

// ofCommand finds what the number is of that a command prints, "" for one that does not count.
func ofCommand(command string) string {
	if !counts.MatchString(command) {
		return ""
	}
	for _, p := range known().commands {
		if p.of.MatchString(command) {
			return p.figure
		}
	}
	return Unnamed
}

// headWord is what is counted of the head of netstat and ss, "1 Foreign" and "1 established)".
var headWord = expression.Lazy(`^1 (?:Foreign|State|Address|established\)|servers\)|Local|Recv-Q)$`)

var counts = expression.Lazy(`\bwc -l\b|\bgrep (?:-\w+ )*-\w*c\w*\b`)

func ofName(name string) string {
	for _, p := range known().name {
		if p.of.MatchString(path.Base(name)) {
			return p.figure
		}
	}
	return ""
}
