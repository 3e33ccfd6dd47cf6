package report

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// How much of a case in which nothing grew stands on the screen.
const (
	mostScreenRows    = 8
	mostScreenObjects = 4
	mostScreenLocks   = 3
)

// inventory is what stands on the screen where nothing grew: how small a growth would have
// been seen and the counts, or of one dump what most of it is.
func (s *screen) inventory() []string {
	order := s.r.seriesInOrder()
	if len(order) == 0 {
		return nil
	}
	x := &s.r.Series[order[0]]
	var out, limit []string
	if claim := x.nearest(); claim != nil {
		limit = s.labelled("limit", claim.text(), 1)
	}
	proof := x.Quiet
	if State(s.State).ofNoDump() || State(s.State) == Grew && s.Proof != "" {
		proof = s.Proof
	}
	if len(x.Snapshots) > 1 && proof != "" && x.deadlock() == "" && State(s.State) != Crashed {
		out = s.labelled("proof", proof, 4)
	}
	if State(s.State).ofOneDump() && s.Proof != "" {
		out = s.labelled("state", s.Proof, 4)
	}
	if s.Since != "" {
		out = append(out, s.labelled("since", s.Since, 1)...)
	}
	if State(s.State) == Saturated {
		limit = s.labelled("limit", s.Limit, 1)
	}
	if len(order) > 1 {
		out = append(out, s.processes(order)...)
	} else if len(x.Snapshots) > 1 {
		out = append(out, s.kinds(x)...)
	}
	locks := s.locks(x)
	if x.deadlock() != "" {
		out, locks = append(locks, out...), nil
	}
	if len(x.Snapshots) == 1 && len(x.stuck()) == 0 {
		out = append(out, s.largest(x, mostScreenRows-min(len(out), mostScreenRows/2))...)
		out = append(out, s.objects(x)...)
	}
	out = append(out, locks...)
	return append(out, limit...)
}

// processes has a line for each process of which something was counted: its course.
func (s *screen) processes(order []int) []string {
	order = slices.DeleteFunc(slices.Clone(order), func(i int) bool {
		kind, _ := s.leading(&s.r.Series[i])
		return kind == ""
	})
	wide := 0
	names := processNames(len(s.r.Series), func(i int) *Series { return &s.r.Series[i] })
	for i := range names {
		names[i] = cut(wording.Printable(names[i]), 30)
		wide = max(wide, utf8.RuneCountInString(names[i]))
	}
	label := "counts"
	var out []string
	for n, i := range order {
		if n == mostScreenRows && len(order) > mostScreenRows+1 {
			return append(out, s.label("")+fmt.Sprintf("%d more processes", len(order)-n))
		}
		x := &s.r.Series[i]
		kind, totals := s.leading(x)
		text := fmt.Sprintf("%-*s  %-11s  %s", wide, names[i], wording.Kinds(s.worded(x, kind)), s.drawn(totals, s.epochs(x)))
		out, label = append(out, s.label(label)+text), ""
	}
	return out
}

// kinds has a line for each kind of a process.
func (s *screen) kinds(x *Series) []string {
	label := "counts"
	var out []string
	for _, k := range analysis.Kinds() {
		if course := s.drawn(s.totals(x, k), s.epochs(x)); course != "" {
			out, label = append(out, s.label(label)+fmt.Sprintf("%-11s  %s", wording.Kinds(s.worded(x, k)), course)), ""
		}
	}
	return out
}

