package envelope_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"leakdiff/analysis/read/envelope"
)

// many is a dump of goroutines with lines of every usual kind.
func many(goroutines int) string {
	var out strings.Builder
	for i := range goroutines {
		fmt.Fprintf(&out, "goroutine %d [select]:\nmain.(*T[...]).run(0xc0000%05x, {0x%x?, 0x2}, ...)\n\t/srv/run.go:12 +0x1d fp=0xc0000%05x sp=0xc0000%05x pc=0x40841c\n", 100+i, i*977, i, i*64, i*32)
		fmt.Fprintf(&out, "main.inlined(...)\n\t/srv/run.go:1\ncreated by main.start in goroutine %d\n\t/srv/start.go:7 +0x9a\n\n", 1+i%7)
	}
	return out.String()
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

// TestADamagedLineCostsNoOtherGoroutine damages one line in the middle of a dump.
func TestADamagedLineCostsNoOtherGoroutine(t *testing.T) {
	t.Parallel()
	const goroutines, damaged = 30, 15
	plain := many(goroutines)
	want := parse(t, []byte(plain))
	for _, w := range wrappers {
		switch w.name {
		case "no wrapping", "journald short", "CRI", "docker JSON", "kubectl --timestamps", "kubectl --prefix", "stern", "docker compose", "klog before each line":
		default:
			continue
		}
		lines := strings.SplitAfter(strings.TrimSuffix(w.wrap(plain), "\n"), "\n")
		perGoroutine := len(lines) / goroutines
		for n, damage := range damages {
			for at := range perGoroutine {
				changed := slices.Clone(lines)
				line := &changed[damaged*perGoroutine+at]
				*line = damage(*line, rand.New(rand.NewPCG(uint64(n), uint64(at))))
				sections, _, _ := unwrap(t, []byte(strings.Join(changed, "")), envelope.Config{Now: begin})
				got := map[int64]block{}
				for i := range sections {
					for _, b := range parse(t, text(t, &sections[i])) {
						got[b.id] = b
					}
				}
				for i, b := range want {
					if (i < damaged-1 || i > damaged+1) && got[b.id] != b {
						t.Errorf("%s, damage %d: goroutine %d after %q became %q\n got %+v\nwant %+v", w.name, n, b.id, lines[damaged*perGoroutine+at], *line, got[b.id], b)
						break
					}
				}
			}
		}
	}
}

// TestStreamingGivesWhatHoldingGives streams dumps in small blocks.
func TestStreamingGivesWhatHoldingGives(t *testing.T) {
	defer envelope.InBlocksOf(2000)()
	plain := first(plains(t)["kubelet"], 25)
	log := strings.Repeat("2026-11-21 02:58:30.123 INFO working on it\n", 300)
	streamed := 0
	for _, w := range wrappers {
		streamed += sameStreamed(t, []byte(w.wrap(plain)))
		streamed += sameStreamed(t, []byte(w.wrap(plain)+log+w.wrap(first(plain, 2))+w.wrap(plain)))
	}
	if streamed < 2*len(wrappers) {
		t.Errorf("%d dumps were streamed", streamed)
	}
}

// sameStreamed demands the sections with their texts, whether they are streamed or held,
// and counts those that are streamed.
func sameStreamed(t testing.TB, data []byte) (count int) {
	t.Helper()
	cfg := envelope.Config{Now: begin.Add(48 * time.Hour)}
	held, heldInfo, heldProblems := unwrap(t, data, cfg)
	var texts [][]byte
	cfg.Stream = func(r io.Reader) {
		all, err := io.ReadAll(r)
		if err != nil {
			t.Error(err)
		}
		texts = append(texts, all)
	}
	got, info, problems := unwrap(t, data, cfg)
	public := cmp.Options{cmpopts.IgnoreUnexported(envelope.Section{}), cmpopts.IgnoreFields(envelope.Section{}, "Streamed"), cmpopts.IgnoreFields(envelope.Info{}, "Kept")}
	if d := cmp.Diff(held, got, public) + cmp.Diff(heldInfo, info, public) + cmp.Diff(heldProblems, problems); d != "" {
		t.Fatalf("-held +streamed\n%s", d)
	}
	for i := range held {
		now := []byte(nil)
		if n := got[i].Streamed; n > 0 {
			now = texts[n-1]
			count++
		} else {
			now = text(t, &got[i])
		}
		if want := text(t, &held[i]); !bytes.Equal(now, want) {
			t.Fatalf("dump %d -held +streamed\n%s", i, cmp.Diff(string(want), string(now)))
		}
		for at := int64(0); at < held[i].Bytes; at += 100 {
			line, raw := held[i].Locate(at)
			if gotLine, gotRaw := got[i].Locate(at); gotLine != line || gotRaw != raw {
				t.Fatalf("dump %d: offset %d is said to be in line %d at %d, want %d at %d", i, at, gotLine, gotRaw, line, raw)
			}
		}
	}
	return count
}

// TestASourceThatIsSilentEndsItsDump lets one source speak again when its dump has ended,
// and before.
func TestASourceThatIsSilentEndsItsDump(t *testing.T) {
	lines := strings.SplitAfter(strings.TrimSuffix(plains(t)["kubelet"], "\n"), "\n")
	speak := func(out *strings.Builder, lines []string) {
		for _, line := range lines {
			out.WriteString("[pod/a-0/x] " + line)
		}
	}
	for silent, want := range map[int]int{19_900: 1, 20_500: 2} {
		var out strings.Builder
		speak(&out, lines[:len(lines)/2])
		for i := range silent {
			out.WriteString("[pod/b-0/x] " + []string{fmt.Sprintf("goroutine %d [select]:\n", 1+i), "main.f()\n", "\t/srv/main.go:1 +0x1\n"}[i%3])
		}
		speak(&out, lines[len(lines)/2:])
		sections, _, _ := unwrap(t, []byte(out.String()), envelope.Config{})
		sources := map[string]int{}
		for _, s := range sections {
			sources[s.Source.Pod]++
		}
		if d := cmp.Diff(map[string]int{"a-0": want, "b-0": 1}, sources); d != "" {
			t.Errorf("silent for %d lines: dumps of each pod -want +got\n%s", silent, d)
		}
	}
}

// TestAnIDThatCameBeforeBeginsADump has more ids than one, in no order.
func TestAnIDThatCameBeforeBeginsADump(t *testing.T) {
	var one strings.Builder
	for id := range 3000 {
		fmt.Fprintf(&one, "goroutine %d [select]:\nmain.f()\n\t/srv/main.go:1 +0x1\n\n", id*id*7919+1)
	}
	sections, _, _ := unwrap(t, []byte(one.String()+one.String()), envelope.Config{})
	if len(sections) != 2 || sections[0].Headers != 3000 || sections[1].Headers != 3000 {
		t.Errorf("got %d dumps", len(sections))
	}
}

// TestAHeaderBehindABlankLineForgetsNoStrays has a running goroutine in a crash after
// unknown lines: a new dump begins with it.
func TestAHeaderBehindABlankLineForgetsNoStrays(t *testing.T) {
	text := "panic: boom\n\n" + many(12) + "goroutine 903 [select]:\nmain.last()\n\t/srv/run.go:120 +0x2a\nfirst stray\nsecond stray\ngoroutine 904 [select]:\n\n" +
		"goroutine 905 [running]:\nmain.last()\n\t/srv/run.go:120 +0x2a\n\n" + strings.ReplaceAll(many(5), "goroutine 10", "goroutine 20")
	if sections, _, _ := unwrap(t, []byte(text), envelope.Config{Now: begin}); len(sections) != 2 {
		t.Errorf("%d dumps", len(sections))
	}
}

// TestStampsOnBothSidesOfATextMayDiffer has fractions of any length before and after
// the text of a line.
func TestStampsOnBothSidesOfATextMayDiffer(t *testing.T) {
	plain := many(60)
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
		for _, log := range []string{log, strings.ReplaceAll(log, "\n", "\r\n")} {
			sections, _, _ := unwrap(t, []byte(log), envelope.Config{Now: begin})
			if len(sections) != 1 {
				t.Fatalf("%d dumps", len(sections))
			}
			same(t, parse(t, text(t, &sections[0])), parse(t, []byte(plain)))
		}
	}
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

func FuzzStreaming(f *testing.F) {
	three := dump(1, "select", "select", "select") + "\n" + dump(50, "select", "chan receive", "IO wait, 5 minutes")
	for _, w := range wrappers {
		f.Add([]byte(w.wrap(three)))
		f.Add([]byte(w.wrap(many(6))))
		var damaged strings.Builder
		r := rand.New(rand.NewPCG(1, 1))
		for line := range strings.Lines(w.wrap(three)) {
			if r.IntN(5) == 0 {
				line = damages[r.IntN(len(damages))](line, r)
			}
			damaged.WriteString(line)
		}
		f.Add([]byte(damaged.String()))
	}
	defer envelope.InBlocksOf(500)() // so that short texts are streamed, too
	f.Fuzz(func(t *testing.T, data []byte) { sameStreamed(t, data) })
}
