package lsof

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"leakdiff/analysis"
)

// counted is the number of members that a parser saw in a text, and its problems.
type counted func(raw []byte) (seen int, problems []analysis.Problem, err error)

func rowsOf(p parser) counted {
	return func(raw []byte) (int, []analysis.Problem, error) {
		n := 0
		_, problems, err := p(bytes.NewReader(raw), "f", func(_ int, row *Row) error {
			if row.IsDescriptor {
				n++
			}
			return nil
		})
		return n, problems, err
	}
}

func linksOf(raw []byte) (int, []analysis.Problem, error) {
	n := 0
	_, problems, err := ParseListing(bytes.NewReader(raw), "f", func(int, int, *analysis.Descriptor) error { n++; return nil })
	return n, problems, err
}

func socketsOf(raw []byte) (int, []analysis.Problem, error) {
	n := 0
	_, problems, err := ParseSockets(bytes.NewReader(raw), "f", func(int, *analysis.Socket) error { n++; return nil })
	return n, problems, err
}

func warned(problems []analysis.Problem) bool {
	return slices.ContainsFunc(problems, func(p analysis.Problem) bool { return p.Severity != analysis.Note })
}

// damage changes one line of a text: cuts it, leaves a byte of it unreadable or puts a
// line of other text before it. The first line is a header or begins the format.
func damage(t *rapid.T, raw []byte) []byte {
	lines := strings.SplitAfter(string(raw), "\n")
	var rows []int // a blank line, or one of a letter, holds nothing to damage
	for i := 1; i < len(lines)-1; i++ {
		if len(strings.TrimSpace(lines[i])) > 1 {
			rows = append(rows, i)
		}
	}
	at := rapid.SampledFrom(rows).Draw(t, "line")
	body := strings.TrimSuffix(lines[at], "\n")
	switch kind := rapid.SampledFrom([]string{"cut", "garble", "insert"}).Draw(t, "damage"); kind {
	case "cut":
		first := len(body) - len(strings.TrimLeft(body, " \t"))
		lines[at] = body[:rapid.IntRange(first+1, len(body)-1).Draw(t, "length")] + "\n"
	case "garble":
		i := rapid.IntRange(0, len(body)-1).Draw(t, "byte")
		lines[at] = body[:i] + "\x01" + body[i+1:] + "\n"
	default:
		lines[at] = "and some words of a ticket\n" + lines[at]
	}
	return []byte(strings.Join(lines, ""))
}

// TestNoMemberIsLostInSilence: the undamaged counts are those of the samples in
// formats; one damaged line costs members only with a warning.
func TestNoMemberIsLostInSilence(t *testing.T) {
	for name, tt := range map[string]struct {
		read  counted
		truth int
	}{
		"nP.txt":               {rowsOf(ParseTable), 82},
		"fg.txt":               {rowsOf(ParseTable), 82},
		"R_g.txt":              {rowsOf(ParseTable), 82},
		"F.txt":                {rowsOf(ParseFields), 82},
		"F0.txt":               {rowsOf(ParseFields), 82},
		"F_pcuftDsin.txt":      {rowsOf(ParseFields), 82},
		"lsfd.txt":             {rowsOf(ParseLsfd), 82},
		"ls_l_fd.txt":          {linksOf, 82},
		"ls_la_fulliso_fd.txt": {linksOf, 82},
		"busybox_ls_l_fd.txt":  {linksOf, 82},
		"ss_tanp.txt":          {socketsOf, 55},
		"ss_anp.txt":           {socketsOf, 16},
		"netstat_anp.txt":      {socketsOf, 63},
	} {
		t.Run(name, func(t *testing.T) {
			raw := sample(t, name)
			if n, problems, err := tt.read(raw); n != tt.truth || len(problems) > 0 || err != nil {
				t.Fatalf("whole: %d members, %+v, %v", n, problems, err)
			}
			rapid.Check(t, func(t *rapid.T) {
				hurt := damage(t, raw)
				n, problems, err := tt.read(hurt)
				if err != nil {
					t.Fatal(err)
				}
				if n < tt.truth && !warned(problems) {
					t.Fatalf("%d of %d members, no warning in %+v", n, tt.truth, problems)
				}
			})
		})
	}
}

// TestALostMemberOfJSONIsSaid: keys of files that are misspelt or cut.
func TestALostMemberOfJSONIsSaid(t *testing.T) {
	for name, p := range map[string]parser{"J.json": ParseJSON, "j.jsonl": ParseJSON, "lsfd.json": ParseLsfd} {
		raw := string(sample(t, name))
		key := `"fd"`
		if name == "lsfd.json" {
			key = `"assoc"`
		}
		whole, problems, err := rowsOf(p)([]byte(raw))
		if warned(problems) || err != nil || whole == 0 {
			t.Fatalf("%s: %d, %+v, %v", name, whole, problems, err)
		}
		at := 0
		for i := 0; ; i++ {
			next := strings.Index(raw[at:], key)
			if next < 0 {
				break
			}
			at += next + 1
			hurt := raw[:at] + "\x7f" + raw[at+1:]
			if n, problems, err := rowsOf(p)([]byte(hurt)); n < whole && !warned(problems) || err != nil {
				t.Fatalf("%s, file %d: %d of %d in silence, %v", name, i, n, whole, err)
			}
		}
	}
}

