package thread_test

import (
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/thread"
	"leakdiff/samples/corpus"
)

// BenchmarkText reads about 20 MB of the largest dump of a series: some 20,000
// threads.
func BenchmarkText(b *testing.B) {
	text := content(b, corpus.Path(b, "series", "okhttp-leak", "t4", "java", "jstack-l.txt"))
	text = strings.Repeat(text, 20<<20/len(text))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := thread.ParseText(strings.NewReader(text), thread.Config{}, func(int, *analysis.Thread) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHostileLines reads lines that begin like headers and are none.
func BenchmarkHostileLines(b *testing.B) {
	for name, line := range map[string]string{
		"quotes": strings.Repeat(`" tid=`, 10_000), "numbered": `#1 "` + strings.Repeat(`"x `, 20_000), "beans": strings.Repeat(`" Id=1 WAITING on `, 3_000),
	} {
		text := strings.Repeat(line+"\n", 1<<20/len(line))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, _, err := thread.ParseText(strings.NewReader(text), thread.Config{}, func(int, *analysis.Thread) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
