package goroutine_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

func parseContention(t testing.TB, text string) ([]goroutine.Contention, []analysis.Problem) {
	t.Helper()
	found, problems, err := goroutine.ParseContention(strings.NewReader(text), goroutine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return found, problems
}

// waited is the second frame of a stack, which calls into sync or the runtime, with its waits.
func waited(c *goroutine.Contention) (out []string) {
	for _, s := range c.Stacks {
		out = append(out, fmt.Sprintf("%d %s", s.Count, s.Frames[1].Func))
	}
	return out
}

// The program lets flush hold a lock 5 times for 200 ms while 4 goroutines wait in add, each
// for 180 ms. All but the last of these four make the next one wait. Six goroutines wait once
// in consume. main waits 5 times for the goroutines of add, and 5 times for flush to start.
var (
	unlocked = []string{"5 main.(*ledger).flush", "15 main.(*ledger).add"}
	blocked  = []string{"20 main.(*ledger).add", "5 main.main", "6 main.consume", "5 main.main"}
)

func TestTheTextOfAMutexProfileHasWhoHeld(t *testing.T) {
	found, problems := parseContention(t, string(read(t, "testdata/mutex-go1.26.8.txt")))
	if len(found) != 1 || len(problems) > 0 {
		t.Fatalf("%d profiles, %+v", len(found), problems)
	}
	c := &found[0]
	if diff := cmp.Diff(unlocked, waited(c)); diff != "" {
		t.Error(diff)
	}
	// 7540168392 cycles of 2096012853 in a second.
	if c.Profile != analysis.MutexProfile || c.Records != 2 || c.Count != 20 || c.Stacks[0].Delay.Round(time.Microsecond) != 3597387*time.Microsecond || c.LowerBound {
		t.Errorf("%+v", c)
	}
	want := []analysis.Frame{
		{Func: "sync.(*Mutex).Unlock", File: "sync/mutex.go", Line: 65},
		{Func: "main.(*ledger).flush", File: "example.org/ledger/main.go", Line: 31},
		{Func: "main.main.func1", File: "example.org/ledger/main.go", Line: 44},
	}
	if diff := cmp.Diff(want, c.Stacks[0].Frames); diff != "" {
		t.Error(diff)
	}
}

func TestTheTextOfABlockProfileHasWhoWaited(t *testing.T) {
	found, problems := parseContention(t, string(read(t, "testdata/block-go1.26.8.txt")))
	if len(found) != 1 || len(problems) > 0 {
		t.Fatalf("%d profiles, %+v", len(found), problems)
	}
	own := slices.DeleteFunc(waited(&found[0]), func(s string) bool { return strings.Contains(s, "net/http") })
	if diff := cmp.Diff(blocked, own); diff != "" {
		t.Error(diff)
	}
	if c := &found[0]; c.Profile != analysis.BlockProfile || c.Records != 5 || c.Count != 37 || c.LowerBound {
		t.Errorf("%+v", c)
	}
}

func TestTheProtoOfAProfileSaysTheSameAsItsText(t *testing.T) {
	for _, name := range []string{"mutex", "block"} {
		text, _ := parseContention(t, string(read(t, "testdata/"+name+"-go1.26.8.txt")))
		proto, problems, err := goroutine.ParseContentionProto(open(t, "testdata/"+name+"-go1.26.8.pb.gz"), goroutine.Config{})
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		if proto.Profile != text[0].Profile || proto.Executable != "/opt/ledger/ledger" || proto.Time.Format(time.DateTime) != "2026-11-24 11:41:52" || proto.Records != text[0].Records {
			t.Errorf("%s: %+v", name, proto)
		}
		// The server that was asked for the profiles waits itself.
		served := func(c goroutine.Contention) []analysis.Contended {
			return slices.DeleteFunc(c.Stacks, func(s analysis.Contended) bool { return strings.HasPrefix(s.Frames[1].Func, "net/http.") })
		}
		if diff := cmp.Diff(served(text[0]), served(proto)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func unpacked(t *testing.T, packed io.Reader) io.Reader {
	t.Helper()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARawProtoIsRead(t *testing.T) {
	packed := open(t, "testdata/mutex-go1.26.8.pb.gz")
	raw, err := io.ReadAll(unpacked(t, packed))
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := goroutine.ParseContentionProto(bytes.NewReader(raw), goroutine.Config{Path: "block.pb"})
	if err != nil || c.Profile != analysis.MutexProfile || c.Count != 20 {
		t.Errorf("%v, %+v", err, c)
	}
}

func TestOtherProfilesAreNoContention(t *testing.T) {
	var fault *analysis.Fault
	_, _, err := goroutine.ParseContentionProto(open(t, "testdata/debug0-go1.26.8.pb.gz"), goroutine.Config{})
	if !errors.As(err, &fault) || fault.Code != "other_profile" {
		t.Error(err)
	}
	_, _, err = goroutine.ParseContention(open(t, "testdata/debug1-go1.26.8.txt"), goroutine.Config{})
	if !errors.As(err, &fault) || fault.Code != "other_profile" {
		t.Error(err)
	}
}

func TestSeveralProfilesOfOneTextAreKeptApart(t *testing.T) {
	text := string(read(t, "testdata/mutex-go1.26.8.txt")) + "goroutine profile: total 3\n3 @ 0x1\n#\t0x1\tmain.f+0x1\t/f.go:1\n\n" + string(read(t, "testdata/block-go1.26.8.txt"))
	found, problems := parseContention(t, text)
	if len(found) != 2 || len(problems) > 0 || found[0].Count != 20 || found[1].Count != 37 {
		t.Errorf("%+v, %+v", found, problems)
	}
}

func TestStacksBeyondTheBoundAreSummedUp(t *testing.T) {
	var text strings.Builder
	text.WriteString("--- contention:\ncycles/second=1000000000\n")
	for i := 30; i > 0; i-- {
		// Twice each: equal stacks are one.
		for range 2 {
			fmt.Fprintf(&text, "%d 1 @ 0x1 0x2\n#\t0x1\tsync.(*Mutex).Lock+0x1\t/m.go:1\n#\t0x2\tmain.f%d+0x1\t/f.go:1\n\n", i*1000, i)
		}
	}
	found, problems := parseContention(t, text.String())
	c := &found[0]
	if len(problems) > 0 || len(c.Stacks) != 20 || c.More != 10 || c.Count != 60 || c.Delay != 930*time.Microsecond {
		t.Fatalf("%+v, %+v", c, problems)
	}
	if first := c.Stacks[0]; first.Count != 2 || first.Delay != 60*time.Microsecond || first.Frames[1].Func != "main.f30" {
		t.Errorf("%+v", first)
	}
}

func TestHugeFiguresSaturate(t *testing.T) {
	record := "9223372036854775807 9223372036854775807 @ 0x1 0x2\n#\t0x1\tsync.(*Mutex).Lock+0x1\t/m.go:1\n\n"
	found, _ := parseContention(t, "--- contention:\ncycles/second=1\n"+record+strings.Replace(record, "Lock", "RLock", 1))
	if c := &found[0]; c.Count != math.MaxInt64 || c.Delay < 1<<62 {
		t.Errorf("%+v", c)
	}
}

func TestWhatIsWrongWithAProfileIsSaid(t *testing.T) {
	whole := string(read(t, "testdata/block-go1.26.8.txt"))
	for name, tc := range map[string]struct {
		text string
		want string
		line int64
	}{
		"a record whose first line is damaged":      {strings.Replace(whole, "1886167521 5 @", "1886167521 x5 @", 1), "1 of 5 records of the block profile were not understood", 9},
		"a record whose first line is missing":      {regexp.MustCompile(`(?m)^1886167521.*\n`).ReplaceAllString(whole, ""), "1 of 5 records of the block profile were not understood", 9},
		"a stack with a line less":                  {regexp.MustCompile(`(?m)^#.*main\.consume.*\n`).ReplaceAllString(whole, ""), "1 of 5 records of the block profile lack a part of their stack", 14},
		"a text that stops behind a line":           {whole[:strings.Index(whole, "1263487281")-1], "the profile is not complete", 12},
		"a text that stops inside a line":           {whole[:strings.Index(whole, "0x670f2c")], "the profile is not complete", 9},
		"a profile that does not say what cycle is": {strings.Replace(whole, "cycles/second=2096012853\n", "", 1), "the delays of the block profile are not known", 0},
	} {
		found, problems := parseContention(t, tc.text)
		if len(found) != 1 || !slices.ContainsFunc(problems, func(p analysis.Problem) bool {
			return p.What == tc.want && p.Line == tc.line && p.Severity == analysis.Warning && p.Why != "" && p.Hint != ""
		}) {
			t.Errorf("%s: want %q in line %d: %+v", name, tc.want, tc.line, problems)
		}
	}
}

// TestNoRecordOfAProfileIsLostInSilence damages one line, or stops the text: fewer records
// than there were are announced. A text that stops between two records cannot know of more.
func TestNoRecordOfAProfileIsLostInSilence(t *testing.T) {
	whole := string(read(t, "testdata/block-go1.26.8.txt"))
	lines := strings.SplitAfter(whole, "\n")
	header := 2 // what a profile is stands there
	rapid.Check(t, func(t *rapid.T) {
		seen, text := 5, ""
		if rapid.Bool().Draw(t, "stops") {
			text = whole[:rapid.IntRange(len(lines[0]+lines[1]), len(whole)).Draw(t, "stop")]
			seen = len(regexp.MustCompile(`(?m)^\d`).FindAllString(text, -1))
		} else {
			at := rapid.IntRange(header, len(lines)-1).Draw(t, "line")
			text = strings.Join(lines[:at], "") + damaged(t, strings.TrimSuffix(lines[at], "\n")) + strings.Join(lines[at+1:], "")
		}
		found, problems, err := goroutine.ParseContention(strings.NewReader(text), goroutine.Config{})
		if err != nil || len(found) != 1 {
			t.Fatal(err)
		}
		warned := slices.ContainsFunc(problems, func(p analysis.Problem) bool { return p.Severity == analysis.Warning })
		if c := &found[0]; !warned && c.Records+c.Refused < seen {
			t.Fatalf("%d records and %d refused of %d, and no warning in %+v:\n%s", c.Records, c.Refused, seen, problems, text)
		}
	})
}

func FuzzContention(f *testing.F) {
	f.Add(read(f, "testdata/mutex-go1.26.8.txt"))
	f.Add(read(f, "testdata/block-go1.26.8.txt"))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, problems, err := goroutine.ParseContention(bytes.NewReader(data), goroutine.Config{})
		var fault *analysis.Fault
		if err != nil && !errors.As(err, &fault) || err == nil && len(found) == 0 {
			t.Fatal(len(found), err)
		}
		if len(problems) > 105 {
			t.Errorf("%d problems", len(problems))
		}
		for _, c := range found {
			if len(c.Stacks) > 20 || len(c.Stacks)+c.More > c.Records || c.Refused < 0 {
				t.Errorf("%+v", c)
			}
			for _, s := range c.Stacks {
				if s.Count < 0 || s.Delay < 0 || s.Count > c.Count || s.Delay > c.Delay || len(s.Frames) > 64 {
					t.Errorf("%+v of %+v", s, c)
				}
			}
		}
	})
}
