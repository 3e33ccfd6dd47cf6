package goroutine_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/samples"
	"leakdiff/samples/corpus"
)

// The lines of a dump as the runtime prints them, an expression each. Blanks at the ends of
// lines are cut before.
const (
	refWord   = `[^\s()]*[^\s().]`
	refName   = refWord + `(?:\.\([^\s()]+\)` + refWord + `)*` // main.(*Pool[...]).run.func1
	refToken  = `(?:[A-Za-z0-9./_]+|"(?:[^"\\]|\\.)*")`
	refPair   = refToken + `: ` + refToken
	refLabels = `\{(?:` + refPair + `(?:, ` + refPair + `)*)?\}`
)

var (
	refHeader = regexp.MustCompile(`^goroutine (?P<id>\d{1,18}) (?:gp=0x[0-9a-f]+ m=(?:nil|\d+ mp=0x[0-9a-f]+) )?` +
		`\[(?P<state>(?:[\w.?-]+(?: [\w.?-]+)*)?(?: \([a-z ]+\))??)(?P<flags>(?: \((?:leaked|scan|durable)\))*)` +
		`(?:, (?P<wait>\d{1,9}) minutes)?(?P<locked>, locked to thread)?(?:, synctest (?:bubble|group) (?P<bubble>\d{1,9}))?` +
		`(?: labels:(?P<labels26>` + refLabels + `))?\](?: (?P<labels27>` + refLabels + `))?:$`)
	refCall = regexp.MustCompile(`^(` + refName + `)\([^()]*\)$`)
	// Where a text is cut, the last address may have lost its digits.
	refPlace       = regexp.MustCompile(`^[ \t]+(?:(\S.*):(\d{1,9})(?: \+0x[0-9a-f]+)?(?: fp=0x[0-9a-f]*)?(?: sp=0x[0-9a-f]*)?(?: pc=0x[0-9a-f]*)?|(\?\?):\?|pc=0x[0-9a-f]*)$`)
	refBare        = regexp.MustCompile(`^(` + refName + `|non-Go function)$`) // gccgo and the symbolizer of cgo
	refNonGo       = regexp.MustCompile(`^non-Go function at pc=0x[0-9a-f]*$`)
	refCreator     = regexp.MustCompile(`^created by ((?:[^\s()]|\.\([^\s()]*\)?)+)(?: in goroutine (\d{1,18}))?$`)
	refElided      = regexp.MustCompile(`^\.\.\.(\d{1,9}|additional) frames elided\.\.\.$`)
	refUnavailable = regexp.MustCompile(`^\s*(goroutine (?:running on other thread|in C code); stack unavailable)$`)
	refAncestor    = regexp.MustCompile(`^\[originating from goroutine \d{1,18}\]:$`)
	refEscape      = regexp.MustCompile(`%2[0-9a-f]`)

	// refRemark is what ends a goroutine even without a blank line.
	refRemark = regexp.MustCompile(`^(?:panic: .*|fatal error: .*|runtime stack:|SIG[A-Z]{2,9}: .*|exit status \d+|-----(?: \w+)?|` +
		`={18}|WARNING: DATA RACE|goroutine(?:leak)? profile: total \d+|[a-z0-9]{2,8} +0x[0-9a-f]+)$`)
	// refMore are lines after a blank one that may belong to the goroutine before it.
	refMore = regexp.MustCompile(`\)$|:[\d?]+$|[+=]0x|^created by |^\.\.\.|stack unavailable$|^non-Go`)
	// refDoubt are lines outside of goroutines that are nearly one of a goroutine.
	refDoubt = regexp.MustCompile(`^\s*goroutine [-\d]|^\s+panic: |^\x{feff}`)
	// refBroken are beginnings of lines that a cut left, of a call, file, creator or another.
	refBroken = regexp.MustCompile(`^(?:[^\s():=]+(?:\.\([^\s():=]*\)[^\s():=]*)*(?:\.?\([^():=]*)?|` +
		`\t[^\s()?=]+(?: \+0?x?[0-9a-f]*)?(?: fp=0x[0-9a-f]+)?(?: sp=0x[0-9a-f]+)?(?: [fsp][pc]?=?0?)?|` +
		`created by|created by \S+ [a-z ]+|\.\.\.[\d a-z]*\.{0,2}|\[[a-z ]+|non-Go [a-z ]+)$`)
	refControl = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f]`)
	// refStrange are escapes that no linker writes, and lines that no file has.
	refStrange = regexp.MustCompile(`%[3-9a-f][0-9a-f]|:\d{10}`)
)

// refBlock is what stands between a header and the blank line, remark or header that ends
// the goroutine.
type refBlock struct {
	header      []string // by refHeader
	line        int64
	offset, end int64 // of the header
	body        []refLine
}

type refLine struct {
	text      string
	at        int
	end       int64 // offset after it
	breaksOff bool  // it is the last of the text, without an end
}

// reference reads a dump slowly and knows nothing of how the package does. It says why where
// a text is not clearly one of the grammar; then there is nothing to compare with.
func reference(text string) (list []goroutine.Goroutine, unsure string) {
	blocks, unsure := refBlocks(text)
	numbers := map[string]int{} // of stacks
	for _, block := range blocks {
		if unsure != "" {
			return nil, unsure
		}
		var g goroutine.Goroutine
		var key string
		g, key, unsure = block.read()
		if _, known := numbers[key]; !known {
			numbers[key] = len(numbers)
		}
		g.StackNumber = numbers[key]
		list = append(list, g)
	}
	return list, unsure
}

// refBlocks finds the goroutines of a text.
func refBlocks(text string) (blocks []refBlock, unsure string) {
	inside := false  // the next line belongs to the last block, unless it ends it
	blank := false   // the line before was blank
	inPanic := false // the value of a panic holds any text, up to a header after a blank line
	fake := false    // it held a header
	offset := 0
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		begin := offset
		offset = min(offset+len(line)+1, len(text))
		line = strings.TrimRight(line, " \t\r")
		if i == 0 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if !utf8.ValidString(line) || refControl.MatchString(line) {
			return nil, "bytes that are no text"
		}
		breaksOff := i == len(lines)-1
		header := refHeader.FindStringSubmatch(line)
		last := &refBlock{}
		if len(blocks) > 0 {
			last = &blocks[len(blocks)-1]
		}
		behind := len(last.body) > 0 && last.body[len(last.body)-1].at == i-1
		switch {
		case line == "":
		case header != nil && inPanic && !blank:
			if fake {
				return nil, "headers behind a panic, blank lines may be lost"
			}
			fake = true
		case header != nil:
			blocks = append(blocks, refBlock{header: header, line: int64(i + 1), offset: int64(begin), end: int64(offset)})
			inside, inPanic, fake = true, false, false
		case refRemark.MatchString(line):
			inside = false
			inPanic = inPanic || strings.HasPrefix(line, "panic: ")
		case inside && !blank && (refStrange.MatchString(line) || strings.HasPrefix(strings.TrimSpace(line), "goroutine ") && !refUnavailable.MatchString(line)):
			return nil, "an escape, a number or a name that no toolchain writes"
		case inside && !blank || behind && refAncestor.MatchString(line):
			creator := behind && refCreator.MatchString(last.body[len(last.body)-1].text)
			inside = !creator || !refPlace.MatchString(line) // the file of the creator is the last line
			last.body = append(last.body, refLine{line, i, int64(offset), breaksOff})
		case inside && refMore.MatchString(line):
			return nil, "a blank line within a goroutine"
		case breaksOff && strings.HasPrefix(line, "goroutine ") && !strings.HasSuffix(line, ":"): // a cut header
		case strings.HasPrefix(strings.TrimSpace(line), "[originating"):
			return nil, "ancestors of no goroutine"
		case refDoubt.MatchString(line) && (!inPanic || line[0] == 'g' && strings.HasSuffix(line, ":")):
			return nil, "nearly a header"
		default:
			inside = false // text of somebody else
		}
		blank = line == ""
	}
	if fake {
		return nil, "no header behind a panic"
	}
	return blocks, ""
}

// read reads the lines of a goroutine, and what makes its stack equal to others.
func (b refBlock) read() (g goroutine.Goroutine, key, unsure string) {
	part := func(name string) string { return b.header[refHeader.SubexpIndex(name)] }
	flags := part("flags")
	g = goroutine.Goroutine{
		ID: int64(refInt(part("id"))), State: part("state"), Wait: -1, Labels: part("labels26") + part("labels27"),
		Leaked: strings.Contains(flags, "leaked"), Scan: strings.Contains(flags, "scan"), Durable: strings.Contains(flags, "durable"),
		Locked: part("locked") != "", Bubble: refInt(part("bubble")),
		Stack: &analysis.Stack{}, Line: b.line, Offset: b.offset,
	}
	if part("wait") != "" {
		g.Wait = refInt(part("wait"))
	}
	if part("labels26") != "" && part("labels27") != "" {
		return g, "", "two label sets"
	}
	stack, parent, keyed := g.Stack, &g.Parent, &key
	end := b.end  // of what belongs to the goroutine, 0 where that is hard to say
	lost := false // the file of the function before is
	for i := 0; i < len(b.body); i++ {
		line := b.body[i]
		var place []string // in the next line
		if i+1 < len(b.body) {
			place = refPlace.FindStringSubmatch(b.body[i+1].text)
		}
		match := func(kind *regexp.Regexp) []string { return kind.FindStringSubmatch(line.text) }
		call, bare, creator, elided, unavailable := match(refCall), match(refBare), match(refCreator), match(refElided), match(refUnavailable)
		// function is a frame by its name, with the file where the next line is one.
		function := func(name string) analysis.Frame {
			frame := analysis.Frame{Func: refEscape.ReplaceAllStringFunc(name, refUnescaped)}
			*keyed += name + "\n"
			if lost = place == nil; !lost {
				i++
				end = b.body[i].end
				frame.File, frame.Line = place[1]+place[3], refInt(place[2])
			}
			if frame.File != "" {
				*keyed += frame.File + ":" + place[2] + "\n"
			}
			return frame
		}
		switch {
		case match(refAncestor) != nil:
			end, lost = line.end, false
			stack, parent, keyed = &analysis.Stack{}, new(int64), new(string) // of another goroutine
		case creator != nil:
			end, *parent = line.end, int64(refInt(creator[2]))
			*keyed += "created by "
			stack.CreatedBy = function(creator[1])
		case call != nil:
			stack.Frames = append(stack.Frames, function(call[1]))
		case bare != nil && place != nil && !lost:
			stack.Frames = append(stack.Frames, function(bare[1]))
		case match(refNonGo) != nil:
			end, place = line.end, nil
			stack.Frames = append(stack.Frames, function("non-Go function"))
			lost = false
		case elided != nil:
			end, lost = line.end, false
			stack.Elided = -1
			if elided[1] != "additional" {
				stack.Elided = refInt(elided[1])
			}
			*keyed += line.text + "\n"
		case unavailable != nil:
			end, lost = line.end, false
			stack.Unavailable = unavailable[1]
			*keyed += unavailable[1] + "\n"
		case match(refPlace) != nil && place == nil && strings.Contains(line.text, " +0x"): // its function is lost
		case line.breaksOff && match(refBroken) != nil && (stack.CreatedBy.Func == "" || line.text[0] != 'c'):
			end = 0
		default:
			return g, "", fmt.Sprintf("not clear within a goroutine: %q", line.text)
		}
	}
	if end > 0 && !lost {
		g.Length = end - g.Offset
	}
	return g, key, ""
}

// refInt is a number that an expression took from a line, 0 where it took none.
func refInt(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// refUnescaped is the character that "%2e" and its like stand for.
func refUnescaped(escape string) string {
	c, _ := strconv.ParseUint(escape[1:], 16, 8)
	return string(rune(c))
}

// compareWithReference compares all that the package says of the goroutines of a text with
// what the reference says, and returns how many there were and why there were none to
// compare.
func compareWithReference(t testing.TB, text []byte) (goroutines int, unsure string) {
	t.Helper()
	want, unsure := reference(string(text))
	if unsure != "" {
		return 0, unsure
	}
	got := parseBytes(t, text).list
	for i := range got {
		got[i].System, got[i].Dumper, got[i].Opens, got[i].Cause, got[i].Ended, got[i].Logged, got[i].Refused = false, false, false, "", "", "", 0 // these are conclusions
		if i < len(want) && want[i].Length == 0 {
			got[i].Length = 0
		}
	}
	for i, w := range want {
		if i == len(got) {
			break
		}
		if !refEqual(w, got[i]) {
			t.Errorf("goroutine %d: reference (-), leakdiff (+):\n%s", i, cmp.Diff(w, got[i], cmpopts.EquateEmpty()))
			return len(want), ""
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d goroutines, the reference has %d", len(got), len(want))
	}
	byNumber := map[int]*analysis.Stack{}
	for _, g := range got {
		if kept := byNumber[g.StackNumber]; kept != nil && kept != g.Stack {
			t.Errorf("goroutine at line %d does not share the stack of its like", g.Line)
		}
		byNumber[g.StackNumber] = g.Stack
	}
	return len(want), ""
}

// refEqual compares stacks by what they hold.
func refEqual(a, b goroutine.Goroutine) bool {
	s, t := *a.Stack, *b.Stack
	frames := slices.Equal(s.Frames, t.Frames)
	a.Stack, b.Stack, s.Frames, t.Frames = nil, nil, nil, nil
	return frames && reflect.DeepEqual(a, b) && reflect.DeepEqual(s, t)
}

// refHeaders counts what "grep -c '^goroutine [0-9]'" counts.
var refHeaders = regexp.MustCompile(`(?m)^goroutine [0-9]`)

// refTotals is what was compared, and why the rest was not.
type refTotals struct {
	files, goroutines int
	headers           int // of all files, whether compared or not
	unsure            []string
}

func (sum *refTotals) add(t testing.TB, name string, text []byte) {
	t.Helper()
	headers := len(refHeaders.FindAllIndex(text, -1))
	if headers == 0 {
		return
	}
	sum.headers += headers
	n, unsure := compareWithReference(t, text)
	if t.Failed() {
		t.Fatalf("in %s", name)
	}
	if unsure != "" {
		sum.unsure = append(sum.unsure, fmt.Sprintf("%s: %d headers: %s", name, headers, unsure))
		return
	}
	sum.files++
	sum.goroutines += n
}

// check demands that enough was compared: a reference that is never sure would agree always.
func (sum *refTotals) check(t testing.TB, files, goroutines int) {
	t.Helper()
	t.Logf("%d files, %d goroutines; %d lines look like headers", sum.files, sum.goroutines, sum.headers)
	for _, line := range sum.unsure {
		t.Log("not compared: ", line)
	}
	if sum.files < files || sum.goroutines < goroutines {
		t.Errorf("%d files with %d goroutines were compared, want %d with %d", sum.files, sum.goroutines, files, goroutines)
	}
}

func TestReferenceAgreesOnTheSamples(t *testing.T) {
	var sum refTotals
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text := read(t, path)
		sum.add(t, path, text)
		sum.add(t, path+" with CRLF", bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	}
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range all {
		unzipped, err := gzip.NewReader(bytes.NewReader(sample.Archive))
		if err != nil {
			t.Fatal(err)
		}
		for archive := tar.NewReader(unzipped); ; {
			entry, err := archive.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(entry.Name, ".txt") {
				continue
			}
			text, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			sum.add(t, entry.Name, text)
		}
	}
	sum.check(t, 34, 3952)
}

func TestReferenceAgreesOnTheCorpus(t *testing.T) {
	var sum refTotals
	for _, pattern := range []string{"goroutine/*/*", "series/*/*/*/*", "bundles/hostile/*.txt"} {
		if !corpus.Has(t, pattern) {
			continue
		}
		paths, err := filepath.Glob(corpus.Path(t, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && !strings.HasSuffix(path, ".gz") {
				sum.add(t, path, read(t, path))
			}
		}
	}
	if corpus.Has(t, "goroutine", "public") {
		sum.check(t, 186, 18939)
	} else {
		sum.check(t, 150, 15_000) // of our own
	}
}

// What the programs of FuzzReference put into a text.
var (
	refNumbers = []string{"0", "1", "2", "7", "10", "16", "99", "007", "4096", "65536", "999999999", "4294967296", "123456789012345678"}
	refStates  = []string{
		"[running]", "[select]", "[select (no cases)]", "[chan receive (nil chan)]", "[GC worker (idle)]", "[chan send (leaked)]", "[IO wait (scan)]",
		"[sleep (durable), synctest bubble 3]", "[semacquire, 6 minutes]", "[syscall, 978 minutes, locked to thread]", "[sleep, locked to thread]",
		"[chan receive (nil chan) (leaked) (scan) (durable), 12 minutes, locked to thread, synctest group 2]", "[]", "[???]",
		`[chan receive labels:{"a": "]:, 9 minutes"}]`, `[select, 2 minutes] {k: v1, "na me": "quo\"te]:, x"}`, "gp=0xc000002380 m=0 mp=0xa6f2c0 [idle]",
	}
	refCalls   = []string{"()", "(...)", "(0x1)", "(0xc000010000?)", "({0x1, {0x2, ...}, _, ...}, 0x3)"}
	refRemarks = []string{
		"2026/11/21 03:00:00 server.go:12: slow", "exit status 2", "-----", "SIGQUIT: quit", "PC=0x491de1 m=0 sigcode=0", "WARNING: DATA RACE", "",
		"fatal error: all goroutines are asleep - deadlock!", "fatal error: sync: negative counter (7)", "panic: boom", "panic: boom [recovered]", "panic: main.Code(5)",
		"rax    0xca", "runtime stack:", "signal arrived during cgo execution", "goroutine profile: total 3", "goroutine 9 [fake]:", "goroutine 9 [fake]: [recovered]",
		"[originating from goroutine 3]:", "...51 frames elided...", "...additional frames elided...", "main.stray()", "main.stray", "\t/srv/stray.go:7 +0x1", "\t/srv/stray.go:7",
		"\tgoroutine running on other thread; stack unavailable", "created by main.stray in goroutine 3", "non-Go function at pc=0x4444", "example.com/yaml%2ev2.(*D).Parse(0x1)",
	}
	refDigits  = regexp.MustCompile(`\d+`)
	refBracket = regexp.MustCompile(`(?:gp=.*)?\[.*\](?: \{.*\})?`)
	refArgs    = regexp.MustCompile(`\([^()]*\)$`)
)

// maxRefText bounds what is compared: a program may repeat blocks.
const maxRefText = 64 << 10

// refProgram makes a text of blocks. A step is four bytes: what to do, to which block, and
// two numbers.
func refProgram(blocks []string, program []byte) string {
	var text []string
	windows, cut := false, 0
	for ; len(program) >= 4; program = program[4:] {
		do, a, b, c := program[0]%12, int(program[1]), int(program[2]), int(program[3])
		if do == 0 || len(text) == 0 {
			text = append(text, blocks[(a<<8|b)%len(blocks)])
			continue
		}
		a %= len(text)
		lines := strings.SplitAfter(text[a], "\n")
		b %= len(lines)
		line := strings.TrimSuffix(lines[b], "\n")
		end := lines[b][len(line):]
		switch do {
		case 1: // once more
			for range c%3 + 1 {
				text = append(text, text[a])
			}
		case 2: // another number
			if at := refDigits.FindAllStringIndex(line, -1); len(at) > 0 {
				place := at[c%len(at)]
				lines[b] = line[:place[0]] + refNumbers[c/len(at)%len(refNumbers)] + line[place[1]:] + end
			}
		case 3:
			lines[b] = ""
		case 4:
			lines[b] += lines[b]
		case 5:
			other := c % len(text)
			text[a], text[other] = text[other], text[a]
			continue
		case 6: // a foreign line between blocks
			lines[0] = refRemarks[c%len(refRemarks)] + "\n" + strings.Repeat("\n", c/len(refRemarks)%2) + lines[0]
		case 7: // or anywhere
			lines[b] = refRemarks[c%len(refRemarks)] + "\n" + lines[b]
		case 8:
			lines[0] = refBracket.ReplaceAllLiteralString(lines[0], refStates[c%len(refStates)])
		case 9:
			lines[b] = refArgs.ReplaceAllLiteralString(line, refCalls[c%len(refCalls)]) + end
		case 10:
			windows = !windows
		case 11:
			cut = int(program[2])<<8 | c
		}
		text[a] = strings.Join(lines, "")
	}
	out := strings.Join(text, "")
	out = out[:len(out)-cut%(len(out)+1)]
	if windows {
		out = strings.ReplaceAll(out, "\n", "\r\n")
	}
	return out[:min(len(out), maxRefText)]
}

// refSamples are the goroutines of the samples, of each dump some.
func refSamples(t testing.TB) (blocks []string) {
	dumps := plain(t)
	for _, name := range names(dumps) {
		dump := string(dumps[name])
		at := refHeaders.FindAllStringIndex(dump, -1)
		for i, place := range at {
			end := len(dump)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			if i%(len(at)/24+1) == 0 && end-place[0] < 4<<10 {
				blocks = append(blocks, dump[place[0]:end])
			}
		}
	}
	return blocks
}

// refHard are texts on which reading is easily wrong.
var refHard = []string{
	"goroutine 1 [running]:\nmain.main()\n\t/a.go:1 +0x1\n\npanic: (oops)\ngoroutine 9 [fake]:\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:2 +0x1\n",
	"goroutine 1 [running]:\nmain.main()\n\t/a.go:1 +0x1\n\npanic: oops\ngoroutine 9 [fake]:\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:2 +0x1\n",
	"goroutine 7 [select]:\nmain.f()\n\t/a.go:1 +0x1\nfatal error: sync: negative counter (7)\n\t/b.go:2 +0x1\n",
	"goroutine 6 [syscall]:\nmain.f()\ncreated by main.g in goroutine 1\ncreated by main.g in gorouti",
	"goroutine 6 [syscall]:\nmain.f()\n\t/a.go:1 +0x1\nmain.f()\n/b.go:2",
	"goroutine 6 [syscall]:\nmain.f()\n\t/a.go:1 +0x1\ncreated by main.g in goroutine 1\n\t/g.go:1 +0xc]",
	"goroutine 6 [syscall]:\nmain.(*T).f()\n\t/a.go:1 +0x1\nmain.(*T)",
	"goroutine 6 [syscall]:\nmain.f()\n\t/a.go:1 +0x1\n\t/a.go:1 +0x1\nmain.f()\ncInner\n\t/inner.c:42 pc=0x11\ncreated by main.g\n\t/g.go:1 +0x1 fp=0x",
	"goroutine 6 [select, 2 minutes]:\nmain.f()\n\t/a.go:1 +0x1\n...5 frames elided...\nmain.f(...)\n\t/a.go:1\ncreated by main.g in goroutine 1\n\t/g.go:1 +0x1\n[originating from goroutine 1]:\nmain.g(...)\n\t/g.go:2 +0x1\n",
}

// TestReferenceAgreesOnPrograms shows that most of what FuzzReference makes is clear enough
// to be compared.
func TestReferenceAgreesOnPrograms(t *testing.T) {
	blocks := refSamples(t)
	random := rand.New(rand.NewPCG(1, 2))
	const programs = 2000
	compared, goroutines, whys := 0, 0, map[string]int{}
	for range programs {
		program := make([]byte, 4*(4+random.IntN(12)))
		for i := range program {
			program[i] = byte(random.Uint32())
		}
		text := refProgram(blocks, program)
		n, unsure := compareWithReference(t, []byte(text))
		if t.Failed() {
			t.Fatalf("the text is %q", text)
		}
		if unsure == "" {
			compared++
			goroutines += n
		}
		why, _, _ := strings.Cut(unsure, ":")
		whys[why]++
	}
	t.Logf("%d of %d texts, %d goroutines: %v", compared, programs, goroutines, whys)
	if compared < programs/2 || goroutines < programs {
		t.Errorf("%d texts with %d goroutines were compared, want %d with %d", compared, goroutines, programs/2, programs)
	}
}

// FuzzReference compares with the reference what programs make of the goroutines of the samples.
func FuzzReference(f *testing.F) {
	blocks := refSamples(f)
	for do := range byte(12) {
		for i := range byte(8) {
			// Three blocks, the first again, one change, all of it again.
			f.Add([]byte{0, 0, i * 15, 0, 0, 0, i*15 + 7, 0, 0, 0, i*15 + 3, 0, 1, 0, 0, 0, do, i % 4, i * 3, i * 5, 1, i % 4, 0, 1})
		}
	}
	f.Fuzz(func(t *testing.T, edits []byte) {
		text := refProgram(blocks, edits)
		if compareWithReference(t, []byte(text)); t.Failed() {
			t.Fatalf("the text is %q", text)
		}
	})
}

func TestReferenceAgreesOnWhatIsHard(t *testing.T) {
	for _, text := range slices.Concat(refSamples(t), refHard) {
		if compareWithReference(t, []byte(text)); t.Failed() {
			t.Fatalf("the text is %q", text)
		}
	}
}
