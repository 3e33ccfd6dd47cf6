package envelope_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"leakdiff/analysis/envelope"
	"leakdiff/samples/corpus"
)

// sameAsWalking demands that trotting and streaming change nothing.
func sameAsWalking(t testing.TB, data []byte, cfg envelope.Config) {
	t.Helper()
	want, wantInfo, wantProblems, err := envelope.UnwrapWalking(bytes.NewReader(data), cfg)
	if err != nil {
		t.Fatal(err)
	}
	got, gotInfo, gotProblems := unwrap(t, data, cfg)
	compareSections(t, got, want, func(s *envelope.Section) []byte { return text(t, s) })
	if d := cmp.Diff(wantInfo, gotInfo) + cmp.Diff(wantProblems, gotProblems); d != "" {
		t.Fatalf("-walking +trotting\n%s", d)
	}
	var streamed [][]byte
	cfg.Stream = func(r io.Reader) {
		all, err := io.ReadAll(r)
		if err != nil {
			t.Error(err)
		}
		streamed = append(streamed, all)
	}
	if cfg.MaxKept > 0 {
		return // what is streamed is not kept: there is more of it
	}
	got, _, gotProblems = unwrap(t, data, cfg)
	compareSections(t, got, want, func(s *envelope.Section) []byte {
		if s.Streamed > 0 {
			return streamed[s.Streamed-1]
		}
		return text(t, s)
	})
	if d := cmp.Diff(wantProblems, gotProblems); d != "" {
		t.Fatalf("-walking +streaming\n%s", d)
	}
}

func compareSections(t testing.TB, got, want []envelope.Section, content func(*envelope.Section) []byte) {
	t.Helper()
	public := []cmp.Option{cmpopts.IgnoreUnexported(envelope.Section{}), cmpopts.IgnoreFields(envelope.Section{}, "Streamed")}
	if d := cmp.Diff(want, got, public...); d != "" {
		t.Fatalf("-walking +got\n%s", d)
	}
	for i := range want {
		if plain := text(t, &want[i]); !bytes.Equal(content(&got[i]), plain) {
			t.Fatalf("dump %d is another text; -walking +got\n%s", i, cmp.Diff(string(plain), string(content(&got[i]))))
		}
		if !bytes.Equal(got[i].Marks(), want[i].Marks()) {
			t.Fatalf("dump %d has its goroutines at other places", i)
		}
	}
}

