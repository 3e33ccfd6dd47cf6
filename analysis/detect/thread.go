package detect

import (
	"bytes"
	"regexp"
	"strings"
)

// threadForms are the header lines of the forms in threads.md; three of them,
// or one where the form has a line that says so, make a dump.
var threadForms = []struct {
	pattern *regexp.Regexp
	what    string
	enough  int
}{
	{regexp.MustCompile(`(?m)^.{0,80}Full thread dump\b.*`), "\"Full thread dump\" of a JVM", 1},
	{regexp.MustCompile(`(?m)^=+ FULL THREAD DUMP =+`), "\"FULL THREAD DUMP\" of JRockit", 1},
	{regexp.MustCompile(`(?m)^".*" .*\b(nid|tid)=\S+ `), "thread headers with nid= or tid=", 2},
	{regexp.MustCompile(`(?m)^".*" id=\d+ \(0x[0-9a-f]+\) state=[A-Z_]+`), "thread headers of Jenkins support-core", 2},
	{regexp.MustCompile(`(?m)^".*" .*\bId=\d+ (Group=.* )?[A-Z_]+\b`), "thread headers with Id=, of ThreadInfo or Jenkins", 2},
	{regexp.MustCompile(`(?m)^".*" - Thread t@\d+`), "thread headers with t@, of VisualVM", 2},
	{regexp.MustCompile(`(?m)^Thread\[.*\] [A-Z_]+\s*$`), "threads as Thread.toString prints them", 2},
	{regexp.MustCompile(`(?m)^Thread \d+: \(state = [A-Z_]+\)`), "thread headers of jstack -F", 1},
	{regexp.MustCompile(`(?m)^#\d+ "[^"\n]*"( virtual)?( [A-Z_]+ \d{4}-\S+)?\s*$`), "thread headers of Thread.dump_to_file", 2},
	{regexp.MustCompile(`(?m)^3XMTHREADINFO `), "thread lines of a javacore", 1},
	{regexp.MustCompile(`(?m)^::: \{.*\}`), "hot threads of Elasticsearch", 1},
}

func (v *view) threads() (Result, bool) {
	if strings.HasPrefix(v.first(), "Active K8s Clients") {
		return high(ClientSummary, "it begins with \"Active K8s Clients\", as the script for Jenkins prints it")
	}
	if !bytes.ContainsAny(v.text, "\"#[:3=") {
		return no()
	}
	for _, f := range threadForms {
		if n := len(f.pattern.FindAllIndex(v.text, -1)); n >= f.enough {
			return high(ThreadDump, f.what+": "+plural(n, "line", "lines"))
		}
	}
	return no()
}
