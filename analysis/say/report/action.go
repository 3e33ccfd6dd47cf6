package report

import (
	"fmt"
	"net"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Action is the next step: what to do, and a command to copy where there is one.
type Action struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"`
	// Captures reports a step that is nothing but its command.
	Captures bool `json:"captures,omitempty"`
	// Asks reports a step that a correction of the case takes: what numbers are of.
	Asks bool `json:"asks,omitempty"`
}

// takeCaptures is the step whose command takes the captures that decide.
const takeCaptures = "Take five captures over two minutes:"

// takeNextRun is that step where the process ended with its dump, as at SIGQUIT.
const takeNextRun = "The process ended with this dump. Take five captures of its next run:"

// takeNextRuns is takeNextRun after several dumps, each of a run of its own.
const takeNextRuns = "Each of these dumps ended its process. Take five captures of its next run:"

// crashFile is the kind of an artifact with the dump of a Go process that ended with it.
const crashFile = "goroutine-crash"

// takeOwners is the step whose command names the owners of sockets.
const takeOwners = "Take the table as root, with the owners:"

// unless says of what grew and stopped when it needs a look again.
func (d *diagnosing) unless(l answer) string {
	c, level := &l.claims, "At most"
	if c.Left == c.N {
		level = "Stable at"
	}
	if b := d.full(l); b != nil {
		return fmt.Sprintf("It stopped at its limit: %s. Find who keeps the %s; a higher limit gains time only.", b.use(), l.subject.all())
	}
	if l.subject.peerClosed {
		return closeEach
	}
	return fmt.Sprintf("%s %d since %s. Nothing to do unless it passes %d.", level, c.N, d.label(&d.r.Series[l.series], l.stoodSince()), c.N)
}

// full is the limit that bounds what an answer is about and is reached now, nil without one: no
// later capture can show more.
func (d *diagnosing) full(l answer) *LimitClaim {
	s := &d.r.Series[l.series]
	if b := s.nearest(); b != nil && b.State == LimitReached && !b.Peak && bounded[b.What] == s.kindOf(l.finding) {
		return b
	}
	return nil
}

// fewestFlat is how many captures since a restart show that the growth has not come back.
const fewestFlat = 3

// cured says of a growth that a restart ended that it has not come back, "" where it may have:
// what the captures since would have shown at the pace before it.
func (d *diagnosing) cured(l answer) string {
	s, c := &d.r.Series[l.series], &l.claims
	if c.RestartedAt <= 0 || c.Last-c.RestartedAt < fewestFlat-1 || c.PerHour == 0 {
		return ""
	}
	since := l.subject.counts[c.RestartedAt:]
	from, to := d.snapshot(s, c.RestartedAt).CapturedAt, d.snapshot(s, c.Last).CapturedAt
	if !since[0].Known() || since.Highest() > since[0].N || from == nil || to == nil {
		return ""
	}
	expected := since[0].N + int(c.PerHour*to.Sub(*from).Hours())
	if expected < 2*max(1, since[0].N) {
		return "" // too short a time to tell
	}
	shown := fmt.Sprintf("%s at the earlier pace would have shown %d.", wording.Duration(to.Sub(*from)), expected)
	if v := l.finding.Versions; v != nil && v.Fix != nil {
		return fmt.Sprintf("Cured by %s so far: %s", v.Fix.After, shown)
	}
	return "Cured by the restart so far: " + shown + " What began it was outside, or has not come back."
}

