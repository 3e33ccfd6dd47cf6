package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/object"
	"leakdiff/analysis/say/wording"
)

// leastRemaining is how many objects must stay at a recovery to be worth a finding.
const leastRemaining = 3

// remainder is the objects of one kind that stay where those of another one, or others of the
// same kind, ended.
type remainder struct {
	kind *object.Kind
	// n stay, of those that were there before the recovery.
	n int
	// fewer reports objects that lost goroutines at the recovery.
	fewer bool
}

// remainders adds what stays at a recovery: the objects that ended and those that stay are two
// findings.
func (j *JudgedSeries) remainders(findings []Finding, objects []Object) []Finding {
	for i := range j.kinds {
		k := &j.kinds[i]
		at := k.Judgement.RecoveredAt
		if k.Rest || k.Level == analysis.ByGoroutine || at < 1 || !k.Ended[at].Known() || k.Ended[at].N < leastRemaining {
			continue
		}
		for _, r := range j.staying(k, at) {
			findings = j.sayRemainder(findings, objects, k, r)
		}
	}
	return findings
}

// staying are the kinds of which objects stay where those of k ended, those with most first.
func (j *JudgedSeries) staying(k *object.Kind, at int) (out []remainder) {
	for i := range j.kinds {
		m := &j.kinds[i]
		base, before := m.Counts[0].N, m.Counts[at-1].N
		r := remainder{kind: m, n: j.lasting(m, at), fewer: m.Rest || m.PartsLost[at] > 0}
		switch {
		case r.n-base < leastRemaining || m != k && m.Level == analysis.ByGoroutine && !m.Rest:
		case m == k || m.Rest && m.Type == k.Type:
			out = append(out, r)
		case !m.Rest && before > 0 && 5*r.n >= 4*before && m.Judgement.Verdict.Rose():
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b remainder) int { return b.n - a.n })
	return out[:min(len(out), mostRemainders)]
}

// mostRemainders is how many kinds that stay are told of one recovery.
const mostRemainders = 3

// lasting is how many objects of a kind were there before a snapshot and are in the last one.
func (j *JudgedSeries) lasting(k *object.Kind, at int) (n int) {
	last := len(j.Snapshots) - 1
	for last > 0 && !k.Counts[last].Known() {
		last--
	}
	for _, l := range k.Objects {
		if l.First < at && l.Last == last {
			n++
		}
	}
	return n
}

// sayRemainder says in the finding on what ended what stays, and makes a finding of this.
func (j *JudgedSeries) sayRemainder(findings []Finding, objects []Object, k *object.Kind, r remainder) []Finding {
	at := k.Judgement.RecoveredAt
	ended, label := k.Ended[at].N, j.Snapshots[at].Label
	stay := fmt.Sprintf("%d %s %s still there", r.n, r.kind.Name, wording.Fit(r.n, "is", "are"))
	if r.kind == k {
		stay = fmt.Sprintf("%d %s still there", r.n, wording.Fit(r.n, "is", "are"))
	}
	if r.fewer {
		stay += ", with fewer goroutines than before"
	}
	e := saidHere("remainder", fmt.Sprintf("%d %s ended at %s; %s", ended, k.Name, label, stay))
	e.N, e.At = r.n, new(at)
	e.Told = true
	say := func(f *Finding) {
		f.Text += " " + e.Text + "."
		f.Evidence = append(slices.Clone(f.Evidence), e)
	}
	from, of := j.findingOn(findings, objects, k), j.findingOn(findings, objects, r.kind)
	if from >= 0 {
		say(&findings[from])
	}
	if of >= 0 && of != from {
		say(&findings[of])
		return findings
	}
	families := j.remainingFamilies(r.kind, k)
	if len(families) == 0 {
		return findings
	}
	f := Finding{
		Verdict: analysis.Stopped, Families: families, Evidence: []Evidence{e}, Counts: r.kind.Counts,
		Title: fmt.Sprintf("%d %s %s still there after %s, where %d ended", r.n, r.kind.Name, wording.Fit(r.n, "is", "are"), label, ended),
		Text:  strings.TrimSpace(e.Text + "."),
		Next:  fmt.Sprintf("Compare one of them with one that ended at %s: what ended the others did not reach these.", label),
	}
	if o := j.objectOf(objects, r.kind); o != nil {
		f.Object = o.ID
	}
	if slices.ContainsFunc(findings, func(x Finding) bool { return x.Title == f.Title }) {
		return findings // of several kinds that ended together one suffices
	}
	at = from + 1
	if from < 0 {
		for at < len(findings) && findings[at].Kind == "" && findings[at].Verdict.Rank() <= f.Verdict.Rank() {
			at++
		}
	}
	return slices.Insert(findings, at, f)
}

// findingOn is the index of the finding on the objects of a kind, -1 for none.
func (j *JudgedSeries) findingOn(findings []Finding, objects []Object, k *object.Kind) int {
	o := j.objectOf(objects, k)
	if o == nil {
		return -1
	}
	return slices.IndexFunc(findings, func(f Finding) bool {
		return f.Object == o.ID && !slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return e.Rule == "remainder" && len(f.Evidence) == 1 })
	})
}

// objectOf is the listed object of a kind, nil for none.
func (j *JudgedSeries) objectOf(objects []Object, k *object.Kind) *Object {
	for i := range objects {
		if j.kindOf(&objects[i]) == k {
			return &objects[i]
		}
	}
	return nil
}

// remainingFamilies are the families of what stays: of goroutines that are there in the last
// snapshot.
func (j *JudgedSeries) remainingFamilies(kinds ...*object.Kind) (out []string) {
	for _, k := range kinds {
		for _, print := range append([]string{k.RootFamily}, k.Families...) {
			if counts := j.Trend.Counts(print); print != "" && len(counts) > 0 && counts.Last() > 0 && !slices.Contains(out, print) {
				out = append(out, print)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return out
}
