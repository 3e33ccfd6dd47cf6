package gauge

import (
	_ "embed"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/line"
)

//go:embed log.txt
var logText string

type logTable struct {
	// words finds lines that a row may match.
	words *regexp.Regexp
	rows  []logRow
}

type logRow struct {
	kind string
	of   *regexp.Regexp
}

var logs = sync.OnceValue(parseLogTable)

func parseLogTable() (t logTable) {
	var words []string
	for row := range strings.Lines(logText) {
		switch kind, of, ok := strings.Cut(strings.TrimSpace(row), " "); {
		case !ok || kind == "#":
		case kind == "word":
			words = append(words, regexp.QuoteMeta(of))
		default:
			t.rows = append(t.rows, logRow{kind, regexp.MustCompile(of)})
		}
	}
	t.words = regexp.MustCompile("(?i)" + strings.Join(words, "|"))
	return t
}

// LogKinds are the kinds of facts that log.txt knows.
func LogKinds() (out []string) {
	for _, row := range logs().rows {
		out = append(out, row.kind)
	}
	return out
}

// harmless is a line of a level at which nothing fails: what it says is of something else.
var harmless = expression.Lazy(`^I\d{4} |\b(?:INFO|DEBUG|TRACE)\b|\blevel=(?:info|debug|trace)\b|"level":"(?:info|debug|trace)"|^\S+ (?:info|debug):`)

// factOf finds what a line of a log says, "" for nothing known.
func factOf(text string) (kind, detail string) {
	if !logs().words.MatchString(text) || harmless.MatchString(text) {
		return "", ""
	}
	for _, row := range logs().rows {
		if m := row.of.FindStringSubmatch(text); m != nil {
			return row.kind, strings.Join(m[1:], "")
		}
	}
	return "", ""
}

// IsFact reports whether a line of a log says something that log.txt knows.
func IsFact(text string) bool { kind, _ := factOf(text); return kind != "" }

// Log is what a log says.
type Log struct {
	Facts []analysis.LogFact
	// PID is that of the lines of klog, 0 where they name several or none.
	PID int
	// Refused is the number of the other lines.
	Refused int
}

// mostLogFacts bounds the facts of a log, of which each stands for all of its kind and detail.
const mostLogFacts = 100

// LogReader reads the lines of a log, one after the other. Facts of one kind and detail are one,
// with their number and their first and last time.
type LogReader struct {
	log  Log
	name string
	// written is until when the log was written.
	written time.Time
	at      map[[2]string]int
	pids    map[int]bool
	last    time.Time // of a line above: java.util.logging puts it there
}

// NewLogReader is a reader of the log with a name, written until a time.
func NewLogReader(name string, written time.Time) *LogReader {
	return &LogReader{name: name, written: written, at: map[[2]string]int{}, pids: map[int]bool{}}
}

// Line reads a line with its number.
func (l *LogReader) Line(text string, number int64) {
	when, pid := logTime(text, l.written)
	if !when.IsZero() {
		l.last = when
	}
	kind, detail := factOf(text)
	if kind == "" {
		l.log.Refused++
		return
	}
	if pid > 0 {
		l.pids[pid] = true
	}
	k := [2]string{kind, detail}
	i, known := l.at[k]
	if !known {
		if len(l.log.Facts) == mostLogFacts {
			l.log.Refused++
			return
		}
		i = len(l.log.Facts)
		l.at[k] = i
		l.log.Facts = append(l.log.Facts, analysis.LogFact{Kind: kind, Detail: strings.Clone(detail), At: l.last, Path: l.name, Line: number})
	}
	l.log.Facts[i].N++
	l.log.Facts[i].Until = l.last
}

// Log is what was read.
func (l *LogReader) Log() Log {
	if len(l.pids) == 1 {
		for pid := range l.pids {
			l.log.PID = pid
		}
	}
	return l.log
}

// ParseLog reads a whole log. The error is that of r.
func ParseLog(r io.Reader, name string, written time.Time) (Log, error) {
	in, out := line.NewReader(r), NewLogReader(name, written)
	for l := range in.All() {
		out.Line(l.Text, l.Number)
	}
	return out.Log(), in.Failure(name)
}

var (
	// klogHead is the head of a line of klog, with month, day, time and process.
	klogHead = expression.Lazy(`^[IWEF](\d{4}) (\d\d:\d\d:\d\d\.\d+)\s+(\d+) \S+:\d+\]`)
	// javaHead is the time of Tomcat, monthHead that of java.util.logging.
	javaHead  = expression.Lazy(`^\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d`)
	monthHead = expression.Lazy(`^[A-Z][a-z]{2} \d{1,2}, \d{4} \d{1,2}:\d\d:\d\d [AP]M`)
)

// logTime is the time of a line of a log, in UTC where it names no zone, and the process that
// klog names.
func logTime(text string, written time.Time) (at time.Time, pid int) {
	if m := klogHead.FindStringSubmatch(text); m != nil {
		at, err := time.Parse("20060102 15:04:05", strconv.Itoa(written.Year())+m[1]+" "+m[2])
		if err == nil && at.After(written.Add(24*time.Hour)) {
			at = at.AddDate(-1, 0, 0) // it has no year
		}
		pid, _ = strconv.Atoi(m[3])
		return at, pid
	}
	if found := javaHead.FindString(text); found != "" {
		at, _ = time.Parse("02-Jan-2006 15:04:05", found)
		return at, 0
	}
	if found := monthHead.FindString(text); found != "" {
		at, _ = time.Parse("Jan 2, 2006 3:04:05 PM", found)
		return at, 0
	}
	stamp, _, _ := envelope.CutTime(strings.TrimSpace(text), written)
	return stamp.Time, 0
}