func TestTrottingGivesWhatWalkingGivesForEveryFileOfTheCorpus(t *testing.T) {
	corpus.Heavy(t)
	files := 0
	for _, dir := range []string{"bundles/log-wrapped", "goroutine", "threads"} {
		err := filepath.WalkDir(corpus.Path(t, filepath.FromSlash(dir)), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			if info, err := d.Info(); err != nil || info.Size() > 8<<20 {
				return err
			}
			files++
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sameAsWalking(t, data, envelope.Config{Path: "x", Now: begin.Add(48 * time.Hour)})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 {
		t.Errorf("%d files", files)
	}
}

func TestTrottingGivesWhatWalkingGivesInEveryForm(t *testing.T) {
	for dump, plain := range plains(t) {
		plain = first(plain, min(40, strings.Count(plain, "\n\n")))
		for _, w := range wrappers {
			for name, change := range map[string]func(string) string{
				"":      func(s string) string { return s },
				"/CRLF": func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
				"/again": func(s string) string {
					return s + "some line\n" + s + strings.Repeat("2026-11-21 02:58:30.123 INFO working on it\n", 300) + s
				},
			} {
				if name != "" && dump != "kubelet" {
					continue
				}
				t.Run(dump+"/"+w.name+name, func(t *testing.T) {
					sameAsWalking(t, []byte(change(w.wrap(plain))), envelope.Config{Path: "x", Now: begin.Add(48 * time.Hour)})
				})
			}
		}
	}
}

// TestLongDumpsAreTrottedOver says for which forms the third gait is meant.
func TestLongDumpsAreTrottedOver(t *testing.T) {
	forms := map[string]bool{
		"journald short": true, "journald short-precise": true, "journald short-iso": true, "journald with-unit": true, "one message of many lines in journald": true, "RFC 3164": true, "CRI": true, "docker JSON": true,
		"JSON lines of a shipper": true, "kubectl --timestamps": true, "kubectl --prefix": true, "kubectl --prefix --timestamps": true,
		"stern": true, "docker compose": true, "klog before the first line": true, "klog before each line": true, "response headers": true,
	}
	plain := strings.ReplaceAll(plains(t)["kubelet"], `\`, "")
	for _, w := range wrappers {
		if !forms[w.name] {
			continue
		}
		delete(forms, w.name)
		wrapped := w.wrap(plain)
		if share := float64(envelope.Trotted(strings.NewReader(wrapped))) / float64(strings.Count(wrapped, "\n")); share < 0.85 {
			t.Errorf("%s: %.0f%% of the lines", w.name, 100*share)
		}
	}
	if len(forms) > 0 {
		t.Errorf("no such forms: %v", forms)
	}
}

var fractions = regexp.MustCompile(`\.\d+Z`)

// damages are what may happen to the lines of a log.
var damages = []func(line string, r *rand.Rand) string{
	func(string, *rand.Rand) string { return "" },
	func(l string, r *rand.Rand) string { return l + l },
	func(l string, r *rand.Rand) string { return l[:r.IntN(len(l)+1)] },
	func(l string, r *rand.Rand) string { return strings.TrimSuffix(l, "\n") },
	func(l string, r *rand.Rand) string { return strings.TrimSuffix(l, "\n") + "\r\n" },
	func(l string, r *rand.Rand) string { return strings.Replace(l, " F ", " P ", 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, "stderr", "stdout", 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, "web-", "wob-", 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, "2026", "2025", 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, "1", "23", 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, ": ", ":", 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, "] ", "]", 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, "| ", "|", 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, ".1", ".", 1) },
	func(l string, r *rand.Rand) string { return fractions.ReplaceAllString(l, ".Z") },
	func(l string, r *rand.Rand) string { return strings.Replace(l, ":36", ":36.1234567890123", 1) },
	func(l string, r *rand.Rand) string { return l + "panic: boom\n\n" },
	func(l string, r *rand.Rand) string { return l + "SIGQUIT: quit\nPC=0x1 m=0 sigcode=0\n\n" },
	func(l string, r *rand.Rand) string { return l + "-- Boot 1f2e --\n" },
	func(l string, r *rand.Rand) string {
		return "I1121 02:58:36.123456    1234 x.go:12] goroutine dump:\n" + l
	},
	func(l string, r *rand.Rand) string {
		return strings.Replace(l, "goroutine ", "goroutine 1 [running]: ", 1)
	},
	func(l string, r *rand.Rand) string { return strings.Replace(l, "(", "(goroutine 5 [select]:", 1) },
	func(l string, r *rand.Rand) string {
		return strings.Replace(l, "/", "/103,111,114,111,117,116,105,110,101,32,", 1)
	},
	func(l string, r *rand.Rand) string { return strings.Replace(l, "main", "Full thread dump VM (x):", 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, "/", `\/`, 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, "/", "\x1b[33m/", 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, "\t", "        ", 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, "\t", " \t", 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, "\n", " \n", 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, `\n"`, `"`, 1) },
	func(l string, r *rand.Rand) string { return strings.Replace(l, `"log"`, `"lag"`, 1) },
	func(l string, r *rand.Rand) string {
		b := []byte(l)
		b[r.IntN(len(b))] = byte(r.UintN(256))
		return string(b)
	},
	func(l string, r *rand.Rand) string {
		b := []byte(l)
		b[r.IntN(len(b))] = "\n \t\"\\[{:0x(<-"[r.IntN(13)]
		return string(b)
	},
}

// damaged changes some lines of a text.
func damaged(text string, r *rand.Rand, each int) []byte {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if r.IntN(each) == 0 {
			line = damages[r.IntN(len(damages))](line, r)
		}
		out.WriteString(line)
	}
	return []byte(out.String())
}

func TestTrottingGivesWhatWalkingGivesForDamagedLines(t *testing.T) {
	all := plains(t)
	for name, plain := range all {
		all[name] = first(plain, min(20, strings.Count(plain, "\n\n")))
	}
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		plain := all[rapid.SampledFrom([]string{"kubelet", "labels 27", "ancestors", "signal", "crash"}).Draw(rt, "dump")]
		cfg := envelope.Config{Now: begin.Add(48 * time.Hour), MaxKept: rapid.SampledFrom([]int64{0, 0, 500}).Draw(rt, "kept")}
		each := rapid.SampledFrom([]int{3, 20, 100}).Draw(rt, "each")
		for range 5 {
			w := wrappers[r.IntN(len(wrappers))]
			sameAsWalking(t, damaged(w.wrap(plain), r, each), cfg)
		}
	})
}

// TestTrottingLeavesWhatItDoesNotKnowToWalking puts lines among those of a dump that
// look nearly like them.
func TestTrottingLeavesWhatItDoesNotKnowToWalking(t *testing.T) {
	lines := strings.SplitAfter(strings.TrimSuffix(first(plains(t)["kubelet"], 80), "\n"), "\n")
	for name, prefix := range map[string]string{
		"raw": "", "CRI": "2026-11-21T02:58:36.1Z stderr F ", "stamps": "2026-11-21T02:58:36.1Z ", "docker": `{"log":"`,
		"klog": "E1121 02:58:36.123456    1234 panic.go:12] ", "nearly stern": "web-0 app: ", "nearly compose": "api-1 / ", "nearly syslog": "Nov 21 02:58:36 host: ",
	} {
		for _, put := range []string{
			"some words", "2026-11-21 02:58:36.123 INFO done (all)", "[main].f(0x1)", "-main.f(0x1)", "main.f(goroutine 7 [select]:)",
			"main.f(0x1) ", " main.f(0x1)", "\t/a b/c.go:1 +0x1", "\t/c.go:x +0x1", "\t[x/c.go:1 +0x1", "created by main.f in goroutine", "created by  in goroutine 1",
			"goroutine 900 [running]:", "goroutine 1 [select]:", `goroutine 901 [select]:\nmain.f()\n\t/x.go:1 +0x1\n\ngoroutine 902 [select]:`,
			"panic: boom", "SIGQUIT: quit", "-----", "=== BEGIN goroutine stack dump ===", "=== END goroutine stack dump ===", "(0x1)", ".(0x1)", "\t", " ",
			"goroutine profile: total 81", "Full thread dump OpenJDK (x)", "Sat Nov 21 03:00:00 UTC 2026", "2026-11-21 02:46:53", "[originating from goroutine 5]:",
			"main.f(103,111,114,111,117,116,105,110,101,32,53)", "main.f(0x1, 0x2, {103, 111, 114, 111, 117, 116, 105, 110, 101, 32, 53})", "main.f(0x103, 0x111)",
			"\t/srv/103,111,114,111,117,116,105,110,101,32,/x.go:1 +0x1", "goroutine 901 [chan receive, 5 minutes, locked to thread]:", "goroutine 902 gp=0xc0 m=nil [select]:", "goroutine 903 [select:",
		} {
			for _, every := range []int{2, 5, 40} {
				var out strings.Builder
				add := func(line string) {
					if name == "docker" {
						line = strings.TrimPrefix(jsonQuoted(line), `"`)
						out.WriteString(prefix + strings.TrimSuffix(line, `"`) + `","stream":"stderr","time":"2026-11-21T02:58:36.1Z"}` + "\n")
						return
					}
					out.WriteString(prefix + line)
				}
				for i, line := range lines {
					if i%every == every-1 {
						add(put + "\n")
					}
					if name == "CRI" && i%50 == 49 { // a part without a text, and one with it
						out.WriteString(strings.Replace(prefix, "F", "P", 1) + "\n" + strings.Replace(prefix, "F", "P", 1) + "main.")
						out.WriteString("f()\n")
					}
					add(line)
				}
				t.Run(fmt.Sprintf("%s/%s/%d", name, put, every), func(t *testing.T) {
					sameAsWalking(t, []byte(out.String()), envelope.Config{Now: begin})
				})
			}
		}
	}
}

// TestTrottingMindsTheSources mixes the lines of several writers.
func TestTrottingMindsTheSources(t *testing.T) {
	all := plains(t)
	a, b := strings.SplitAfter(first(all["kubelet"], 30), "\n"), strings.SplitAfter(first(all["signal"], 30), "\n")
	log := []string{"2026-11-21 02:58:30.123 INFO working on it\n", "no prefix at all\n"}
	for name, prefixes := range map[string][3]string{
		"stern":    {"web-7d4b9-x1 app ", "web-7d4b9-y2 app ", "web-7d4b9-z3 app "},
		"journald": {"Nov 21 02:58:36 node-1 kubelet[1234]: ", "Nov 21 02:58:36 node-1 containerd[77]: ", "Nov 21 02:58:36 node-1 kubelet[1235]: "},
		"streams":  {"2026-11-21T02:58:36.1Z stderr F ", "2026-11-21T02:58:36.1Z stdout F ", "2026-11-21T02:58:36.1Z stderr P "},
		"compose":  {"api-1  | ", "web-1  | ", "x-1 | "},
		"kubectl":  {"[pod/web-0/app] ", "[pod/web-0/sidecar] ", "[pod/web-1/app]"},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				var out strings.Builder
				left := [3][]string{a, b, log}
				most := rapid.SampledFrom([]int{3, 30, 300}).Draw(rt, "most")
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
				for len(left[0])+len(left[1]) > 0 {
					i := r.IntN(3)
					n := min(1+r.IntN(most), len(left[i]))
					for _, line := range left[i][:n] {
						if line != "" {
							out.WriteString(prefixes[i] + line)
						}
					}
					if i < 2 {
						left[i] = left[i][n:]
					}
				}
				sameAsWalking(t, []byte(out.String()), envelope.Config{Now: begin})
			})
		})
	}
}