// largest are the groups with most members of one dump, of the kind that represents it best:
// count, share, longest wait, and title.
func (s *screen) largest(x *Series, most int) []string {
	kind, totals := s.leading(x)
	all := slices.DeleteFunc(sortedByCount(x.Families), func(f Family) bool { return f.Kind != kind || f.Counts.Last() == 0 || analysis.IsWhole(f.Attributes) })
	slices.SortStableFunc(all, func(a, b Family) int { return LargerFirst(&a, &b) })
	label, wide := "groups", 0
	var out []string
	shown := all[:min(len(all), most)]
	for i := range shown {
		if w := shown[i].OldestWait; w != nil && *w > 0 {
			wide = max(wide, 2+utf8.RuneCountInString(wording.Wait(*w)))
		}
	}
	for i := range shown {
		f := &shown[i]
		n := f.Counts.Last()
		share, wait := "", ""
		if total := totals[0]; total.Any() {
			share = wording.Share(float64(n) / float64(total.N))
		}
		if f.OldestWait != nil && *f.OldestWait > 0 {
			wait = wording.Wait(*f.OldestWait)
		}
		text := fmt.Sprintf("%6d %6s%*s  ", n, share, wide, wait)
		out, label = append(out, s.label(label)+text+cut(wording.Printable(f.Title), columns-labelWidth-utf8.RuneCountInString(text))), ""
	}
	if rest := len(all) - len(out); rest > 0 && len(out) > 0 {
		out = append(out, s.label("")+fmt.Sprintf("%*s  %s", 13+wide, "", wording.Plural(rest, "more group", "more groups")))
	}
	return out
}

// stuck are the stacks of those in the deadlock of the process of the answer, or of the goroutine that
// failed, in at most so many frames each.
func (s *screen) stuck(most int) (out []string) {
	order := s.r.seriesInOrder()
	if len(order) == 0 || s.State != string(Deadlock) && s.State != string(Crashed) && s.State != string(Saturated) {
		return nil
	}
	first := &s.r.Series[order[0]]
	if s.Series != nil {
		first = &s.r.Series[*s.Series]
	}
	what := "waits"
	if s.State == string(Crashed) && (first.Died == nil || !first.Died.TestLimit) {
		what = "failed"
	}
	for _, x := range first.stuck() {
		out = append(out, s.stands("where "+wording.Printable(x.Who)+" "+what, x.Stack, most)...)
	}
	return out
}

// stands is a stack below its caption, in at most so many frames.
func (s *screen) stands(caption string, stack []StackFrame, most int) []string {
	picked := pickFrames(stack, most)
	if rest := len(stack) - len(picked); rest > 0 {
		caption += fmt.Sprintf(", %d of %d frames", len(picked), len(stack))
	}
	out := []string{s.paint(dim, cut(caption, columns))}
	for _, at := range picked {
		out = append(out, s.frame(&stack[at]))
	}
	return out
}

// top is the stack that says most of a single dump.
func (s *screen) top(most int) []string {
	order := s.r.seriesInOrder()
	if State(s.State) != OneDump || len(order) == 0 || s.r.Series[order[0]].Top == nil {
		return nil
	}
	x := s.r.Series[order[0]].Top
	return s.stands("stack of "+x.Who, x.Stack, most)
}

// objects are the things with most goroutines of one dump.
func (s *screen) objects(x *Series) []string {
	var proven []*Object
	for i := range x.Objects {
		if o := &x.Objects[i]; o.Level != analysis.ByGoroutine && o.Counts.Highest() > 0 {
			proven = append(proven, o)
		}
	}
	slices.SortStableFunc(proven, func(a, b *Object) int { return b.Each[0].N*b.Counts.Highest() - a.Each[0].N*a.Counts.Highest() })
	label := "objects"
	var out []string
	for _, o := range proven[:min(len(proven), mostScreenObjects)] {
		text := fmt.Sprintf("%6d  ", o.Counts.Highest())
		out, label = append(out, s.label(label)+text+cut(wording.Printable(o.Name+", each "+o.Shape()), columns-labelWidth-len(text))), ""
	}
	return out
}

// locks are who waits for whom.
func (s *screen) locks(x *Series) []string {
	if x.Locks == nil {
		return nil
	}
	label := "locks"
	var out []string
	for i, l := range x.Locks.Lines() {
		if i == mostScreenLocks {
			break
		}
		lines, text := 2, l.Sentence()
		if i == 0 {
			lines = 5 // the lock with most waiters, with its holder
		}
		if l.short != "" && len(wrapped(text, columns-labelWidth, lines+1)) > lines {
			text, lines = l.short, lines+1 // its holder stands at the end
		}
		out, label = append(out, s.labelled(label, text, lines)...), ""
	}
	return out
}
