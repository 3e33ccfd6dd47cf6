package ingest

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/family"
	"leakdiff/samples/corpus"
)

// only reads one file and returns its one snapshot.
func only(t *testing.T, path string) analysis.Snapshot {
	t.Helper()
	in := bundle.Input{Name: filepath.Base(path), Open: func() (io.ReadCloser, error) { return os.Open(path) }}
	r, err := Run(t.Context(), Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, []bundle.Input{in})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Snapshots) != 1 {
		t.Fatalf("%s: %d snapshots, want 1; %v", path, len(r.Snapshots), r.Problems)
	}
	return r.Snapshots[0]
}

// countsOf are the members of each family by loose fingerprint; forms without
// creators find their families by adopters, which may be nil.
func countsOf(s analysis.Snapshot, adopters map[string]string) map[string]int {
	out := map[string]int{}
	for _, g := range s.Groups {
		print := g.Family.Fingerprint
		if adopter := adopters[print]; adopter != "" && !g.Members.Identified() {
			print = adopter
		}
		out[print] += g.Count
	}
	return out
}

func familiesOf(s analysis.Snapshot) []*analysis.Family {
	var out []*analysis.Family
	for _, g := range s.Groups {
		out = append(out, g.Family)
	}
	return out
}

// The twelve wrapped files hold the same bytes as the plain dump; debug=1 and the
// proto were taken of the same process in the same second, and cannot tell apart what a
// creator or a frame that they leave out does: a profile has neither (runtime/mprof.go).
func TestEveryEncodingOfOneProcessGivesTheSameFamilies(t *testing.T) {
	plain := only(t, corpus.Path(t, "goroutine", "gen", "debug2-go1.26.8.txt"))
	want := countsOf(plain, nil)
	sum := 0
	for _, n := range want {
		sum += n
	}
	if sum != 80 {
		t.Fatalf("%d goroutines in families, want 80: 81 less the one that writes the dump", sum)
	}
	adopters := family.Adopters(familiesOf(plain))
	wrapped, err := filepath.Glob(corpus.Path(t, "goroutine", "prefixed", "*"))
	if err != nil || len(wrapped) < 12 {
		t.Fatalf("%d wrapped files, %v", len(wrapped), err)
	}
	for _, file := range wrapped {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if d := cmp.Diff(want, countsOf(only(t, file), adopters)); d != "" {
				t.Errorf("families (-debug=2 +this):\n%s", d)
			}
		})
	}
	// Counted in the text: ten goroutines of main.leak have not run yet, and one closure
	// of main.hold was started by a timer.
	profile := maps.Clone(want)
	move := func(of func(*analysis.Family) bool, n int, to string) {
		t.Helper()
		for _, g := range plain.Groups {
			if of(g.Family) {
				if g.Count != n {
					t.Fatalf("%s has %d members, want %d", g.Family.Title, g.Count, n)
				}
				delete(profile, g.Family.Fingerprint)
				profile[to] += n
				return
			}
		}
		t.Fatalf("none of the families is the one of %d members", n)
	}
	var held string
	for _, g := range plain.Groups {
		if g.Family.LooseCreator == "main.hold" && len(g.Family.Loose) == 1 && g.Count == 12 {
			held = g.Family.Fingerprint
		}
	}
	move(func(f *analysis.Family) bool { return f.LooseCreator == "time.goFunc" && f.Loose[0] == "main.hold" }, 1, held)
	move(func(f *analysis.Family) bool { return f.Title == "main.leak" }, 10, new(family.Stacks).OfStack(&analysis.Stack{}).Fingerprint)
	for _, name := range []string{"debug1-go1.26.8.txt", "debug0-go1.26.8.pb.gz"} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(profile, countsOf(only(t, corpus.Path(t, "goroutine", "gen", name)), adopters)); d != "" {
				t.Errorf("families (-expected of a profile +this):\n%s", d)
			}
		})
	}
}

// Programs write pprof.Lookup("goroutine").WriteTo(os.Stderr, 1) into their logs.
func TestAProfileInsideALogIsReadLikeOneAlone(t *testing.T) {
	file := corpus.Path(t, "goroutine", "gen", "debug1-go1.26.8.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := countsOf(only(t, file), nil)
	for name, prefix := range map[string]string{"CRI": "2026-11-21T03:00:00.000000001Z stderr F ", "kubectl": "2026-11-21T03:00:00.0Z ", "journald": "Nov 21 03:00:00 node1 app[7]: "} {
		log := prefix + "starting\n"
		for line := range strings.Lines(string(text)) {
			log += prefix + line
		}
		log += prefix + "going on\n"
		s := run(t, map[string]string{"pod.log": log}).Snapshots
		if len(s) != 1 {
			t.Fatalf("%s: %d snapshots", name, len(s))
		}
		if d := cmp.Diff(want, countsOf(s[0], nil)); d != "" {
			t.Errorf("%s (-alone +in the log):\n%s", name, d)
		}
	}
}

// moving are the functions of the recorded program whose goroutines are caught in
// other work from run to run: newborns, and closures that only some builds have.
// Counted by hand in the files (see the test of this name in package family).
var moving = regexp.MustCompile(`^main\.(hold|leak|main)|^main\.leak(Lock|Recv|Send)`)

// SIGQUIT stops another run of the same program: but for the moving, it has the
// families of debug=2, in the same numbers.
func TestSIGQUITGivesTheFamiliesOfDebug2(t *testing.T) {
	for _, release := range []string{"1.18.10", "1.21.13", "1.23.12", "1.25.5", "1.26.8", "1.27.0"} {
		t.Run(release, func(t *testing.T) {
			plain := only(t, corpus.Path(t, "goroutine", "gen", "debug2-go"+release+".txt"))
			crash := only(t, corpus.Path(t, "goroutine", "gen", "sigquit-go"+release+".txt"))
			want, got := countsOf(plain, nil), countsOf(crash, nil)
			compared := 0
			for _, g := range append(plain.Groups, crash.Groups...) {
				print, title := g.Family.Fingerprint, g.Family.Title
				if moving.MatchString(title) {
					continue
				}
				compared++
				if want[print] != got[print] {
					t.Errorf("%s: %d by debug=2, %d by SIGQUIT", title, want[print], got[print])
				}
			}
			if compared < 30 {
				t.Errorf("%d families were compared", compared)
			}
		})
	}
}
