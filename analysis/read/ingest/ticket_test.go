package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// tickets are pastes as people make them, written for this test in the layout of a
// public thread or of the output of a tool. want is what a person counts in each.
var tickets = []struct{ name, layout, want string }{
	{"curl-headers.md", "curl 8 -i of net/http/pprof, cut by head, in a fence with a language", "2g"},
	{"details-two.md", "golang/go#33250: <details> and <summary> around a block, here with a fence", "2g"},
	{"docker-escaped.md", "moby/moby#34293: the first lines of an escaped dump of dockerd", "3g cut"},
	{"elided.md", "runtime/traceback.go of Go 1.20 and 1.21: both forms of elided frames", "2g"},
	{"fence-one-waiting.md", "ipfs/kubo#2594: one goroutine of many in a fence", "1g"},
	{"go-fence-prompt.md", "lxc/incus#2143: prompt and command in a fence of the language go", "3g"},
	{"goleak-actions.md", "smallnest/chanx#12: goleak before 1.2.1 behind the time stamps of GitHub Actions", "2g"},
	{"goleak-main.md", "viamrobotics/goutils#372: goleak 1.3.0, VerifyTestMain", "1g"},
	{"goleak-test.md", "jaegertracing/jaeger#5006: goleak 1.3.0, VerifyNone", "2g"},
	{"indented.md", "CommonMark 0.31, section 4.4: an indented code block", "2g"},
	{"jira-code.txt", "Jira's text formatting notation: {quote}, {code:title=…}", "1g"},
	{"jira-noformat.txt", "Jira's text formatting notation: {noformat}", "2g"},
	{"lazy-quote.md", "yann-shi/dht#6: only the first line is quoted", "3g"},
	{"leaktest.md", "fortytw2/leaktest#9: leaktest in the output of go test", "1g"},
	{"mail-no-fence.txt", "golang/go#28441: no fence", "2g"},
	{"one-goroutine.txt", "a file of nothing else", "1g"},
	{"one-thread.txt", "olivergondza/dumpling#39: a file of nothing else", "1t"},
	{"profile-excerpt.md", "projectdiscovery/nuclei#2357: the first record of a profile", "560g cut"},
	{"profile-whole.md", "seqsense/s3sync#248: a whole profile", "24g"},
	{"quoted-reply.md", "CommonMark 0.31, section 5.1: a fence in a quotation, answered", "2g"},
	{"service-wrapper.md", "seaweedfs/seaweedfs#605: the log of a service wrapper in a fence", "2g"},
	{"thread-flat.md", "apache/maven-surefire#2935: imported from Jira, indentation lost", "2t"},
	{"thread-jira.txt", "AndreyVMarkelov/jira-prometheus-exporter#43: one thread, here in {noformat}", "1t"},
	{"thread-one.md", "olivergondza/dumpling#43: one thread in a fence", "1t"},
	{"thread-quoted.md", "adoptium/adoptium-support#1343: two threads, here in a quotation", "2t"},
	{"thread-tail.md", "ScottOaks/JavaPerformanceTuning#12: the end of a dump with its deadlock", "2t"},
	{"thread-two.md", "dragonwell-project/dragonwell21#127: a blocked thread in a fence, here with its owner", "2t"},
	{"three-dumps.md", "several dumps in one comment, with a heading each", "3g, 4g, 5g"},
	{"tilde-no-tabs.md", "golang/go#10698: tabs and blank lines lost, here between tildes", "2g"},
	{"two-fences.md", "one dump in two fences with prose between", "2g"},
}

