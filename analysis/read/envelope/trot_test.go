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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/goroutine"
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
	cfg.Stream = func(r envelope.Text) {
		streamed = append(streamed, parsedAlike(t, r))
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
	bodies := evenStacks
	if len(data)%2 == 0 {
		bodies = nil
	}
	leavingOut(t, data, cfg, want, bodies)
}

// parsedAlike reads a text and demands that it makes no difference to a parser which
// goroutines are said to be alike.
func parsedAlike(t testing.TB, text envelope.Text) []byte {
	t.Helper()
	var all bytes.Buffer
	got, bodies := parsed(io.TeeReader(text, &all), goroutine.Config{Alike: whole{text}})
	want, wantBodies := parsed(bytes.NewReader(all.Bytes()), goroutine.Config{})
	sameParsed(t, got, want, bodies, wantBodies, false)
	return all.Bytes()
}

// whole is what is known of a text that leaves nothing out.
type whole struct{ envelope.Text }

func (whole) LeaveOut(analysis.Alike) {}

// parsed is what a parser makes of a text, in words, and the bodies.
func parsed(r io.Reader, cfg goroutine.Config) (text []byte, bodies [][]byte) {
	var out bytes.Buffer
	stacks := map[*analysis.Stack]int{}
	dump, problems, err := goroutine.ParseText(r, cfg, func(g *goroutine.Goroutine) error {
		one := *g
		one.Stack, one.Body = nil, nil
		n, known := stacks[g.Stack]
		if !known {
			n = len(stacks)
			stacks[g.Stack] = n
			fmt.Fprintf(&out, "stack %+v\n", *g.Stack)
		}
		fmt.Fprintf(&out, "%+v stack %d\n", one, n)
		bodies = append(bodies, bytes.Clone(g.Body))
		return nil
	})
	fmt.Fprintf(&out, "%+v %+v %v\n", dump, problems, err)
	return out.Bytes(), bodies
}

// longBody is up to what length all bodies are there.
const longBody = 32 << 10

// sameParsed takes whether bodies may be left out.
func sameParsed(t testing.TB, got, want []byte, bodies, wantBodies [][]byte, left bool) {
	t.Helper()
	if !bytes.Equal(want, got) {
		t.Errorf("-of the text alone +told what is alike\n%s", cmp.Diff(string(want), string(got)))
		return
	}
	for i, want := range wantBodies {
		// Of which long ones there is none depends on what each read brings.
		if got := bodies[i]; !bytes.Equal(want, got) && len(want) <= longBody && len(got) <= longBody && !(got == nil && left) {
			t.Errorf("body of %d\n%s", i, cmp.Diff(string(want), string(got)))
		}
	}
}

// leavingOut demands that a parser makes the same of each text where goroutines are left
// out, and gets the bodies that it wants; it returns how many were left out.
func leavingOut(t testing.TB, data []byte, cfg envelope.Config, want []envelope.Section, bodies func(*analysis.Stack) bool) (left int) {
	t.Helper()
	type result struct {
		text   []byte
		bodies [][]byte
		dates  []envelope.Stamp
	}
	var streamed []result
	cfg.Stream = func(r envelope.Text) {
		dates := envelope.NewDates(begin)
		counted := &counting{Text: r}
		text, found := parsed(r, goroutine.Config{Alike: counted, Bodies: bodies, Lines: dates.Line})
		streamed = append(streamed, result{text, found, dates.Of(everyKiB)})
		left += counted.left
	}
	got, _, _ := unwrap(t, data, cfg)
	for i := range got {
		if got[i].Streamed == 0 {
			continue
		}
		dates := envelope.NewDates(begin)
		plain, all := parsed(io.TeeReader(bytes.NewReader(text(t, &want[i])), dates), goroutine.Config{})
		r := streamed[got[i].Streamed-1]
		sameParsed(t, r.text, plain, r.bodies, all, true)
		if whole := dates.Of(everyKiB); !slices.Equal(whole, r.dates) {
			t.Errorf("dates -of the whole text +where some is left out\n%s", cmp.Diff(whole, r.dates))
		}
	}
	return left
}