// TestRowsWithoutRightsAreDescriptors in the layout of lsof 4.95.0 for another user
// whose directory of descriptors may be read, and files not (process_id in
// lib/dialects/linux/dproc.c of lsof-org/lsof). Written for process 611: 4 descriptors.
// Process 1 shows none.
func TestRowsWithoutRightsAreDescriptors(t *testing.T) {
	table := `COMMAND PID USER   FD      TYPE DEVICE SIZE/OFF NODE NAME
initd     1 root  cwd   unknown                      /proc/1/cwd (readlink: Permission denied)
initd     1 root NOFD                                /proc/1/fd (opendir: Permission denied)
agentd  611 root  cwd   unknown                      /srv/agent (stat: Permission denied)
agentd  611 root  txt       REG  254,0    81920  771 /usr/sbin/agentd
agentd  611 root    0r  unknown                      /srv/agent/in (stat: Permission denied)
agentd  611 root    7u  unknown                      /proc/611/fd/7 (readlink: Permission denied)
agentd  611 root    8w  unknown                      /srv/agent/a b (stat: Permission denied)
agentd  611 root   10r  unknown                      /srv/agent/10 (lstat: Permission denied) (stat: Permission denied)
`
	fields := "p1\ncinitd\nfcwd\na \ntunknown\nn/proc/1/cwd (readlink: Permission denied)\nfNOFD\nn/proc/1/fd (opendir: Permission denied)\n" +
		"p611\ncagentd\nfcwd\ntunknown\nn/srv/agent (stat: Permission denied)\n"
	for i, fd := range []string{"0", "7", "8", "10"} {
		fields += fmt.Sprintf("f%s\na%c\ntunknown\nn/srv/agent/%s (stat: Permission denied)\n", fd, "ruwr"[i], fd)
	}
	for name, tt := range map[string]struct {
		p    parser
		text string
	}{"table": {ParseTable, table}, "fields": {ParseFields, fields}} {
		got := parse(t, tt.p, []byte(tt.text))
		fds := got.byFD()
		if got.Descriptors != 4 || len(fds) != 4 || !slices.Equal(got.Unreadable, []int{1}) || len(got.problems) != 1 {
			t.Errorf("%s: got %+v, %+v", name, got.Listing, got.problems)
		}
		if d := fds[10]; d.Name != "/srv/agent/10" || d.Type != "unknown" || d.Access != "r" {
			t.Errorf("%s: got %+v", name, d)
		}
	}
}

// TestLsofsOwnWarningsAreSaid once for a listing, in the words of lsof 4.95.0
// (readmnt in lib/dialects/linux/dmnt.c of lsof-org/lsof).
func TestLsofsOwnWarningsAreSaid(t *testing.T) {
	warnings := "lsof: WARNING: can't stat() fuse.portal file system /run/user/1000/doc\n      Output information may be incomplete.\n" +
		"lsof: WARNING: can't stat() tracefs file system /sys/kernel/debug/tracing\n      Output information may be incomplete.\n"
	row := "COMMAND PID USER   FD      TYPE DEVICE SIZE/OFF NODE NAME\nagentd  611 root    0r      CHR    1,3      0t0    5 /dev/null\n"
	for name, text := range map[string]string{"above": warnings + row, "below": row + warnings, "alone": warnings} {
		got := parse(t, ParseTable, []byte(text))
		if len(got.problems) != 1 || got.problems[0].Severity != analysis.Warning || got.problems[0].What != "lsof warned 2 times that its output may be incomplete" {
			t.Errorf("%s: %+v", name, got.problems)
		}
		if at := got.problems[0].Offset; text[at:at+8] != "lsof: WA" {
			t.Errorf("%s: at %d", name, at)
		}
	}
	// Users without a name change nothing in the list of descriptors.
	got := parse(t, ParseTable, []byte("lsof: no pwd entry for UID 472\n"+row))
	if got.clean(t); got.Descriptors != 1 {
		t.Errorf("got %+v", got.Listing)
	}
}

