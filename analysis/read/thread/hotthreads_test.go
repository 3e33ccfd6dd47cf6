package thread_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis/read/thread"
)

// hotThreads has the layout of server/src/main/java/org/elasticsearch/monitor/jvm/HotThreads.java
// of elastic/elasticsearch, in the spelling of 7 for the first node and of 8 for the second.
const hotThreads = `::: {es-01}{uFPbKLDOTlOmdnwUlKW8sw}{OAM8OT5CQAyasWuIDeVyUA}{10.0.0.1}{10.0.0.1:9300}{dimr}{zone=a, xpack.installed=true}
   Hot threads at 2026-11-21T02:54:23.304Z, interval=500ms, busiestThreads=3, ignoreIdleThreads=true:
   
   44.0% (220.2ms out of 500ms) cpu usage by thread 'elasticsearch[es-01][search][T#2]'
     8/10 snapshots sharing following 2 elements
       app//org.apache.lucene.search.IndexSearcher.search(IndexSearcher.java:521)
       java.base@17.0.4/java.lang.Thread.run(Thread.java:833)
     2/10 snapshots sharing following 1 elements
       java.base@17.0.4/java.lang.Thread.run(Thread.java:833)
   
    0.1% (455.5micros out of 500ms) cpu usage by thread 'elasticsearch[es-01][[logs-2026.11.21][3]: Lucene Merge Thread #1115]'
     10/10 snapshots sharing following 1 elements
       java.base@17.0.4/java.lang.Thread.run(Thread.java:833)

::: {es-02}{e-qNvKuUSQqvQOB-5-lZjA}{x}{10.0.0.2}{10.0.0.2:9300}{d}
   Hot threads at 2026-11-21T02:54:23.310Z, interval=500ms, busiestThreads=3, ignoreIdleThreads=true:

   100.0% [cpu=14.4%, other=85.6%] (500ms out of 500ms) cpu usage by thread 'elasticsearch[es-02][write][T#1]'
     unique snapshot
       java.base@21.0.1/java.lang.Thread.run(Thread.java:1583)
   
   4.2mb memory allocated by thread 'elasticsearch[es-02][generic][T#7]'
     10/10 snapshots sharing following 1 elements
       java.base@21.0.1/java.lang.Thread.run(Thread.java:1583)
`

func TestHotThreadsAreThreadsOfTheirNodes(t *testing.T) {
	p := parse(t, "x.hot", hotThreads)
	want := []string{
		`"elasticsearch[es-01][search][T#2]" java #-1 nid 0  | org.apache.lucene.search.IndexSearcher.search IndexSearcher.java:521 | java.lang.Thread.run java.base@17.0.4/Thread.java:833`,
		`"elasticsearch[es-01][[logs-2026.11.21][3]: Lucene Merge Thread #1115]" java #-1 nid 0  | java.lang.Thread.run java.base@17.0.4/Thread.java:833`,
		`"elasticsearch[es-02][write][T#1]" java #-1 nid 0  | java.lang.Thread.run java.base@21.0.1/Thread.java:1583`,
		`"elasticsearch[es-02][generic][T#7]" java #-1 nid 0  | java.lang.Thread.run java.base@21.0.1/Thread.java:1583`,
	}
	if diff := cmp.Diff(want, linesOf(p)); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if !slices.Equal(p.counts(), []int{2, 2}) {
		t.Fatalf("%v threads", p.counts())
	}
	d := p.dumps[0]
	if d.Form != thread.FormHotThreads || d.Node != "es-01" || !d.Truncated || !d.Time.Equal(time.Date(2026, 11, 21, 2, 54, 23, 304e6, time.UTC)) {
		t.Errorf("%+v", d)
	}
	if len(p.problems) != 1 || !strings.Contains(p.problems[0].What, "busiest") || len(warned(p)) != 0 {
		t.Errorf("%+v", p.problems)
	}
}

// TestNoHotThreadIsLostInSilence damages any line; what the text stops before cannot be known.
func TestNoHotThreadIsLostInSilence(t *testing.T) {
	lines := strings.SplitAfter(strings.TrimSuffix(hotThreads, "\n"), "\n")
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		damaged := slices.Clone(lines)
		header := strings.Contains(lines[at], " by thread ")
		if rapid.Bool().Draw(t, "cut") && strings.TrimSpace(lines[at]) != "" {
			least := len(lines[at]) - len(strings.TrimLeft(lines[at], " "))
			if header {
				least = strings.IndexAny(lines[at], "[(y") + 1
			}
			damaged[at] = lines[at][:rapid.IntRange(least, len(lines[at])-1).Draw(t, "kept")] + "\n"
		} else {
			damaged[at] = "garbled\n" + lines[at]
		}
		got, err := read("x.hot", strings.NewReader(strings.Join(damaged, "")))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got.all()); n+refused(got) != 4 || refused(got) > 0 != (len(warned(got)) > 0) {
			t.Fatalf("%d threads and %d refused of 4: %q, %+v", n, refused(got), damaged[at], got.problems)
		}
	})
	lost := strings.Replace(hotThreads, lines[10], "", 1)
	if got := parse(t, "x.hot", lost); len(got.all()) != 3 || refused(got) != 1 || len(warned(got)) != 1 {
		t.Errorf("a lost header: %d threads, %+v", len(got.all()), got.problems)
	}
}
