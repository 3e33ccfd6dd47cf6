package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// mostSteps is how many steps an answer has (answer.md 5).
const mostSteps = 3

// steps are what to do about what leaks or may leak, the first source first: the release that mends
// a known leak, what the catalogue tells those who run the program, what its own code needs, and
// the captures that decide. next is the step by the finding alone, ofCode says that it changes the
// code. Where nothing leaks any more it is the only one.
func (d *diagnosing) steps(l answer, next *Action, ofCode bool) []Action {
	var out []Action
	if !accusing(l.finding.Verdict) || d.r.Series[l.series].recoveredAt(l.finding) >= 0 || d.cured(l) != "" || l.claims.Released {
		return actions(out, next)
	}
	if k := mendable(l.finding); k != nil {
		out = append(out, k.mend()...)
	}
	s := &d.r.Series[l.series]
	var decide *Action
	if ofCode && next.Command != "" { // whether it leaks is not decided
		decide = &Action{Text: "Take captures, " + d.decisive(l) + ":", Command: next.Command, Captures: true}
		next = &Action{Text: next.Text}
	}
	if s.Project == "" {
		out = append(out, d.forWriter(l, next)...)
	} else {
		out = append(out, d.forOperator(l, next, ofCode, len(out) > 0)...)
	}
	if decide != nil {
		out = append(out[:min(len(out), mostSteps-1)], *decide)
	} else if trace := d.traceOpener(l); trace != nil && len(out) > 0 && !out[len(out)-1].Captures {
		out = append(out, *trace)
	}
	return actions(out, nil)
}

// script is the name of a program whose code has no frames in a trace: that of a script, or of what runs
// one.
var script = expression.Lazy(`(?i)\.(m?js|jar|py|rb|php|pl|dll)$|^(java|node(js)?|python|ruby|php|perl|dotnet|mono|beam)([-._0-9].*)?$`)

// traceOpener is how to see who opens descriptors of which no code is shown. It is nil for a JVM and for
// scripts, whose code has no frames in a trace, and for a program of others.
func (d *diagnosing) traceOpener(l answer) *Action {
	s := &d.r.Series[l.series]
	lead := s.lead(l.finding)
	if lead == nil || lead.Kind != analysis.KindDescriptor || lead.isTotal() || s.Called != "" || s.Project != "" || s.Unowned || script.MatchString(s.Process) {
		return nil
	}
	if c := d.cause(l); c == nil || c.Word != unknown {
		return nil
	}
	pid := "PID"
	if last := d.snapshot(s, len(s.Snapshots)-1); last.PID != nil && !last.ended() {
		pid = fmt.Sprint(*last.PID)
	}
	return &Action{Text: "To see who opens them: trace it for a minute, capture once more, and report both with these.", Command: wording.TraceCommand + " -o open.strace -p " + pid}
}

// forWriter are the steps for who can change the code: what the finding needs, and what its class says
// where the thing has no remedy of its own.
func (d *diagnosing) forWriter(l answer, next *Action) []Action {
	switch {
	case next == nil:
		return nil
	case l.subject.remedy != "" || next.Captures:
		return []Action{*next}
	}
	return append([]Action{*next}, d.r.mendOwn(l.finding)...)
}

// forOperator are the steps for who runs the program: those of its class, then what the finding needs
// where that is no change of code. Of a known leak, whose upgrade ends it, the check alone is told.
func (d *diagnosing) forOperator(l answer, next *Action, ofCode, known bool) []Action {
	out := d.r.operate(l.finding)
	if known {
		out = out[:min(1, len(out))]
	}
	switch {
	case next == nil:
		return out
	case !ofCode:
		return append(out, *next)
	case len(out) == 0 && !known:
		return []Action{{Text: d.r.Series[l.series].upstream()}}
	}
	return out
}

// Capture is the step that takes captures, else the first one, nil without any.
func (d *Diagnosis) Capture() *Action {
	for i := range d.Steps {
		if d.Steps[i].Command != "" {
			return &d.Steps[i]
		}
	}
	return d.Next
}

// numbered is the text of a step, with its number where there are several.
func (d *Diagnosis) numbered(i int) string {
	if len(d.Steps) == 1 || d.Steps[i].Text == "" {
		return d.Steps[i].Text
	}
	return fmt.Sprintf("%d. %s", i+1, d.Steps[i].Text)
}

