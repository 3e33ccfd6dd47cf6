package histogram_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/histogram"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The figures are the last lines of the files, and rows of them.
func TestHistogramsOfHotSpotAreRead(t *testing.T) {
	for name, want := range map[string]struct {
		pid, classes, first     int
		bytes, objects, session int64
	}{
		"jcmd-1-jdk17.txt": {2714, 238, 42116, 7268416, 112084, 20000},
		"jcmd-3-jdk17.txt": {2714, 237, 122116, 21043712, 312083, 60000},
		"jmap-3-jdk17.txt": {0, 237, 122116, 21043712, 312083, 60000},
	} {
		found, problems, err := histogram.Parse(bytes.NewReader(read(t, name)), name)
		if err != nil || len(problems) > 0 || len(found) != 1 {
			t.Fatal(name, len(found), err, problems)
		}
		h := &found[0]
		if h.PID != want.pid || len(h.Rows) != want.classes || h.More != 0 || h.Bytes != want.bytes || h.Objects != want.objects || h.LowerBound || !h.Total || h.By != analysis.HeapByClass {
			t.Errorf("%s: pid %d, %d classes and %d more, %d bytes, %d objects", name, h.PID, len(h.Rows), h.More, h.Bytes, h.Objects)
		}
		if h.Rows[0].Name != "byte[]" || h.Rows[0].Objects != int64(want.first) || h.Rows[3].Name != "com.acme.shop.Shop$Session" || h.Rows[3].Objects != want.session || h.Rows[3].Bytes != 24*want.session {
			t.Errorf("%s: %+v", name, h.Rows[:4])
		}
	}
}

func TestALoopOfHistogramsIsReadOneByOne(t *testing.T) {
	found, _, err := histogram.Parse(bytes.NewReader(read(t, "loop-jdk17.txt")), "loop.txt")
	if err != nil || len(found) != 3 {
		t.Fatal(len(found), err)
	}
	for i, want := range []int64{20000, 40000, 60000} {
		h := &found[i]
		if h.PID != 2714 || h.Total || !h.LowerBound || len(h.Rows) != 17 || h.Rows[3].Objects != want {
			t.Errorf("histogram %d: pid %d, %d rows, %+v", i+1, h.PID, len(h.Rows), h.Rows[3])
		}
	}
}

func TestFormsOfHistograms(t *testing.T) {
	for name, c := range map[string]struct {
		text, class    string
		bytes, objects int64
		refused        int
		whole          bool
	}{
		"OpenJ9, without colons":       {"num   object count     total size    class name\n-------\n  1   3354   107328    [C\n  2   717   57360    java.lang.Class\n", "char[]", 164688, 4071, 0, false},
		"JDK 8, without modules":       {" num     #instances         #bytes  class name\n----\n   1:  10  240  com.acme.Order\nTotal 10 240\n", "com.acme.Order", 240, 10, 0, true},
		"a row that breaks off":        {" num     #instances         #bytes  class name\n   1:  10  240  com.acme.Order\n   2:  7\nTotal 17 400\n", "com.acme.Order", 400, 17, 1, true},
		"two loaders of one class":     {" num     #instances         #bytes  class name\n   1:  10  240  com.acme.Order\n   2:  2  48  com.acme.Order\n", "com.acme.Order", 288, 12, 0, false},
		"what follows is no row of it": {" num     #instances         #bytes  class name\n   1:  10  240  com.acme.Order\nHeap\n   2:  2  48  com.acme.Other\n", "com.acme.Order", 240, 10, 0, false},
	} {
		found, _, err := histogram.Parse(strings.NewReader(c.text), "x")
		if err != nil || len(found) != 1 {
			t.Fatal(name, len(found), err)
		}
		h := &found[0]
		if h.Rows[0].Name != c.class || h.Bytes != c.bytes || h.Objects != c.objects || h.Refused != c.refused || h.Total != c.whole || h.LowerBound != (!c.whole || c.refused > 0) {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

func TestNamesOfClasses(t *testing.T) {
	for name, want := range map[string]string{
		"[B": "byte[]", "[[I": "int[][]", "[Ljava.lang.String;": "java.lang.String[]", "com.acme.Order": "com.acme.Order",
		"[": "[", "[X": "[X", "[Lcom.acme.Order": "[Lcom.acme.Order",
	} {
		if got := histogram.ClassName(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestATextWithoutATableIsRefused(t *testing.T) {
	_, _, err := histogram.Parse(strings.NewReader("num of bytes\n1: 2 3 x\n"), "x")
	var fault *analysis.Fault
	if !errors.As(err, &fault) || fault.Code != "no_histogram" || histogram.Tell([]byte(" num     #instances         #bytes  class name\n")) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(read(f, "loop-jdk17.txt"))
	f.Add(read(f, "jcmd-3-jdk17.txt"))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, problems, err := histogram.Parse(bytes.NewReader(data), "x")
		if (err == nil) != (len(found) > 0) || len(problems) > 105 || len(found) > 500 {
			t.Fatal(len(found), len(problems), err)
		}
		for _, h := range found {
			if len(h.Rows) > 300 || h.Bytes < 0 || h.Objects < 0 || h.More < 0 {
				t.Errorf("%+v", h)
			}
		}
	})
}
