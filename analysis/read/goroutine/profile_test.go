package goroutine_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/pprof/profile"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/samples/corpus"
)

// parsedProfile is everything that a debug=1 text or a proto gave.
type parsedProfile struct {
	goroutine.Profile
	list     []goroutine.Record
	problems []analysis.Problem
}

type parser func(io.Reader, goroutine.Config, func(*goroutine.Record) error) (goroutine.Profile, []analysis.Problem, error)

// debug1 reads a text with one profile.
func debug1(r io.Reader, cfg goroutine.Config, visit func(*goroutine.Record) error) (goroutine.Profile, []analysis.Problem, error) {
	profiles, problems, err := goroutine.ParseDebug1(r, cfg, visit)
	if len(profiles) != 1 {
		return goroutine.Profile{}, problems, err
	}
	return profiles[0], problems, err
}

func parseProfile(t testing.TB, parse parser, r io.Reader) parsedProfile {
	t.Helper()
	var out parsedProfile
	var err error
	out.Profile, out.problems, err = parse(r, goroutine.Config{}, func(r *goroutine.Record) error {
		out.list = append(out.list, *r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDebug1RecordsOfADatabaseAreAllRead(t *testing.T) {
	got := parseProfile(t, debug1, open(t, corpus.Path(t, "goroutine", "public", "stackgazer-crdb-debug1-labels.txt")))
	if got.Records != 545 || len(got.list) != 545 || got.Sum != 1402 || got.Total != 1402 || got.Sample != "goroutine" {
		t.Errorf("got %+v", got.Profile)
	}
	// grep -c '^# labels' counts the labelled records.
	text := read(t, corpus.Path(t, "goroutine", "public", "stackgazer-crdb-debug1-labels.txt"))
	labelled := 0
	for _, r := range got.list {
		if len(r.Labels) > 0 {
			labelled++
		}
		block := string(text[r.Offset : r.Offset+r.Length])
		if !strings.HasPrefix(block, fmt.Sprintf("%d @ ", r.Count)) || strings.Contains(block, "\n\n") {
			t.Errorf("record at %d is %q", r.Offset, block)
		}
		if frames := strings.Count(block, "\n#\t0x"); frames != len(r.Stack.Frames) {
			t.Errorf("record at %d: got %d frames, want %d", r.Offset, len(r.Stack.Frames), frames)
		}
	}
	if want := bytes.Count(text, []byte("\n# labels: ")); labelled != want {
		t.Errorf("got %d labelled records, want %d", labelled, want)
	}
}

func TestProtoSamplesOfADatabaseAreAllRead(t *testing.T) {
	got := parseProfile(t, goroutine.ParseProto, open(t, corpus.Path(t, "goroutine", "public", "stackgazer-goroutines.pb.gz")))
	labelled := 0
	for _, r := range got.list {
		if len(r.Labels) > 0 {
			labelled++
		}
	}
	if got.Records != 330 || got.Sum != 849 || labelled != 187 || got.Sample != "goroutine" {
		t.Errorf("got %+v, %d with labels; want 330 samples, 849, 187", got.Profile, labelled)
	}
}

func TestDebug1LinesAreRead(t *testing.T) {
	text := "goroutine profile: total 8\n" +
		"4 @ 0x1 0x2\n# labels: {\"controller\":\"node-lifecycle\", \"na me\":\"quo\\\"te]:, x\"}\n#\t0x690e6b\tmain.hold.func7+0x4b\t\t/src/app/main.go:102\n#\t0x2\tgopkg.in/yaml%2ev2.(*S[go.shape.struct { X int }]).F+0x1\tC:/y.go:3\n\n" +
		"3 @ 0x3\n\n" +
		"1 @\n#\t0x0\n"
	want := []goroutine.Record{
		{
			Count:  4,
			Labels: map[string]string{"controller": "node-lifecycle", "na me": `quo"te]:, x`},
			Stack: &analysis.Stack{Frames: []analysis.Frame{
				frame("main.hold.func7", "/src/app/main.go", 102), frame("gopkg.in/yaml.v2.(*S[go.shape.struct { X int }]).F", "C:/y.go", 3),
			}},
			Line: 2,
		},
		{Count: 3, Stack: &analysis.Stack{}, Line: 7},
		{Count: 1, Stack: &analysis.Stack{Frames: []analysis.Frame{frame("0x0", "", 0)}}, Line: 9},
	}
	ignore := cmpopts.IgnoreFields(goroutine.Record{}, "Offset", "Length")
	for name, wrap := range map[string]func(string) string{
		"plain":          func(s string) string { return s },
		"CRLF":           func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"spaces":         func(s string) string { return strings.ReplaceAll(s, "\t", "        ") },
		"a BOM":          func(s string) string { return "\xef\xbb\xbf" + s },
		"HTTP headers":   func(s string) string { return "HTTP/1.1 200 OK\n" + s },
		"an indentation": func(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") },
	} {
		got := parseProfile(t, debug1, strings.NewReader(wrap(text)))
		list := got.list
		if name == "HTTP headers" {
			for i := range list {
				list[i].Line--
			}
		}
		if diff := cmp.Diff(want, list, ignore, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: want (-) got (+):\n%s", name, diff)
		}
		if got.Truncated || len(got.problems) > 0 {
			t.Errorf("%s: truncated %v, problems %v", name, got.Truncated, got.problems)
		}
	}
}

func TestACutDebug1IsMarkedAndKeepsItsTotal(t *testing.T) {
	text := read(t, "testdata/debug1-go1.26.8.txt")
	got := parseProfile(t, debug1, bytes.NewReader(text[:len(text)/2]))
	if !got.Truncated || got.Total != 81 || got.Sum >= 81 || got.Sum == 0 || len(got.problems) != 1 || got.problems[0].Offset != int64(len(text)/2) {
		t.Errorf("got %+v, problems %v", got.Profile, got.problems)
	}
}

func TestOtherProfilesAreRefused(t *testing.T) {
	heap := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
	}
	var proto bytes.Buffer
	if err := heap.Write(&proto); err != nil {
		t.Fatal(err)
	}
	delta := func(duration int64, values ...int64) string {
		p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "goroutine", Unit: "count"}}, DurationNanos: duration}
		for _, v := range values {
			p.Sample = append(p.Sample, &profile.Sample{Value: []int64{v}})
		}
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	tests := []struct {
		name  string
		parse parser
		text  string
		code  string
	}{
		{"a difference over 30 s", goroutine.ParseProto, delta(30_000_000_000, 13), "other_profile"},
		{"a difference with fewer", goroutine.ParseProto, delta(0, 13, -2), "other_profile"},
		{"a difference by pprof -traces", traces, "Type: goroutine\n-----------+-------\n       -13   main.run\n", "other_profile"},
		{"a difference by pprof -top", traces, "Type: goroutine\nDuration: 30s, Total samples = 13 \nShowing nodes accounting for 13, 100% of 13 total\n      flat  flat%   sum%        cum   cum%\n        13   100%   100%         13   100%  runtime.gopark\n", "other_profile"},
		{"pprof -top of a heap", traces, "Type: inuse_space\n      flat  flat%   sum%        cum   cum%\n  512kB   100%   100%         512kB   100%  main.big\n", "other_profile"},
		{"threadcreate text", debug1, "threadcreate profile: total 12\n12 @\n", "other_profile"},
		{"heap text", debug1, "heap profile: 1: 2 [3: 4] @ heap/1048576\n1: 2 [3: 4] @ 0x1\n", "other_profile"},
		{"heap proto", goroutine.ParseProto, proto.String(), "other_profile"},
		{"no proto", goroutine.ParseProto, "goroutine profile: total 3\n", "unreadable"},
		{"an empty proto", goroutine.ParseProto, "", "unreadable"},
		{"a cut gzip", goroutine.ParseProto, string(read(t, "testdata/debug0-go1.26.8.pb.gz")[:3000]), "unreadable"},
		{"a cut gzip header", goroutine.ParseProto, "\x1f\x8b\x08", "unreadable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := tt.parse(strings.NewReader(tt.text), goroutine.Config{}, nil)
			var fault *analysis.Fault
			if !errors.As(err, &fault) || fault.Code != tt.code || fault.What == "" || fault.Hint == "" {
				t.Errorf("got error %v, want a fault with code %q", err, tt.code)
			}
			if got.Records != 0 {
				t.Errorf("got %d records", got.Records)
			}
		})
	}
}

func TestAProtoIsUnpackedUpToItsLimit(t *testing.T) {
	corpus.Heavy(t)
	var bomb bytes.Buffer
	packed := gzip.NewWriter(&bomb)
	if _, err := io.CopyN(packed, &endless{text: strings.Repeat("\x00", 4096)}, 64<<20); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		in   io.Reader
	}{
		{"a gzip bomb", &bomb},
		{"an endless file", &endless{text: "\x0a\x00"}},
		{"a swarm of empty samples", io.LimitReader(&endless{text: strings.Repeat("\x12\x00", 2048)}, 1<<20)},
		{"a swarm of empty labels", strings.NewReader("\x12\x80\x80\x40" + strings.Repeat("\x1a\x00", 1<<19))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := goroutine.ParseProto(tt.in, goroutine.Config{MaxProtoBytes: 2 << 20}, nil)
			var fault *analysis.Fault
			if !errors.As(err, &fault) || fault.Code != "too_large" {
				t.Errorf("got error %v, want a fault with code too_large", err)
			}
		})
	}
}