// mendable is the known leak of a finding that a release ends: one that growth speaks for, or of
// several that are possible the one whose version runs. It is nil without one.
func mendable(f *Finding) *KnownLeak {
	if f == nil {
		return nil
	}
	for i := range f.Known {
		if k := &f.Known[i]; !k.RuledOut && (k.Fix != "" && (k.Basis == knowledge.Growth || k.Basis == knowledge.Possible) || k.Basis == knowledge.Growth && k.Seen == "" && len(k.Releases) > 0) {
			return k
		}
	}
	return nil
}

// actions are at most mostSteps, next as the last one.
func actions(out []Action, next *Action) []Action {
	if next != nil {
		out = append(out, *next)
	}
	return out[:min(len(out), mostSteps)]
}

// upstream is the step where neither the catalogue nor the reader can mend the code.
func (s *Series) upstream() string {
	return fmt.Sprintf("Compare it with the load of %s: where that did not grow, upgrade to the newest patch release, and report it with a dump where it comes back.", s.Process)
}

// causing is the class that a finding is of first, without those at rest, nil without one.
func (r *Report) causing(f *Finding) *Class {
	for _, key := range f.Classes {
		if found := r.ClassOf(key); found != nil && !f.ClassNotes[key].Rest {
			return found
		}
	}
	return nil
}

// operate are the steps of the class of a finding for who runs the program: first check and remedies.
func (r *Report) operate(f *Finding) []Action {
	if class := r.causing(f); class != nil {
		return append([]Action{{Text: "Check first: " + class.FirstCheck}}, actionsOf(f.ClassNotes[class.Key].Told(class.Class).Remedy)...)
	}
	return nil
}

// mendOwn are the steps of the class of a finding for who can change the code.
func (r *Report) mendOwn(f *Finding) []Action {
	if class := r.causing(f); class != nil {
		return actionsOf(class.Own)
	}
	return nil
}

func actionsOf(texts []string) (out []Action) {
	for _, text := range texts {
		out = append(out, Action{Text: text})
	}
	return out
}

// Help is the remedy with what helps until then.
func (k *KnownLeak) Help() string { return knowledge.Help(k.Remedy, k.Workaround) }

// mend are the steps by a known leak: the release that ends it, beside the one that runs, and what
// helps until then. There is none where no release with the fix is known: a stack alone is no reason.
func (k *KnownLeak) mend() []Action {
	name := k.called()
	component, runs := k.runs()
	var steps []Action
	switch {
	case k.Fix != "":
		steps = append(steps, Action{Text: fmt.Sprintf("Upgrade %s to %s (%s); you run %s.", component, k.Fix, name, runs)})
	case k.Seen == "" && len(k.Releases) > 0:
		steps = append(steps, Action{Text: fmt.Sprintf("Upgrade %s where it is older than %s: this looks like %s, %s.", component, strings.Join(k.Releases, ", "), name, k.Title)})
	default:
		return nil
	}
	if k.Workaround != "" {
		steps = append(steps, Action{Text: "Until then " + sentenceEnd(k.Workaround)})
	}
	return steps
}

// runs is what a leak is in, and the release of it that was seen.
func (k *KnownLeak) runs() (component, version string) {
	if module, version, ok := strings.Cut(k.Seen, " "); ok && strings.Contains(module, "/") {
		return module, version
	}
	component, _, _ = strings.Cut(k.Component, " ") // what follows is for people alone: "etcd client"
	return component, k.Seen
}

// called is the first advisory of a leak, or its id.
func (k *KnownLeak) called() string {
	if len(k.Advisories) > 0 {
		return k.Advisories[0]
	}
	return k.ID
}

// Fix says in which release the known leak of an answer is mended: "fixed in 1.7.35, you run 1.6.20".
// It is "" where none is known or the release that runs was not seen.
func (r *Report) Fix() string {
	k := mendable(r.lead())
	if k == nil || k.Fix == "" {
		return ""
	}
	_, version := k.runs()
	return "fixed in " + k.Fix + ", you run " + version
}

