package procfs

import (
	"bytes"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// seed adds real files, whole and cut in the middle.
func seed(f *testing.F, names ...string) {
	f.Helper()
	for _, name := range names {
		raw := sample(f, name)
		f.Add(raw)
		f.Add(raw[:len(raw)/2])
	}
}

// checkBounds fails where a parser reports a place outside its input, or too much.
func checkBounds(t *testing.T, in []byte, problems []analysis.Problem, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > line.MaxProblems+1 {
		t.Fatalf("%d problems", len(problems))
	}
	for _, p := range problems {
		if p.Offset > int64(len(in)) || p.What == "" || p.Why == "" || p.Hint == "" {
			t.Fatalf("problem %+v", p)
		}
	}
}

func checkWatches(t *testing.T, in []byte, watches []analysis.Watch) {
	t.Helper()
	for _, w := range watches {
		if w.Place.Line < 1 || w.Place.Offset < 0 || w.Place.Offset+w.Place.Length > int64(len(in)) {
			t.Fatalf("watch at %+v of %d bytes", w.Place, len(in))
		}
		if !bytes.Contains(in[w.Place.Offset:w.Place.Offset+w.Place.Length], []byte("inotify ")) {
			t.Fatalf("no watch at %+v", w.Place)
		}
	}
}

func FuzzFDInfo(f *testing.F) {
	seed(f, "zoo-annotated.txt", "inotify-fdinfo-many-filesystems-before.txt", "kubelet-fdinfo-inotify")
	f.Fuzz(func(t *testing.T, in []byte) {
		info, problems, err := ParseFDInfo(bytes.NewReader(in), "f", 3)
		checkBounds(t, in, problems, err)
		checkWatches(t, in, info.Watches)
		checkUsual(t, in)
		all, problems, err := ParseAnnotated(bytes.NewReader(in), "f")
		checkBounds(t, in, problems, err)
		for _, a := range all {
			checkWatches(t, in, a.Watches)
		}
		captures, _, problems, err := ParseGrep(bytes.NewReader(in), "f")
		checkBounds(t, in, problems, err)
		for _, c := range captures {
			for _, i := range c.Infos {
				checkWatches(t, in, i.Watches)
			}
		}
	})
}

func FuzzMountinfo(f *testing.F) {
	seed(f, "leaker-mountinfo", "kubelet-mountinfo")
	f.Fuzz(func(t *testing.T, in []byte) {
		mounts, problems, err := ParseMountinfo(bytes.NewReader(in), "f")
		checkBounds(t, in, problems, err)
		if lines := bytes.Count(in, []byte("\n")) + 1; len(mounts) > lines {
			t.Fatalf("%d mounts in %d lines", len(mounts), lines)
		}
	})
}

func FuzzLimits(f *testing.F) {
	seed(f, "leaker-limits")
	f.Fuzz(func(t *testing.T, in []byte) {
		limits, problems, err := ParseLimits(bytes.NewReader(in), "f")
		checkBounds(t, in, problems, err)
		for name, l := range limits {
			if name == "" || l.Soft < unlimited || l.Hard < unlimited {
				t.Fatalf("%q: %+v", name, l)
			}
		}
	})
}

func FuzzStatus(f *testing.F) {
	seed(f, "leaker-status", "kubelet-status", "kubelet-cmdline", "leaker-inotify-sysctls.txt")
	f.Fuzz(func(t *testing.T, in []byte) {
		_, problems, err := ParseStatus(bytes.NewReader(in), "f")
		checkBounds(t, in, problems, err)
		_, problems, err = ParseCmdline(bytes.NewReader(in), "f")
		checkBounds(t, in, problems, err)
		_, problems, err = ParseSysctls(bytes.NewReader(in), "f")
		checkBounds(t, in, problems, err)
	})
}

func FuzzStat(f *testing.F) {
	seed(f, "kubelet-stat")
	f.Fuzz(func(t *testing.T, in []byte) {
		stat, problems, err := ParseStat(bytes.NewReader(in), "f")
		checkBounds(t, in, problems, err)
		if !bytes.Contains(in, []byte("("+stat.Comm)) && stat != (Stat{}) && !bytes.ContainsRune(in, '\r') {
			t.Fatalf("comm %q is not in the input", stat.Comm)
		}
	})
}
