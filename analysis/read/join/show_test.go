package join_test

import (
	"fmt"
	"os"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/read/join"
)

func TestShow(t *testing.T) {
	for _, path := range []string{os.Getenv("SHOW")} {
		f, err := os.Open(path)
		if err != nil {
			t.Skip(err)
		}
		var tokens join.Tokens
		n := 0
		_, _, err = goroutine.ParseText(f, goroutine.Config{Words: true}, func(g *goroutine.Goroutine) error { tokens.Add(g); n++; return nil })
		if err != nil {
			t.Fatal(err)
		}
		o := join.Objects(&tokens, [16]byte{})
		in := 0
		for _, k := range o.Kinds {
			in += k.Count * k.Parts
			fmt.Printf("%4d x %-40s %d parts %s\n", k.Count, k.Name, k.Parts, k.Level)
			for _, r := range k.Each {
				fmt.Printf("        %d %s (%s)\n", r.N, r.Role, r.Level)
			}
			for _, h := range k.Holders {
				fmt.Printf("        held by %s %s %d\n", h.Type, h.Role, h.N)
			}
		}
		fmt.Println(in, "of", n, o.LeftOut)
	}
	_ = analysis.ByAddress
}
