package report

import (
	"testing"

	"leakdiff/analysis"
)

func TestTheFirstStackOfAKindOfObjects(t *testing.T) {
	frame := func(function string) StackFrame { return StackFrame{Function: function} }
	standard := RoleStack{Variant: "standard", Stack: []StackFrame{frame("context.(*cancelCtx).propagateCancel.func2"), {Function: "context.(*cancelCtx).propagateCancel", CreatedBy: true}}}
	library := RoleStack{Variant: "library", Stack: []StackFrame{frame("example.org/lib.Run"), {Function: "net/http.(*Server).Serve", CreatedBy: true}}}
	held := RoleStack{Variant: "held", Stack: []StackFrame{frame("example.org/lib.Pop"), {Function: "example.org/lib.(*Factory).Start", CreatedBy: true}}}
	own := RoleStack{Variant: "own", Stack: []StackFrame{frame("sync.(*Cond).Wait"), {Function: "main.work", Own: true}}}
	holders := []HolderOf{{Type: "example.org/lib.(*Factory).Start", Role: analysis.CreatedBy, N: 3}, {Type: "net/http.(*Server).Serve", Role: "reads", N: 3}}
	for _, c := range []struct {
		name   string
		stacks []RoleStack
		want   string
	}{
		{"is that with own code", []RoleStack{standard, library, held, own}, "own"},
		{"is that which the holder started", []RoleStack{standard, library, held}, "held"},
		{"is more than the standard library", []RoleStack{standard, library}, "library"},
		{"is the first of equal ones", []RoleStack{library, {Variant: "other", Stack: library.Stack}}, "library"},
		{"is one of the standard library where there is no other", []RoleStack{standard}, "standard"},
		{"is missing where there is no stack", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := ObjectMembership{Object: Object{Holders: holders}, Stacks: c.stacks}
			got := ""
			if first := m.FirstStack(); first != nil {
				got = first.Variant
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
