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

// startedIn is where the goroutines stand that started most members of a group, nil where fewer
// than half have one such place. A profile with debug=3 has ids in place of creators.
func (j *JudgedSeries) startedIn(g *analysis.Group) *Origin {
	at := slices.IndexFunc(j.Snapshots, func(s *analysis.Snapshot) bool { return GroupOf(s, g.Family.Fingerprint) == g })
	if g.Family.Kind != analysis.KindGoroutine || !g.Members.Identified() || at < 0 {
		return nil
	}
	parents := map[int64]int{}
	for m := range g.Members.All() {
		if m.Parent > 0 {
			parents[m.Parent]++
		}
	}
	origins, ids := map[string]*Origin{}, map[string]map[int64]bool{}
	for id, n := range parents {
		o, place := &Origin{Of: g.Count, Members: g.Count}, ""
		if f := j.standsAt(id, at); f != nil {
			o.Function, o.File, o.Line = f.Function, f.File, f.Line
			place = " in " + strings.TrimSpace(shortRole(f.Function)+" "+f.place())
		} else {
			place = fmt.Sprintf(" %d, which no capture shows", id)
		}
		if origins[place] == nil {
			origins[place], ids[place] = o, map[int64]bool{}
		}
		origins[place].Count += n
		ids[place][id] = true
	}
	for place, o := range origins {
		o.Text = "goroutines" + place
		for id := range ids[place] {
			switch {
			case o.Function == "":
				o.Text = "goroutine" + place
			case len(ids[place]) == 1:
				o.Text = fmt.Sprintf("goroutine %d%s", id, place)
			}
		}
	}
	if most := mostOf(origins); most != nil && 2*most.Count > g.Count {
		return most
	}
	return nil
}

// standsAt is the frame of a goroutine in a snapshot that says most: the first of own code, else
// its outermost one; nil where the snapshot does not show it.
func (j *JudgedSeries) standsAt(id int64, at int) *StackFrame {
	w := Wanted{Kind: analysis.KindGoroutine, Number: id}
	m, g := w.in(j.Snapshots[at])
	if m == nil {
		return nil
	}
	place, stack := j.place(at, m, g)
	if place.Frame == nil || place.Frame.Own || !family.OfStandardLibrary(place.Frame.Function) {
		return place.Frame
	}
	for i := range slices.Backward(stack) {
		if f := &stack[i]; !f.CreatedBy && !strings.HasPrefix(f.Function, "runtime.") {
			return f
		}
	}
	return place.Frame
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
			for _, f := range markedFrames(own, &a.Stacks[i], own.Mark(&a.Stacks[i])) {
				t.Rows = append(t.Rows, TraceRow{Function: f.Function, Place: f.place(), Own: f.Own, Creator: f.CreatedBy, Frame: f.Frame()})
			}
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
