package join_test

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/read/join"
)

// BenchmarkObjects reads a dump of 200,000 goroutines, four of each session, without their
// words, with them, and with the objects: compare the times.
func BenchmarkObjects(b *testing.B) {
	const sessions = 50_000
	var d sessionDump
	for i := range sessions {
		d.session(i)
	}
	for _, step := range []string{"without words", "words", "objects"} {
		b.Run(step, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(d.Len()))
			for b.Loop() {
				var tokens join.Tokens
				_, _, err := goroutine.ParseText(strings.NewReader(d.String()), goroutine.Config{Words: step != "without words"}, func(g *goroutine.Goroutine) error {
					if step == "objects" {
						tokens.Add(g)
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
				if step != "objects" {
					continue
				}
				o := join.Objects(&tokens)
				if len(o.Kinds) != 1 || o.Kinds[0].Count != sessions || o.Kinds[0].Parts != 4 {
					b.Fatalf("%d kinds, %s", len(o.Kinds), o.LeftOut)
				}
			}
		})
	}
}

// sessionDump is a text in the making.
type sessionDump struct{ strings.Builder }

func (d *sessionDump) session(i int) {
	id, session := 10+4*i, 0xc000000000+0x200*i
	for k, calls := range [][]string{
		{"ex.org/s.(*Session).read(0x%[1]x)", "ex.org/s.(*Server).serve(0xc0f0000000, {0x4f0a20, 0x%[2]x}, 0x%[1]x)"},
		{"ex.org/s.(*buffer).next(0x%[2]x, 0x1)", "ex.org/s.(*Session).write(0x%[1]x)"},
		{"ex.org/s.(*Session).ping(0x%[1]x, 0x%[3]x)"},
		{"ex.org/s.watch({0x4f0a20, 0x%[2]x}, 0x%[1]x)"},
	} {
		fmt.Fprintf(d, "goroutine %d [select]:\n", id+k)
		for line, call := range calls {
			fmt.Fprintf(d, call+"\n\t/src/ex.org/s/session.go:%[4]d +0x1d\n", session, session+0x100, session+0x180, 10*k+line+1)
		}
		fmt.Fprintf(d, "created by ex.org/s.(*Server).start in goroutine %d\n\t/src/ex.org/s/server.go:9 +0x1d\n\n", id)
	}
}