// next is one action by the finding alone, with a command where one can be copied. ofCode reports
// that it changes the code of the program.
func (d *diagnosing) next(l answer) (out *Action, ofCode bool) {
	s := &d.r.Series[l.series]
	if l.finding.Kind == ObserverFinding {
		return &Action{Text: fmt.Sprintf("Look at what %s waits for: one that holds its own lock, or waits for itself, never ends. Scrape less until then.", strings.TrimPrefix(strings.TrimSpace(l.subject.place), "in "))}, false
	}
	if s.Unowned && l.finding.Verdict != analysis.Scaling {
		return &Action{Text: takeOwners, Command: "ss -tunap", Captures: true}, false
	}
	out = &Action{}
	if !l.finding.OfCode { // else it is worked out below
		out.Text = l.finding.Next
	}
	switch v := l.finding.Verdict; {
	case v == analysis.Scaling:
		out.Text = "Nothing to mend: it follows its load."
	case l.claims.Opener != nil:
		out.Text = fmt.Sprintf("%s ended %s and held them: look at what it opens to %s and never closes.", l.claims.Opener.Process, d.within(s, l.claims.EndedAt), s.self())
	case v.Rose() && s.lead(l.finding).isTotal():
		return d.name(l), false
	case l.awaits():
		out.Text = d.lookAtCalls(l)
	case l.tied(s):
		return s.untie(), false
	case l.queue != nil && len(l.queue.stuck()) == 0:
		out.Text = d.lookAtHolder(l)
	case l.claims.Released:
		n := l.claims.N - l.claims.Left
		out.Text = fmt.Sprintf("Something released %s %s: check what restarted or was deleted.", wording.Fit(n, "it", fmt.Sprintf("all %d", n)), d.within(s, l.claims.EndedAt))
	case s.lost(l.finding, &l.subject):
		out.Text = "" // nothing came: one more capture shows whether they go on
	case l.claims.State == Fixed:
		out.Text = l.finding.rollOut()
	case d.cured(l) != "":
		out.Text = d.cured(l)
	case l.claims.State == GrewOnce:
		out.Text = d.unless(l)
	case l.claims.State == Replaced:
		out.Text = wording.Capital(d.decisive(l)) + ": if any of those that are there now stay, and more come, it is a leak."
	case l.claims.State == MayLeak && gaugeOf(l.finding) != "":
		return &Action{Text: fmt.Sprintf("Compare %s with how many there are: if it is right, say that it is load, and this is no leak.", gaugeOf(l.finding)), Command: "leakdiff report --load-metric " + gaugeOf(l.finding) + " PATH"}, false
	case l.claims.State == MayLeak && d.full(l) != nil:
		out.Text = d.unless(l)
	case l.claims.State == Grew || l.claims.State == IsNew:
		out.Text = wording.Capital(d.decisive(l)) + ": if more come and none ends, it is a leak."
		if l.claims.quiet(&l) {
			out.Text = wording.Capital(d.decisive(l)) + ": if more come and none ends, it is a leak; if none comes, it has stopped."
		}
	case l.children != nil && !s.lead(l.finding).isCommand() && s.recoveredAt(l.finding) < 0:
		out.Text, ofCode = s.wait(), true
	case l.subject.remedy != "" && s.recoveredAt(l.finding) < 0 && s.lead(l.finding).closeOpened() == "":
		out.Text, ofCode = l.subject.remedy, true
		if creator := startedBy(l.finding.Stack); creator != nil && l.pool == nil {
			out.Text += fmt.Sprintf(" Look in %s at %s.", shortRole(creator.Function), creator.place())
		}
		if lead := s.lead(l.finding); lead.isCommand() {
			out.Text = lead.afterStart(out.Text)
		}
	}
	if out.Text == "" && !s.lost(l.finding, &l.subject) {
		out.Text, ofCode = d.otherwise(l)
	}
	if v := l.finding.Verdict; l.claims.State != Fixed && (v == analysis.Grew || v == analysis.New || v == analysis.Suspicious || l.claims.State == Grew) {
		out.Command = d.collect(s, d.decidesIn(l))
	}
	switch {
	case out.Text == "" && out.Command == "" && (len(s.Snapshots) == 1 || l.claims.Serves != nil):
		return nil, false
	case out.Text == "":
		out.Command = d.collect(s, d.decidesIn(l))
		out.Text, out.Captures, ofCode = "Take five more captures, "+d.decisive(l)+":", true, false
	}
	return out, ofCode
}

// name is how to capture who the members of a total are.
func (d *diagnosing) name(l answer) *Action {
	s := &d.r.Series[l.series]
	if s.lead(l.finding).Attributes["state"] != "" {
		return &Action{Text: takeOwners, Command: "ss -tunap", Captures: true}
	}
	if s.lead(l.finding).Kind == analysis.KindCount {
		return &Action{Asks: true, Text: "Say what was counted: name the file after it (open-fds.txt, goroutines.txt, threads.txt), or leave the command above the numbers."}
	}
	out := &Action{Text: "A count names nobody. Take captures that do, " + d.decisive(l) + ":", Captures: true, Command: d.collect(s, d.decidesIn(l))}
	if s.lead(l.finding).Kind == analysis.KindGoroutine && !strings.Contains(out.Command, "--pprof") {
		out.Command = strings.Replace(out.Command, "collect ", "collect --pprof http://HOST:PORT ", 1)
	}
	return out
}

// startedAt says where the goroutines of a stack are started, "" where the dump does not tell
// or a library starts them.
func startedAt(stack []StackFrame) string {
	creator := startedBy(stack)
	if creator == nil {
		return ""
	}
	return fmt.Sprintf("Each is started at %s, in %s: give it a way to end there, or start fewer.", creator.place(), shortRole(creator.Function))
}