func TestAProtoIsReadPackedOrNot(t *testing.T) {
	packed := read(t, "testdata/debug0-go1.26.8.pb.gz")
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	want, got := parseProfile(t, goroutine.ParseProto, bytes.NewReader(packed)), parseProfile(t, goroutine.ParseProto, bytes.NewReader(raw))
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(parsedProfile{})); diff != "" {
		t.Errorf("packed (-), raw (+):\n%s", diff)
	}
	if got.Bytes != int64(len(raw)) || got.Sum != 81 || got.Time.Year() != 2026 || got.Executable == "" || got.BuildID == "" {
		t.Errorf("got %+v", got.Profile)
	}
}

func TestSamplesBecomeFramesLeafFirst(t *testing.T) {
	function := func(id uint64, name, file string) *profile.Function {
		return &profile.Function{ID: id, Name: name, Filename: file}
	}
	leaf, inlined, outer := function(1, "runtime.gopark", "/r.go"), function(2, "main.inlined\n", "/m.go"), function(3, "gopkg.in/yaml%2ev2.F", "C:/y.go")
	mapping := &profile.Mapping{ID: 1, File: "/bin/app", BuildID: "abc"}
	locations := []*profile.Location{
		{ID: 1, Mapping: mapping, Line: []profile.Line{{Function: leaf, Line: 9}}},
		{ID: 2, Mapping: mapping, Line: []profile.Line{{Function: inlined, Line: 1}, {Function: outer, Line: 2}}},
		{ID: 3, Mapping: mapping, Address: 0xabc},
	}
	in := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "goroutineleak", Unit: "count"}},
		Sample: []*profile.Sample{
			{Value: []int64{7}, Location: locations, Label: map[string][]string{"k": {"v", "w"}}, NumLabel: map[string][]int64{"go::goroutine": {12}}},
			{Value: []int64{2}, Location: locations},
		},
		Mapping: []*profile.Mapping{mapping}, Location: locations, Function: []*profile.Function{leaf, inlined, outer},
		TimeNanos: 1_780_000_000_000_000_000,
	}
	var data bytes.Buffer
	if err := in.Write(&data); err != nil {
		t.Fatal(err)
	}
	got := parseProfile(t, goroutine.ParseProto, &data)
	want := &analysis.Stack{Frames: []analysis.Frame{
		frame("runtime.gopark", "/r.go", 9), frame("main.inlined ", "/m.go", 1), frame("gopkg.in/yaml.v2.F", "C:/y.go", 2), frame("0xabc", "", 0),
	}}
	if diff := cmp.Diff(want, got.list[0].Stack); diff != "" {
		t.Errorf("want (-) got (+):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"k": "v,w"}, got.list[0].Labels); diff != "" {
		t.Errorf("want (-) got (+):\n%s", diff)
	}
	if got.list[0].Stack != got.list[1].Stack || got.list[1].Labels != nil {
		t.Error("equal stacks do not share a pointer, or labels appeared")
	}
	if got.Sample != "goroutineleak" || got.Sum != 9 || got.Executable != "/bin/app" || got.BuildID != "abc" || got.Time.Unix() != 1_780_000_000 {
		t.Errorf("got %+v", got.Profile)
	}
	if len(got.problems) != 0 {
		t.Errorf("got problems %v", got.problems)
	}
}

