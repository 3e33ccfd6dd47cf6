package page

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"leakdiff/web/view"
)

func TestPagesFrozenByOlderVersionsKeepTheirOrder(t *testing.T) {
	stack := view.FamilyVariant{Count: "3 goroutines", Fingerprint: "e1:00", Frames: []view.FrameLine{{Func: view.Func{Name: "wait"}, Loc: "wait.go:7"}}}
	family := view.Family{Frozen: true, Why: "Why leaking", Variants: []view.FamilyVariant{stack}, Steps: []view.NormStep{{Rule: "kept"}}, RowsNote: "All 3."}
	objects := view.Object{Frozen: true, Why: "Why leaking", At: "t3", Roles: []view.ObjectRole{{Count: "1 ×", Stack: &stack}}}
	for _, c := range []struct {
		name         string
		older, newer templ.Component
		order        []string
	}{
		{"a family", Family(family), Family(withFirst(family)), []string{`id="h-why"`, `id="h-key"`, "wait.go:7", `id="h-mem"`}},
		{"a kind of objects", Object(objects), Object(objectWithFirst(objects)), []string{`id="h-shape"`, `id="h-why"`, `id="h-roles"`, "wait.go:7", `id="h-mem"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			older, newer := rendered(t, c.older), rendered(t, c.newer)
			at := 0
			for _, want := range c.order {
				next := strings.Index(older[at:], want)
				if next < 0 {
					t.Fatalf("%s does not follow in the order of %v", want, c.order)
				}
				at += next
			}
			if strings.Contains(older, "Started here") || strings.Contains(older, `class="folds"`) {
				t.Error("an older page has what is new")
			}
			if first := strings.Index(newer, "first.go:1"); first < 0 || first > strings.Index(newer, `id="h-why"`) || !strings.Contains(newer, "Started here") {
				t.Error("a new page does not begin with the stack")
			}
		})
	}
}

func first() *view.FirstScreen {
	return &view.FirstScreen{Code: &view.Code{Caption: "Stack", Rows: []view.CodeRow{{Place: "first.go:1"}}, Start: &view.CodeStart{Place: "main.go:2"}}}
}

func withFirst(v view.Family) view.Family { v.First = first(); return v }

func objectWithFirst(v view.Object) view.Object { v.First = first(); return v }

func rendered(t *testing.T, c templ.Component) string {
	t.Helper()
	var out bytes.Buffer
	if err := c.Render(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
