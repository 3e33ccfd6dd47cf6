package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// Origin is code that made Count of the Of members of a family of which it is known what made
// them, of Members in all: the own code for which its goroutines were started, or the code that
// opened its descriptors.
type Origin struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	// Text is it in words: "app.customerSync sync.go:77".
	Text    string `json:"text"`
	Count   int    `json:"count"`
	Of      int    `json:"of"`
	Members int    `json:"members"`
	// Kept counts those of a stack that left open most of what it opened while it was traced.
	Kept int `json:"kept,omitempty"`
}

// started are the ancestries of a family in the last snapshot that has any. A trace and the
// dumps after it may have some where later dumps have none.
func (j *JudgedSeries) started(fingerprint string) ([]analysis.Ancestry, *Origin) {
	for i, g := range slices.Backward(j.Trend.Groups(fingerprint)) {
		if all := j.Snapshots[i].Ancestries[fingerprint]; g != nil && len(all) > 0 {
			return all, j.startedFor(all, g)
		}
	}
	return nil, nil
}

// startedFor is the first own frame of the ancestors that most goroutines of a family have, nil
// if none is known to be own. What started the goroutines itself comes last: the answer names
// it already.
func (j *JudgedSeries) startedFor(ancestries []analysis.Ancestry, g *analysis.Group) *Origin {
	if len(ancestries) == 0 || g == nil || len(g.Variants) == 0 || g.Variants[0].Stack == nil {
		return nil
	}
	own, creator := j.OwnCode(), g.Variants[0].Stack.CreatedBy.Func
	if frames := ancestries[0].Stacks; creator == "" && len(frames) > 0 && len(frames[0].Frames) > 0 {
		creator = frames[0].Frames[0].Func // a trace shows no other
	}
	var first *Origin
	for i := range ancestries[0].Stacks {
		stack := &ancestries[0].Stacks[i]
		for _, f := range markedFrames(own, stack, own.Mark(stack)) {
			if !f.Own || f.CreatedBy {
				continue
			}
			found := &Origin{Function: f.Function, File: f.File, Line: f.Line, Text: shortRole(f.Function) + " " + f.place(), Count: ancestries[0].Count, Of: ancestries[0].Of, Members: g.Count}
			if f.Function != creator {
				return found
			}
			if first == nil {
				first = found
			}
		}
	}
	return first
}

// forWhom words for which own code the goroutines of a finding were started, "" where no ancestors
// show it.
//
//	" for app.customerSync sync.go:77", " for app.customerSync sync.go:77 (60 of 80)",
//	" for app.customerSync sync.go:77 (41 of 41 known)"
func (s *Series) forWhom(f *Finding) string {
	for _, print := range f.Families {
		x := s.family(print)
		switch {
		case x == nil || x.StartedFor == nil:
			continue
		case x.StartedFor.Of < x.StartedFor.Members:
			return fmt.Sprintf(" for %s (%d of %d known)", x.StartedFor.Text, x.StartedFor.Count, x.StartedFor.Of)
		case x.StartedFor.Count < x.StartedFor.Of:
			return fmt.Sprintf(" for %s (%d of %d)", x.StartedFor.Text, x.StartedFor.Count, x.StartedFor.Of)
		}
		return " for " + x.StartedFor.Text
	}
	return ""
}

