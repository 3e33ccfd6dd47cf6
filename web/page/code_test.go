package page

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/web/view"
)

func TestAPageBeginsWithTheStackAndFoldsItsLists(t *testing.T) {
	stack := view.FamilyVariant{Count: "3 goroutines", Fingerprint: "e1:00", Stack: document.Stack{Frames: []document.Frame{{Function: "wait", Place: "wait.go:7"}}}}
	objects := sampleObject(t)
	objects.Code.Stack = &report.LocatedStack{Of: report.StackOf{Kind: analysis.KindGoroutine, Members: 3, Of: 3}, Stack: []report.StackFrame{
		{Function: "wire.read", File: "/src/first.go", Line: 1}, {Function: "main.dial", File: "/src/main.go", Line: 2, CreatedBy: true},
	}}
	for _, c := range []struct {
		name  string
		page  templ.Component
		order []string
	}{
		{"a family", HTML(view.Family{Frozen: true, Why: "Why leaking", First: first(view.FoldStacks, view.FoldMembers), Variants: []view.FamilyVariant{stack}, RowsNote: "All 3."}.Page()),
			[]string{"first.go:1", "Started here", `id="h-why"`, `class="folds"`, "wait.go:7", `id="h-mem"`}},
		{"a kind of objects", HTML(view.NewObject(objects)),
			[]string{"first.go:1", "Started here", `id="h-shape"`, `id="h-why"`, `class="folds"`, `id="h-roles"`, "conn.go:41", `id="h-mem"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := rendered(t, c.page)
			at := 0
			for _, want := range c.order {
				next := strings.Index(page[at:], want)
				if next < 0 {
					t.Fatalf("%s does not follow in the order of %v", want, c.order)
				}
				at += next
			}
		})
	}
}

func first(folds ...string) view.FirstScreen {
	out := view.FirstScreen{Code: &view.Code{Stack: document.Stack{Caption: "Stack", Frames: []document.Frame{{Place: "first.go:1"}}}, Start: &view.CodeStart{At: document.Frame{Place: "main.go:2"}}}}
	for _, key := range folds {
		out.Folds = append(out.Folds, view.AnswerFold{Key: key, Title: key})
	}
	return out
}

func rendered(t *testing.T, c templ.Component) string {
	t.Helper()
	var out bytes.Buffer
	if err := c.Render(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWhoDeletesACaseIsToldWhatGoes(t *testing.T) {
	c := view.NewCase(view.CaseInput{ID: "c1", Title: "x", Permalinks: 2, Bundles: []view.BundleLine{{ID: "b1", Name: "x", Status: "failed", Error: "it is encrypted"}}})
	html := rendered(t, HTML(c.Page()))
	for _, want := range []string{"Deletes 1\u00a0bundle, 0\u00a0snapshots and every uploaded file", "2 frozen results were made of it", `value="withdraw" checked`, `value="keep"`} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing", want)
		}
	}
}
