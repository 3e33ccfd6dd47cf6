package report

import (
	"fmt"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
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
	if k := likeness(l.finding); k != nil {
		out = append(out, k.mend()...)
	}
	s := &d.r.Series[l.series]
	if s.Project == "" {
		return actions(out, next)
	}
	advised := d.r.operate(l.finding)
	if len(advised) > 0 && len(out) > 0 {
		advised = advised[:1] // the upgrade ends it, the check says whether it is this one
	}
	out = append(out, advised...)
	switch {
	case next == nil || !ofCode:
		return actions(out, next)
	case len(out) == 0:
		out = append(out, Action{Text: s.upstream()})
	}
	if next.Command != "" { // whether it leaks is not decided
		out = append(out[:min(len(out), mostSteps-1)], Action{Text: "Take captures that decide, " + d.decisive(l) + ":", Command: next.Command, Captures: true})
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

// actions are at most mostSteps, next as the last one.
func actions(out []Action, next *Action) []Action {
	if next != nil {
		out = append(out, *next)
	}
	return out[:min(len(out), mostSteps)]
}

// upstream is the step where neither the catalogue nor the reader can mend the code.
func (s *Series) upstream() string {
	return fmt.Sprintf("This is in code of %s: upgrade it to its newest patch release, and report it with a dump where it comes back.", s.Project)
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

// mend is the step by a known leak: the release that ends it, beside the one that runs. There is none
// where the entry knows neither a release nor a way around it.
func (k *KnownLeak) mend() []Action {
	name := k.ID
	if len(k.Advisories) > 0 {
		name = k.Advisories[0]
	}
	steps := []Action{}
	switch release, seen := k.release(); {
	case release != "":
		steps = append(steps, Action{Text: fmt.Sprintf("Upgrade %s to %s (%s); you run %s.", k.Component, release, name, seen)})
	case len(k.Releases) > 0 && k.Seen == "":
		steps = append(steps, Action{Text: fmt.Sprintf("Upgrade %s where it is older than %s: this looks like %s, %s.", k.Component, strings.Join(k.Releases, ", "), name, k.Title)})
	case k.Remedy != "":
		return append(steps, Action{Text: fmt.Sprintf("%s (%s, %s).", strings.TrimSuffix(wording.Capital(k.Remedy), "."), name, k.Title)})
	}
	if len(steps) > 0 && k.Workaround != "" {
		steps = append(steps, Action{Text: "Until then " + sentenceEnd(k.Workaround)})
	}
	return steps
}

// release is the release that ends the leak and the seen one, both "" where that one is not affected.
func (k *KnownLeak) release() (fixed, seen string) {
	fixed = knowledge.ReleaseFor(k.Seen, k.Releases)
	if fixed == "" || k.Verdict != knowledge.VersionAffected {
		return "", ""
	}
	return fixed, k.Seen[strings.LastIndexByte(k.Seen, ' ')+1:]
}

// Fix says in which release the known leak of an answer is mended: "fixed in 1.7.35, you run 1.6.20".
// It is "" where none is known or the release that runs was not seen.
func (r *Report) Fix() string {
	k := likeness(r.lead())
	if k == nil {
		return ""
	}
	fixed, seen := k.release()
	if fixed == "" {
		return ""
	}
	return "fixed in " + fixed + ", you run " + seen
}

// ofCatalogue is the project of a program that the catalogue knows, whose users do not change its
// code, "" for others.
func (j *JudgedSeries) ofCatalogue() string {
	if j.catalogue == nil || len(j.Snapshots) == 0 {
		return ""
	}
	return j.catalogue.Project(j.Snapshots[len(j.Snapshots)-1].Process.Name.Value)
}

// Likeness is what the catalogue knows of the one thing that makes up most of a single dump. It accuses
// nobody: one dump does not say what grows.
type Likeness struct {
	// Known is a published leak whose stack it has, nil without one.
	Known *KnownLeak `json:"known,omitempty"`
	// Check is the first check of its class, "" without one.
	Check string `json:"check,omitempty"`
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
	if most == nil || most.Count < fewestAlike {
		return nil
	}
	if total := j.Snapshots[0].Totals.Of(most.Family.Kind); total == nil || 2*most.Count < *total {
		return nil
	}
	known, out := j.known[most.Family.Fingerprint], &Likeness{}
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
	if out.Known == nil && out.Check == "" {
		return nil
	}
	return out
}

// look are the steps before the captures that decide, of a single dump.
func (l *Likeness) look() (out []Action) {
	if k := l.Known; k != nil {
		name := k.ID
		if len(k.Advisories) > 0 {
			name = k.Advisories[0]
		}
		text := fmt.Sprintf("Looks like %s: %s.", name, k.Title)
		if fixed, seen := k.release(); fixed != "" {
			text = fmt.Sprintf("Looks like %s, fixed in %s, you run %s: %s.", name, fixed, seen, k.Title)
		} else if len(k.Releases) > 0 {
			text = fmt.Sprintf("Looks like %s, fixed in %s: %s.", name, strings.Join(k.Releases, ", "), k.Title)
		}
		out = append(out, Action{Text: text})
	}
	if l.Check != "" {
		out = append(out, Action{Text: "Check first: " + l.Check})
	}
	return out
}