// TestADescriptorListedTwiceIsSaid: threads repeat descriptors, processes do not.
func TestADescriptorListedTwiceIsSaid(t *testing.T) {
	row := "agentd 611 root 5u IPv4 77 0t0 TCP 10.0.0.1:4000->10.0.0.2:80 (ESTABLISHED)\n"
	if got := parse(t, ParseTable, []byte(row+row)); got.Descriptors != 1 || len(got.problems) != 1 || !warned(got.problems) {
		t.Errorf("got %+v, %+v", got.Listing, got.problems)
	}
	thread := strings.Replace(row, "611 root", "611 620 root", 1)
	if got := parse(t, ParseTable, []byte(row+thread)).clean(t); got.Descriptors != 1 {
		t.Errorf("got %+v", got.Listing)
	}
}

// TestTheSizeOfTheDirectoryIsCompared: Linux 6.2 and later state the number of
// descriptors there (proc_readfd_count in fs/proc/fd.c).
func TestTheSizeOfTheDirectoryIsCompared(t *testing.T) {
	text := "total 0\ndr-x------ 2 root root  3 Nov 21 03:02 .\ndr-xr-xr-x 9 root root  0 Nov 21 03:02 ..\n" +
		"lrwx------ 1 root root 64 Nov 21 03:02 0 -> /dev/null\nlrwx------ 1 root root 64 Nov 21 03:02 1 -> /dev/null\n"
	if n, problems, _ := linksOf([]byte(text)); n != 2 || len(problems) != 1 || problems[0].What != "the directory holds 1 more descriptors than are listed" {
		t.Errorf("got %d, %+v", n, problems)
	}
	for _, size := range []string{" 2", " 0", " 1"} {
		if _, problems, _ := linksOf([]byte(strings.Replace(text, " 3 Nov", size+" Nov", 1))); len(problems) > 0 {
			t.Errorf("size%s: %+v", size, problems)
		}
	}
}

func TestARowOfASocketTableIsNotLostInSilence(t *testing.T) {
	const (
		ss = "State   Recv-Q   Send-Q     Local Address:Port     Peer Address:Port  Process\n" +
			"ESTAB   0   0   10.0.0.5:5432   10.0.0.9:40001   users:((\"db\",pid=3001,fd=9)) ino:7 sk:1 <->"
		ip = "Active Internet connections (servers and established)\n" +
			"Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name\n" +
			"tcp        0      0 0.0.0.0:22              0.0.0.0:*               LISTEN      900/sshd"
		unix = "Active UNIX domain sockets (only servers)\nProto RefCnt Flags       Type       State         I-Node   PID/Program name     Path\n" +
			"unix  2      [ ACC ]     STREAM     LISTENING     314880   14406/bus            /run/bus"
		user = "Active Internet connections (servers and established)\n" +
			"Proto Recv-Q Send-Q Local Address           Foreign Address         State       User       Inode      PID/Program name\n" +
			"tcp        0      0 0.0.0.0:22              0.0.0.0:*               LISTEN      0          21877      900/sshd: all of it\n" +
			"tcp        0      0 10.0.0.5:22             10.0.0.9:40001          ESTABLISHED 0          21878      900/sshd: all of it\n"
	)
	two, cut, line := "a line holds two rows of the socket table", "the last row is cut off", "a line of the socket table is not understood"
	for _, tc := range []struct {
		name, text string
		rows       int
		problem    string
	}{
		{"ss, two rows on a line", ss + "   LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:((\"sshd\",pid=9,fd=3))\n", 1, two},
		{"ss, glued", ss + "tcp LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:((\"sshd\",pid=9,fd=3))\n", 1, two},
		{"ss, cut before users", ss + "\nESTAB   0   0   10.0.0.5:5432   10.0.0.9:40002", 1, cut},
		{"ss, whole without a line end", ss, 1, ""},
		{"ss, a last row in TIME-WAIT", ss + "\nTIME-WAIT   0   0   10.0.0.5:5432   10.0.0.9:40002", 2, ""},
		{"netstat, glued", ip + "tcp6       0      0 :::22                   :::*                    LISTEN      900/sshd\n", 1, two},
		{"netstat, unix glued", unix + "unix  2      [ ACC ]     STREAM     LISTENING     314881   14406/bus            /run/b\n", 1, two},
		{"netstat, a unix row cut at its inode", unix + "\nunix  2      [ ACC ]     STREAM     LISTENING     3148\n", 1, line},
		{"netstat with users and inodes", user, 2, ""},
		{"netstat, a unix row without owner and path", unix + "\nunix  3      [ ]         STREAM     CONNECTED     314882   -\n", 2, ""},
	} {
		sum, problems, err := ParseSockets(strings.NewReader(tc.text), "t", func(int, *analysis.Socket) error { return nil })
		got := ""
		for _, p := range problems {
			got += p.What
		}
		if err != nil || sum.Rows != tc.rows || got != tc.problem {
			t.Errorf("%s: %d rows and %q, want %d and %q (%v)", tc.name, sum.Rows, got, tc.rows, tc.problem, err)
		}
	}
}
