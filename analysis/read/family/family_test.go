package family_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/samples/corpus"
)

// stackOf builds a stack from function names, leaf first; "<- name" is the
// creator.
func stackOf(names ...string) *analysis.Stack {
	s := &analysis.Stack{}
	for i, name := range names {
		if creator, ok := strings.CutPrefix(name, "<- "); ok {
			s.CreatedBy = analysis.Frame{Func: creator, File: "/src/creator.go", Line: 7}
			continue
		}
		s.Frames = append(s.Frames, analysis.Frame{Func: name, File: fmt.Sprintf("/src/f%d.go", i), Line: 10 + i})
	}
	return s
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct {
		what  string
		stack *analysis.Stack
		want  string
	}{
		{
			"a worker is compared from its creator inwards",
			stackOf("main.work", "main.loop", "<- main.start"),
			"g1\ncreated by main.start\nmain.loop\nmain.work\n",
		},
		{
			"what only crash text prints is left out",
			stackOf("runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", "main.work", "main.start.gowrap1", "runtime.goexit", "<- main.start"),
			"g1\ncreated by main.start\nmain.work\n",
		},
		{
			"the main goroutine has no creator and loses the runtime's frames",
			stackOf("runtime.gopark", "time.Sleep", "main.main", "runtime.main", "runtime.goexit"),
			"g1\nmain.main\ntime.Sleep\n",
		},
		{
			"exported functions of the runtime are the program's calls",
			stackOf("runtime.Gosched", "main.spin", "<- main.main"),
			"g1\ncreated by main.main\nmain.spin\nruntime.Gosched\n",
		},
		{
			"a system goroutine keeps its outermost frame",
			stackOf("runtime.gopark", "runtime.goparkunlock", "runtime.bgsweep", "runtime.gcenable.gowrap1", "runtime.goexit", "<- runtime.gcenable"),
			"g1\nruntime.bgsweep\n",
		},
		{
			"a closure of the creator is the creator",
			stackOf("main.start.func1", "<- main.start"),
			"g1\ncreated by main.start\n",
		},
		{
			"a closure without a printed creator was created by the function that holds it",
			stackOf("main.work", "main.start.func1"),
			"g1\ncreated by main.start\nmain.work\n",
		},
		{
			"a function without a printed creator has none",
			stackOf("main.work", "main.loop"),
			"g1\nmain.loop\nmain.work\n",
		},
		{
			"the inside of a lock folds into the lock, Go 1.24 and later",
			stackOf("internal/sync.runtime_SemacquireMutex", "internal/sync.(*Mutex).lockSlow", "internal/sync.(*Mutex).Lock", "sync.(*Mutex).Lock", "main.work", "<- main.main"),
			"g1\ncreated by main.main\nmain.work\nsync.(*Mutex).Lock\n",
		},
		{
			"the inside of a lock folds into the lock, Go 1.18",
			stackOf("sync.runtime_SemacquireMutex", "sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "main.work", "<- main.main"),
			"g1\ncreated by main.main\nmain.work\nsync.(*Mutex).Lock\n",
		},
		{
			"a wait group waits alike in every version",
			stackOf("sync.runtime_SemacquireWaitGroup", "sync.(*WaitGroup).Wait", "main.work", "<- main.main"),
			"g1\ncreated by main.main\nmain.work\nsync.(*WaitGroup).Wait\n",
		},
		{
			"locks of the standard library's inside stay where no sync method called them",
			stackOf("internal/sync.(*HashTrieMap).Load", "unique.Make", "main.work", "<- main.main"),
			"g1\ncreated by main.main\nmain.work\nunique.Make\ninternal/sync.(*HashTrieMap).Load\n",
		},
		{
			"recursion folds",
			stackOf("main.deep", "main.deep", "main.deep", "main.run", "<- main.main"),
			"g1\ncreated by main.main\nmain.run\nmain.deep\n",
		},
		{
			"mutual recursion folds",
			stackOf("json.array", "json.value", "json.array", "json.value", "json.array", "json.value", "main.run", "<- main.main"),
			"g1\ncreated by main.main\nmain.run\njson.value\njson.array\n",
		},
		{
			"a stack that was not available is its creator's and its reason's",
			&analysis.Stack{Unavailable: "goroutine running on other thread; stack unavailable", CreatedBy: analysis.Frame{Func: "main.main"}},
			"g1\ncreated by main.main\nunavailable goroutine running on other thread; stack unavailable\n",
		},
		{"nothing has a canonical text too", &analysis.Stack{}, "g1\n"},
	} {
		t.Run(c.what, func(t *testing.T) {
			if diff := cmp.Diff(c.want, family.Canonical(c.stack)); diff != "" {
				t.Errorf("canonical text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFamilyOfAStack(t *testing.T) {
	s := stackOf(
		"google.golang.org/grpc/internal/transport.(*ClientStream).waitOnHeader",
		"k8s.io/cri-client/pkg.(*remoteRuntimeService).execSyncV1",
		"k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run",
		"<- k8s.io/kubernetes/pkg/kubelet/prober.(*manager).AddPod in goroutine 311",
	)
	f := family.OfStack(s)
	if !regexp.MustCompile(`^g1:[0-9a-f]{32}$`).MatchString(f.Fingerprint) {
		t.Errorf("fingerprint %q", f.Fingerprint)
	}
	want := &analysis.Family{
		Fingerprint: f.Fingerprint,
		Kind:        analysis.KindGoroutine,
		Title:       "pkg.(*remoteRuntimeService).execSyncV1 <- prober.(*manager).AddPod",
		Loose: []string{
			"google.golang.org/grpc/internal/transport.(*ClientStream).waitOnHeader",
			"k8s.io/cri-client/pkg.(*remoteRuntimeService).execSyncV1",
			"k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run",
		},
		LooseCreator: "k8s.io/kubernetes/pkg/kubelet/prober.(*manager).AddPod",
		Entry:        "k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run <- k8s.io/kubernetes/pkg/kubelet/prober.(*manager).AddPod",
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExactTellsBuildsApart(t *testing.T) {
	base := stackOf("main.work", "main.start.func1", "<- main.start in goroutine 5")
	if got := family.Exact(base); !regexp.MustCompile(`^e1:[0-9a-f]{32}$`).MatchString(got) {
		t.Errorf("fingerprint %q", got)
	}
	for _, c := range []struct {
		what   string
		change func(*analysis.Stack)
		same   bool
	}{
		{"another creator's number is the same stack", func(s *analysis.Stack) { s.CreatedBy.Func = "main.start in goroutine 6" }, true},
		{"another directory is the same stack", func(s *analysis.Stack) { s.Frames[0].File = `C:\build\f0.go` }, true},
		{"plumbing of crash text is the same stack", func(s *analysis.Stack) {
			s.Frames = append([]analysis.Frame{{Func: "runtime.gopark", File: "proc.go", Line: 1}}, s.Frames...)
		}, true},
		{"another line is another stack", func(s *analysis.Stack) { s.Frames[0].Line++ }, false},
		{"another file is another stack", func(s *analysis.Stack) { s.Frames[0].File = "/src/other.go" }, false},
		{"another closure is another stack", func(s *analysis.Stack) { s.Frames[1].Func = "main.start.func2" }, false},
		{"another line of the creator is another stack", func(s *analysis.Stack) { s.CreatedBy.Line++ }, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			other := stackOf("main.work", "main.start.func1", "<- main.start in goroutine 5")
			c.change(other)
			if same := family.Exact(base) == family.Exact(other); same != c.same {
				t.Errorf("same = %v, want %v", same, c.same)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	got := family.Explain(stackOf(
		"runtime.gopark", "internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "github.com/x/vendor/example.com/a.(*Q).Get[...].func2", "main.deep", "main.deep",
		"main.start.gowrap1", "runtime.goexit", "<- main.start in goroutine 9",
	))
	want := []family.Step{
		{Printed: "runtime.gopark", Rule: "runtime plumbing, printed by crash text and profiles only"},
		{Printed: "internal/sync.(*Mutex).lockSlow", Rule: "lock plumbing, folded into Lock"},
		{Printed: "sync.(*Mutex).Lock", Compared: "sync.(*Mutex).Lock"},
		{Printed: "github.com/x/vendor/example.com/a.(*Q).Get[...].func2", Rule: "vendor prefix cut, type arguments cut, closure number cut", Compared: "example.com/a.(*Q).Get", Title: true},
		{Printed: "main.deep", Compared: "main.deep"},
		{Printed: "main.deep", Rule: "recursion, folded"},
		{Printed: "main.start.gowrap1", Rule: "closure number cut, compiler's wrapper, printed by crash text only"},
		{Printed: "runtime.goexit", Rule: "runtime plumbing, printed by crash text and profiles only"},
		{Printed: "main.start in goroutine 9", Rule: "goroutine number cut", Compared: "main.start", Creator: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExplainLeavesOutTheRuntimesCreator(t *testing.T) {
	steps := family.Explain(stackOf("runtime.gopark", "runtime.bgsweep", "runtime.gcenable.func1", "runtime.goexit", "<- runtime.gcenable"))
	creator := steps[len(steps)-1]
	if !creator.Creator || creator.Compared != "" || creator.Rule == "" {
		t.Errorf("the creator is explained as %+v", creator)
	}
}

// stacks draws stacks of plausible functions.
func stacks() *rapid.Generator[*analysis.Stack] {
	names := rapid.SampledFrom([]string{
		"main.main", "main.work", "main.(*T).Do", "main.start.func1", "main.start.gowrap2", "main.F[...].func1", "runtime.gopark", "runtime.goexit", "runtime.Gosched",
		"sync.(*Mutex).Lock", "sync.(*Mutex).lockSlow", "internal/sync.(*Mutex).Lock", "net/http.(*conn).serve", "google.golang.org/grpc.(*Server).Serve", "k8s.io/a/vendor/k8s.io/b.C",
	})
	return rapid.Custom(func(t *rapid.T) *analysis.Stack {
		s := stackOf(rapid.SliceOfN(names, 0, 12).Draw(t, "frames")...)
		if rapid.Bool().Draw(t, "created") {
			s.CreatedBy = analysis.Frame{Func: names.Draw(t, "creator"), Line: 3}
		}
		return s
	})
}

func TestCanonicalIgnoresWhatDiffersBetweenGoroutines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := stacks().Draw(t, "stack")
		want := family.Canonical(s)
		other := &analysis.Stack{CreatedBy: s.CreatedBy, Elided: rapid.IntRange(-1, 99).Draw(t, "elided")}
		// The line of a go statement recognises wrappers: it moves with its frame.
		shift := rapid.IntRange(0, 1000).Draw(t, "shift")
		for _, f := range s.Frames {
			f.Func += rapid.SampledFrom([]string{"", "()", "(...)", "(0x1?, {0x2, 0x3})", "+0x1f", "({...}, _)"}).Draw(t, "arguments")
			f.Line += shift
			f.File = "/elsewhere" + f.File
			other.Frames = append(other.Frames, f)
		}
		if s.CreatedBy.Func != "" {
			other.CreatedBy.Func += fmt.Sprintf(" in goroutine %d", rapid.IntRange(1, 1<<40).Draw(t, "id"))
			other.CreatedBy.Line += shift
		}
		if got := family.Canonical(other); got != want {
			t.Fatalf("canonical text\n%s\nof the other\n%s", want, got)
		}
	})
}

func TestRememberedNamesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var known family.Stacks
		for _, s := range rapid.SliceOfN(stacks(), 1, 20).Draw(t, "stacks") {
			explained := family.Explain(s)
			if diff := cmp.Diff(family.OfStack(s), known.OfStack(s)); diff != "" {
				t.Fatalf("alone (-), remembered (+):\n%s", diff)
			}
			if got, want := known.Exact(s), family.Exact(s); got != want {
				t.Fatalf("exact fingerprint %s, remembered %s", want, got)
			}
			if diff := cmp.Diff(explained, family.Explain(s)); diff != "" {
				t.Fatalf("explained before (-), after (+):\n%s", diff)
			}
		}
	})
}

func TestExplainAgreesWithCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := stacks().Draw(t, "stack")
		f := family.OfStack(s)
		var compared []string
		steps := family.Explain(s)
		for _, step := range steps {
			if step.Compared != "" && !step.Creator {
				compared = append(compared, step.Compared)
			}
			if step.Compared == "" && step.Rule == "" {
				t.Fatalf("%q is dropped without a rule", step.Printed)
			}
		}
		if !slices.Equal(compared, f.Loose) {
			t.Fatalf("explained %v, compared %v", compared, f.Loose)
		}
		if n := len(s.Frames); s.CreatedBy.Func != "" && len(steps) != n+1 || s.CreatedBy.Func == "" && len(steps) != n {
			t.Fatalf("%d steps for %d frames", len(steps), n)
		}
	})
}

func TestDepthMakesNoFamilies(t *testing.T) {
	deep := func(n int) *analysis.Stack {
		names := []string{"time.Sleep"}
		for range n {
			names = append(names, "main.deep")
		}
		return stackOf(append(names, "main.run", "<- main.main")...)
	}
	want := family.OfStack(deep(1)).Fingerprint
	for _, n := range []int{2, 50, 100, 200_000} {
		if got := family.OfStack(deep(n)).Fingerprint; got != want {
			t.Errorf("%d calls deep: another family", n)
		}
	}
}

func TestStateClass(t *testing.T) {
	lock := stackOf("sync.runtime_Semacquire", "sync.(*WaitGroup).Wait", "main.main")
	system := stackOf("runtime.gopark", "runtime.semacquire1", "runtime.gcStart")
	for _, c := range []struct {
		raw   string
		stack *analysis.Stack
		want  string
	}{
		{"semacquire", nil, "sync-wait"},
		{"semacquire", lock, "sync-wait"},
		{"semacquire", system, "system"},
		{"sync.Mutex.Lock", nil, "sync-wait"},
		{"sync.Mutex.Lock (leaked)", nil, "sync-wait"},
		{"sync.RWMutex.Lock", nil, "sync-wait"},
		{"sync.RWMutex.RLock (leaked)", nil, "sync-wait"},
		{"sync.WaitGroup.Wait (durable)", nil, "sync-wait"},
		{"sync.Cond.Wait", nil, "cond-wait"},
		{"chan receive", nil, "chan receive"},
		{"chan send (leaked)", nil, "chan send"},
		{"select (durable)", nil, "select"},
		{"select (scan)", nil, "select"},
		{"IO wait", nil, "IO wait"},
		{"sleep", nil, "sleep"},
		{"syscall", nil, "syscall"},
		{"chan receive (nil chan)", nil, "blocked-forever"},
		{"chan receive (nil chan) (leaked)", nil, "blocked-forever"},
		{"chan send (nil chan)", nil, "blocked-forever"},
		{"select (no cases)", nil, "blocked-forever"},
		{"coroutine", nil, "coroutine"},
		{"running", nil, "running"},
		{"runnable", nil, "running"},
		{"preempted", nil, "running"},
		{"copystack", nil, "running"},
		{"GC worker (idle)", nil, "system"},
		{"force gc (idle)", nil, "system"},
		{"finalizer wait", nil, "system"},
		{"cleanup wait", nil, "system"},
		{"GOMAXPROCS updater (idle)", nil, "system"},
		{"timer goroutine (idle)", nil, "system"},
		{"trace reader (blocked)", nil, "system"},
		{"a reason of Go 1.99", nil, "a reason of Go 1.99"},
		{"", nil, ""},
	} {
		if got := family.StateClass(c.raw, c.stack); got != c.want {
			t.Errorf("class of %q is %q, want %q", c.raw, got, c.want)
		}
	}
}

// Expected differences of twins: goroutines born while the dumps were taken and
// the goroutine that takes them, both counted by hand in the files.
var (
	newborn = regexp.MustCompile(`main\.leak`)
	dumping = regexp.MustCompile(`runtime/pprof\.|^g1\nmain\.main\ntime\.Sleep\n$|syscall\.Kill|runtime\.goexit1|runtime\.unique_`)
	// The program's two goroutines in sync.Once.Do stand in some of the builds
	// only, others have one more closure of main.hold instead.
	build = regexp.MustCompile(`sync\.\(\*Once\)|^g1\ncreated by main\.hold\n$`)
)

// familiesOf counts the families of samples by canonical text, without those
// whose number differs between any two dumps of one process and without the
// runtime's own.
func familiesOf(samples []sample) map[string]int {
	out := map[string]int{}
	for _, s := range samples {
		text := family.Canonical(s.stack)
		_, first, _ := strings.Cut(text, "\n")
		if text == "g1\n" || newborn.MatchString(text) || dumping.MatchString(text) || build.MatchString(text) || strings.HasPrefix(first, "runtime.") {
			continue
		}
		out[text] += s.count
	}
	return out
}

func TestSIGQUITGivesTheFamiliesOfDebug2(t *testing.T) {
	for _, version := range []string{"1.18.10", "1.21.13", "1.23.12", "1.25.5", "1.26.8", "1.27.0"} {
		t.Run("Go "+version, func(t *testing.T) {
			text := familiesOf(readText(t, open(t, corpus.Path(t, "goroutine", "gen", "debug2-go"+version+".txt"))))
			crash := familiesOf(readText(t, open(t, corpus.Path(t, "goroutine", "gen", "sigquit-go"+version+".txt"))))
			if len(text) < 30 {
				t.Fatalf("%d families of a program with more than 30", len(text))
			}
			if diff := cmp.Diff(text, crash); diff != "" {
				t.Errorf("debug=2 and SIGQUIT (-debug2 +sigquit):\n%s", diff)
			}
		})
	}
}

func TestDebug1AndProtoGiveTheSameFamilies(t *testing.T) {
	for _, version := range []string{"1.18.10", "1.21.13", "1.23.12", "1.25.5", "1.26.8", "1.27.0"} {
		t.Run("Go "+version, func(t *testing.T) {
			one := familiesOf(readDebug1(t, open(t, corpus.Path(t, "goroutine", "gen", "debug1-go"+version+".txt"))))
			proto := familiesOf(readProto(t, open(t, corpus.Path(t, "goroutine", "gen", "debug0-go"+version+".pb.gz"))))
			if len(one) < 30 {
				t.Fatalf("%d families of a program with more than 30", len(one))
			}
			if diff := cmp.Diff(one, proto); diff != "" {
				t.Errorf("debug=1 and proto (-debug1 +proto):\n%s", diff)
			}
		})
	}
}

// adopted counts the families of a form without creators under the names of a
// form with them.
func adopted(text, bare []sample) (want, got map[string]int) {
	known := map[string]*analysis.Family{}
	names := map[string]string{}
	want, got = map[string]int{}, map[string]int{}
	count := func(out map[string]int, s sample, adopters map[string]string) {
		f := family.OfStack(s.stack)
		print := f.Fingerprint
		if to, ok := adopters[print]; ok {
			print = to
		}
		// A timer's callback was created by time.goFunc, not by the function that
		// holds it; a form without creators cannot tell.
		if s.stack.CreatedBy.Func == "time.goFunc" {
			return
		}
		if canonical := family.Canonical(s.stack); len(s.stack.Frames) == 0 || newborn.MatchString(canonical) || dumping.MatchString(canonical) || build.MatchString(canonical) {
			return
		}
		known[f.Fingerprint] = f
		if names[print] == "" {
			names[print] = family.Canonical(s.stack)
		}
		out[names[print]] += s.count
	}
	for _, s := range text {
		count(want, s, nil)
	}
	adopters := family.Adopters(slices.Collect(maps.Values(known)))
	for _, s := range bare {
		count(got, s, adopters)
	}
	return want, got
}

func TestFormsWithoutCreatorsFindTheirFamilies(t *testing.T) {
	for _, version := range []string{"1.18.10", "1.21.13", "1.23.12", "1.25.5", "1.26.8", "1.27.0"} {
		t.Run("Go "+version, func(t *testing.T) {
			text := readText(t, open(t, corpus.Path(t, "goroutine", "gen", "debug2-go"+version+".txt")))
			for form, bare := range map[string][]sample{
				"debug=1": readDebug1(t, open(t, corpus.Path(t, "goroutine", "gen", "debug1-go"+version+".txt"))),
				"proto":   readProto(t, open(t, corpus.Path(t, "goroutine", "gen", "debug0-go"+version+".pb.gz"))),
			} {
				want, got := adopted(text, bare)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("debug=2 and %s (-debug2 +%s):\n%s", form, form, diff)
				}
			}
		})
	}
}

func TestAdoptersLeaveSharedFramesAlone(t *testing.T) {
	a := family.OfStack(stackOf("main.worker", "<- main.a"))
	b := family.OfStack(stackOf("main.worker", "<- main.b"))
	c := family.OfStack(stackOf("main.other", "<- main.a"))
	own := family.OfStack(stackOf("main.start.func1", "<- main.start"))
	adopters := family.Adopters([]*analysis.Family{a, b, c, own})
	if got, ok := adopters[family.WithoutCreator(stackOf("main.worker", "<- main.a"))]; ok {
		t.Errorf("main.worker of two creators went to %s", got)
	}
	if got := adopters[family.WithoutCreator(stackOf("main.other", "<- main.a"))]; got != c.Fingerprint {
		t.Errorf("main.other went to %q, want %q", got, c.Fingerprint)
	}
	if got := family.WithoutCreator(stackOf("main.start.func1", "<- main.start")); got != own.Fingerprint {
		t.Errorf("a closure of its creator needs no adopter, but has another fingerprint without a creator")
	}
	if got, ok := adopters[own.Fingerprint]; ok {
		t.Errorf("a family was given away to %s", got)
	}
}

// Between these builds the test program's functions are the same, except for
// those the comments name; Go compiles range-over-func and generic closures
// under other names.
func TestFamiliesHoldAcrossGoVersions(t *testing.T) {
	for _, c := range []struct {
		from, to string
		changed  string
	}{
		{"1.18.10", "1.21.13", `^$`},
		{"1.21.13", "1.23.12", `main\.Gen|iter\.Pull|main\.extra|io\.discard\.ReadFrom`},
		{"1.23.12", "1.25.5", `^$`},
		{"1.25.5", "1.26.8", `^$`},
		{"1.26.8", "1.27.0", `main\.Gen|iter\.Pull|main\.extra`},
	} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			changed := regexp.MustCompile(c.changed)
			from := familiesOf(readText(t, open(t, corpus.Path(t, "goroutine", "gen", "debug2-go"+c.from+".txt"))))
			to := familiesOf(readText(t, open(t, corpus.Path(t, "goroutine", "gen", "debug2-go"+c.to+".txt"))))
			for _, m := range []map[string]int{from, to} {
				maps.DeleteFunc(m, func(k string, _ int) bool { return changed.MatchString(k) })
				if len(m) < 30 {
					t.Fatalf("%d families of a program with more than 30", len(m))
				}
			}
			if diff := cmp.Diff(from, to); diff != "" {
				t.Errorf("(-%s +%s):\n%s", c.from, c.to, diff)
			}
		})
	}
}

func TestEqualStacksShareFamilyWithoutMixingTitles(t *testing.T) {
	var known family.Stacks
	stack := func(line int, file string) *analysis.Stack {
		return &analysis.Stack{Frames: []analysis.Frame{{Func: "example.com/pool.(*Pool).run", File: file, Line: line}}}
	}
	first, second := stack(1, "/src/pool.go"), stack(2, "/src/pool.go")
	if known.OfStack(first) != known.OfStack(second) {
		t.Error("two stacks of one family have families of their own")
	}
	if known.Exact(first) == known.Exact(second) {
		t.Error("two lines have one exact fingerprint")
	}
	for _, s := range []*analysis.Stack{first, second, stack(3, "/root/go/pkg/mod/example.com/pool@v1.2.3/pool.go")} {
		if diff := cmp.Diff(family.OfStack(s), known.OfStack(s)); diff != "" {
			t.Errorf("a remembered family differs: %s", diff)
		}
	}
}