// TestTwinsOfOneInstantAgree compares the three forms of each snapshot: totals within
// what a few milliseconds change, and for the same program the same function lists.
func TestTwinsOfOneInstantAgree(t *testing.T) {
	texts, _ := filepath.Glob(corpus.Path(t, "series", "*", "*", "*", "goroutine-debug2.txt"))
	if len(texts) != 33 {
		t.Fatalf("got %d snapshots, want 33", len(texts))
	}
	for _, path := range texts {
		text := parseText(t, open(t, path))
		one := parseProfile(t, debug1, open(t, strings.Replace(path, "debug2.txt", "debug1.txt", 1)))
		proto := parseProfile(t, goroutine.ParseProto, open(t, strings.Replace(path, "debug2.txt", "debug0.pb.gz", 1)))
		for name, total := range map[string]int{"debug=1": one.Total, "proto": proto.Total} {
			if math.Abs(float64(total-text.Headers)) > 0.1*float64(text.Headers) {
				t.Errorf("%s: %s has %d, debug=2 %d", path, name, total, text.Headers)
			}
		}
		known := map[string]bool{}
		for _, r := range proto.list {
			known[functions(r.Stack)] = true
		}
		shared := 0
		for _, r := range one.list {
			if known[functions(r.Stack)] {
				shared += r.Count
			}
		}
		if float64(shared) < 0.9*float64(one.Sum) {
			t.Errorf("%s: the proto knows the stacks of %d of %d goroutines of debug=1", path, shared, one.Sum)
		}
	}
}