// ProjectOf is the project of a program that the built-in catalogue knows, "" for others.
func ProjectOf(snapshots []*analysis.Snapshot) string {
	return projectOf(knowledge.Builtin(), snapshots)
}

// projectOf is the project of a program that a catalogue knows, whose users do not change its code, ""
// for others and without a catalogue.
func projectOf(c *knowledge.Catalogue, snapshots []*analysis.Snapshot) string {
	if c == nil || len(snapshots) == 0 || snapshots[len(snapshots)-1].Process.Ours {
		return ""
	}
	return c.Project(snapshots[len(snapshots)-1].Process.Name.Value)
}

// Likeness is what the catalogue knows of the one thing that makes up most of a single dump. It accuses
// nobody: one dump does not say what grows.
type Likeness struct {
	// Known is a published leak whose stack it has, nil without one.
	Known *KnownLeak `json:"known,omitempty"`
	// Check is the first check of its class, "" without one.
	Check string `json:"check,omitempty"`
	// Ends is what ends the wait of a group that is stuck by its state alone, "" without one.
	Ends string `json:"ends,omitempty"`
	// Excerpt is how many minutes a goroutine waits in a dump that shows few and not the main one: who
	// could end it may be missing. It is 0 in a whole dump.
	Excerpt int `json:"excerpt,omitempty"`
}

// fewestAlike is how many members of a single dump are told apart from normal work: they are half of
// their kind as well.
const fewestAlike = 50

// alike looks for what the largest group of a single dump resembles, and for one that is stuck; nil where
// nothing is known.
func (j *JudgedSeries) alike() *Likeness {
	if len(j.Snapshots) != 1 {
		return nil
	}
	out := Likeness{Ends: j.stuckAlone(), Excerpt: j.excerpt()}
	if most := j.dominant(); most != nil {
		if out.Ends == "" {
			out.Ends = j.unfinished(most)
		}
		known := j.known[most.Family.Fingerprint]
		for _, m := range known.Known {
			if e := m.Entry; out.Known == nil && e.Status == knowledge.Leak && !m.RuledOut && !m.Similar && !e.Generic() && (m.Versions.Fix != "" || m.Versions.Seen == "" && len(e.Versions.Fixed) > 0) {
				leak := knownLeak(m)
				out.Known = &leak
			}
		}
		for _, hit := range known.Classes {
			if out.Check == "" && !hit.Rest && !hit.WithGrowth {
				out.Check = hit.Class.FirstCheck
			}
		}
	}
	if out == (Likeness{}) {
		return nil
	}
	return &out
}

// mostExcerpt is how many goroutines an excerpt of a dump has.
const mostExcerpt = 5

// excerpt is Likeness.Excerpt.
func (j *JudgedSeries) excerpt() (longest int) {
	if total := j.Snapshots[0].Totals.Of(analysis.KindGoroutine); total == nil || *total > mostExcerpt {
		return 0
	}
	for i := range j.Snapshots[0].Groups {
		g := &j.Snapshots[0].Groups[i]
		for k := range g.Variants {
			if frames := g.Variants[k].Stack.Frames; len(frames) > 0 && slices.Contains([]string{"main.main", "runtime.main"}, frames[len(frames)-1].Func) {
				return 0
			}
		}
		for raw := range g.States { // of several it is open whose wait is the oldest
			if state := family.BareState(raw); g.Family.Kind == analysis.KindGoroutine && len(g.States) == 1 && g.OldestWait >= longWait && (state == "semacquire" || slices.Contains(stuckStates, state)) {
				longest = max(longest, g.OldestWait)
			}
		}
	}
	return longest
}

// dominant is the group that makes up most of a single dump and is not normal, nil without one.
func (j *JudgedSeries) dominant() *analysis.Group {
	for i := range j.Snapshots[0].Groups {
		g := &j.Snapshots[0].Groups[i]
		total, healthy := j.Snapshots[0].Totals.Of(g.Family.Kind), j.known[g.Family.Fingerprint].Healthy
		if total != nil && g.Count >= fewestAlike && 2*g.Count >= *total && (healthy == nil || !healthy.Within) {
			return g
		}
	}
	return nil
}