// TestASourceThatIsSilentEndsItsDumpInEitherGait lets one source speak again about
// when its silence ends its dump.
func TestASourceThatIsSilentEndsItsDumpInEitherGait(t *testing.T) {
	lines := strings.SplitAfter(strings.TrimSuffix(plains(t)["kubelet"], "\n"), "\n")
	var other strings.Builder
	for i := range 7000 {
		fmt.Fprintf(&other, "[pod/b-0/x] goroutine %d [select]:\n[pod/b-0/x] main.f()\n[pod/b-0/x] \t/srv/main.go:1 +0x1\n", 1+i)
	}
	for _, silent := range []int{19_900, 19_999, 20_030, 20_064, 20_100, 20_500} {
		var out strings.Builder
		for _, line := range lines[:len(lines)/2] {
			out.WriteString("[pod/a-0/x] " + line)
		}
		for line := range strings.Lines(other.String()) {
			if silent--; silent >= 0 {
				out.WriteString(line)
			}
		}
		for _, line := range lines[len(lines)/2:] {
			out.WriteString("[pod/a-0/x] " + line)
		}
		sameAsWalking(t, []byte(out.String()), envelope.Config{})
	}
}

// TestLayersAreRuledOutByThePrefixAlone puts headers and digits behind and into
// prefixes that are like those of collectors, or nearly so.
func TestLayersAreRuledOutByThePrefixAlone(t *testing.T) {
	pieces := []string{
		"2026-11-21T02:58:36.123456789Z", "2026-11-21 02:58:36", "2026/11/21 02:58:36", "Nov 21 02:58:36", "Sat 2026-11-21 02:58:36 UTC", "1763694300.123456", "[  123.456789]", "[2026-11-21 02:58:36]",
		"E1121 02:58:36.123456", "1234", "panic.go:12]", "<13>", "<165>1", "-", "node-1", "kubelet[1234]:", "kubelet:", "INFO", "[INFO]", "[pod/web-0/app]", "[pod/", "web-7d4b9-x1", "app", "api-1", "api_1", "|", "Api", "stderr", "F", "P", ":", "/", "x=1", "Mai",
	}
	ruled := 0
	rapid.Check(t, func(rt *rapid.T) {
		prefix := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 5).Draw(rt, "pieces"), rapid.SampledFrom([]string{" ", "  ", ""}).Draw(rt, "between"))
		prefix += rapid.SampledFrom([]string{" ", "  ", "\t", ": "}).Draw(rt, "end")
		header := "goroutine " + rapid.SampledFrom([]string{"1", "1234567"}).Draw(rt, "id") + rapid.SampledFrom([]string{
			" [select]:", " [chan receive, 5 minutes]:", " gp=0xc0 m=nil [select]:", ` [select labels:{"a": "b c|d"}]:`, " [a:", " [IO wait: x] | y:",
		}).Draw(rt, "state")
		digit := rapid.SampledFrom([]string{"0", "1", "9"})
		line := digits.ReplaceAllStringFunc(prefix, func(string) string { return digit.Draw(rt, "digit") }) + header
		wrong, n := envelope.WronglyRuledOut(digits.ReplaceAllString(prefix, "0"), line)
		if ruled += n; len(wrong) > 0 {
			rt.Errorf("%q has a layer that was ruled out: %v", line, wrong)
		}
	})
	if ruled == 0 {
		t.Error("nothing was ruled out")
	}
	for prefix, want := range map[string]int{"E1121 02:58:36.123456    1234 panic.go:12] ": 6, "2026-11-21T02:58:36.123456789Z ": 5} {
		if _, n := envelope.WronglyRuledOut(prefix, prefix+"goroutine 1 [select]:"); n != want {
			t.Errorf("%d of 6 layers are ruled out by %q, want %d", n, prefix, want)
		}
	}
}