// evenStacks wants bodies of stacks with an even number of frames.
func evenStacks(s *analysis.Stack) bool { return len(s.Frames)%2 == 0 }

// TestWhatIsLeftOutBesideOtherLinesChangesNothing puts lines of all kinds and other headers
// into dumps of which most goroutines are left out.
func TestWhatIsLeftOutBesideOtherLinesChangesNothing(t *testing.T) {
	defer envelope.InBlocksOf(2000)()
	odd := []string{
		"panic: boom", "  panic: indented", "fatal error: all goroutines are asleep - deadlock!", "SIGQUIT: quit", "\x1e", "some words", "", "Sat Nov 21 03:00:00 UTC 2026",
		"2026-11-21 02:46:53", "[originating from goroutine 5]:", "...additional frames elided...", "goroutine running on other thread; stack unavailable", "-----",
		"main.stray()", "\t/srv/stray.go:3 +0x1d", "created by main.other in goroutine 7", "goroutine 5 was blocked",
	}
	headers := []string{
		"goroutine 77001 [running]:", "goroutine 100 [select]:", "goroutine 77002 [select, 5 minutes]:", "goroutine 77003 [chan receive (nil chan)]:", "goroutine 0 [idle]:",
		"goroutine 77004 [select, 5 minutes, locked to thread]:", "goroutine 77005 gp=0xc0 m=nil [select]:", `goroutine 77006 [select labels:{"a": "b"}]:`, "goroutine 99999999999999999999 [select]:",
		"  goroutine 77007 [select]:", "goroutine 77008 [select, 99999999999 minutes]:",
	}
	left := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		calm := 3 + r.IntN(60)
		plain := repeated(400, func(i int, block []string) []string {
			if i%3 == 1 {
				block[0] = fmt.Sprintf("goroutine %d [chan receive, %d minutes]:", 100+i, r.IntN(4))
			}
			switch {
			case r.IntN(calm) > 0:
			case r.IntN(3) == 0:
				block[0] = headers[r.IntN(len(headers))]
			case r.IntN(4) == 0:
				at := r.IntN(len(block))
				block = slices.Delete(block, at, at+1)
			default:
				block = slices.Insert(block, r.IntN(len(block)+1), odd[r.IntN(len(odd))])
			}
			return block
		})
		for name, wrap := range map[string]func(string) string{
			"raw": func(plain string) string { return plain }, "docker": unquoted, "kubectl": each(func(time.Time) string { return "[pod/web-0/app] " }),
			"CRI": each(func(now time.Time) string { return now.Format(time.RFC3339Nano) + " stderr F " }),
		} {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				data, cfg := []byte(wrap(plain)), envelope.Config{Now: begin}
				want, _, _, err := envelope.UnwrapWalking(bytes.NewReader(data), cfg)
				if err != nil {
					t.Fatal(err)
				}
				left += leavingOut(t, data, cfg, want, nil) + leavingOut(t, data, cfg, want, evenStacks)
			})
		}
	}
	if left < 10_000 {
		t.Errorf("%d were left out", left)
	}
}

// counting counts what is left out.
type counting struct {
	envelope.Text
	left int
}

func (c *counting) Alike(offset int64) (analysis.Alike, bool) {
	like, ok := c.Text.Alike(offset)
	if ok && like.Left {
		c.left++
	}
	return like, ok
}

// everyKiB are offsets at which dumps might begin.
var everyKiB = func() (at []int64) {
	for i := range int64(100) {
		at = append(at, i<<10)
	}
	return at
}()

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

