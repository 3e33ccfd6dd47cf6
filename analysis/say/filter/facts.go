package filter

import (
	"strings"

	"leakdiff/analysis"
)

// Facts is a Row made of what is known of a family. Missing fields are unknown.
type Facts struct {
	Title   string
	Kind    analysis.Kind
	Frames  []string
	Creator string
	// Attributes are the family's attributes by name.
	Attributes map[string]string
	// States counts members by state.
	States  map[string]int
	Verdict analysis.Verdict
	// Rules are those of the evidence of the verdict.
	Rules []string
	// Triage is nil if nobody could decide anything.
	Triage *analysis.Triage
	// Labels are the snapshots in which it has members.
	Labels []string
	// Marked are the pprof labels of its members: "tenant=a".
	Marked  []string
	Unit    string
	Classes []string
	Process string
	// Members are searched for descriptors, inodes and pprof labels. They are nil if unknown.
	Members *analysis.Members

	Wait, Count, Delta, Growth Figure
}

// Figure is a number that may be unknown.
type Figure struct {
	Value float64
	Known bool
}

// Known is a number.
func Known(v float64) Figure { return Figure{v, true} }

// Mark adds pprof labels.
func (f *Facts) Mark(labels []analysis.LabelCount) {
	for _, l := range labels {
		f.Marked = append(f.Marked, l.String())
	}
}

// Words are the values of a field of text.
func (f *Facts) Words(field Field) []string {
	switch field {
	case "":
		return f.names()
	case Func:
		return f.Frames
	case Pkg:
		return packages(f.Frames)
	case Created:
		return one(f.Creator)
	case State:
		return f.states()
	case Kind:
		return one(string(f.Kind))
	case Verdict:
		return one(string(f.Verdict))
	case Triage:
		return f.triage()
	case Rule:
		return f.Rules
	case Label:
		return f.labels()
	case Unit:
		return one(f.Unit)
	case Class:
		return f.Classes
	case Process:
		return one(f.Process)
	}
	return one(f.Attributes[string(field)])
}

// labels are those of snapshots and of members. The rare ones among many are known of members
// alone.
func (f *Facts) labels() []string {
	out := append(f.Labels[:len(f.Labels):len(f.Labels)], f.Marked...)
	if f.Members == nil || f.Kind != analysis.KindGoroutine {
		return out
	}
	for set := range f.Members.LabelSets() {
		for _, label := range set.List() {
			out = append(out, label.String())
		}
	}
	return out
}

// names are the texts that a bare word is searched in.
func (f *Facts) names() []string {
	names := make([]string, 0, len(f.Frames)+len(f.Attributes)+2)
	names = append(append(names, f.Title, f.Creator), f.Frames...)
	for _, value := range f.Attributes {
		names = append(names, value)
	}
	return names
}

func (f *Facts) states() []string {
	var states []string
	for state, n := range f.States {
		if n > 0 {
			states = append(states, state)
		}
	}
	return append(states, one(f.Attributes["state"])...)
}

func (f *Facts) triage() []string {
	switch {
	case f.Triage == nil:
		return nil
	case f.Triage.State == analysis.Unreviewed:
		return []string{"unreviewed"}
	}
	return []string{string(f.Triage.State)}
}

func one(word string) []string {
	if word == "" {
		return nil
	}
	return []string{word}
}

// packages returns the packages of functions. Neighbours with one package are one
// entry.
func packages(functions []string) []string {
	var out []string
	for _, function := range functions {
		if pkg := packageOf(function); pkg != "" && (len(out) == 0 || out[len(out)-1] != pkg) {
			out = append(out, pkg)
		}
	}
	return out
}

// packageOf cuts a function name after its package.
//
//	"k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run" = "k8s.io/kubernetes/pkg/kubelet/prober"
//	"java.util.concurrent.ThreadPoolExecutor.getTask" = "java.util.concurrent"
func packageOf(function string) string {
	head := function
	if i := strings.IndexAny(head, "([ "); i >= 0 {
		head = head[:i]
	}
	slash := strings.LastIndexByte(head, '/') + 1
	dot := strings.IndexByte(head[slash:], '.')
	if slash == 0 && dot >= 0 {
		dot = max(dot, classAt(head))
	}
	if dot < 0 {
		return ""
	}
	return head[:slash+dot]
}

// classAt is the index of the dot before a Java class: 9 for "java.lang.Thread.run", 4
// for "main.T.Run". Go's packages without a slash have no earlier dot.
func classAt(name string) int {
	for i := 0; i+1 < len(name); i++ {
		if name[i] == '.' && name[i+1] >= 'A' && name[i+1] <= 'Z' {
			return i
		}
	}
	return -1
}

// Numbers are the values of a field of numbers.
func (f *Facts) Numbers(field Field) []float64 {
	switch field {
	case Wait:
		return f.Wait.values()
	case Count:
		return f.Count.values()
	case Delta:
		return f.Delta.values()
	case Growth:
		return f.Growth.values()
	case FD, Inode:
		return f.descriptors(field)
	}
	return nil
}

func (f Figure) values() []float64 {
	if !f.Known {
		return nil
	}
	return []float64{f.Value}
}

// descriptors returns the numbers or inodes of the members. The members of a watch are
// on inotify descriptors and have no inode.
func (f *Facts) descriptors(field Field) []float64 {
	if f.Members == nil || f.Kind != analysis.KindDescriptor && (f.Kind != analysis.KindWatch || field == Inode) {
		return nil
	}
	numbers := make([]float64, 0, f.Members.Len())
	for identity := range f.Members.Identities() {
		n := identity.ID
		if field == Inode {
			n = identity.Sub
		}
		if n != 0 || field == FD {
			numbers = append(numbers, float64(n))
		}
	}
	return numbers
}
