package report

import (
	"fmt"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/object"
	"leakdiff/analysis/say/wording"
)

// orphanObject is the object of descriptors that were opened and that nothing holds.
func (j *JudgedSeries) orphanObject(k *object.Orphans) Object {
	role := ObjectRole{Role: "no goroutine waits for it", N: 1, Level: analysis.ByDescriptor}
	return Object{
		Name: k.Sort.One, Type: k.Sort.One + " without a goroutine", Counts: k.Counts, Born: k.Born, Ended: k.Ended,
		Verdict: k.Judgement.Verdict, Level: analysis.ByDescriptor, Orphaned: true, Families: append([]string{}, k.Families...),
		Evidence: j.worded(k.Judgement.Evidence, k.Sort.One, k.Sort.Many),
		Each:     []ObjectParts{{Kind: analysis.KindDescriptor, N: 1, Roles: []ObjectRole{role}}},
	}
}

// withOrphans adds the descriptors that nothing holds. They replace the objects that are made
// of the same descriptors.
func (j *JudgedSeries) withOrphans(objects []Object) []Object {
	for i := range j.orphans {
		o := j.orphanObject(&j.orphans[i])
		objects = slices.DeleteFunc(objects, func(x Object) bool {
			return len(x.Families) > 0 && !slices.ContainsFunc(x.Families, func(print string) bool { return !slices.Contains(o.Families, print) })
		})
		objects = append(objects, o)
	}
	return objects
}

// forgotten makes findings on descriptors that nothing holds: of those on their families if
// there are any, else new ones. A growth in which goroutines rise with the descriptors is left
// as it is, because these goroutines can hold them without waiting for them.
func (j *JudgedSeries) forgotten(findings []Finding, objects []Object, byPrint map[string]*Family) []Finding {
	rest, told := map[*object.Orphans]bool{}, map[*object.Orphans]bool{}
	for i := range j.orphans {
		rest[&j.orphans[i]] = true
	}
	for i := range findings {
		f := &findings[i]
		var of []*object.Orphans
		for k := range j.orphans {
			if o := &j.orphans[k]; slices.ContainsFunc(f.Families, func(print string) bool { return slices.Contains(o.Families, print) }) {
				of = append(of, o)
				delete(rest, o)
			}
		}
		if len(of) == 0 || f.Kind != "" || f.Object != "" || slices.ContainsFunc(f.Families, func(print string) bool { return byPrint[print].Kind != analysis.KindDescriptor }) {
			continue
		}
		if told[of[0]] {
			continue
		}
		told[of[0]] = true
		f.Text = j.orphansText(of) + " " + f.Text
		f.Next = closeForgotten(of)
		if !slices.ContainsFunc(of, func(o *object.Orphans) bool { return !f.all(o.Families) }) {
			j.sayForgotten(f, of, objects) // else its figures are those of some of them
		}
	}
	for i := range j.orphans {
		if o := &j.orphans[i]; rest[o] && len(o.Families) > 0 {
			f := Finding{Verdict: o.Judgement.Verdict, Families: slices.Clone(o.Families), Counts: o.Counts, Evidence: j.worded(o.Judgement.Evidence, o.Sort.One, o.Sort.Many)}
			f.Text, f.Next = j.orphansText([]*object.Orphans{o}), closeForgotten([]*object.Orphans{o})
			j.sayForgotten(&f, []*object.Orphans{o}, objects)
			at := 0
			for at < len(findings) && findings[at].Kind == "" && findings[at].Verdict.Rank() <= f.Verdict.Rank() {
				at++
			}
			findings = slices.Insert(findings, at, f)
		}
	}
	return findings
}

// all reports a finding on all families of a list.
func (f *Finding) all(families []string) bool {
	return !slices.ContainsFunc(families, func(print string) bool { return !slices.Contains(f.Families, print) })
}

func closeForgotten(of []*object.Orphans) string {
	return fmt.Sprintf("Find the code that opens the %s, and close each there when it is done with it.", wording.List(manyOf(of), len(of)))
}

// sayForgotten writes the title of a finding on descriptors that nothing holds.
func (j *JudgedSeries) sayForgotten(f *Finding, of []*object.Orphans, objects []Object) {
	var words []string
	for _, o := range of {
		words = append(words, fmt.Sprintf("%s (%s)", wording.Plural(o.Counts.Last(), o.Sort.One, o.Sort.Many), j.rises(o.Counts, analysis.KindDescriptor)))
	}
	f.Title = "Opened and forgotten: " + wording.List(words, len(words))
	if slices.ContainsFunc(of, func(o *object.Orphans) bool { return o.Sort.One == "TCP connection" }) {
		// One that is only written to, or read at times, has no goroutine that waits for it.
		f.Title = "No goroutine reads " + wording.List(words, len(words))
	}
	for i := range objects {
		if o := &objects[i]; o.Orphaned && o.Name == of[0].Sort.One {
			f.Object = o.ID
		}
	}
}

func manyOf(of []*object.Orphans) (out []string) {
	for _, o := range of {
		out = append(out, o.Sort.Many)
	}
	return out
}

// orphansText says how it is known that nothing holds the descriptors, and in which capture where
// later ones do not show it.
func (j *JudgedSeries) orphansText(of []*object.Orphans) string {
	var words []string
	for _, o := range of {
		text := fmt.Sprintf("%d of %s", o.Counts.Last(), wording.Plural(o.All.Last(), o.Sort.One, o.Sort.Many))
		if at := o.Counts.LastAt(); at < len(j.Snapshots)-1 {
			text += " of " + j.Snapshots[at].Label
		}
		if ended, known := o.Ended.Sum(); known {
			born, _ := o.Born.Sum()
			text += fmt.Sprintf(" (%d came and %d ended)", born, ended)
		}
		words = append(words, text)
	}
	return fmt.Sprintf("No goroutine waits for %s, and no known object holds them.", wording.List(words, len(words)))
}
