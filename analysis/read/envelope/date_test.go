package envelope_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/goroutine"
)

var uploaded = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// The lines are those of coreutils 8.32 and 9.1, busybox and Go in a C and in an
// English locale.
var dateLines = []struct {
	line string
	want string // RFC 3339, "" where the line is no date
	mark string // what it leaves out
}{
	{"Sat Nov 21 03:05:00 UTC 2026", "2026-11-21T03:05:00Z", ""},
	{"Sun Nov  1 03:05:00 UTC 2026", "2026-11-01T03:05:00Z", ""},
	{"Sat Nov 21 03:05:00 CET 2026", "2026-11-21T02:05:00Z", ""},
	{"Sat Nov 21 03:05:00 IST 2026", "2026-11-21T03:05:00Z", "zone"}, // India, Israel or Ireland
	{"Sat Nov 21 03:05:00 CEST 2026", "2026-11-21T01:05:00Z", ""},
	{"Fri Nov 20 03:05:00 EST 2026", "2026-11-20T08:05:00Z", ""},
	{"Fri Nov 20 03:05:00 +03 2026", "2026-11-20T00:05:00Z", ""},
	{"Fri Nov 20 11:05:00 PM UTC 2026", "2026-11-20T23:05:00Z", ""},
	{"Fri 20 Nov 2026 12:05:00 AM UTC", "2026-11-20T00:05:00Z", ""},
	{"Fri 20 Nov 03:05:00 GMT 2026", "2026-11-20T03:05:00Z", ""},
	{"Fri, 20 Nov 2026 03:05:00 +0100", "2026-11-20T02:05:00Z", ""},
	{"Date: Fri, 20 Nov 2026 03:05:00 GMT", "2026-11-20T03:05:00Z", ""},
	{"2026-11-20T03:05:00+01:00", "2026-11-20T02:05:00Z", ""},
	{"2026-11-20T03:05:00,123456789+00:00", "2026-11-20T03:05:00.123456789Z", ""},
	{"2026-11-20 03:05:00+00:00", "2026-11-20T03:05:00Z", ""},
	{"2026-11-20 03:05:00.123456789 +0100 CET", "2026-11-20T02:05:00.123456789Z", ""},
	{"2026-11-20 03:05:00", "2026-11-20T03:05:00Z", "zone"},
	{"2026/11/20 03:05:00 ", "2026-11-20T03:05:00Z", "zone"},
	{"=== 2026-11-20T03:05:00+00:00 ===", "2026-11-20T03:05:00Z", ""},
	{"==> 2026-11-20T03:05:00Z <==", "2026-11-20T03:05:00Z", ""},
	{"===2026-11-20_03:05:00===", "2026-11-20T03:05:00Z", "zone"},
	{"—— 2026-11-20 03:05:00 ——", "2026-11-20T03:05:00Z", "zone"},
	{"# dump 3 at 20261120T030500Z", "2026-11-20T03:05:00Z", ""},
	{"[20261120-030500]", "2026-11-20T03:05:00Z", "zone"},
	{"2026-11-20-03-05-00", "2026-11-20T03:05:00Z", "zone"},
	{"goroutine dump taken at 2026-11-20 03:05:00 UTC:", "2026-11-20T03:05:00Z", ""},
	{"1795143900", "2026-11-20T03:05:00Z", ""},
	{"ts=1795143900.250", "2026-11-20T03:05:00.25Z", ""},
	{"1795143900250", "2026-11-20T03:05:00.25Z", ""},
	{"1795143900250000000", "2026-11-20T03:05:00.25Z", ""},
	{"Nov 20 03:05:00", "2026-11-20T03:05:00Z", "year"},
	{"--- 03:05:00 ---", "2026-11-21T03:05:00Z", "day"},
	{"13:05:00", "2026-11-20T13:05:00Z", "day"},
	{"03:05:00 PM", "2026-11-20T15:05:00Z", "day"},

	{"started at 2026-11-20 03:05:00", "", ""},
	{"up since Fri Nov 20 03:05:00 UTC 2026", "", ""},
	{"2026-11-20 03:05:00 INFO starting", "", ""},
	{"I1120 03:05:00.123456    1234 server.go:12] goroutine dump:", "", ""},
	{"2026-11-20", "", ""},
	{"2026-13-20 03:05:00", "", ""},
	{"Sat Feb 30 03:05:00 UTC 2026", "", ""},
	{"25:05:00", "", ""},
	{"12345678", "", ""},
	{"123456789012", "", ""},
	{"proc.go:462", "", ""},
	{"====================", "", ""},
	{"now with some more pods attached", "", ""},
	{"May 3", "", ""},
}

