package wait

import (
	"slices"
	"testing"

	"leakdiff/analysis"
)

// member is a goroutine with its state, and its frames from the leaf.
type member struct {
	id     int64
	state  string
	frames []analysis.Frame
}

// dumpOf makes one family of each stack.
func dumpOf(members []member) *analysis.Snapshot {
	s := &analysis.Snapshot{}
	for _, m := range members {
		at := slices.IndexFunc(s.Groups, func(g analysis.Group) bool { return slices.Equal(g.Variants[0].Stack.Frames, m.frames) })
		if at < 0 {
			at = len(s.Groups)
			g := analysis.Group{Family: &analysis.Family{Kind: analysis.KindGoroutine, Fingerprint: string(rune('a' + at))}, States: map[string]int{}, Variants: []analysis.Variant{{Stack: &analysis.Stack{Frames: m.frames}}}}
			s.Groups = append(s.Groups, g)
		}
		g := &s.Groups[at]
		state := slices.Index(g.Members.States, m.state)
		if state < 0 {
			state, g.Members.States = len(g.Members.States), append(g.Members.States, m.state)
		}
		c := g.Members.Fill()
		c.ID, c.State, c.Variant = append(c.ID, m.id), append(c.State, uint16(state)), append(c.Variant, 0)
		g.States[m.state]++
		g.Count++
		g.Variants[0].Count++
	}
	return s
}

func TestThoseAheadAreFurtherOnInAFunctionOfTheWaiters(t *testing.T) {
	frames := func(calls ...analysis.Frame) []analysis.Frame { return calls }
	at := func(function string, line int) analysis.Frame { return analysis.Frame{Func: function, Line: line} }
	acquire := frames(at("main.acquire", 10), at("main.render", 20))
	fetch := frames(at("net.(*conn).Read", 5), at("main.fetch", 40), at("main.render", 22))
	waits := func(id int64) member { return member{id, "chan send", acquire} }
	waiters := []member{waits(1), waits(2), waits(3)}
	with := func(more ...member) []member { return append(slices.Clone(waiters), more...) }
	for _, test := range []struct {
		name         string
		before, last []member
		want         int
	}{
		{"two wait further on, and did so before", with(member{7, "IO wait", fetch}, member{8, "IO wait", fetch}), with(member{7, "IO wait", fetch}, member{8, "IO wait", fetch}), 2},
		{"nobody is further on", waiters, waiters, 0},
		{"one of them came since", with(member{7, "IO wait", fetch}), with(member{7, "IO wait", fetch}, member{8, "IO wait", fetch}), 0},
		{"it runs", with(member{7, "runnable", fetch}), with(member{7, "runnable", fetch}), 0},
		{"more are ahead than wait", with(member{7, "IO wait", fetch}, member{8, "IO wait", fetch}, member{9, "IO wait", fetch}, member{10, "IO wait", fetch}), with(member{7, "IO wait", fetch}, member{8, "IO wait", fetch}, member{9, "IO wait", fetch}, member{10, "IO wait", fetch}), 0},
		{"it is on an earlier line", with(member{7, "IO wait", frames(at("main.fetch", 40), at("main.render", 19))}), with(member{7, "IO wait", frames(at("main.fetch", 40), at("main.render", 19))}), 0},
		{"it is on the same line", with(member{7, "IO wait", frames(at("main.fetch", 40), at("main.render", 20))}), with(member{7, "IO wait", frames(at("main.fetch", 40), at("main.render", 20))}), 0},
		{"it is in another function", with(member{7, "IO wait", frames(at("main.fetch", 40), at("main.other", 22))}), with(member{7, "IO wait", frames(at("main.fetch", 40), at("main.other", 22))}), 0},
		{"it is in a function of a library only", with(member{7, "IO wait", frames(at("net.(*conn).Read", 5), at("lib.render", 22))}), with(member{7, "IO wait", frames(at("net.(*conn).Read", 5), at("lib.render", 22))}), 0},
	} {
		last := dumpOf(test.last)
		got := AheadOf(dumpOf(test.before), last, &last.Groups[0], nil, mainIsOwn)
		switch {
		case (got != nil) != (test.want > 0), got != nil && got.Count != test.want:
			t.Errorf("%s: %+v, want %d", test.name, got, test.want)
		case got != nil && (got.Func != "main.render" || got.At != "main.fetch" || got.For != ForIO):
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

// mainIsOwn marks the frames of package main.
func mainIsOwn(s *analysis.Stack) []bool {
	var out []bool
	for _, f := range s.Frames {
		out = append(out, f.Func[:5] == "main.")
	}
	return out
}

func TestOnlyASendAndAWaitGroupWaitForThoseAhead(t *testing.T) {
	for state, want := range map[string]bool{"chan send": true, "sync.WaitGroup.Wait": true, "chan receive": false, "select": false, "IO wait": false, "sleep": false, "chan send (nil chan)": false} {
		wait := []analysis.Frame{{Func: "main.do", Line: 10}}
		call := []analysis.Frame{{Func: "main.call", Line: 40}, {Func: "main.do", Line: 12}}
		dump := dumpOf([]member{{1, state, wait}, {2, state, wait}, {7, "IO wait", call}})
		if got := AheadOf(dump, dump, &dump.Groups[0], nil, mainIsOwn) != nil; got != want {
			t.Errorf("%s: %v, want %v", state, got, want)
		}
	}
}
