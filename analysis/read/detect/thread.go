package detect

import (
	"bytes"
	"slices"
	"strings"

	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/histogram"
	"leakdiff/analysis/say/wording"
)

// threadForms are the lines by which the forms of thread dumps are known. Enough of
// them make a dump.
var threadForms = []struct {
	// word is in every such line. first are the bytes that one can begin with, empty if
	// text may precede it. line matches the whole of it.
	word, first string
	line        *expression.Expression
	what        string
	enough      int
	kind        Kind
}{
	{"jdk.ThreadDump {", "j", expression.Lazy(`^jdk\.ThreadDump \{`), "thread dumps in printed flight recorder events", 1, ThreadForeign},
	{"3XMTHREADINFO ", "3", expression.Lazy(`^3XMTHREADINFO `), "thread lines of a javacore", 1, Javacore},
	{"1TISIGINFO ", "1", expression.Lazy(`^1TISIGINFO `), "the signal line of a javacore", 1, Javacore},
	{"0SECTION ", "0", expression.Lazy(`^0SECTION +\S.* dump routine`), "sections of a javacore", 1, Javacore},
	{"::: ", ":", expression.Lazy(`^::: (\{.*\}|\[.*\])`), "nodes in hot threads of Elasticsearch or OpenSearch", 1, HotThreads},
	{" usage by thread '", "", expression.Lazy(`^[\d.]+% .*\(.* out of .*\) \w+ usage by thread '`), "thread lines of hot threads", 2, HotThreads},
	{"Full thread dump", "", expression.Lazy(`Full thread dump(.*\b(VM|JDK)\b|:? *$)`), "\"Full thread dump\" of a JVM", 1, ThreadDump},
	{"= FULL THREAD DUMP =", "=", expression.Lazy(`^===== FULL THREAD DUMP =`), "\"FULL THREAD DUMP\" of JRockit", 1, ThreadDump},
	{"nid=", `"`, expression.Lazy(`^".*" .*\bnid=\S+ `), "thread headers with nid=", 2, ThreadDump},
	{"tid=", `"`, expression.Lazy(`^".*" .*\btid=\S+ `), "thread headers with tid=", 2, ThreadDump},
	{") state=", `"`, expression.Lazy(`^".*" id=\d+ \(0x[0-9a-f]+\) state=[A-Z_]+`), "thread headers of Jenkins support-core", 2, ThreadDump},
	{" id=", `"`, expression.Lazy(`^".*" id=\d+ in [A-Z_]+\b`), "thread headers with id=, of a thread MX bean", 2, ThreadDump},
	{" Group=", `"`, expression.Lazy(`^".*" (daemon )?(prio=\d+ )?Id=\d+ Group=.* (NEW|RUNNABLE|BLOCKED|WAITING|TIMED_WAITING|TERMINATED)\b`), "thread headers with Group=, of Jenkins", 1, ThreadDump},
	{" Id=", `"`, expression.Lazy(`^".*" .*\bId=\d+ (Group=.* )?[A-Z_]+\b`), "thread headers with Id=, of ThreadInfo or Jenkins", 2, ThreadDump},
	{" prio=", `"`, expression.Lazy(`^".*"( daemon)? prio=\d+ (NEW|RUNNABLE|BLOCKED|WAITING|TIMED_WAITING|TERMINATED)\s*$`), "thread headers of JavaMelody, as in Jenkins", 1, ThreadDump},
	{" - Thread t@", `"`, expression.Lazy(`^".*" - Thread t@\d+`), "thread headers with t@, of VisualVM", 2, ThreadDump},
	{"Thread[", "T", expression.Lazy(`^Thread\[.*\]:? [A-Z_]+\s*$`), "threads as Thread.toString prints them", 2, ThreadDump},
	{": (state = ", "T", expression.Lazy(`^Thread (t@)?\d+: \(state = [A-Z_]+\)`), "thread headers of jstack -F", 1, ThreadDump},
	{"Total blocked: ", "T", expression.Lazy(`^Total blocked: [\d,.]+ +Total waited: [\d,.]+`), "thread details copied from JConsole", 1, ThreadDump},
	{"Found one Java-level", "", expression.Lazy(`^\s*Found one Java-level (monitor )?deadlock`), "a deadlock that the JVM found", 1, ThreadDump},
	{"\n#", "#", expression.Lazy(`^#\d+ ".*"( virtual)?( [A-Z_]+ \d{4}-\S+)?\s*$`), "thread headers of Thread.dump_to_file", 2, ThreadDump},
	{"All thread stacktraces", "A", expression.Lazy(`^All thread stacktraces$`), "the thread list of GoCD's support text", 1, ThreadForeign},
}

