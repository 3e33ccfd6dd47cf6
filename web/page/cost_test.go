package page

import (
	"bytes"
	"context"
	"testing"

	"leakdiff/web/view"
)

// BenchmarkLargeCase is what a page of a large case costs when its report is there.
func BenchmarkLargeCase(b *testing.B) {
	for _, c := range []struct {
		name                        string
		series, snapshots, families int
	}{{"500x4", 500, 4, 66}, {"1x10000", 1, 10_000, 66}, {"200x100", 200, 100, 8}} {
		in := large(largeCase(c.series, c.snapshots, c.families), nil)
		b.Run(c.name+"/view", func(b *testing.B) {
			for b.Loop() {
				view.NewCase(in)
			}
		})
		v := view.NewCase(in)
		b.Run(c.name+"/html", func(b *testing.B) {
			for b.Loop() {
				var out bytes.Buffer
				if err := HTML(v.Page()).Render(context.Background(), &out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
