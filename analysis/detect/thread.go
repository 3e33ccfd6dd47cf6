package detect

import (
	"bytes"
	"regexp"
	"strings"
)

// threadForms are the header lines of the forms in threads.md; enough of them,
// or one where the form has a line that says so, make a dump.
var threadForms = []struct {
	// word is in every header of the form, and header matches the whole line;
	// without header the word alone is enough.
	word   string
	header *regexp.Regexp
	what   string
	enough int
}{
	{"Full thread dump", nil, "\"Full thread dump\" of a JVM", 1},
	{"= FULL THREAD DUMP =", nil, "\"FULL THREAD DUMP\" of JRockit", 1},
	{"nid=", regexp.MustCompile(`^".*" .*\bnid=\S+ `), "thread headers with nid=", 2},
	{"tid=", regexp.MustCompile(`^".*" .*\btid=\S+ `), "thread headers with tid=", 2},
	{") state=", regexp.MustCompile(`^".*" id=\d+ \(0x[0-9a-f]+\) state=[A-Z_]+`), "thread headers of Jenkins support-core", 2},
	{" Id=", regexp.MustCompile(`^".*" .*\bId=\d+ (Group=.* )?[A-Z_]+\b`), "thread headers with Id=, of ThreadInfo or Jenkins", 2},
	{" - Thread t@", regexp.MustCompile(`^".*" - Thread t@\d+`), "thread headers with t@, of VisualVM", 2},
	{"Thread[", regexp.MustCompile(`^Thread\[.*\] [A-Z_]+\s*$`), "threads as Thread.toString prints them", 2},
	{": (state = ", regexp.MustCompile(`^Thread \d+: \(state = [A-Z_]+\)`), "thread headers of jstack -F", 1},
	{"\n#", regexp.MustCompile(`^#\d+ "[^"]*"( virtual)?( [A-Z_]+ \d{4}-\S+)?\s*$`), "thread headers of Thread.dump_to_file", 2},
	{"3XMTHREADINFO ", regexp.MustCompile(`^3XMTHREADINFO `), "thread lines of a javacore", 1},
	{"::: {", regexp.MustCompile(`^::: \{.*\}`), "hot threads of Elasticsearch", 1},
}

func (v *view) threads() (Result, bool) {
	if strings.HasPrefix(v.first(), "Active K8s Clients") {
		return high(ClientSummary, "it begins with \"Active K8s Clients\", as the script for Jenkins prints it")
	}
	for _, f := range threadForms {
		n := bytes.Count(v.text, []byte(f.word))
		if n > 0 && f.header != nil {
			n = v.linesLike(f.header)
		}
		if n >= f.enough {
			return high(ThreadDump, f.what+": "+v.more(n)+" "+lineNoun(n))
		}
	}
	return no()
}

// linesLike counts the lines of all of the text that look like a thread header.
// What one begins with tells nearly all others apart from it at once.
func (v *view) linesLike(header *regexp.Regexp) int {
	n := 0
	for line := range bytes.Lines(v.text) {
		if strings.IndexByte("\"T#3:", line[0]) < 0 {
			continue
		}
		line = bytes.TrimRight(line[:min(len(line), maxLine)], "\r\n")
		if header.Match(line) {
			n++
		}
	}
	return n
}

func lineNoun(n int) string {
	if n == 1 {
		return "line"
	}
	return "lines"
}
