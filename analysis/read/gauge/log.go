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

// ParseLog reads a log. Facts of one kind and detail are one, with their number and their first and
// last time. written is until when it was written. The error is that of r.
func ParseLog(r io.Reader, name string, written time.Time) (out Log, err error) {
	in := line.NewReader(r)
	type key struct{ kind, detail string }
	at := map[key]int{}
	pids := map[int]bool{}
	var last time.Time // of a line above: java.util.logging puts it there
	for l := range in.All() {
		when, pid := logTime(l.Text, written)
		if !when.IsZero() {
			last = when
		}
		kind, detail := factOf(l.Text)
		if kind == "" {
			out.Refused++
			continue
		}
		if pid > 0 {
			pids[pid] = true
		}
		k := key{kind, detail}
		i, known := at[k]
		if !known {
			if len(out.Facts) == mostLogFacts {
				out.Refused++
				continue
			}
			i = len(out.Facts)
			at[k] = i
			out.Facts = append(out.Facts, analysis.LogFact{Kind: kind, Detail: strings.Clone(detail), At: last, Path: name, Line: l.Number})
		}
		out.Facts[i].N++
		out.Facts[i].Until = last
	}
	if len(pids) == 1 {
		for pid := range pids {
			out.PID = pid
		}
	}
	return out, in.Failure(name)
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
