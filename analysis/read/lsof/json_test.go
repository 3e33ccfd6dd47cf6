package lsof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/samples/corpus"
)

// TestJSONOfTheSameProcessAgreesWithItsFields: the samples hold what print.c of lsof
// 4.99.7 prints of the sets in F.txt, a capture of lsof -F; they were made from the
// rules, not by this package. That release leaves the names of IP sockets out.
func TestJSONOfTheSameProcessAgreesWithItsFields(t *testing.T) {
	want := parse(t, ParseFields, sample(t, "F.txt")).clean(t)
	for name, form := range map[string]string{"J.json": formJSON, "j.jsonl": formJSONLines} {
		got := parse(t, ParseJSON, sample(t, name)).clean(t)
		if got.Form != form || got.Rows != 88 || got.Descriptors != 82 || got.Parts != 1 || len(got.rows) != 88 {
			t.Errorf("%s: got %+v", name, got.Listing)
		}
		for i, r := range got.rows {
			w := want.rows[i]
			have := []any{r.Command, r.PID, r.PPID, r.PGID, r.User, r.FDText, r.FD, r.Type, r.Device, r.Node, r.Links, r.Flags, r.IsDescriptor}
			wanted := []any{w.Command, w.PID, w.PPID, w.PGID, w.User, w.FDText, w.FD, w.Type, w.Device, w.Node, w.Links, w.Flags, w.IsDescriptor}
			if diff := cmp.Diff(wanted, have); diff != "" {
				t.Errorf("%s: row %d (-want +got):\n%s", name, i, diff)
			}
			wd, d := w.Descriptor, r.Descriptor
			wd.Place, d.Place = analysis.Place{}, analysis.Place{}
			wd.Name = unescape(wd.Name) // JSON has escapes of its own
			if w.Type == "IPv4" || w.Type == "IPv6" {
				wd.Name, wd.Local, wd.Remote = "socket:["+w.Device+"]", "", ""
			}
			if diff := cmp.Diff(wd, d); diff != "" {
				t.Errorf("%s: row %d (-want +got):\n%s", name, i, diff)
			}
		}
	}
}

func TestAPlaceCutsTheObjectOutOfItsFile(t *testing.T) {
	for _, name := range []string{"J.json", "j.jsonl", "lsfd.json"} {
		p := ParseJSON
		if name == "lsfd.json" {
			p = ParseLsfd
		}
		raw := sample(t, name)
		for i, row := range parse(t, p, raw).rows {
			at := row.Descriptor.Place
			text := raw[at.Offset : at.Offset+at.Length]
			if text[0] != '{' || text[len(text)-1] != '}' || bytes.Count(text, []byte(`"name"`)) > 1 || at.Line != int64(1+bytes.Count(raw[:at.Offset], []byte("\n"))) {
				t.Errorf("%s: row %d at %+v is %q", name, i, at, text)
			}
		}
	}
}

func TestOddJSONListingsAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		in                 string
		rows, fds, parts   int
		problems, warnings int
		want               analysis.Descriptor
	}{
		"numbers instead of strings, and a name of an IP socket": {
			`{"lsof_version":"5","processes":[{"pid":"7","files":[{"fd":4,"access":"u","type":"IPv4","device":"99","protocol":"TCP","name":"1.2.3.4:5->6.7.8.9:10","tcp_info":{"state":"CLOSE_WAIT"}}]}]}`,
			1, 1, 1, 0, 0,
			analysis.Descriptor{FD: 4, Type: "tcp", Access: "u", Inode: 99, Protocol: "TCP", Local: "1.2.3.4:5", Remote: "6.7.8.9:10", State: "CLOSE_WAIT", Name: "1.2.3.4:5->6.7.8.9:10"},
		},
		"warnings above and between lines": {
			"lsof: WARNING: can't stat() tmpfs file system /x\n      Output information may be incomplete.\n{\"pid\":1,\"fd\":\"3\",\"type\":\"CHR\",\"name\":\"/dev/null\"}\nlsof: no pwd entry for UID 5\n{\"pid\":1,\"fd\":\"cwd\",\"type\":\"DIR\",\"name\":\"/\"}\n",
			2, 1, 1, 1, 3,
			analysis.Descriptor{FD: 3, Type: "char", Name: "/dev/null"},
		},
		"two listings of repeat mode": {
			`{"lsof_version":"5","processes":[{"pid":7,"files":[{"fd":"3","type":"CHR","name":"/dev/null"}]}]}` + "\n=======\n" + `{"lsof_version":"5","processes":[{"pid":7,"files":[{"fd":"3","type":"CHR","name":"/dev/null"}]}]}`,
			2, 2, 3, 0, 0,
			analysis.Descriptor{FD: 3, Type: "char", Name: "/dev/null"},
		},
		"bytes that are no UTF-8 and escapes": {
			"{\"pid\":1,\"fd\":\"3\",\"type\":\"REG\",\"name\":\"/a\\u00e9\\n\xff\\\"\"}",
			1, 1, 1, 0, 0,
			analysis.Descriptor{FD: 3, Type: "regular", Name: "/aé\n\xff\""},
		},
		"threads repeat descriptors": {
			`{"pid":1,"tid":5,"fd":"3","type":"CHR","name":"/dev/null"}` + "\n" + `{"pid":1,"tid":6,"fd":"3","type":"CHR","name":"/dev/null"}`,
			2, 1, 1, 0, 0,
			analysis.Descriptor{FD: 3, Type: "char", Name: "/dev/null"},
		},
		"a broken line costs that line": {
			`{"pid":1,"fd":"3",type:"CHR","name":"/dev/null"}` + "\n" + `{"pid":1,"fd":"4","type":"CHR","name":"/dev/null"}`,
			1, 1, 1, 1, 0,
			analysis.Descriptor{FD: 4, Type: "char", Name: "/dev/null"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := parse(t, ParseJSON, []byte(tt.in))
			skipped := 0
			for _, s := range got.Skipped {
				skipped += s.Count
			}
			sum := 0
			for _, p := range got.PerPart {
				sum += p.Descriptors
			}
			if got.Rows != tt.rows || sum != tt.fds || got.Parts != tt.parts || len(got.problems) != tt.problems || skipped != tt.warnings {
				t.Fatalf("got %+v, %+v", got.Listing, got.problems)
			}
			d := got.rows[0].Descriptor
			d.Place = analysis.Place{}
			if diff := cmp.Diff(tt.want, d); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNestedAndHugeJSONCostsNoMemory(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 100000) + "1"
	if got := parse(t, ParseJSON, []byte(deep)); got.Rows != 0 || len(got.problems) != 1 || !got.Truncated {
		t.Errorf("deep: got %+v", got)
	}
	long := `{"pid":1,"fd":"3","type":"REG","name":"` + strings.Repeat("x", 5<<20) + `"}`
	if got := parse(t, ParseJSON, []byte(long)); len(got.rows) != 1 || len(got.rows[0].NameText) != maxText {
		t.Errorf("long: got %d rows", len(got.rows))
	}
}

// TestAPrefixOfJSONGivesAPrefixOfItsRows cuts the samples anywhere.
func TestAPrefixOfJSONGivesAPrefixOfItsRows(t *testing.T) {
	for name, p := range map[string]parser{"J.json": ParseJSON, "j.jsonl": ParseJSON, "lsfd.json": ParseLsfd} {
		raw := sample(t, name)
		whole := parse(t, p, raw)
		rapid.Check(t, func(rt *rapid.T) {
			cut := rapid.IntRange(0, len(raw)).Draw(rt, "cut")
			part := parse(t, p, raw[:cut])
			if len(part.rows) > len(whole.rows) {
				rt.Fatalf("%d rows of %d", len(part.rows), len(whole.rows))
			}
			for i := range part.rows {
				if diff := cmp.Diff(whole.rows[i], part.rows[i]); diff != "" {
					rt.Fatalf("row %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

func TestErrorsOfTheJSONVisitorComeBack(t *testing.T) {
	stop := errors.New("stop")
	visited := 0
	_, _, err := ParseJSON(bytes.NewReader(sample(t, "J.json")), "x", func(int, *Row) error { visited++; return stop })
	if !errors.Is(err, stop) || visited != 1 {
		t.Errorf("visited %d, %v", visited, err)
	}
}

// TestLsfdAgreesWithLsofAboutTheSameProcess compares two tools, table and JSON.
func TestLsfdAgreesWithLsofAboutTheSameProcess(t *testing.T) {
	lsof := parse(t, ParseTable, sample(t, "nP.txt")).clean(t).byFD()
	table := parse(t, ParseLsfd, sample(t, "lsfd.txt")).clean(t)
	json := parse(t, ParseLsfd, sample(t, "lsfd.json")).clean(t)
	// 110 lines below the header, 82 of them numbers: counted with awk.
	if table.Form != formLsfd || json.Form != formLsfdJSON || table.Rows != 110 || json.Rows != 110 || table.Descriptors != 82 || json.Descriptors != 82 {
		t.Fatalf("got %+v and %+v", table.Listing, json.Listing)
	}
	for i, r := range table.rows {
		j := json.rows[i]
		r.Descriptor.Place, j.Descriptor.Place = analysis.Place{}, analysis.Place{}
		if diff := cmp.Diff(r, j); diff != "" {
			t.Errorf("row %d, table and JSON (-table +json):\n%s", i, diff)
		}
		if r.Command != "zoo (a b) c" || r.PID != 14406 || r.User != "root" {
			t.Errorf("row %d: got %+v", i, r)
		}
	}
	for fd, d := range table.byFD() {
		w := lsof[fd]
		// lsof shows O_PATH descriptors as u, lsfd without rights.
		if d.Access != w.Access && d.Access != "" {
			t.Errorf("%d: access %q, want %q", fd, d.Access, w.Access)
		}
		// lsfd 2.38 repeats the inode of the first io_uring and pidfd for all.
		if d.Type != "anon" && d.Inode != w.Inode {
			t.Errorf("%d: inode %d, want %d", fd, d.Inode, w.Inode)
		}
		same := map[string]bool{"regular": true, "directory": true, "char": true, "fifo": true, "pipe": true, "anon": true, "tcp": true, "tcp6": true, "udp": true, "unix": true, "raw": true, "packet": true, "memfd": true, "namespace": true}
		if same[w.Type] && d.Type != w.Type {
			t.Errorf("%d: type %q, want %q (%s)", fd, d.Type, w.Type, d.Name)
		}
		if w.Type == "regular" && d.Deleted != w.Deleted {
			t.Errorf("%d: deleted %v, want %v", fd, d.Deleted, w.Deleted)
		}
	}
	if got, want := table.byFD()[9].Name, "/srv/leak-lab/fd/exp/zoodir/name with  spaces\nand newline\t(deleted)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLsfdIsReadInItsOtherForms(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want analysis.Descriptor
		pid  int
	}{
		"an excerpt without a header": {
			"systemd            1437  jet     4  rw- eventpoll anon_inodefs    15  1060 tfds=5,6,9\n",
			analysis.Descriptor{FD: 4, Type: "anon", Access: "u", Name: "[eventpoll:5,6,9]"}, 1437,
		},
		"ends of a socket, XMODE, as of 2.40": {
			"COMMAND  PID USER ASSOC XMODE TYPE SOURCE MNTID INODE NAME\nkubelet 1437 root     4 rw---  TCP sockfs     9 90210 state=close-wait laddr=10.0.0.9:41234 raddr=10.0.0.1:443\n",
			analysis.Descriptor{FD: 4, Type: "tcp", Access: "u", Inode: 90210, Protocol: "TCP", Local: "10.0.0.9:41234", Remote: "10.0.0.1:443", State: "CLOSE_WAIT", Name: "state=close-wait laddr=10.0.0.9:41234 raddr=10.0.0.1:443"}, 1437,
		},
		"a unix socket as of 2.40": {
			"COMMAND  PID USER ASSOC XMODE        TYPE SOURCE MNTID INODE NAME\nkubelet 1437 root     4 rw--- UNIX-STREAM sockfs     9 90210 state=listen path=/run/a b.sock\n",
			analysis.Descriptor{FD: 4, Type: "unix", Access: "u", Inode: 90210, Protocol: "unix", State: "LISTEN", Name: "/run/a b.sock"}, 1437,
		},
		"columns of one's own": {
			"  PID FD TYPE  INODE NAME\n 1437  4 SOCK 314882 TCP:[314882]\n",
			analysis.Descriptor{FD: 4, Type: "tcp", Inode: 314882, Protocol: "TCP", Name: "TCP:[314882]"}, 1437,
		},
		"a pidfd as of 2.40": {
			"COMMAND  PID USER ASSOC XMODE  TYPE SOURCE MNTID INODE NAME\nkubelet 1437 root     4 rw--- pidfd  pidfs     9 90210 pid=14409 comm=zoo nspid=14409\n",
			analysis.Descriptor{FD: 4, Type: "anon", Access: "u", Inode: 90210, Name: "[pidfd:14409]"}, 1437,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := parse(t, ParseLsfd, []byte(tt.in)).clean(t)
			if len(got.rows) != 1 || got.rows[0].PID != tt.pid {
				t.Fatalf("got %+v", got)
			}
			d := got.rows[0].Descriptor
			d.Place = analysis.Place{}
			if diff := cmp.Diff(tt.want, d); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	refused := parse(t, ParseLsfd, []byte("lsfd: unknown column: KNAME,ENDPOINTS\n"))
	if refused.Rows != 0 || len(refused.problems) != 1 || refused.Form != "" {
		t.Errorf("a refusal: got %+v", refused)
	}
}

func TestBusyboxAndToyboxAreRead(t *testing.T) {
	in := "1\t/usr/local/bin/wiring\t692\tanon_inode:[pidfd]\n7\t/bin/a b (deleted)\t3\tsocket:[99]\n"
	got := parse(t, ParseTable, []byte(in)).clean(t)
	if got.Form != formBusybox || got.Descriptors != 2 || got.rows[0].Command != "wiring" || got.rows[0].FD != 692 || got.rows[1].Command != "a b" || got.rows[1].Descriptor.Inode != 99 {
		t.Errorf("got %+v", got)
	}
	got = parse(t, ParseTable, []byte("1\t/sbin/init\t/dev/null\n1\t/sbin/init\t/dev/null\n1\t/sbin/init\tsocket:[5]\n")).clean(t)
	if got.Descriptors != 3 || got.rows[0].FD != -1 || !got.rows[0].Star || got.rows[2].Descriptor.Type != "socket" {
		t.Errorf("three columns: got %+v", got)
	}
	// The widths are those of print_info in toybox's lsof.c.
	toybox := "COMMAND     PID       USER   FD      TYPE             DEVICE  SIZE/OFF       NODE NAME\n" +
		"sh         1234       root    3u     IPv4                          0t0     314884 TCP 127.0.0.1:58461->127.0.0.1:45828 (ESTABLISHED)\n" +
		"sh         1234       root    4r     FIFO               0,10       0t0     314757 pipe:[314757]\n"
	got = parse(t, ParseTable, []byte(toybox)).clean(t)
	want := analysis.Descriptor{FD: 3, Type: "tcp", Access: "u", Inode: 314884, Protocol: "TCP", Local: "127.0.0.1:58461", Remote: "127.0.0.1:45828", State: "ESTABLISHED", Name: "127.0.0.1:58461->127.0.0.1:45828 (ESTABLISHED)"}
	if diff := cmp.Diff(want, got.byFD()[3]); diff != "" || got.byFD()[4].Type != "pipe" {
		t.Errorf("toybox: %+v (-want +got):\n%s", got.byFD()[4], diff)
	}
}

// TestOtherListingsOfTheCorpusMeetTheirExpectedCount: busybox and lsfd; the number of
// lsfd's descriptors is that of lsof's.
func TestOtherListingsOfTheCorpusMeetTheirExpectedCount(t *testing.T) {
	root := corpus.Path(t)
	for path, tt := range map[string]struct {
		p    parser
		want int
	}{
		"descriptors/realworld/10-swift-busybox-lsof.txt": {ParseTable, 6},
		"descriptors/realworld/22-lsfd-eventpoll.txt":     {ParseLsfd, 2},
		"descriptors/lsof/lsfd.txt":                       {ParseLsfd, 82},
		"descriptors/lsof/lsfd.json":                      {ParseLsfd, 82},
	} {
		if !corpus.Has(t, path) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if got := parse(t, tt.p, raw).clean(t); got.Descriptors != tt.want {
			t.Errorf("%s: got %d, want %d", path, got.Descriptors, tt.want)
		}
	}
}

// TestRowsThatAreNoDescriptorAreReportedApart: a visitor gets the rows of all sorts, and
// is told which of them are descriptors.
func TestRowsThatAreNoDescriptorAreReportedApart(t *testing.T) {
	corpus.Path(t, "descriptors", "realworld")
	root := corpus.Path(t)
	for path, cells := range expected(t, root, "descriptors/realworld") {
		if !strings.HasPrefix(cells[1], "lsof") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		descriptors, all := 0, 0
		_, _, err = ParseTable(bytes.NewReader(raw), path, func(_ int, row *Row) error {
			all++
			if row.IsDescriptor {
				descriptors++
			}
			return nil
		})
		if got, want := fmt.Sprint(descriptors, " of ", all), wantOfExcerpt(t, root, cells); err != nil || got != want {
			t.Errorf("%s: got %s rows as descriptors, want %s: %v", path, got, want, err)
		}
	}
}

func FuzzJSON(f *testing.F) {
	seed(f, "J.json", "j.jsonl")
	f.Add([]byte("=======\n{\"lsof_version\":\"5\",\"processes\":[]}"))
	fuzzRows(f, ParseJSON)
}

func FuzzLsfd(f *testing.F) {
	seed(f, "lsfd.txt", "lsfd.json")
	f.Add([]byte("systemd            1437  jet     4  rw- eventpoll anon_inodefs    15  1060 tfds=5,6,9\n"))
	fuzzRows(f, ParseLsfd)
}

// TestTheOrderOfMembersDoesNotMatter sorts the keys as jq -S does: the files of a
// process then stand before its id.
func TestTheOrderOfMembersDoesNotMatter(t *testing.T) {
	for _, name := range []string{"J.json", "j.jsonl"} {
		raw := bytes.ToValidUTF8(sample(t, name), []byte("?"))
		want := parse(t, ParseJSON, raw).rows
		for form, indent := range map[string]string{"sorted": "", "sorted, over lines": "  "} {
			var out bytes.Buffer
			for d := json.NewDecoder(bytes.NewReader(raw)); d.More(); {
				var v any
				if err := d.Decode(&v); err != nil {
					t.Fatal(err)
				}
				e := json.NewEncoder(&out) // which sorts keys
				e.SetIndent("", indent)
				e.SetEscapeHTML(false)
				if err := e.Encode(v); err != nil {
					t.Fatal(err)
				}
			}
			got := parse(t, ParseJSON, out.Bytes())
			for i := range got.rows {
				if i < len(want) {
					got.rows[i].Descriptor.Place = want[i].Descriptor.Place
				}
			}
			if diff := cmp.Diff(want, got.rows); diff != "" || len(got.problems) > 0 {
				t.Errorf("%s %s: problems %v (-want +got):\n%s", name, form, got.problems, diff)
			}
		}
	}
}

func TestFilesWithoutAProcessAreRowsAllTheSame(t *testing.T) {
	for name, in := range map[string]string{
		"no id at all":           `{"processes":[{"files":[{"fd":"3","type":"CHR","name":"/dev/null"}]}]}`,
		"the file ends before":   `{"processes":[{"files":[{"fd":"3","type":"CHR","name":"/dev/null"}],"pid":`,
		"an id, but no command":  `{"processes":[{"pid":7,"files":[{"fd":"3","type":"CHR","name":"/dev/null"}]}]}`,
		"a command, but no id":   `{"processes":[{"command":"a","files":[{"fd":"3","type":"CHR","name":"/dev/null"}]}]}`,
		"an id behind the files": `{"processes":[{"command":"a","files":[{"fd":"3","type":"CHR","name":"/dev/null"}],"pid":7}]}`,
	} {
		if got := parse(t, ParseJSON, []byte(in)); len(got.rows) != 1 || got.rows[0].Descriptor.Name != "/dev/null" {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestFilesThatWaitTooLongForTheirProcessAreNamed(t *testing.T) {
	in := `{"processes":[{"files":[` + strings.Repeat(`{"fd":"3","type":"CHR"},`, maxWaiting+5) + `{"fd":"4","type":"CHR"}],"pid":7}]}`
	got := parse(t, ParseJSON, []byte(in))
	if got.Rows != maxWaiting || len(got.problems) != 2 || !strings.HasPrefix(got.problems[0].What, "6 files") {
		t.Errorf("got %d rows, %v", got.Rows, got.problems)
	}
}