// TestTrottingGoesOnWhereTheWindowEnds has more text than the window holds at once: no
// line but those of the first goroutines is left to walking.
func TestTrottingGoesOnWhereTheWindowEnds(t *testing.T) {
	log := each(func(time.Time) string { return "[pod/web-0/app] " })(repeated(10_000, func(_ int, block []string) []string { return block }))
	if walked := int64(strings.Count(log, "\n")) - envelope.Trotted(strings.NewReader(log)); walked > 30 {
		t.Errorf("%d lines of %d MB are walked", walked, len(log)>>20)
	}
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

// repeated is a dump whose goroutines are alike but for what differs between those of
// one stack. Lines of one goroutine may be changed.
func repeated(goroutines int, change func(goroutine int, block []string) []string) string {
	var out strings.Builder
	for i := range goroutines {
		block := []string{
			fmt.Sprintf("goroutine %d [select]:", 100+i),
			fmt.Sprintf("main.(*T[...]).run(0xc0000%05x, {0x%x?, 0x2}, ...)", i*977, i),
			fmt.Sprintf("\t/srv/run.go:12 +0x1d fp=0xc0000%05x sp=0xc0000%05x pc=0x40841c", i*64, i*32),
			"main.inlined(...)",
			"\t/srv/run.go:1",
			"main.last()",
			"\t/srv/run.go:120 +0x2a",
			fmt.Sprintf("created by main.start in goroutine %d", 1+i%7),
			"\t/srv/start.go:7 +0x9a",
			"",
		}
		for _, line := range change(i, block) {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// unquoted puts lines into JSON as they are: bytes that it forbids stand in it, and
// quotes end the string.
func unquoted(plain string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(plain, "\t/", `\t/`)) {
		out.WriteString(`{"log":"` + strings.TrimSuffix(line, "\n") + `\n","stream":"stderr","time":"2026-11-21T02:58:36.1Z"}` + "\n")
	}
	return out.String()
}

// TestGallopingKnowsOtherLinesInObjects has lines that are those of stacks but not
// where they stand in JSON.
func TestGallopingKnowsOtherLinesInObjects(t *testing.T) {
	for _, call := range []string{`main.run["x"](0x1)`, `main.run[\n](0x1)`, `main.run["x"]()`, `main.run[a,"time":"2020-11-21T02:58:36.1Z"](0x1)`, "main.run[103,111,114,111,117,116,105,110,101,32,53](0x1)"} {
		plain := repeated(12, func(_ int, block []string) []string {
			block[1] = call
			return block
		})
		prefixed := each(func(time.Time) string { return "[pod/web-0/app] " })(plain)
		for _, text := range []string{plain + unquoted(plain), unquoted(plain) + plain, plain + prefixed, prefixed + plain} {
			sameAsWalking(t, []byte(text), envelope.Config{Now: begin})
		}
	}
}

// TestGallopingLeavesWhatDiffersToTrotting changes a line of a goroutine among others
// that are alike into one that begins as theirs do.
func TestGallopingLeavesWhatDiffersToTrotting(t *testing.T) {
	array := "103,111,114,111,117,116,105,110,101,32,"
	changes := map[int][]string{
		0: {"goroutine 100 [select]:", "goroutine 999 [running]:", "goroutine 999 [select]", "goroutine x",
			"goroutine 999 [select, 6 minutes]:", "goroutine 999 [select, 6 minutes]: x", "goroutine 999 [select, 6 hours]:", "goroutine 999 [select, minutes]:", "goroutine 999 [select, 6 minutes", "goroutine 999 [selected]:", "goroutine 999 [select]:x:",
			"goroutine 999 [select (leaked)]:", "goroutine 999  [select]:", "goroutine 999[select]:", "goroutine  [select]:", "goroutine 0 [select]:", "goroutine -1 [select]:", "goroutine 12345678901234567890 [select]:", "goroutine 123456789012345678901 [select]:",
			"goroutine 999 gp=0xc000 m=nil [select]:", "goroutine 101 [select]:", "goroutine 999 [select]: ", "goroutine 999 [select]:\r", " goroutine 999 [select]:", "goroutine 999 [select]:\ngoroutine 998 [select]:", `goroutine 999 [select, locked to thread]:`},
		1: {
			"main.(*T[...]).run(goroutine 7 [select]:)", "main.(*T[...]).run(0x1, goroutine 7 [select]:)", "main.(*T[...]).run(0x1", "main.(*T[...]).run(", "main.(*T[...]).run(0x1) ", "main.(*T[...]).run(0x1)x",
			"main.(*T[...]).run()", "main.(*T[...]).run(...)", `main.(*T[...]).run(\u0041)`, `main.(*T[...]).run("0x1")`, `main.(*T[...]).run(\")`, "main.(*T[...]).run(" + array + "53)", "main.(*T[...]).run(0x1, " + array + ")",
			"main.(*T[...]).run(0x12345678, {" + strings.ReplaceAll(array, ",", ", ") + "53})", "main.(*T[...]).runner(0x1)", "main.(*T[...]).run(Full thread dump VM (x):)", "main.(*T[...]).run(0x\x1b[0m1)", "main.(*T[...]).run(0x\x001)",
			"main.(*T[...]).run(0x1\r)", "main.(*T[...]).run(0x1)\r", "main.(*T[...]).run(\u00fc)", "main.(*T[...]).run(" + strings.Repeat("0x1, ", 1000) + ")", "main.(*T[...]).run(" + strings.Repeat("0x1, ", 20_000) + ")",
			"main.(*T[...]).run(0x1)\nmain.(*T[...]).run(0x1)", "main.(*T[...]).run(0x1)\\n", strings.Repeat("main.(*T[...]).run(0x1\n", 5), " main.(*T[...]).run(0x1)", "\tmain.(*T[...]).run(0x1)",
		},
		2: {
			"\t/srv/run.go:12 +0x1d", "\t/srv/run.go:12 +0x1d fp=", "\t/srv/run.go:12 +0x1d fp=0x1 sp=0x2 pc=0x3 ", "\t/srv/run.go:12 +0x1d fp=0x1g", "\t/srv/run.go:12 +0x1d fp=0x1 (goroutine 5 [select]:)", "\t/srv/run.go:12 +0x1d fp=0x1 goroutine 5 [select]:", "/srv/run.go:12 +0x1d fp=0x1",
			"        /srv/run.go:12 +0x1d fp=0x1 sp=0x2 pc=0x3", "\t/srv/run.go:12 +0x1d sp=0x1 fp=0x2",
		},
		3: {"main.inlined(...", "main.inlined(....)", "main.inlined()", "main.inlined(...) x"},
		4: {"\t/srv/run.go:12", "\t/srv/run.go:1 +0x1d", "\t/srv/run.go:1 x", "\t/srv/run.go:", "/srv/run.go:1", "\t/srv/run.go:1\r", `\t/srv/run.go:1`, "\t\t/srv/run.go:1"},
		5: {"main.last(0x1)", "main.last() ", "main.last(", "main.last", "panic: boom", "-----", "2026-11-21 02:58:36.123 INFO done (all)", "main.last()\n\nmain.last()"},
		6: {"\t/srv/run.go:120 +0x2ab", "\t/srv/run.go:120 +0x2", "\t/srv/run.go:120", "\t/srv/run.go:120 +0x2a x"},
		7: {"created by main.start", "created by main.start in goroutine ", "created by main.start in goroutine 7x", "created by main.start in goroutine -7", "created by main.start in goroutine 7 ", "created by main.start in goroutine 7 [select]:", "created by main.start in goroutine 12345678901234567890123"},
		8: {"\t/srv/start.go:7 +0x9a\nmain.more()", "\t/srv/start.go:7 +0x9a\n\t/srv/start.go:7 +0x9a"},
		9: {" ", "\t", "x", "=== END goroutine stack dump ===", "\n", "\n\n2026-11-21 02:46:53\n\n", "Full thread dump VM (x):\n\"main\"", "\nFull thread dump VM (x):\n\"main\"", "2026-11-21 02:46:53\nFull thread dump VM (x):\n\"main\""},
	}
	for name, wrap := range map[string]func(string) string{
		"raw": func(s string) string { return s },
		"CRI": each(func(time.Time) string { return "2026-11-21T02:58:36.123456789Z stderr F " }),
		"stamps of any length": each(func(now time.Time) string {
			return now.Format(time.RFC3339Nano) + " "
		}),
		"klog":             each(func(time.Time) string { return "E1121 02:58:36.123456    1234 panic.go:12] " }),
		"kubectl --prefix": each(func(time.Time) string { return "[pod/web-0/app] " }),
		"docker": func(s string) string {
			var out strings.Builder
			for line := range strings.Lines(s) {
				out.WriteString(`{"log":` + jsonQuoted(line) + `,"stream":"stderr","time":"2026-11-21T02:58:36.1Z"}` + "\n")
			}
			return out.String()
		},
		"docker, not quoted": unquoted,
	} {
		whole := wrap(repeated(40, func(_ int, block []string) []string { return block }))
		if share := float64(envelope.Galloped(strings.NewReader(whole))) / float64(strings.Count(whole, "\n")); share < 0.82 {
			t.Errorf("%s: %.0f%% of the lines", name, 100*share)
		}
		for at, lines := range changes {
			for _, line := range lines {
				dump := wrap(repeated(12, func(i int, block []string) []string {
					if i == 6 || i == 8 {
						block[at] = line
					}
					return block
				}))
				for _, text := range []string{dump, strings.ReplaceAll(dump, "\n", "\r\n"), dump + wrap("some line\n") + dump} {
					t.Run(fmt.Sprintf("%s/%.40q", name, line), func(t *testing.T) { sameAsWalking(t, []byte(text), envelope.Config{Now: begin}) })
				}
			}
		}
	}
}

// TestGallopingMindsThePrefixOfEachLine gives one line of a goroutine, among others that
// are alike, another prefix.
func TestGallopingMindsThePrefixOfEachLine(t *testing.T) {
	plain := repeated(12, func(_ int, block []string) []string { return block })
	lines := strings.Split(strings.TrimSuffix(plain, "\n"), "\n")
	for name, of := range map[string]struct {
		usual string // %s is the line
		other []string
	}{
		"CRI": {"2026-11-21T23:59:59.123456789Z stderr F %s", []string{
			"2026-11-21T23:59:59.123456789Z stdout F %s", "2026-11-21T23:59:59.123456789Z stderr P %s", "2026-11-21T23:59:59.123456789Z stderr F:a %s", "2026-11-22T00:00:00.000000001Z stderr F %s",
			"2026-11-20T23:59:59.123456789Z stderr F %s", "2026-11-21T23:59:59.1Z stderr F %s", "2026-11-21T23:59:59Z stderr F %s", "2026-11-21T23:59:59.123456789+01:00 stderr F %s", "2026-11-21T23:59:59.1234567890Z stderr F %s",
			"2026-11-21T23:5:59.123456789Z stderr F %s", "2026-11-21T23:59:59.12345678:Z stderr F %s", "2026-11-21T23:59:59.123456789Z stderr F%s", "2026-11-21T23:59:59.123456789Z stderr F  %s", "\x1b[1m2026-11-21T23:59:59.123456789Z stderr F %s", "%s", "",
		}},
		"docker": {`{"log":"%s\n","stream":"stderr","time":"2026-11-21T23:59:59.123456789Z"}`, []string{
			`{"stream":"stderr","log":"%s\n","time":"2026-11-21T23:59:59.123456789Z"}`, `{"log":"%s\n","time":"2026-11-21T23:59:59.123456789Z","stream":"stderr"}`, `{"log":"%s\n","stream":"stdout","time":"2026-11-21T23:59:59.123456789Z"}`,
			`{"log":"%s","stream":"stderr","time":"2026-11-21T23:59:59.123456789Z"}`, `{"log":"%s\n\n","stream":"stderr","time":"2026-11-21T23:59:59.123456789Z"}`, `{"log":"%s\r\n","stream":"stderr","time":"2026-11-21T23:59:59.123456789Z"}`, `{"log":"%s\n","stream":"stderr","time":"2026-11-22T00:00:00.1Z"}`,
			`{"log":"%s\n","stream":"stderr","time":"2026-11-20T23:59:59Z"}`, `{"log":"%s\n","stream":"stderr","attrs":{"a":"b"},"time":"2026-11-21T23:59:59.123456789Z"}`, `{"log":"%s\n","stream":"stderr","time":"2026-11-21T23:59:59.123456789Z"} `, `{"log":"%s\n","stream":"stderr","time":"2026-11-21T23:59:59.12345678aZ"}`,
			`{"log":"%s\n","stream":"stderr","time":"2026-11-21T23:59:59.123456789Z"`, `{"log": "%s\n","stream":"stderr","time":"2026-11-21T23:59:59.123456789Z"}`, `{"log":"\u001b[1m%s\n","stream":"stderr","time":"2026-11-21T23:59:59.123456789Z"}`, "%s", "",
		}},
		"journald": {"Nov 21 23:59:59 node-1 kubelet[1234]: %s", []string{
			"Nov 21 23:59:59 node-1 kubelet[1235]: %s", "Nov 21 23:59:59 node-2 kubelet[1234]: %s", "Nov 22 00:00:00 node-1 kubelet[1234]: %s", "Nov  1 23:59:59 node-1 kubelet[1234]: %s", "-- Boot 1234 --", strings.Repeat(" ", 39) + "%s", "",
		}},
		"klog": {"E1121 23:59:59.123456    1234 panic.go:12] %s", []string{
			"I1121 23:59:59.123456    1234 panic.go:12] %s", "E1122 00:00:00.000001    1234 panic.go:12] %s", "E1121 23:59:59.123456    1235 panic.go:12] %s", "E1121 23:59:59.123456   12345 panic.go:12] %s", "E1121 23:59:59.123456    1234 panic.go:120] %s", "E1121 23:59:59.123456    1234 other.go:12] %s", "%s", "",
		}},
		"kubectl": {"[pod/web-0/app] %s", []string{"[pod/web-1/app] %s", "[pod/web-0/app]%s", "[pod/web-0/app]  %s", "%s", ""}},
		"stern":   {"web-0 app %s", []string{"web-1 app %s", "web-0 sidecar %s", "web-0 app%s", "%s", ""}},
		"compose": {"api-1  | %s", []string{"api-2  | %s", "api-1 | %s", "api-1  |%s", "%s", ""}},
	} {
		wrapped := func(form, line string) string {
			if name == "docker" {
				line = strings.ReplaceAll(line, "\t", `\t`)
			}
			return strings.Replace(form, "%s", line, 1) + "\n"
		}
		for _, other := range of.other {
			for at := 60; at < 70; at++ {
				var one, interleaved strings.Builder
				for i, line := range lines {
					form := of.usual
					if i == at {
						form = other
					}
					one.WriteString(wrapped(form, line))
					interleaved.WriteString(wrapped(of.usual, line))
					if other != "" && i >= 55 {
						interleaved.WriteString(wrapped(other, lines[i-i%(at-50)]))
					}
				}
				t.Run(fmt.Sprintf("%s/%.60q/%d", name, other, at), func(t *testing.T) {
					for _, text := range []string{one.String(), interleaved.String(), strings.ReplaceAll(one.String(), "\n", "\r\n")} {
						sameAsWalking(t, []byte(text), envelope.Config{Now: begin.Add(48 * time.Hour)})
					}
				})
			}
		}
	}
}

// TestGallopingOverABlankLineAloneForgetsNoStrays has a running goroutine in a crash
// behind lines that nobody knows: a new dump begins with it.
func TestGallopingOverABlankLineAloneForgetsNoStrays(t *testing.T) {
	usual := func(_ int, block []string) []string { return block }
	empty := "goroutine 901 [select]:\n\ngoroutine 902 [select]:\n\n"
	crash := "panic: boom\n\n" + repeated(12, usual) + empty
	text := crash + "goroutine 903 [select]:\nmain.last()\n\t/srv/run.go:120 +0x2a\nfirst stray\nsecond stray\ngoroutine 904 [select]:\n\ngoroutine 905 [running]:\nmain.last()\n\t/srv/run.go:120 +0x2a\n\n" + strings.ReplaceAll(repeated(5, usual), "goroutine 10", "goroutine 20")
	sameAsWalking(t, []byte(text), envelope.Config{Now: begin})
	if sections, _, _ := unwrap(t, []byte(text), envelope.Config{Now: begin}); len(sections) != 2 {
		t.Errorf("%d dumps", len(sections))
	}
}

// TestMostGoroutinesAreLeftOut has dumps in which they are alike.
func TestMostGoroutinesAreLeftOut(t *testing.T) {
	plain := repeated(4000, func(_ int, block []string) []string { return block })
	for name, log := range map[string]string{"raw": plain, "docker": unquoted(plain), "kubectl": each(func(time.Time) string { return "[pod/web-0/app] " })(plain)} {
		want, _, _, err := envelope.UnwrapWalking(strings.NewReader(log), envelope.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if left := leavingOut(t, []byte(log), envelope.Config{}, want, nil); left < 3000 {
			t.Errorf("%s: %d were left out", name, left)
		}
		leavingOut(t, []byte(log), envelope.Config{}, want, evenStacks)
	}
}

// TestGallopingEndsWhereNoMoreIsKnown has more different lines than are remembered, each
// of them twice.
func TestGallopingEndsWhereNoMoreIsKnown(t *testing.T) {
	plain := repeated(3600, func(i int, block []string) []string {
		for at := 1; at < 7; at++ {
			block[at] = strings.Replace(strings.Replace(block[at], "main.", fmt.Sprintf("main%d.", i%1800), 1), "/srv/", fmt.Sprintf("/srv/%d/", i%1800), 1)
		}
		return block
	})
	sameAsWalking(t, []byte(plain), envelope.Config{Now: begin})
	sameAsWalking(t, []byte(unquoted(plain)), envelope.Config{Now: begin})
}

// TestGallopingFillsBlocksAsWalkingDoes has lines end at every place near the end of a
// block, and more text than is kept.
func TestGallopingFillsBlocksAsWalkingDoes(t *testing.T) {
	for longer := range 80 {
		plain := repeated(300, func(i int, block []string) []string {
			if i == 0 {
				block[1] = "main.f(" + strings.Repeat("1", longer) + ")"
			}
			return block
		})
		for _, cfg := range []envelope.Config{{}, {MaxKept: 2000}} {
			sameAsWalking(t, []byte(plain), cfg)
			sameAsWalking(t, []byte(each(func(time.Time) string { return "[pod/web-0/app] " })(plain)), cfg)
		}
	}
}

// TestStampsOnBothSidesOfATextMayDiffer has fractions of any length before and behind
// the text of a line.
func TestStampsOnBothSidesOfATextMayDiffer(t *testing.T) {
	plain := repeated(60, func(_ int, block []string) []string { return block })
	var both, before strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(plain, "\n"), "\n") {
		at := func(n int) string {
			return strings.TrimRight(fmt.Sprintf("2026-11-21T02:58:%02d.%09d", i/50, n%1_000_000_000), "0") + "1Z"
		}
		quoted := strings.ReplaceAll(line, "\t", `\t`)
		fmt.Fprintf(&both, `{"log":"%s %s\n","stream":"stderr","time":"%s"}`+"\n", at(i*1000), quoted, at(i*777_000_000))
		fmt.Fprintf(&before, `{"time":"%s","stream":"stderr","log":"%s\n"}`+"\n", at(i*777_000_000), quoted)
	}
	for _, log := range []string{both.String(), before.String()} {
		sameAsWalking(t, []byte(log), envelope.Config{Now: begin})
		sameAsWalking(t, []byte(strings.ReplaceAll(log, "\n", "\r\n")), envelope.Config{Now: begin})
	}
}

func TestShapesAreComparedByWordsAsByBytes(t *testing.T) {
	pieces := []string{"2026-11-21T02:58:36.123456789Z ", "stderr F ", `\n","stream":"stderr","time":"`, "[12:58:36.1] ", "\n", "E1121 02:58:36.123456    1234 panic.go:12] ", "", "api-1  | ", "2026-11-21 02:58:36.12", "x"}
	same := 0
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 5).Draw(rt, "parts")
		lines := []string{strings.Join(parts, "")}
		digit, other := rapid.StringMatching(`\d{1,11}`), rapid.StringMatching(`[0-9:./;Z]?`)
		for range 3 {
			line := lines[0]
			switch rapid.IntRange(0, 2).Draw(rt, "change") {
			case 0:
				line = digits.ReplaceAllStringFunc(line, func(string) string { return digit.Draw(rt, "digit")[:1] })
			case 1:
				line = fraction.ReplaceAllStringFunc(line, func(string) string { return ":36." + digit.Draw(rt, "fraction") })
			case 2:
				at := rapid.IntRange(0, len(line)).Draw(rt, "at")
				line = line[:at] + other.Draw(rt, "other") + line[min(at+1, len(line)):]
			}
			lines = append(lines, line+strings.Repeat(rapid.SampledFrom([]string{"0", "m"}).Draw(rt, "text"), rapid.IntRange(0, 100).Draw(rt, "length")))
		}
		for _, line := range lines {
			words, bytes := envelope.MatchShape(parts, line)
			if words != bytes {
				rt.Errorf("%q is of the shape of %q for %d bytes, by words for %d", line, parts, bytes, words)
			}
			if bytes > 0 {
				same++
			}
		}
	})
	if same == 0 {
		t.Error("no line had the shape")
	}
}

