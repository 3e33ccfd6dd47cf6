package family_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/samples/corpus"
)

// truth is what a series of the corpus is known to hold.
type truth struct {
	Process   string
	Snapshots []string
	Growing   []row
	Negatives []row `json:"must_not_be_called_leaking"`
}

type row struct {
	Kind      string
	Contains  []string
	CreatedBy string `json:"created_by"`
	Counts    []int
}

// counted is a family of a series with its counts and the frames of one stack.
type counted struct {
	family *analysis.Family
	stack  *analysis.Stack
	counts []int
}

// text is what a judge compares: title, creator, fingerprint, exact frames,
// attributes.
func (c *counted) text() string {
	parts := []string{c.family.Title, c.family.Fingerprint}
	if c.stack != nil {
		parts = append(parts, c.stack.CreatedBy.Func)
		for _, f := range c.stack.Frames {
			parts = append(parts, family.ExactName(f.Func))
		}
	}
	for _, value := range c.family.Attributes {
		parts = append(parts, value)
	}
	return plain(strings.Join(parts, "\n"))
}

var punctuation = strings.NewReplacer("->", "", "(", "", ")", "")

func plain(text string) string {
	return strings.TrimSpace(punctuation.Replace(strings.ToLower(text)))
}

// rowWords stand in listings; families need not repeat them.
var rowWords = []string{"a_inode", "inotify wd:", "type=stream (connected)"}

func (c *counted) matches(want row) bool {
	text := c.text()
	for _, piece := range append([]string{want.CreatedBy}, want.Contains...) {
		if !slices.Contains(rowWords, strings.ToLower(piece)) && !strings.Contains(text, plain(piece)) {
			return false
		}
	}
	return string(c.family.Kind) == want.Kind
}

var rawRow = regexp.MustCompile(`^(fd \d+| ino:1 |sdev (not )?in mountinfo)$`)

// checkable leaves out rows about single lines of a listing.
func (want row) checkable() bool {
	return !slices.ContainsFunc(want.Contains, rawRow.MatchString)
}

func TestFamiliesCountWhatTheSeriesHold(t *testing.T) {
	corpus.Heavy(t)
	for _, c := range []struct{ series, expected string }{
		{"clientgo-informer-recreate", "expected.json"},
		{"inotify-leak", "expected.json"},
		{"kubelet-probe-leak", "expected.containerd.json"},
		{"kubelet-probe-leak", "expected.kubelet.json"},
		{"node-agent-leak", "expected.json"},
		{"okhttp-leak", "expected.json"},
		{"prometheus-hanging-targets", "expected.json"},
		{"restart", "expected.json"},
		{"socket-leak", "expected.json"},
	} {
		t.Run(c.series+" "+c.expected, func(t *testing.T) {
			var want truth
			data, err := os.ReadFile(corpus.Path(t, "series", c.series, c.expected))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			families := countSeries(t, corpus.Path(t, "series", c.series), want)
			for _, r := range append(want.Growing, want.Negatives...) {
				// a_inode alone is a word of the listing, not of a family.
				if r.Kind != "thread" && r.checkable() && !slices.Equal(r.Contains, []string{"a_inode"}) {
					r.check(t, families)
				}
			}
		})
	}
}

// check holds where one matching family has the counts, or all of them together.
func (want row) check(t *testing.T, families []*counted) {
	t.Helper()
	sum := make([]int, len(want.Counts))
	var titles []string
	for _, f := range families {
		if !f.matches(want) {
			continue
		}
		if slices.Equal(f.counts, want.Counts) {
			return
		}
		for i, n := range f.counts {
			sum[i] += n
		}
		titles = append(titles, f.family.Title)
	}
	if !slices.Equal(sum, want.Counts) {
		t.Errorf("%v created by %q: %v, want %v, from %q", want.Contains, want.CreatedBy, sum, want.Counts, titles)
	}
}

var debug2OfRestart = regexp.MustCompile(`^p\d-t\d+\.txt$`)

