package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/read/family"
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
	if next != nil && next.Command != "" && (ofCode || next.Text == s.upstream()) { // whether it leaks is not decided
		decide = &Action{Text: "Take captures, " + d.decisive(l) + ":", Command: next.Command, Captures: true}
		next = &Action{Text: next.Text}
	}
	switch advised := d.r.operate(l.finding); {
	case s.Project == "" && next != nil && l.subject.remedy == "" && !next.Captures:
		out = append(append(out, *next), d.r.mendOwn(l.finding)...)
	case s.Project == "" || len(advised) == 0 && !ofCode:
		out = actions(out, next) // what it is made of may have a remedy of its own
	case len(advised) == 0 && len(out) == 0:
		out = append(out, Action{Text: s.upstream()})
	case len(out) > 0:
		out = append(out, advised[:min(1, len(advised))]...) // the upgrade ends it, the check says whether it is this one
	default:
		out = append(out, advised...)
		if !ofCode && next != nil && next.Text != s.upstream() {
			out = actions(out, next)
		}
	}
	if decide != nil {
		out = append(out[:min(len(out), mostSteps-1)], *decide)
	}
	return actions(out, nil)
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
		k := &f.Known[i]
		if !k.RuledOut && (k.Fix != "" && (k.Basis == knowledge.Growth || k.Basis == knowledge.Possible) || k.Basis == knowledge.Growth && k.Seen == "" && len(k.Releases) > 0) {
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

// operate are the steps of the first class of a finding: its first check, and its remedies.
func (r *Report) operate(f *Finding) (out []Action) {
	for _, key := range f.Classes {
		found := r.ClassOf(key)
		if found == nil || f.ClassNotes[key].Rest {
			continue
		}
		out = append(out, Action{Text: "Check first: " + found.FirstCheck})
		for _, text := range f.ClassNotes[key].Told(found.Class).Remedy {
			out = append(out, Action{Text: text})
		}
		return out[:min(len(out), mostSteps)]
	}
	return nil
}

// mendOwn are the steps of the first class of a finding for who can change the code.
func (r *Report) mendOwn(f *Finding) (out []Action) {
	for _, key := range f.Classes {
		if found := r.ClassOf(key); found != nil && !f.ClassNotes[key].Rest {
			for _, text := range found.Own {
				out = append(out, Action{Text: text})
			}
			return out
		}
	}
	return nil
}

// Help is the remedy with what helps until then.
func (k *KnownLeak) Help() string { return knowledge.Help(k.Remedy, k.Workaround) }

// mend are the steps by a known leak: the release that ends it, beside the one that runs, and what
// helps until then. There is none where no release with the fix is known: a stack alone is no reason.
func (k *KnownLeak) mend() []Action {
	name := k.called()
	var steps []Action
	switch {
	case k.Fix != "":
		steps = append(steps, Action{Text: fmt.Sprintf("Upgrade %s to %s (%s); you run %s.", k.mended(), k.Fix, name, k.Seen)})
	case k.Seen == "" && len(k.Releases) > 0:
		steps = append(steps, Action{Text: fmt.Sprintf("Upgrade %s where it is older than %s: this looks like %s, %s.", k.mended(), strings.Join(k.Releases, ", "), name, k.Title)})
	default:
		return nil
	}
	if k.Workaround != "" {
		steps = append(steps, Action{Text: "Until then " + sentenceEnd(k.Workaround)})
	}
	return steps
}

// called is the first advisory of a leak, or its id.
func (k *KnownLeak) called() string {
	if len(k.Advisories) > 0 {
		return k.Advisories[0]
	}
	return k.ID
}

// mended is what is upgraded: the component, or the project where that has a name for people alone.
func (k *KnownLeak) mended() string {
	first, _, _ := strings.Cut(k.Component, " ")
	return first
}

// Fix says in which release the known leak of an answer is mended: "fixed in 1.7.35, you run 1.6.20".
// It is "" where none is known or the release that runs was not seen.
func (r *Report) Fix() string {
	k := mendable(r.lead())
	if k == nil || k.Fix == "" {
		return ""
	}
	return "fixed in " + k.Fix + ", you run " + k.Seen
}

// ofCatalogue is the project of a program that the catalogue knows, whose users do not change its
// code, "" for others.
func (j *JudgedSeries) ofCatalogue() string {
	if j.catalogue == nil {
		return ""
	}
	return projectOf(j.catalogue, j.Snapshots)
}

// ProjectOf is the project of a program that the built-in catalogue knows, "" for others.
func ProjectOf(snapshots []*analysis.Snapshot) string {
	return projectOf(knowledge.Builtin(), snapshots)
}

func projectOf(c *knowledge.Catalogue, snapshots []*analysis.Snapshot) string {
	if len(snapshots) == 0 {
		return ""
	}
	p := &snapshots[len(snapshots)-1].Process
	if p.Ours {
		return ""
	}
	return c.Project(p.Name.Value)
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
}

// fewestAlike is how many members of a single dump are told apart from normal work: they are half of
// their kind as well.
const fewestAlike = 50

// alike looks for what the largest group of a single dump resembles, nil where nothing is known of it.
func (j *JudgedSeries) alike() *Likeness {
	if len(j.Snapshots) != 1 {
		return nil
	}
	var most *analysis.Group
	for i := range j.Snapshots[0].Groups {
		if g := &j.Snapshots[0].Groups[i]; most == nil || g.Count > most.Count {
			most = g
		}
	}
	out := &Likeness{Ends: j.stuckAlone()}
	if most == nil {
		return nil
	}
	if total := j.Snapshots[0].Totals.Of(most.Family.Kind); most.Count < fewestAlike || total == nil || 2*most.Count < *total {
		if out.Ends == "" {
			return nil
		}
		return out
	}
	known := j.known[most.Family.Fingerprint]
	if known.Healthy != nil && known.Healthy.Within {
		return nil
	}
	for _, m := range known.Known {
		if e := m.Entry; out.Known == nil && e.Status == knowledge.Leak && !m.RuledOut && !m.Similar && !e.Generic() && (m.Versions.Verdict == knowledge.VersionAffected || m.Versions.Seen == "" && len(e.Versions.Fixed) > 0) {
			leak := knownLeak(m)
			out.Known = &leak
		}
	}
	for _, hit := range known.Classes {
		if out.Check == "" && !hit.Rest && !hit.WithGrowth {
			out.Check = hit.Class.FirstCheck
		}
	}
	if out.Known == nil && out.Check == "" && out.Ends == "" {
		return nil
	}
	return out
}

// stuckStates are the states in which a goroutine makes no progress for as long as it is in them:
// others are how idle workers wait.
var stuckStates = []string{"chan send", "chan send (nil chan)", "chan receive (nil chan)", "select (no cases)", "sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock"}

// stuckAlone is what ends the longest wait of a single dump in one of stuckStates, "" without one.
func (j *JudgedSeries) stuckAlone() string {
	var longest *analysis.Group
	for i := range j.Snapshots[0].Groups {
		if g := &j.Snapshots[0].Groups[i]; g.Family.Kind == analysis.KindGoroutine && len(g.States) == 1 && g.OldestWait > 0 && (longest == nil || g.OldestWait > longest.OldestWait) {
			longest = g
		}
	}
	if longest == nil {
		return ""
	}
	f := Finding{Families: []string{longest.Family.Fingerprint}}
	j.locate(&f)
	for raw := range longest.States {
		state := family.BareState(raw)
		if state == "semacquire" {
			state = semaphoreOf(f.Stack)
		}
		if slices.Contains(stuckStates, state) {
			return ends(state, f.Stack)
		}
	}
	return ""
}

// look are the steps before the captures that decide, of a single dump. What changes code is for who
// writes the program alone.
func (l *Likeness) look(own bool) (out []Action) {
	if k := l.Known; k != nil {
		name := k.called()
		text := fmt.Sprintf("Looks like %s: %s.", name, k.Title)
		if k.Fix != "" {
			text = fmt.Sprintf("Looks like %s, fixed in %s, you run %s: %s.", name, k.Fix, k.Seen, k.Title)
		} else if len(k.Releases) > 0 {
			text = fmt.Sprintf("Looks like %s, fixed in %s: %s.", name, strings.Join(k.Releases, ", "), k.Title)
		}
		out = append(out, Action{Text: text})
	}
	if l.Check != "" {
		out = append(out, Action{Text: "Check first: " + l.Check})
	}
	if own && l.Ends != "" && l.Known == nil && l.Check == "" {
		out = append(out, Action{Text: l.Ends})
	}
	return out
}
