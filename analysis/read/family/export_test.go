package family

import (
	"leakdiff/analysis"
)

func OfThread(t *analysis.Thread) *analysis.Family { return new(Threads).OfThread(t) }

func Exact(s *analysis.Stack) string { return new(Stacks).Exact(s) }

func ThreadPool(printed string) string { return threadPool(printed, ThreadName(printed)) }

// CanonicalThread returns the text whose hash is the fingerprint of a thread's
// family: version, sort, name, class of the state, whether the form cut the stack
// off, then the compared frames from the outermost inwards, one a line.
func CanonicalThread(t *analysis.Thread) string {
	r := new(Threads).stack(t.Stack)
	return canonicalThread(threadKey{sort: t.Sort, name: &nameReading{name: ThreadName(t.Name)}, class: threadClass(t, r), capped: t.Capped}, r)
}

// OfStack is Stacks.OfStack without a memory of names.
func OfStack(s *analysis.Stack) *analysis.Family {
	r := read(s, nameOf)
	return r.family()
}

// Canonical returns the text whose hash is the loose fingerprint: the version,
// the creator, then the compared functions from the outermost inwards, one a
// line.
func Canonical(s *analysis.Stack) string {
	r := read(s, nameOf)
	return string(canonicalText(nil, r.loose(), r.looseCreator, r.unavailable))
}

// WithoutCreator returns the loose fingerprint that s has in a form that prints
// no creators (debug=1, proto). It equals that of OfStack where the goroutine
// runs a closure of its creator.
func WithoutCreator(s *analysis.Stack) string {
	bare := *s
	bare.CreatedBy = analysis.Frame{}
	return OfStack(&bare).Fingerprint
}

// TitleOf returns the title of a stack outside any dump, with the full names for
// those who want to know more.
func TitleOf(s *analysis.Stack) Title {
	r := read(s, nameOf)
	return r.title(r.functions())
}

func ExactName(printed string) string { return exactName(printed) }

func PodOf(path string) (pod, container string) { return podOf(path) }