// startedBy is the own code that starts the goroutines of a stack, nil where none is shown with its line.
func startedBy(stack []StackFrame) *StackFrame {
	if len(stack) == 0 {
		return nil
	}
	creator := &stack[len(stack)-1]
	if !creator.CreatedBy || creator.place() == "" || !creator.Own && !strings.HasPrefix(creator.Function, "main.") {
		return nil
	}
	return creator
}

// crash is the note that the only file of a process shows the goroutine of a crash alone, nil
// without one.
func (d *diagnosing) crash(s *Series) *analysis.Problem {
	for _, a := range d.snapshot(s, 0).Artifacts {
		for i := range d.r.Problems {
			if p := &d.r.Problems[i]; p.Path == a.Path && p.Code == analysis.CrashOnly {
				return p
			}
		}
	}
	return nil
}

// decidesIn is how long captures take that decide about a growth, at its pace.
func (d *diagnosing) decidesIn(l answer) time.Duration {
	hours := 0.0
	if s := &d.r.Series[l.series]; l.finding.Key != nil {
		hours = l.finding.Key.DecidesIn
	} else if lead := s.lead(l.finding); lead != nil {
		hours = lead.DecidesIn
	}
	took := max(2*time.Minute, time.Duration(hours*float64(time.Hour)))
	if took > time.Hour {
		return took.Round(30 * time.Minute)
	}
	return took.Round(time.Minute)
}

// decisive words it: "2 minutes decide".
func (d *diagnosing) decisive(l answer) string {
	took := d.decidesIn(l)
	if took < 2*time.Hour {
		return wording.Plural(int(took.Round(time.Minute).Minutes()), "minute decides", "minutes decide")
	}
	if took < 48*time.Hour {
		return wording.Plural(int(took.Round(time.Hour).Hours()), "hour decides", "hours decide")
	}
	return wording.Plural(int(took.Round(24*time.Hour).Hours()/24), "day decides", "days decide")
}

// ProcessCapture is the command that takes the next captures of a process.
type ProcessCapture struct {
	Series  int    `json:"series"`
	Process string `json:"process"`
	Command string `json:"command"`
}

// Captures are the commands for all processes: they take as long as the soonest of its open verdicts
// needs.
func (r *Report) Captures() []ProcessCapture {
	d, out := r.diagnosing(nil), []ProcessCapture{}
	for i := range r.Series {
		s, hours := &r.Series[i], 0.0
		for k := range s.Families {
			if open := s.Families[k].DecidesIn; open > 0 && (hours == 0 || open < hours) {
				hours = open
			}
		}
		out = append(out, ProcessCapture{i, d.processOf(i), d.collect(s, time.Duration(hours*float64(time.Hour)))})
	}
	return out
}

// collect is the command for five captures in a time, at least two minutes. Goroutines are dumped by
// an address: where they alone are known, that is all that is needed, on any system.
func (d *diagnosing) collect(s *Series, took time.Duration) string {
	every := max(30*time.Second, (took / 4).Round(time.Second))
	if every > time.Minute {
		every = every.Round(time.Minute)
	}
	last := d.snapshot(s, len(s.Snapshots)-1)
	how, address := "collect --pid PID", "HOST:PORT"
	if _, _, err := net.SplitHostPort(s.Process); err == nil { // the collector had the address alone
		address = s.Process
	}
	switch totals := &last.Totals; {
	case (last.PID == nil || last.ended()) && totals.Goroutines != nil && totals.Descriptors == nil && totals.Watches == nil:
		how = "collect --pprof http://" + address
	case last.ended():
	case last.PID != nil && totals.Goroutines != nil:
		how = fmt.Sprintf("collect --pid %d --pprof http://HOST:PORT", *last.PID)
	case last.PID != nil:
		how = fmt.Sprintf("collect --pid %d", *last.PID)
	}
	name := strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return -1
	}, s.Process)
	if name == "" || address == s.Process || strings.Contains(s.Process, " ") { // words, as "excerpt at line 9"
		name = "captures"
	}
	return fmt.Sprintf("leakdiff %s --every %s --count 5 -o %s.tar.gz", how, flagDuration(every), name)
}

// flagDuration writes a duration as a flag takes it: 30s, 7m, 1h30m.
func flagDuration(d time.Duration) string {
	hours, minutes := int(d.Hours()), int(d.Minutes())%60
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case hours == 0:
		return fmt.Sprintf("%dm", minutes)
	case minutes == 0:
		return fmt.Sprintf("%dh", hours)
	}
	return fmt.Sprintf("%dh%dm", hours, minutes)
}