func (v *view) threads() (Result, bool) {
	if strings.HasPrefix(v.first(), "Active K8s Clients") {
		return high(ClientSummary, "it begins with \"Active K8s Clients\", as the script for Jenkins prints it")
	}
	if r, ok := v.openFiles(); ok {
		return r, true
	}
	for _, f := range threadForms {
		if !v.has(f.word) {
			continue
		}
		if n := v.linesLike(f.first, f.line); n >= f.enough || n == 1 && v.oneThread() {
			return high(f.kind, f.what+": "+v.more(n)+" "+wording.Fit(n, "line", "lines"))
		}
	}
	return v.virtualThreads()
}

// histogram recognises class histograms of a JVM by their titles and a row below them.
func (v *view) histogram() (Result, bool) {
	if !v.has("class name") || !histogram.Tell(v.text) {
		return no()
	}
	return high(ClassHistogram, "the titles of a class histogram, as jcmd GC.class_histogram and jmap -histo print them")
}

// openFiles recognises file-descriptors.txt of Jenkins support-core by its words.
func (v *view) openFiles() (Result, bool) {
	if !v.has("All open files") || !v.has("Open File Descriptor Count") {
		return no()
	}
	words := v.count(func(l string) bool {
		l = strings.TrimSpace(l)
		return l == "All open files" || strings.Contains(l, "Open File Descriptor Count")
	})
	if words < 2 {
		return no()
	}
	return high(FDTargets, "\"Open File Descriptor Count\" and \"All open files\", as Jenkins support-core writes them")
}

// virtualThreads recognises jcmd's output about the machinery of virtual threads, which
// lists none of them.
func (v *view) virtualThreads() (Result, bool) {
	for _, l := range v.lines[:min(len(v.lines), 4)] {
		switch {
		case strings.HasPrefix(l, "java.util.concurrent.ForkJoinPool@") && strings.Contains(l, ", parallelism = "):
			return medium(Text, "the scheduler of virtual threads (jcmd Thread.vthread_scheduler), which lists no threads")
		case l == "Master I/O poller:", l == "Read I/O pollers:":
			return medium(Text, "the pollers of virtual threads (jcmd Thread.vthread_pollers), which list no threads")
		}
	}
	return no()
}

// oneThread reports whether a thread stands in the text by itself with its state, as a
// ticket shows one of many.
func (v *view) oneThread() bool {
	sections, _, _, _ := envelope.Unwrap(bytes.NewReader(v.text), envelope.Config{})
	return slices.ContainsFunc(sections, func(s envelope.Section) bool { return s.Kind == envelope.KindThread })
}

// linesLike counts the lines of all of the text that match. The first bytes of a line
// exclude nearly all others at once; leading blanks are accepted.
func (v *view) linesLike(first string, like *expression.Expression) int {
	n := 0
	for line := range bytes.Lines(v.text) {
		line = bytes.TrimLeft(line, " \t")
		if first != "" && (len(line) == 0 || strings.IndexByte(first, line[0]) < 0) {
			continue
		}
		line = bytes.TrimRight(line[:min(len(line), maxLine)], "\r\n")
		if like.Match(line) {
			n++
		}
	}
	return n
}