func missing(zoneless, yearless, dayless bool) string {
	switch {
	case dayless:
		return "day"
	case yearless:
		return "year"
	case zoneless:
		return "zone"
	}
	return ""
}

func stamped(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// TestADumpHasTheTimeOfTheLineBeforeIt reads the dump in a log, where it is unwrapped,
// and in a plain file, where Dates finds the time.
func TestADumpHasTheTimeOfTheLineBeforeIt(t *testing.T) {
	three := dump(1, "running", "select", "select")
	for _, c := range dateLines {
		t.Run(c.line, func(t *testing.T) {
			sections, _, _ := unwrap(t, []byte(c.line+"\n"+three), envelope.Config{Now: uploaded})
			if len(sections) != 1 {
				t.Fatalf("got %d sections", len(sections))
			}
			s := &sections[0]
			if c.want != "" || !strings.Contains(c.line, "dump:") {
				if got := stamped(s.Time); got != c.want || missing(s.Zoneless, s.Yearless, s.Dayless) != c.mark && c.want != "" {
					t.Errorf("unwrapped: got %q, zoneless %v, yearless %v, dayless %v, want %q without %q", got, s.Zoneless, s.Yearless, s.Dayless, c.want, c.mark)
				}
			}
			dates := envelope.NewDates(uploaded)
			io.WriteString(dates, c.line+"\n"+three)
			at := dates.Of([]int64{int64(len(c.line)) + 1})[0]
			if got := stamped(at.Time); got != c.want || at.Dayless != (c.mark == "day") || at.Zoneless != (c.mark != "") {
				t.Errorf("plain: got %+v, want %q without %q", at, c.want, c.mark)
			}
			if got := envelope.IsDate([]byte(c.line)); got != (c.want != "") {
				t.Errorf("it is a date: %v", got)
			}
		})
	}
}

func TestALoopOfDateAndCurlGivesADumpWithATimeForEachRound(t *testing.T) {
	one, two, three := dump(1, "running", "select", "select"), dump(1, "running", "select", "select", "select"), dump(70, "running", "IO wait", "select")
	want := []string{"1 2 3 at 03:00:00", "1 2 3 4 at 03:05:00", "70 71 72 at 03:10:00"}
	date := func(minute int) string { return fmt.Sprintf("Sat Nov 21 03:%02d:00 UTC 2026\n", minute) }
	http := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: Sat, 21 Nov 2026 03:%02d:00 GMT\r\n\r\n"
	progress := "  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current\n" +
		"                                 Dload  Upload   Total   Spent    Left  Speed\n100  1234    0  1234    0     0   123k      0 --:--:-- --:--:-- --:--:--  123k\n"
	for name, text := range map[string]string{
		"dates before":                date(0) + one + date(5) + two + date(10) + three,
		"blank lines between":         date(0) + "\n" + one + "\n\n" + date(5) + "\n" + two + "\n" + date(10) + "\n" + three,
		"response headers":            fmt.Sprintf(http, 0) + one + fmt.Sprintf(http, 5) + two + fmt.Sprintf(http, 10) + three,
		"the progress of curl":        date(0) + progress + one + date(5) + progress + two + date(10) + progress + three,
		"words of the user":           date(0) + one + "with 20 more pods (see ticket)\n" + date(5) + "after the restart:\n" + two + date(10) + three,
		"a better date of the server": "Sat Nov 21 04:00:00 CET 2026\n" + fmt.Sprintf(http, 0) + one + "Sat Nov 21 04:05:00 CET 2026\n" + fmt.Sprintf(http, 5) + two + date(10) + three,
		"a page": "<html><h2>2026-11-21 03:00:00Z</h2><pre>" + one + "</pre><h2>2026-11-21 03:05:00Z</h2><pre>" + two + "</pre><h2>2026-11-21 03:10:00Z</h2>\n<pre>\n" +
			strings.TrimSuffix(three, "\n") + "</pre></html>",
		"headings of klog": "I1121 03:00:00.000000    1234 server.go:12] goroutine dump:\n" + one + "I1121 03:05:00.000000    1234 server.go:12] goroutine dump:\n" + two +
			"I1121 03:05:01.000000    1234 sync.go:9] synced\nI1121 03:10:00.000000    1234 server.go:12] Dumping the stacks of all threads\n\n" + three,
	} {
		t.Run(name, func(t *testing.T) {
			sections, _, problems := unwrap(t, []byte(text), envelope.Config{Now: uploaded})
			ids := found(t, sections)
			for i := range sections {
				ids[i] += " at " + sections[i].Time.Format("15:04:05")
				if sections[i].Truncated || strings.Contains(string(plainOf(t, &sections[i])), "2026") {
					t.Errorf("dump %d: %v, %s", i+1, sections[i].TruncatedWhy, plainOf(t, &sections[i]))
				}
			}
			if diff := cmp.Diff(want, ids); diff != "" || len(problems) > 0 {
				t.Errorf("problems %v, -want +got\n%s", problems, diff)
			}
		})
	}
}

func plainOf(t testing.TB, s *envelope.Section) []byte { return text(t, s) }

func TestTheEntryOfKlogBeforeADumpTellsItsTimeAndProcess(t *testing.T) {
	three := dump(1, "running", "select", "select")
	log := "I1121 03:04:59.000000    1234 sync.go:9] synced\n"
	entry := "E1121 03:05:00.250000    1234 server.go:12] goroutine dump:\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"once":                        {log + entry + three + log, []string{"03:05:00.25 of 1234"}},
		"behind a blank line":         {log + entry + "\n" + three + log, []string{"03:05:00.25 of 1234"}},
		"several times":               {entry + three + log + strings.ReplaceAll(entry, "05:00", "06:00") + three, []string{"03:05:00.25 of 1234", "03:06:00.25 of 1234"}},
		"on the line of the header":   {strings.TrimSuffix(entry, "goroutine dump:\n") + three, []string{"03:05:00.25 of 1234"}},
		"an entry of something else":  {log + three, []string{"00:00:00 of 0"}},
		"an entry some lines before":  {entry + log + log + three, []string{"00:00:00 of 0"}},
		"in the log of a container":   {each(func(now time.Time) string { return now.Format(time.RFC3339Nano) + " stderr F " })(entry + three), []string{"02:58:36.124456789 of 1234"}},
		"in the journal of a service": {each(func(now time.Time) string { return now.Format(time.Stamp) + " node-1 kubelet[77]: " })(entry + three), []string{"02:58:36 of 77"}},
	} {
		t.Run(name, func(t *testing.T) {
			sections, _, _ := unwrap(t, []byte(c.text), envelope.Config{Now: uploaded})
			var got []string
			for i := range sections {
				got = append(got, fmt.Sprintf("%s of %d", sections[i].Time.Format("15:04:05.999999999"), sections[i].Source.PID))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestClocksWithoutADateCountBackFromTheUpload(t *testing.T) {
	three := dump(1, "running", "select", "select")
	text := "--- 23:50:00 ---\n" + three + "--- 23:55:00 ---\n" + three + "--- 00:00:00 ---\n" + three + "--- 13:00:00 ---\n" + three
	want := []string{"2026-11-19T23:50:00Z", "2026-11-19T23:55:00Z", "2026-11-20T00:00:00Z", "2026-11-20T13:00:00Z"}
	sections, _, _ := unwrap(t, []byte(text), envelope.Config{Now: uploaded})
	var got, plain []string
	dates := envelope.NewDates(uploaded)
	io.WriteString(dates, text)
	var begins []int64
	for i := range sections {
		got = append(got, stamped(sections[i].Time))
		begins = append(begins, sections[i].Offset)
	}
	for _, s := range dates.Of(begins) {
		plain = append(plain, stamped(s.Time))
	}
	if diff := cmp.Diff(want, got) + cmp.Diff(want, plain); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestDatesBehindTheDumpsTellOfTheDumpBefore(t *testing.T) {
	three := dump(1, "running", "select", "select")
	round := func(minute int) string { return three + fmt.Sprintf("2026-11-21T03:%02d:00Z\n", minute) }
	text := round(0) + round(5) + strings.TrimSuffix(round(10), "\n")
	n := int64(len(round(0)))
	dates := envelope.NewDates(uploaded)
	io.WriteString(dates, text)
	var got []string
	for _, s := range dates.Of([]int64{0, n, 2 * n}) {
		got = append(got, stamped(s.Time))
	}
	if diff := cmp.Diff([]string{"2026-11-21T03:00:00Z", "2026-11-21T03:05:00Z", "2026-11-21T03:10:00Z"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestADateFarFromADumpTellsNothingOfIt(t *testing.T) {
	dates := envelope.NewDates(uploaded)
	text := "2026-11-21T03:00:00Z\n" + strings.Repeat("something else\n", 1000)
	io.WriteString(dates, text)
	if got := dates.Of([]int64{int64(len(text))})[0]; !got.Time.IsZero() {
		t.Errorf("got %v", got)
	}
	if !dates.Between(0, 1) || dates.Between(1, int64(len(text))) || dates.Between(0, 0) {
		t.Error("the line is not where it is")
	}
}

// TestAParserTellsOfEveryDate writes a text to one and lets a parser tell another of
// lines: dates stand between goroutines, in them as the file of a call, and in headers.
func TestAParserTellsOfEveryDate(t *testing.T) {
	t.Parallel()
	const date = "2026-11-21T03:00:00"
	inside := [][]string{ // of a goroutine
		{"main.run(0x%d)", "\t/srv/run.go:12 +0x1d", "created by main.main in goroutine 1", "\t/srv/main.go:3 +0x9a"},
		{"main.last(0x%d, {0x1, 0x2})", "\t/srv/run.go:120 +0x2a fp=0xc00000%d sp=0xc0000001 pc=0x40841c", ""},
		{"main.cut(0x%d)", date, ""},
		{"main.cut(0x%d)", "  Sat Nov 21 03:00:00", ""},
		{"at( " + date + " 0x%d)", "\t/srv/run.go:5", "created by main.main in goroutine %d", date, ""},
		{"at( " + date + ")", "\t/srv/run.go:5", ""},
		{"...additional frames elided...", "main.run()", "run.go:12", ""},
	}
	headers := []string{
		"goroutine %d [select]:", "goroutine %d [select, 5 minutes]:", "goroutine 5 [" + date + "]:", "goroutine -5 [" + date + "]:",
		"goroutine 5 gp=0x%d m=nil [" + date + "]:", "goroutine 5  [" + date + "]:", "goroutine " + date + ":",
	}
	between := []string{date, date + ")", "=== " + date + " ===", "panic: " + date, "goroutine profile: total 5", "", "words", strings.Repeat(" ", 150) + date, strings.Repeat("-", 70<<10) + date}
	found := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 2))
		var out strings.Builder
		indent, end := strings.Repeat(" ", r.IntN(2)*r.IntN(3)), []string{"\n", "\n", "\r\n"}[r.IntN(3)]
		if r.IntN(8) == 0 {
			out.WriteString("\xef\xbb\xbf")
		}
		line := func(text string) {
			if strings.Contains(text, "%d") {
				text = strings.ReplaceAll(text, "%d", strconv.Itoa(100+r.IntN(900)))
			}
			out.WriteString(indent + text + end)
		}
		first, kinds := r.IntN(len(inside)), 1+r.IntN(2)
		for range 40 {
			header := headers[r.IntN(2)]
			if r.IntN(10) == 0 {
				header = headers[r.IntN(len(headers))]
			}
			line(header)
			for _, text := range inside[(first+r.IntN(kinds))%len(inside)] {
				line(text)
			}
			if r.IntN(10) == 0 {
				line(between[r.IntN(len(between))])
			}
		}
		text := strings.TrimSuffix(out.String(), end[r.IntN(len(end)):])
		whole, told := envelope.NewDates(uploaded), envelope.NewDates(uploaded)
		io.WriteString(whole, text)
		if _, _, err := goroutine.ParseText(strings.NewReader(text), goroutine.Config{Lines: told.Line}, nil); err != nil {
			t.Fatal(err)
		}
		at := []int64{}
		for i := 0; i < len(text); i += 1 + strings.IndexByte(text[i:]+"\n", '\n') {
			at = append(at, int64(i))
		}
		if want, got := whole.Of(at), told.Of(at); !slices.Equal(want, got) {
			t.Fatalf("seed %d: -of the whole text +told by the parser\n%s", seed, cmp.Diff(want, got))
		}
		for _, i := range at {
			want, got := whole.Between(i, i+1), told.Between(i, i+1)
			if want != got {
				t.Fatalf("seed %d: a date at %d: %v, by the parser: %v\n%s", seed, i, want, got, text)
			}
			if got {
				found++
			}
		}
	}
	if found < 1000 {
		t.Errorf("%d dates", found)
	}
}

// TestDatesDoNotDependOnHowTheTextIsRead cuts a text into any parts.
func TestDatesDoNotDependOnHowTheTextIsRead(t *testing.T) {
	three := dump(1, "running", "select", "select")
	text := "\xef\xbb\xbf2026-11-21T03:00:00Z\r\n" + three + strings.Repeat("x", 1000) + "\nSat Nov 21 03:05:00 UTC 2026\n" + three
	begins := []int64{int64(strings.Index(text, "goroutine")), int64(strings.LastIndex(text, "goroutine 1 ["))}
	rapid.Check(t, func(rt *rapid.T) {
		dates := envelope.NewDates(uploaded)
		for rest := text; rest != ""; {
			n := min(len(rest), rapid.IntRange(1, 400).Draw(rt, "part"))
			io.WriteString(dates, rest[:n])
			rest = rest[n:]
		}
		got := dates.Of(begins)
		if stamped(got[0].Time) != "2026-11-21T03:00:00Z" || stamped(got[1].Time) != "2026-11-21T03:05:00Z" {
			rt.Fatalf("got %+v", got)
		}
	})
}

func FuzzDates(f *testing.F) {
	for _, c := range dateLines {
		f.Add(c.line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		dates := envelope.NewDates(uploaded)
		io.WriteString(dates, line+"\n")
		stamps := dates.Of([]int64{int64(len(line)) + 1})
		for _, s := range stamps {
			if year := s.Time.Year(); !s.Time.IsZero() && (year < 1999 || year > 2101) || s.Dayless && s.Time.After(uploaded.Add(24*time.Hour)) {
				t.Errorf("%q is read as %v", line, s)
			}
		}
	})
}