func ticket(t *testing.T, folder, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// counted is what was read: members of each snapshot, and whether it is cut.
func counted(r Result) string {
	var out []string
	for _, s := range r.Snapshots {
		var of []string
		if n := s.Totals.Goroutines; n != nil {
			of = append(of, fmt.Sprint(*n, "g"))
		}
		if n := s.Totals.Threads; n != nil {
			of = append(of, fmt.Sprint(*n, "t"))
		}
		if s.LowerBound {
			of = append(of, "cut")
		}
		out = append(out, strings.Join(of, " "))
	}
	return strings.Join(out, ", ")
}

func TestATicketIsReadAsAPersonCountsIt(t *testing.T) {
	for _, tc := range tickets {
		t.Run(tc.name, func(t *testing.T) {
			r := run(t, map[string]string{tc.name: ticket(t, "ticket", tc.name)})
			if got := counted(r); got != tc.want {
				t.Errorf("%s: %q, want %q; %+v", tc.layout, got, tc.want, r.Problems)
			}
		})
	}
	files, err := os.ReadDir(filepath.Join("testdata", "ticket"))
	if err != nil || len(files) != len(tickets) {
		t.Errorf("%d files, %d rows, %v", len(files), len(tickets), err)
	}
}

func TestProseAndCodeThatMentionGoroutinesAreNoDump(t *testing.T) {
	files, err := os.ReadDir(filepath.Join("testdata", "mention"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		r := run(t, map[string]string{f.Name(): ticket(t, "mention", f.Name())})
		if len(r.Snapshots) > 0 || !slices.ContainsFunc(r.Problems, func(p analysis.Problem) bool { return p.Severity == analysis.Error && p.Hint != "" }) {
			t.Errorf("%s: %q, %+v", f.Name(), counted(r), r.Problems)
		}
	}
}

// begins reports whether a line of a ticket is the first of a member.
func begins(line string) bool {
	line = strings.TrimLeft(line, "> \t[")
	return strings.Contains(line, "goroutine ") && strings.Contains(line, "]:") || strings.HasPrefix(line, "Goroutine ") ||
		strings.HasPrefix(line, `"`) && strings.Contains(line, "tid=") || strings.Contains(line, " @ 0x") || strings.Contains(line, "profile: total")
}

func members(r Result) (n int) {
	for _, s := range r.Snapshots {
		for _, kind := range []analysis.Kind{analysis.KindGoroutine, analysis.KindThread} {
			if total := s.Totals.Of(kind); total != nil {
				n += *total
			}
		}
		n += s.Refused
	}
	return n
}

// TestNothingOfADamagedTicketIsLostInSilence cuts, doubles and garbles each line that does
// not begin a member, and puts a line of a log before it: what is read is what was, or a
// problem says that it is less.
func TestNothingOfADamagedTicketIsLostInSilence(t *testing.T) {
	for _, tc := range tickets {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			lines := strings.SplitAfter(ticket(t, "ticket", tc.name), "\n")
			truth := members(run(t, map[string]string{tc.name: strings.Join(lines, "")}))
			for i, line := range lines {
				if begins(line) || line == "" {
					continue
				}
				for what, with := range map[string]string{"cut": "", "doubled": line + line, "garbled": strings.ReplaceAll(strings.ReplaceAll(line, "(", "\x01"), ":", ";"), "inserted": "2026-11-21 03:00:00 INFO ready\n" + line} {
					r := run(t, map[string]string{tc.name: strings.Join(slices.Concat(lines[:i], []string{with}, lines[i+1:]), "")})
					if members(r) < truth && !slices.ContainsFunc(r.Problems, func(p analysis.Problem) bool { return p.Severity != analysis.Note }) {
						t.Errorf("line %d %s: %d members, want %d: %q", i+1, what, members(r), truth, line)
					}
				}
			}
		})
	}
}

func TestGoleakNamesStateAndCreator(t *testing.T) {
	for name, want := range map[string][]string{
		"goleak-test.md": {
			"2 chan receive example.com/harbour/wire.(*Queue).drain example.com/harbour/wire.NewQueue",
			"2 select example.com/harbour/wire.(*Queue).run example.com/harbour/wire.NewQueue",
		},
		"goleak-main.md":    {"4 IO wait internal/poll.runtime_pollWait example.com/harbour/cargo.Upload"},
		"goleak-actions.md": {"2 chan receive example.com/harbour/chan.process[...] example.com/harbour/chan.New[...]"},
	} {
		var got []string
		for _, g := range run(t, map[string]string{name: ticket(t, "ticket", name)}).Snapshots[0].Groups {
			stack := g.Variants[0].Stack
			for state := range g.States {
				got = append(got, fmt.Sprint(len(stack.Frames)+1, " ", state, " ", stack.Frames[0].Func, " ", stack.CreatedBy.Func))
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestAPartOfADumpIsSaidToBeOne(t *testing.T) {
	two := ticket(t, "ticket", "details-two.md")
	cut := strings.Replace(two, "goroutine 77 [select]:", "goroutine 77 [sel", 1)
	mention := ticket(t, "ticket", "fence-one-waiting.md") + strings.Repeat("Nothing else.\n\n", 250) + "```\ngoroutine 99 [select]:\n```\n"
	for name, tc := range map[string]struct{ text, count, what string }{
		"as it is":                      {two, "2g", "2 goroutines are shown of a process that has more"},
		"with a header that breaks off": {cut, "1g cut", "a dump inside other text is cut"},
		"with a header without a stack": {mention, "1g", "1 goroutine header is not read"},
	} {
		r := run(t, map[string]string{"a.md": tc.text})
		if got := counted(r); got != tc.count || !slices.ContainsFunc(r.Problems, func(p analysis.Problem) bool { return p.What == tc.what }) {
			t.Errorf("%s: %q, want %q and %q in %+v", name, got, tc.count, tc.what, r.Problems)
		}
	}
}