// functions are the names of a stack without the runtime's, which debug=1 hides
// at the leaf.
func functions(s *analysis.Stack) string {
	var names []string
	for _, f := range s.Frames {
		if !strings.HasPrefix(f.Func, "runtime.") {
			names = append(names, f.Func)
		}
	}
	return strings.Join(names, "\n")
}

func TestProfileErrorsOfReaderAndVisitorComeBack(t *testing.T) {
	broken := errors.New("broken")
	for name, parse := range map[string]parser{"testdata/debug1-go1.26.8.txt": debug1, "testdata/debug0-go1.26.8.pb.gz": goroutine.ParseProto} {
		data := read(t, name)
		if _, _, err := parse(io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(broken)), goroutine.Config{}, nil); !errors.Is(err, broken) {
			t.Errorf("%s: got error %v of the reader, want %v", name, err, broken)
		}
		visit := func(*goroutine.Record) error { return broken }
		if _, _, err := parse(bytes.NewReader(data), goroutine.Config{}, visit); !errors.Is(err, broken) {
			t.Errorf("%s: got error %v of visit, want %v", name, err, broken)
		}
	}
}

func FuzzDebug1(f *testing.F) {
	f.Add(read(f, "testdata/debug1-go1.26.8.txt")[:8<<10])
	f.Add(read(f, "testdata/gccgo12-debug2.txt"))
	f.Add([]byte("811 @ 0x43aad6\n#\t0x1\tmain.(*Dispat\ncher).await+0x1\t/src/m.go:1\n"))
	f.Add([]byte("3 instances of:\nmain.work(...)\n\t/s/a.go:1 +0x1\ncreated by main.start in goroutine 7\n\t/s/a.go:9 +0x1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sum := 0
		profiles, problems, err := goroutine.ParseDebug1(bytes.NewReader(data), goroutine.Config{}, func(r *goroutine.Record) error {
			if sum += r.Count; r.Stack == nil || r.Count < 0 || r.Length <= 0 || r.Offset+r.Length > int64(len(data)) {
				t.Errorf("got record %+v", r)
			}
			return nil
		})
		var fault *analysis.Fault
		if err != nil && !errors.As(err, &fault) {
			t.Errorf("got error %v", err)
		}
		for i := range profiles {
			sum -= profiles[i].Sum
		}
		if sum != 0 || len(problems) > 104 {
			t.Errorf("got %+v, %d off the records, %d problems", profiles, sum, len(problems))
		}
	})
}

func FuzzProto(f *testing.F) {
	packed := read(f, "testdata/debug0-go1.26.8.pb.gz")
	f.Add(packed)
	if unzipped, err := gzip.NewReader(bytes.NewReader(packed)); err == nil {
		raw, _ := io.ReadAll(unzipped)
		f.Add(raw)
	}
	labelled, _ := io.ReadAll(identified(f, profile.Sample{NumLabel: ids{"go::goroutine": {41}, "go::goroutine_wait_minutes": {1}}, Label: words{"go::goroutine_state": {"select"}}}))
	f.Add(labelled)
	f.Fuzz(func(t *testing.T, data []byte) {
		seen := map[int64]bool{}
		got, _, err := goroutine.ParseProto(bytes.NewReader(data), goroutine.Config{MaxProtoBytes: 1 << 20}, func(r *goroutine.Record) error {
			if r.Stack == nil || r.Count < 0 {
				t.Errorf("got record %+v", r)
			}
			if g := r.Goroutine; g != nil {
				if g.ID <= 0 || seen[g.ID] || g.Parent < 0 || g.Wait < -1 || r.Count != 1 {
					t.Errorf("got goroutine %+v of record %+v", g, r)
				}
				seen[g.ID] = true
			}
			return nil
		})
		var fault *analysis.Fault
		if err != nil && !errors.As(err, &fault) {
			t.Errorf("got error %v", err)
		}
		if got.Total != got.Sum {
			t.Errorf("got %+v", got)
		}
	})
}