var fraction = regexp.MustCompile(`:36\.\d+`)

func TestArgumentsInWhichSomethingMayHideAreNotPlain(t *testing.T) {
	for _, args := range []string{"", "0x1", "0xc000010000, {0x1?, 0x2?}, ...", "{{0x7fb5ac599bc8, 0x394d402558f0}, 0x5}"} {
		if call := "main.fun(" + args; !envelope.ArePlainArgs(call, len(args)) {
			t.Errorf("%q is not plain", call)
		}
		for i := range len(args) + 1 {
			for _, hidden := range []string{"r", `\`, "\n", "\r", "\t", "\x00", "103,111,114,111,117,116,105,110,101,32,", "103, 111, 114, 111, 117, 116, 105, 110, 101, 32,"} {
				args := args[:i] + hidden + args[i:]
				if envelope.ArePlainArgs("main.fun("+args, len(args)) {
					t.Errorf("%q is plain", args)
				}
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
	for prefix, want := range map[string]int{"E1121 02:58:36.123456    1234 panic.go:12] ": 6, "2026-11-21T02:58:36.123456789Z ": 6} {
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
		f.Add([]byte(w.wrap(repeated(6, func(_ int, block []string) []string { return block }))))
	}
	defer envelope.InBlocksOf(500)() // so that short texts are streamed, too
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
		sections, _, _ := unwrap(t, []byte(log.String()), envelope.Config{Stream: func(r envelope.Text) {
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
		unwrap(t, []byte(log.String()), envelope.Config{Stream: func(r envelope.Text) {
			io.CopyN(io.Discard, r, 100_000)
			panic("a parser is broken")
		}})
	})
}