var digits = regexp.MustCompile(`\d`)

func TestAnArrayOfBytesIsSeenWhereverItStands(t *testing.T) {
	for _, marker := range []string{"103,111,114,111,117,116,105,110,101,32,", "103, 111, 114, 111, 117, 116, 105, 110, 101, 32,"} {
		for before := range 100 {
			for behind := range 40 {
				text := strings.Repeat("x", before) + marker + strings.Repeat("x", behind)
				if !envelope.MayBeArray(text) {
					t.Fatalf("not seen in %q", text)
				}
			}
		}
	}
	for _, text := range []string{"", "main.f(0x1)", "main.f(0x103, 0x111, 0xc000103, 0x6f)", "/srv/main.go:103 +0x103"} {
		if envelope.MayBeArray(text) {
			t.Errorf("seen in %q", text)
		}
	}
}

func TestIDsThatCameBeforeAreKnown(t *testing.T) {
	var ids, want []int64
	for id := range int64(3000) {
		ids = append(ids, id*id*7919+1)
	}
	for id := range int64(100) {
		ids, want = append(ids, id*id*7919+1), append(want, id*id*7919+1)
	}
	if d := cmp.Diff(want, envelope.RepeatedIDs(ids)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func FuzzTrotting(f *testing.F) {
	three := dump(1, "select", "select", "select") + "\n" + dump(50, "select", "chan receive", "IO wait, 5 minutes")
	for _, w := range wrappers {
		f.Add([]byte(w.wrap(three)))
		f.Add(damaged(w.wrap(three), rand.New(rand.NewPCG(1, 1)), 5))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameAsWalking(t, data, envelope.Config{Now: begin}) })
}

// TestPlacesAreTheSameInAnyOrder looks offsets up in rising order and at random.
func TestPlacesAreTheSameInAnyOrder(t *testing.T) {
	var plain strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&plain, "goroutine %d [select]:\nmain.f%d()\n\t/srv/main.go:1 +0x1\n\n", i+1, i%7)
	}
	wrapped := each(func(now time.Time) string { return now.Format(time.RFC3339Nano) + " stderr F " })(plain.String())
	sections, _, _ := unwrap(t, []byte(wrapped), envelope.Config{})
	if len(sections) != 1 {
		t.Fatalf("%d sections", len(sections))
	}
	s := &sections[0]
	lines := strings.SplitAfter(wrapped, "\n")
	at, raw, header, headerRaw := int64(0), int64(0), int64(0), int64(0)
	rising, anyhow, r := s.Places(), s.Places(), rand.New(rand.NewPCG(1, 1))
	for n, line := range strings.SplitAfter(plain.String(), "\n") {
		if strings.HasPrefix(line, "goroutine ") {
			header, headerRaw = int64(n+1), raw
		}
		anyhow.Locate(r.Int64N(s.Bytes))
		for name, find := range map[string]func(int64) (int64, int64){"rising": rising.Locate, "in any order": anyhow.Locate, "once": s.Locate} {
			if gotLine, gotRaw := find(at); gotLine != header || gotRaw != headerRaw {
				t.Fatalf("%s: offset %d is said to be in line %d at %d, want %d at %d", name, at, gotLine, gotRaw, header, headerRaw)
			}
		}
		at += int64(len(line))
		raw += int64(len(lines[min(n, len(lines)-1)]))
	}
}