func countSeries(t *testing.T, root string, want truth) []*counted {
	t.Helper()
	var all []*counted
	known := map[string]*counted{}
	add := func(at int, f *analysis.Family, s *analysis.Stack) {
		c := known[f.Fingerprint]
		if c == nil {
			c = &counted{family: f, stack: s, counts: make([]int, len(want.Snapshots))}
			known[f.Fingerprint] = c
			all = append(all, c)
		}
		c.counts[at]++
	}
	for at, snapshot := range want.Snapshots {
		directory := filepath.Join(root, snapshot, want.Process)
		texts, err := filepath.Glob(filepath.Join(directory, "*.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range texts {
			if name := filepath.Base(file); name == "goroutine-debug2.txt" || debug2OfRestart.MatchString(name) {
				for _, s := range readText(t, open(t, file)) {
					add(at, family.OfStack(s.stack), s.stack)
				}
			}
		}
		watches := readWatches(t, filepath.Join(directory, "fdinfo"))
		for _, name := range []string{"lsof.txt", "lsof-nP.txt", "lsof-nP-p.txt"} {
			if file := filepath.Join(directory, name); exists(file) {
				rows := readListing(t, file)
				sockets := family.NewSockets(rows)
				for _, d := range rows {
					add(at, sockets.OfDescriptor(d, heldBy(watches, d.FD)), nil)
				}
			}
		}
		mounts := family.NewMounts(readMounts(t, filepath.Join(directory, "mountinfo")))
		for _, held := range watches {
			for _, w := range held {
				add(at, mounts.OfWatch(w), nil)
			}
		}
	}
	return all
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func heldBy(watches map[int][]analysis.Watch, fd int) int {
	if len(watches) == 0 {
		return -1
	}
	return len(watches[fd])
}

// readListing is a reader of its own for the corpus's tables of lsof -nP.
func readListing(t *testing.T, file string) []analysis.Descriptor {
	t.Helper()
	var out []analysis.Descriptor
	name := -1
	scan := bufio.NewScanner(open(t, file))
	for scan.Scan() {
		line := scan.Text()
		if strings.HasPrefix(line, "COMMAND") {
			name = strings.Index(line, " NAME") + 1
			continue
		}
		fields := strings.Fields(line)
		if name < 0 || len(fields) < 6 || len(line) <= name {
			continue
		}
		fd, err := strconv.Atoi(strings.TrimRight(fields[3], "rwuWR"))
		if err != nil {
			continue
		}
		d := analysis.Descriptor{FD: fd, Name: line[name:]}
		describe(&d, fields[4])
		out = append(out, d)
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

var connectionName = regexp.MustCompile(`^(?:(TCP|UDP) )?(\S+?)(?:->(\S+))?(?: \(([A-Z_0-9]+)\))?$`)

func describe(d *analysis.Descriptor, kind string) {
	switch kind {
	case "IPv4", "IPv6":
		// NODE, TCP or UDP, is right-aligned and one column away from NAME.
		d.Type = "tcp"
		if m := connectionName.FindStringSubmatch(strings.TrimSpace(d.Name)); m != nil {
			d.Protocol, d.Local, d.Remote, d.State = "TCP", m[2], m[3], m[4]
		}
	case "a_inode":
		d.Type = "anon"
	case "sock":
		d.Type = "socket"
	case "FIFO":
		d.Type = "fifo"
		if d.Name == "pipe" {
			d.Type = "pipe"
		}
	case "unix":
		d.Type, d.Protocol = "unix", "unix"
		var sort string
		d.Name, sort, _ = strings.Cut(d.Name, "type=")
		_, d.State, _ = strings.Cut(sort, " ")
		d.Name, d.State = strings.TrimSpace(d.Name), strings.Trim(d.State, "() ")
	default:
		d.Type = map[string]string{"REG": "regular", "DIR": "directory", "CHR": "char"}[kind]
	}
}

var inotifyLine = regexp.MustCompile(`^inotify wd:([0-9a-f]+) ino:([0-9a-f]+) sdev:([0-9a-f]+) mask:([0-9a-f]+) `)

func readWatches(t *testing.T, directory string) map[int][]analysis.Watch {
	t.Helper()
	out := map[int][]analysis.Watch{}
	files, err := os.ReadDir(directory)
	if err != nil {
		return nil
	}
	for _, file := range files {
		fd, err := strconv.Atoi(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(directory, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if m := inotifyLine.FindStringSubmatch(line); m != nil {
				var v [4]uint64
				for i := range v {
					v[i], _ = strconv.ParseUint(m[i+1], 16, 64)
				}
				out[fd] = append(out[fd], analysis.Watch{FD: fd, WD: int64(v[0]), Inode: v[1], Device: uint32(v[2]), Mask: uint32(v[3])})
			}
		}
	}
	return out
}

func readMounts(t *testing.T, file string) []analysis.Mount {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var out []analysis.Mount
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		dash := slices.Index(fields, "-")
		major, minor, _ := strings.Cut(fields[2], ":")
		a, _ := strconv.Atoi(major)
		b, _ := strconv.Atoi(minor)
		out = append(out, analysis.Mount{Major: uint32(a), Minor: uint32(b), Root: fields[3], Point: fields[4], FSType: fields[dash+1], Source: fields[dash+2]})
	}
	return out
}

// The figures are those that expected.json derives from the raw lines.
func TestWatchesOfTheInotifyLeak(t *testing.T) {
	root := corpus.Path(t, "series", "inotify-leak")
	want := truth{Process: "leaker", Snapshots: []string{"t0", "t1", "t2", "t3"}}
	figures := map[string][]int{"missing": make([]int, 4), "root": make([]int, 4), "mounted root": make([]int, 4), "no watch": make([]int, 4), "instances": make([]int, 4)}
	for _, c := range countSeries(t, root, want) {
		a := c.family.Attributes
		for name, holds := range map[string]bool{
			"missing":      a["status"] == "not in mountinfo",
			"root":         a["inode"] == "root",
			"mounted root": a["inode"] == "root" && a["status"] == "mounted",
			"no watch":     a["watches"] == "no watch",
			"instances":    a["name"] == "inotify",
		} {
			for i, n := range c.counts {
				if holds {
					figures[name][i] += n
				}
			}
		}
	}
	for name, counts := range map[string][]int{
		"missing": {0, 8, 22, 43}, "root": {12, 20, 36, 56}, "mounted root": {12, 12, 14, 13},
		"no watch": {0, 8, 22, 42}, "instances": {14, 30, 60, 100},
	} {
		if !slices.Equal(figures[name], counts) {
			t.Errorf("%s: %v, want %v", name, figures[name], counts)
		}
	}
}