// stuckStates are the states in which a goroutine makes no progress for as long as it is in them:
// others are how idle workers wait.
var stuckStates = []string{"chan send", "chan send (nil chan)", "chan receive (nil chan)", "select (no cases)", "sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock"}

// longWait is how many minutes a lock or a send waits before a single dump calls it stuck.
const longWait = 5

// stuckAlone is what ends the longest wait of a single dump in one of stuckStates, "" without a long one.
func (j *JudgedSeries) stuckAlone() string {
	var waiting []*analysis.Group
	for i := range j.Snapshots[0].Groups {
		if g := &j.Snapshots[0].Groups[i]; g.Family.Kind == analysis.KindGoroutine && len(g.States) == 1 && g.OldestWait >= longWait {
			waiting = append(waiting, g)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *analysis.Group) int { return b.OldestWait - a.OldestWait })
	for _, g := range waiting {
		if text := j.endsOf(g); text != "" {
			return text
		}
	}
	return ""
}

// unfinished is what ends the wait of a group in a WaitGroup, however short: many at once are not about to
// go on. It is "" for other waits.
func (j *JudgedSeries) unfinished(g *analysis.Group) string {
	if g.Family.Kind != analysis.KindGoroutine {
		return ""
	}
	f := Finding{Families: []string{g.Family.Fingerprint}}
	if j.locate(&f); semaphoreOf(f.Stack) != "sync.WaitGroup.Wait" {
		return ""
	}
	return ends("sync.WaitGroup.Wait", f.Stack)
}

// endsOf is what ends the wait of a group with one state, "" where an idle worker waits so.
func (j *JudgedSeries) endsOf(g *analysis.Group) string {
	state := ""
	for raw := range g.States {
		state = family.BareState(raw)
	}
	f := Finding{Families: []string{g.Family.Fingerprint}}
	if state == "semacquire" || slices.Contains(stuckStates, state) {
		j.locate(&f)
	}
	if state == "semacquire" {
		state = semaphoreOf(f.Stack)
	}
	if !slices.Contains(stuckStates, state) {
		return ""
	}
	return ends(state, f.Stack)
}

// holds reports that the holder of a lock is named beside it.
func (s *Series) holds() bool {
	return s.Locks != nil && slices.ContainsFunc(s.Locks.List, func(x Lock) bool { return len(x.Holders) > 0 })
}

// look are the steps before the captures that decide, of a single dump. What changes code is for who
// writes the program alone.
func (d *diagnosing) lookInto(s *Series, state State) (out []Action) {
	if x := s.Locks.longest(); x != nil && len(x.stuck()) == 0 && (state == OneDump || state == NoLeakSeen) {
		return []Action{{Text: "If they stay: " + wording.Lower(d.lookAt(s, &x.Holders[0]))}}
	}
	if x := s.standing(); x != nil && state == NoLeakSeen {
		return []Action{{Text: s.release(x)}}
	}
	if last := d.snapshot(s, len(s.Snapshots)-1); state == NoLeakSeen && last.Totals.Handles != nil && s.Memory == nil && !s.heapGrew() {
		return []Action{{Text: "A report of Node.js shows no timers, listeners or promises: where memory or CPU rises all the same, compare two heap snapshots (node --heapsnapshot-signal=SIGUSR2)."}}
	}
	if state != OneDump {
		return nil
	}
	if p, uses, _ := s.waitsAtPool(); p != nil && s.Project == "" && !s.holds() {
		return []Action{{Text: "If they stay: " + wording.Lower(p.remedy(uses))}}
	}
	l := s.Alike
	if l == nil {
		return nil
	}
	if k := l.Known; k != nil {
		name := k.called()
		text := fmt.Sprintf("Looks like %s, fixed in %s: %s.", name, strings.Join(k.Releases, ", "), k.Title)
		if k.Fix != "" {
			text = fmt.Sprintf("Looks like %s, fixed in %s, you run %s: %s.", name, k.Fix, k.Seen, k.Title)
		}
		out = append(out, Action{Text: text})
	}
	if l.Check != "" {
		out = append(out, Action{Text: "Check first: " + l.Check})
	}
	if s.Project == "" && l.Ends != "" && l.Known == nil && l.Check == "" && !s.holds() {
		out = append(out, Action{Text: l.Ends})
	}
	return out
}
