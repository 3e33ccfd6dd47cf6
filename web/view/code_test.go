package view

import (
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/source"
)

// located is a stack of a module in a version, started by the program's own code.
func located() *report.LocatedStack {
	return &report.LocatedStack{
		Of: report.StackOf{Kind: analysis.KindGoroutine, Members: 3, Of: 4},
		Stack: []report.StackFrame{
			{Function: "sync.(*Cond).Wait", File: "/usr/local/go/src/sync/cond.go", Line: 71},
			{Function: "github.com/x/y.(*T).Run", File: "/go/pkg/mod/github.com/x/y@v1.2.3/t.go", Line: 7},
			{Function: "main.start", File: "/srv/app/main.go", Line: 9, Own: true, CreatedBy: true},
		},
	}
}

func TestTheCodeOfAPage(t *testing.T) {
	t.Run("has the places, their addresses and what started the members", func(t *testing.T) {
		c := newCode(CodeInput{Stack: located(), Version: "v1, go1.26.8"}, "t7")
		if c.Stack.Caption != "Stack of 3 of 4 goroutines at t7" || !c.Stack.HasOwn() || len(c.Stack.Frames) != 3 {
			t.Fatalf("%+v", c)
		}
		for i, want := range []string{"https://go.googlesource.com/go/+/refs/tags/go1.26.8/src/sync/cond.go#71", "https://github.com/x/y/blob/v1.2.3/t.go#L7", ""} {
			if c.Stack.Frames[i].URL != want {
				t.Errorf("row %d leads to %q, want %q", i, c.Stack.Frames[i].URL, want)
			}
		}
		if s := c.Start; s == nil || s.At.Place != "main.go:9" || !s.At.Own || s.At.Function != "main.start" || s.Lines != nil {
			t.Errorf("started by %+v", s)
		}
		if want := "sync.(*Cond).Wait  cond.go:71\ngithub.com/x/y.(*T).Run  t.go:7\ncreated by main.start  main.go:9"; c.Stack.Copied() != want {
			t.Errorf("copied %q, want %q", c.Stack.Copied(), want)
		}
	})
	t.Run("names the nearest own code where a library started the members", func(t *testing.T) {
		in := located()
		in.Stack[1].Own, in.Stack[2] = true, report.StackFrame{Function: "sync.(*WaitGroup).Go", File: "/usr/local/go/src/sync/waitgroup.go", Line: 238, CreatedBy: true}
		c := newCode(CodeInput{Stack: in}, "t7")
		if s := c.Start; s.At.Own || s.Near == nil || s.Near.Place != "t.go:7" {
			t.Errorf("started by %+v", c.Start)
		}
		if s := newCode(CodeInput{Stack: located()}, "t7").Start; s.Near != nil {
			t.Errorf("own code started them, and %+v is named as well", s.Near)
		}
	})
	t.Run("takes the reader's own modules before those of the dump", func(t *testing.T) {
		in := located()
		c := newCode(CodeInput{Stack: in, Modules: "github.com/x/"}, "t7")
		if !c.Stack.Frames[1].Own || c.Stack.Frames[2].Own || c.Start.At.Own {
			t.Errorf("%+v", c.Stack.Frames)
		}
		if !in.Stack[2].Own {
			t.Error("the stack of the series was changed")
		}
	})
	t.Run("shows lines so that they drive no page", func(t *testing.T) {
		e := &source.Excerpt{Path: "main.go", First: 8, Line: 9, Lines: []string{"\tfor {", "\t\tgo f() \x1b[31m\u202e"}}
		c := newCode(CodeInput{Stack: located(), Excerpt: e}, "t7")
		if l := c.Start.Lines; len(l) != 2 || l[0].Text != "    for {" || l[0].Marked || !l[1].Marked || l[1].Number != "9" || strings.ContainsAny(l[1].Text, "\x1b\u202e") {
			t.Errorf("%+v", c.Start.Lines)
		}
	})
	t.Run("is missing without a stack", func(t *testing.T) {
		if c := newCode(CodeInput{Version: "go1.26.8"}, "t7"); c != nil {
			t.Errorf("%+v", c)
		}
	})
}
