package ingest

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis"
)

const ferryTable = "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n" +
	"ferry 41 crew 0r CHR 1,3 0t0 5 /dev/null\n" +
	"ferry 41 crew 1u IPv4 2114 0t0 TCP *:https (LISTEN)\n" +
	"ferry 41 crew 2w REG 8,1 17 9 /var/log/ferry.log\n"

// tables are listings as their tools print them. want is what a person counts: processes
// with their descriptors (d), or sockets (s) if the table has no numbers of descriptors.
var tables = []struct{ name, text, want string }{
	{"lsof", ferryTable, "ferry 41 3d"},
	{"lsof of two processes", ferryTable + "quay 52 crew 3u unix 0x0 0t0 77 type=STREAM\n", "ferry 41 3d, quay 52 1d"},
	{"lsof behind grep", strings.SplitAfterN(ferryTable, "\n", 2)[1], "ferry 41 3d"},
	{"ss", "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n" +
		"ESTAB 0 0 10.0.0.5:5432 10.0.0.9:40001 users:((\"ferry\",pid=41,fd=9))\n" +
		"ESTAB 0 0 10.0.0.5:5432 10.0.0.9:40002 users:((\"ferry\",pid=41,fd=10))\n", "ferry 41 2s"},
	{"netstat", "Active Internet connections (servers and established)\n" +
		"Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name\n" +
		"tcp        0      0 0.0.0.0:22              0.0.0.0:*               LISTEN      41/ferry\n" +
		"tcp        0     36 10.0.0.5:22             10.0.0.9:50000          ESTABLISHED 41/ferry\n", "ferry 41 2s"},
}

func prefixed(prefix, text string) string {
	return prefix + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n"+prefix), prefix)
}

// blocks are what a ticket puts around a listing (CommonMark 0.31, sections 4.4, 4.5 and
// 5.1; Jira's text formatting notation).
var blocks = map[string]func(string) string{
	"a fence":                 func(s string) string { return "```\n" + s + "```\n" },
	"a fence with a language": func(s string) string { return "~~~text\n" + s + "~~~\n" },
	"a quotation":             func(s string) string { return prefixed("> ", s) },
	"a fence in a quotation":  func(s string) string { return prefixed("> ", "```\n"+s+"```\n") },
	"a fence in details": func(s string) string {
		return "<details>\n<summary>output</summary>\n\n```bash\n" + s + "```\n</details>\n"
	},
	"an indented block in a quotation": func(s string) string { return prefixed("> ", "Who?\n\n"+prefixed("    ", s)) },
	"noformat":                         func(s string) string { return "{noformat}\n" + s + "{noformat}\n" },
	"code with a title":                func(s string) string { return "{code:title=out.txt}\n" + s + "{code}\n" },
	"an indented block":                func(s string) string { return prefixed("    ", s) },
	"a block indented by a tab":        func(s string) string { return prefixed("\t", s) },
}

// holders are the processes of a result with what they hold.
func holders(r Result) string {
	var out []string
	for _, s := range r.Snapshots {
		text := fmt.Sprint(s.Process.Name.Value, " ", s.Process.PID.Value)
		if n := s.Totals.Descriptors; n != nil {
			text += fmt.Sprint(" ", *n, "d")
		}
		if n := s.Totals.Sockets; n != nil {
			text += fmt.Sprint(" ", *n, "s")
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestAListingInATicketIsReadWithoutTheProseAroundIt(t *testing.T) {
	for _, table := range tables {
		for around, wrap := range blocks {
			t.Run(table.name+" in "+around, func(t *testing.T) {
				r := run(t, map[string]string{"a.md": "Who holds them? Three lsof rows, 7 days:\n\n" + wrap(table.text) + "\nThanks for 2 looks at it!\n"})
				if got := holders(r); got != table.want {
					t.Errorf("%q, want %q", got, table.want)
				}
				for _, p := range r.Problems {
					if p.Severity != analysis.Note {
						t.Errorf("%+v", p)
					}
				}
			})
		}
	}
}

func TestARowInABlockHasItsPlaceInTheTicket(t *testing.T) {
	text := "Who?\n\n" + blocks["a fence in a quotation"](ferryTable)
	r := run(t, map[string]string{"a.md": text})
	seen := 0
	for _, g := range r.Snapshots[0].Groups {
		for i := range g.Members.Len() {
			at := g.Members.At(i).Place
			row := text[at.Offset:][:at.Length]
			if !strings.HasPrefix(row, "ferry 41 crew") || strings.Contains(row, "\n") || strings.Count(text[:at.Offset], "\n")+1 != int(at.Line) {
				t.Errorf("line %d: %q", at.Line, row)
			}
			seen++
		}
	}
	if seen != 3 {
		t.Errorf("%d rows, want 3", seen)
	}
}

func TestNoRowOfATicketIsLostInSilence(t *testing.T) {
	fence := blocks["a fence"]
	other := "ferry 41 crew 3u unix 0x0 0t0 77 type=STREAM\n"
	for name, tc := range map[string]struct{ text, want string }{
		"a row below the block":              {fence(ferryTable) + other, "ferry 41 4d"},
		"a row in a block of something else": {fence(ferryTable) + "\n" + fence("one\ntwo\nthree\n"+other+"four\nfive\n"), "ferry 41 4d"},
		"a table in the text of a list":      {"1. First\n\n    Second line\n\n" + prefixed("        ", ferryTable), "ferry 41 3d"},
		"two listings of one process":        {fence(ferryTable) + "\nAn hour later:\n\n" + fence(ferryTable+other), "ferry 41 3d, ferry 41 4d"},
		"a fence that does not end":          {"```\n" + ferryTable, "ferry 41 3d"},
		"lsof, which counts, and ss":         {fence(ferryTable) + "\nAnd ss -tnp:\n\n" + fence(tables[3].text), "ferry 41 3d"},
	} {
		r := run(t, map[string]string{"a.md": tc.text})
		if got := holders(r); got != tc.want {
			t.Errorf("%s: %q, want %q; %+v", name, got, tc.want, r.Problems)
		}
	}
}

func TestABlockThatMentionsLsofIsNoListing(t *testing.T) {
	for name, text := range map[string]string{
		"a command":   "Run this:\n\n```\nlsof -nP -p 41\n```\nIt prints COMMAND PID and NAME.\n",
		"the columns": "> COMMAND is cut to 9 bytes, PID is not.\n\nThe column Recv-Q of ss counts bytes.\n",
	} {
		if r := run(t, map[string]string{"a.md": text}); len(r.Snapshots) > 0 {
			t.Errorf("%s: %q", name, holders(r))
		}
	}
}