func TestAReaderOfAStreamMayStopOrPanic(t *testing.T) {
	var log strings.Builder
	for i := range 4 {
		log.WriteString(strings.Repeat(dump(1+i, "select", "select", "select")+"\n", 1))
		for n := range 5000 {
			fmt.Fprintf(&log, "goroutine %d [select]:\nmain.f()\n\t/srv/main.go:1 +0x1\n\n", 100+n)
		}
		log.WriteString(strings.Repeat("2026-11-21 02:58:30.123 INFO working on it\n", 500))
	}
	t.Run("stop", func(t *testing.T) {
		calls := 0
		sections, _, _ := unwrap(t, []byte(log.String()), envelope.Config{Stream: func(r io.Reader) {
			if calls++; calls%2 == 0 {
				r.Read(make([]byte, 10))
			}
		}})
		if len(sections) != 4 || calls != 4 || sections[3].Streamed != 4 || sections[3].Headers != 5003 {
			t.Errorf("%d sections of %d calls: %+v", len(sections), calls, sections)
		}
		if _, err := sections[0].Open(); err == nil {
			t.Error("a text that was streamed is there again")
		}
	})
	t.Run("panic", func(t *testing.T) {
		defer func() {
			if v := recover(); v != "a parser is broken" {
				t.Errorf("got %v", v)
			}
		}()
		unwrap(t, []byte(log.String()), envelope.Config{Stream: func(r io.Reader) {
			io.CopyN(io.Discard, r, 100_000)
			panic("a parser is broken")
		}})
	})
}
