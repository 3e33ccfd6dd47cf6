package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis/say/wording"
)

// LogFact is something that a log of the process says, without a quantity to follow.
type LogFact struct {
	// Kind is inotify_watches, open_files, … (read/gauge/log.txt).
	Kind  string     `json:"kind"`
	Text  string     `json:"text"`
	N     int        `json:"n"`
	At    *time.Time `json:"at"`
	Until *time.Time `json:"until"`
	Path  string     `json:"path"`
	Line  int64      `json:"line"`
	// OtherDay reports that it is of another day than its capture.
	OtherDay bool `json:"other_day,omitempty"`
}

// logWord is how a fact of a log is told.
type logWord struct {
	// text has %s for the detail with what joins it, or nothing.
	text string
	// joins is in front of the detail.
	joins string
	// limit is what is used up, as raise knows it; else do says what to do.
	limit, do string
}

// logWords tell the kinds of read/gauge/log.txt.
var logWords = map[string]logWord{
	"inotify_watches":         {text: "the inotify watches of its user are used up", limit: "inotify watches"},
	"inotify_instances":       {text: "the inotify instances of its user are used up", limit: "inotify instances"},
	"machine_files":           {text: "the open files of the machine are used up", limit: allOpenFiles},
	"open_files":              {text: "its open files are used up%s", joins: ", it could not connect to ", limit: "open files"},
	"threads":                 {text: "no more threads could be started", limit: "threads"},
	"websocket_timeout":       {text: "a call to an agent had no websocket connection%s", joins: " in %s s", do: "See how many calls run and wait: the script of the Kubernetes plugin, or its metrics kubernetes-client.connections. A longer timeout gains time only."},
	"thread_not_stopped":      {text: "the web application%s did not stop a thread that it started", joins: " ", do: "Stop the thread where the application is stopped (contextDestroyed, shutdown of the executor)."},
	"response_not_closed":     {text: "the body of a response was not closed%s", joins: ", of ", do: "Close each response body: try (Response response = call.execute()) { … }."},
	"connection_not_returned": {text: "a connection was not returned to its pool", do: "Close each connection where it was taken: the log has the stack that took it."},
	"pool_exhausted":          {text: "its connection pool had no free connection", do: poolWords["hikari"].remedy},
	watchdogFact:              {text: "the watchdog of systemd ended%s", joins: " ", do: "Find why the service gave systemd's watchdog no sign of life: a host that stood still (load, memory, suspend), or a lock that its watchdog loop waits for."},
	"listeners":               {text: "listeners pile up on one emitter%s", joins: ": ", do: "Remove each listener when it is done with, or add it once."},
}

func (w *logWord) words(detail string) string {
	if !strings.Contains(w.text, "%s") {
		return w.text
	}
	if detail != "" && strings.Contains(w.joins, "%s") {
		return fmt.Sprintf(w.text, fmt.Sprintf(w.joins, detail))
	}
	if detail != "" {
		detail = w.joins + detail
	}
	return fmt.Sprintf(w.text, detail)
}

// mostLogFacts is how many facts of the logs of a process are told.
const mostLogFacts = 20

// logFacts are the facts of the logs of the process, each once: every capture of the process has
// them.
func (j *JudgedSeries) logFacts() (out []LogFact) {
	known := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	for _, s := range j.Snapshots {
		for _, f := range s.Logged {
			w, ok := logWords[f.Kind]
			told := slices.ContainsFunc(out, func(x LogFact) bool { return x.Path == f.Path && x.Line == f.Line && x.Kind == f.Kind })
			if ok && !told && len(out) < mostLogFacts {
				day := f.At.Format(time.DateOnly)
				out = append(out, LogFact{OtherDay: !f.At.IsZero() && day != s.CapturedAt.Format(time.DateOnly), Kind: f.Kind, Text: w.words(f.Detail), N: f.N, At: known(f.At), Until: known(f.Until), Path: f.Path, Line: f.Line})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b LogFact) int {
		if a.At == nil || b.At == nil {
			return 0
		}
		return a.At.Compare(*b.At)
	})
	return out
}

// when is the time of a fact: " at 10:12:31", " 3 times from 10:12:31 to 10:14:02".
func (f *LogFact) when() string {
	clock := wording.Clock
	if f.OtherDay {
		clock = func(at time.Time) string { return at.UTC().Format(time.DateTime) }
	}
	switch {
	case f.N > 1 && f.At != nil && f.Until != nil && !f.At.Equal(*f.Until):
		return fmt.Sprintf(" (%d times from %s to %s)", f.N, clock(*f.At), clock(*f.Until))
	case f.N > 1 && f.At == nil:
		return fmt.Sprintf(" (%d times)", f.N)
	case f.At != nil:
		return " (" + clock(*f.At) + ")"
	}
	return ""
}

// logged are the findings on what logs say.
func (j *JudgedSeries) logged() (out []Finding) {
	for _, f := range j.logFacts() {
		w := logWords[f.Kind]
		next := w.do
		if w.limit != "" {
			next = raise(w.limit) + " to gain time only."
		}
		out = append(out, Finding{Kind: FactFinding, Title: capital(f.Text), Text: fmt.Sprintf("The log says so%s: %s, line %d.", f.when(), wording.Printable(f.Path), f.Line), Families: []string{}, Next: next})
	}
	return out
}

// loggedText tells the first facts of the logs of a process of which nothing else was captured,
// "" without any.
func (s *Series) loggedText() string {
	var words []string
	for i := range s.Logged[:min(len(s.Logged), mostLoggedTold)] {
		words = append(words, s.Logged[i].Text+s.Logged[i].when())
	}
	if len(words) == 0 {
		return ""
	}
	return s.before("its log says that " + strings.Join(words, "; "))
}

// mostLoggedTold is how many facts a sentence tells.
const mostLoggedTold = 2

// loggedLimit reports that a log says that a limit was met.
func (s *Series) loggedLimit() bool {
	return slices.ContainsFunc(s.Logged, func(f LogFact) bool { return logWords[f.Kind].limit != "" })
}

// loggedLimitNow reports that a log says that a limit was met while the captures were taken: not
// before the first of them, or without a time.
func (d *diagnosing) loggedLimitNow(s *Series) bool {
	if len(s.Families) == 0 {
		return false
	}
	first := d.snapshot(s, 0).CapturedAt
	return slices.ContainsFunc(s.Logged, func(f LogFact) bool {
		return logWords[f.Kind].limit != "" && (f.Until == nil || first == nil || !f.Until.Before(*first))
	})
}

// afterLog is what to do about a limit that a log tells, or else about its first fact.
func (d *diagnosing) afterLog(s *Series) *Action {
	at := max(0, slices.IndexFunc(s.Logged, func(f LogFact) bool { return logWords[f.Kind].limit != "" }))
	w := logWords[s.Logged[at].Kind]
	if w.limit == "" {
		return &Action{Text: w.do}
	}
	return &Action{Captures: true, Text: "Find what holds them. " + raise(w.limit) + " to gain time only.", Command: d.collect(s, 0)}
}
