package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/object"
	"leakdiff/analysis/say/wording"
)

// Threads reports objects that threads of a JVM lock and wait for. The objects move from dump
// to dump, so they are counted and none is followed.
func (o *Object) Threads() bool {
	return len(o.Each) > 0 && o.Each[0].Kind == analysis.KindThread && o.Level == analysis.ByAddress
}

// judgeMonitors gives the objects of a JVM the verdict of a family of their threads that has
// as many for each object in every snapshot: threads are followed, which their objects are
// not.
func (j *JudgedSeries) judgeMonitors(o *Object) {
	for _, print := range o.Families {
		counts := j.Trend.Counts(print)
		rise := o.Counts.Rise()
		if rise <= 0 || counts.Rise()%rise != 0 || !stepsWith(counts, o.Counts, counts.Rise()/rise) {
			continue
		}
		if v := j.Judged[print].Verdict; v.Rank() < o.Verdict.Rank() {
			o.Verdict, o.Evidence = v, nil
		}
	}
}

// ownersProven reports whether monitors prove the owners of a pool one by one. Its other families
// become parts of these objects, by equal numbers.
func (j *JudgedSeries) ownersProven(pool *Object, monitors []Object) bool {
	for i := range monitors {
		o := &monitors[i]
		if !o.Threads() || !slices.ContainsFunc(pool.Families, func(print string) bool { return slices.Contains(o.Families, print) }) || !stepsWith(pool.Counts, o.Counts, 1) {
			continue
		}
		step := ObjectParts{Kind: analysis.KindThread}
		for n, print := range pool.Families {
			if slices.Contains(o.Families, print) {
				continue
			}
			o.Families = append(o.Families, print)
			step.Roles = append(step.Roles, pool.Each[0].Roles[n])
			step.N += pool.Each[0].Roles[n].N
			o.InStep = slices.DeleteFunc(o.InStep, func(s InStep) bool { return s.Fingerprint == print })
		}
		if step.N > 0 {
			o.Each = append(o.Each, step)
		}
		return true
	}
	return false
}

// threadShape words the threads of one object, then what rises in step.
func (o *Object) threadShape() string {
	n := o.Each[0].N
	text := wording.Plural(n, "thread", "threads")
	switch {
	case o.Each[0].Waits && n == 1:
		text += " waits on it"
	case o.Each[0].Waits:
		text += " wait on it"
	}
	inStep := map[analysis.Kind]int{}
	for _, p := range o.Each[1:] {
		inStep[p.Kind] += p.N
	}
	for _, s := range o.InStep {
		inStep[s.Kind] += int(s.Ratio)
	}
	var words []string
	for _, k := range analysis.Kinds() {
		if inStep[k] > 0 {
			words = append(words, wording.Members(k, inStep[k]))
		}
	}
	if len(words) > 0 {
		text += "; in step " + strings.Join(words, " + ")
	}
	return text
}

// threadText says what threads prove the objects, and what they do not.
func (o *Object) threadText() string {
	var roles []string
	for _, r := range o.Each[0].Roles {
		roles = append(roles, fmt.Sprintf("%d × %s", r.N, r.Role))
	}
	how := "waits on or holds"
	if o.Each[0].Waits {
		how = "waits on"
	}
	text := fmt.Sprintf("The dumps print an address for each %s that a thread %s: %s.", o.Name, how, strings.Join(roles, ", "))
	if len(o.Counts) > 1 {
		text += " A JVM moves its objects, so they are counted and not followed."
	}
	return text
}

// ownersOf reports a fact about the owners of threads that an answer is about, nil without one.
func (f *Finding) ownersOf(lead *Finding) bool {
	family, ok := strings.CutPrefix(f.Stated, "owners ")
	return ok && lead != nil && slices.Contains(lead.Families, family)
}

// ownersListed reports a statement about the owners of a family of threads that the objects
// of the series make as well.
func (j *JudgedSeries) ownersListed(key string) bool {
	family, ok := strings.CutPrefix(key, "owners ")
	return ok && slices.ContainsFunc(j.kinds, func(k object.Kind) bool {
		return k.Threads && slices.Contains(k.Families, family) && (len(j.Snapshots) == 1 || k.Judgement.Verdict.Rose())
	})
}