// startedIn is the function in which the goroutines stand that started most members of a group, nil
// where fewer than half have one such. A profile with debug=3 has ids in place of creators. Where the
// creator is known it is the function that the starter began with, which called the creator.
func (j *JudgedSeries) startedIn(g *analysis.Group, creator string) *Origin {
	at := slices.IndexFunc(j.Snapshots, func(s *analysis.Snapshot) bool { return GroupOf(s, g.Family.Fingerprint) == g })
	if g.Family.Kind != analysis.KindGoroutine || !g.Members.Identified() || at < 0 {
		return nil
	}
	stands, parents := j.standsAt, map[int64]int{}
	for m := range g.Members.All() {
		if m.Parent > 0 {
			parents[m.Parent]++
		}
	}
	if creator != "" {
		if stands = j.beganIn; len(parents) > mostStarters {
			return nil
		}
	}
	origins, ids := map[string]*Origin{}, map[string]map[int64]bool{}
	for id, n := range parents {
		o, key := &Origin{Of: g.Count, Members: g.Count}, fmt.Sprint(id)
		if f := stands(id, at); f != nil {
			o.Function, o.File, o.Line, o.Text = f.Function, f.File, f.Line, strings.TrimSpace(shortRole(f.Function)+" "+f.place())
			key = f.Function
		}
		if origins[key] == nil {
			origins[key], ids[key] = o, map[int64]bool{}
		}
		if first := origins[key]; first.Text != o.Text { // at several lines of it
			first.File, first.Line, first.Text = "", 0, shortRole(o.Function)
		}
		origins[key].Count += n
		ids[key][id] = true
	}
	for key, o := range origins {
		switch {
		case o.Function == "":
			o.Text = fmt.Sprintf("goroutine %s, which no capture shows", key)
		case len(ids[key]) > 1:
			o.Text = "goroutines in " + o.Text
		default:
			for id := range ids[key] {
				o.Text = fmt.Sprintf("goroutine %d in %s", id, o.Text)
			}
		}
	}
	if most := mostOf(origins); most != nil && 2*most.Count > g.Count && (creator == "" || most.Function != creator) {
		return most
	}
	return nil
}

// mostStarters bounds the goroutines that are looked for in a snapshot because they started others.
const mostStarters = 64

// standsAt is the frame of a goroutine in a snapshot that says most: the first of own code, else
// its outermost one; nil where the snapshot does not show it.
func (j *JudgedSeries) standsAt(id int64, at int) *StackFrame {
	place, stack := j.stackOf(id, at)
	if place.Frame == nil || place.Frame.Own || !family.OfStandardLibrary(place.Frame.Function) {
		return place.Frame
	}
	if f := outermost(stack); f != nil {
		return f
	}
	return place.Frame
}

// beganIn is the outermost frame of a goroutine in a snapshot, nil where the snapshot does not show it.
func (j *JudgedSeries) beganIn(id int64, at int) *StackFrame {
	_, stack := j.stackOf(id, at)
	return outermost(stack)
}

// stackOf is where a goroutine stands in a snapshot, and its stack.
func (j *JudgedSeries) stackOf(id int64, at int) (Place, []StackFrame) {
	w := Wanted{Kind: analysis.KindGoroutine, Number: id}
	m, g := w.in(j.Snapshots[at])
	if m == nil {
		return Place{}, nil
	}
	return j.place(at, m, g)
}

// outermost is the function that a goroutine began with, nil without frames.
func outermost(stack []StackFrame) *StackFrame {
	for i := range slices.Backward(stack) {
		if f := &stack[i]; !f.CreatedBy && !strings.HasPrefix(f.Function, "runtime.") {
			return f
		}
	}
	return nil
}

// AncestryTraces are the stacks of the ancestors of a family in one snapshot, the most frequent
// ones first: of who started its goroutines, then of who started that one.
func (j *JudgedSeries) AncestryTraces(fingerprint string, at int) []Trace {
	g := GroupOf(j.Snapshots[at], fingerprint)
	if g == nil {
		return nil
	}
	own := j.OwnCode()
	var out []Trace
	for _, a := range j.Snapshots[at].Ancestries[fingerprint] {
		what := "What started "
		if g.Family.Kind == analysis.KindDescriptor {
			what = "What opened "
		}
		t := Trace{Caption: what + share(g.Family.Kind, a.Count, max(g.Count, a.Count)) + " at " + j.Snapshots[at].Label}
		for i := range a.Stacks {
			t.Rows = append(t.Rows, traceRows(markedFrames(own, &a.Stacks[i], own.Mark(&a.Stacks[i])))...)
		}
		if n := len(t.Rows) - mostAncestorFrames; n > 0 {
			t.Rows = t.Rows[:mostAncestorFrames]
			t.Note = "Then " + wording.Plural(n, "more frame", "more frames") + "."
		}
		out = append(out, t)
	}
	return out
}

// mostAncestorFrames is how many frames of all ancestors of a goroutine are shown.
const mostAncestorFrames = 40
