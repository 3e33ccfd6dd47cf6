package goroutine_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/read/goroutine"
	"leakdiff/samples/corpus"
)

// wordsOf reads a dump of one goroutine whose leaf has these arguments, after as many
// others like it that the parser knows the block.
func wordsOf(t *testing.T, others int, arguments ...string) []goroutine.Word {
	t.Helper()
	var text strings.Builder
	block := func(id int, arguments string) {
		fmt.Fprintf(&text, "goroutine %d [select]:\nmain.(*T).run(%s)\n\t/src/main.go:5 +0x1d\nmain.main.func1()\n\t/src/main.go:9 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:8 +0x1d\n\n", id, arguments)
	}
	for i := range others {
		block(100+i, arguments[i%(len(arguments)-1)])
	}
	block(7, arguments[len(arguments)-1])
	var words []goroutine.Word
	_, _, err := goroutine.ParseText(strings.NewReader(text.String()), goroutine.Config{Words: true}, func(g *goroutine.Goroutine) error {
		if g.ID == 7 {
			words = slices.Clone(g.Words)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return words
}

func TestWordsOfACall(t *testing.T) {
	for name, test := range map[string]struct {
		arguments string
		want      []goroutine.Word
	}{
		"a receiver is the first word":             {"0xc000010000", []goroutine.Word{{Address: 0xc000010000}}},
		"a word with a question mark may be stale": {"0xc000010000?, 0xc000020000", []goroutine.Word{{Address: 0xc000020000, Position: 1}}},
		"the second word of an interface counts":   {"0xc000010000, {0x4f0a20, 0xc000030000}", []goroutine.Word{{Address: 0xc000010000}, {Address: 0xc000030000, Type: 0x4f0a20, Position: 1}}},
		"its type may be stale":                    {"{0x4f0a20?, 0xc000030000}", []goroutine.Word{{Address: 0xc000030000, Type: 0x4f0a20}}},
		"its object may not":                       {"{0x4f0a20, 0xc000030000?}", nil},
		"a slice is no interface":                  {"{0xc000030000, 0x10000, 0x10000}", nil},
		"a struct of structs is none":              {"{{0x4f0a20, 0xc000030000}, 0x1}", nil},
		"what was left out makes it none":          {"{0x4f0a20, ...}, {0x4f0a20, 0xc000030000, ...}", nil},
		"nor is what is unknown":                   {"{_, 0xc000030000}", nil},
		"positions count what is in braces as one": {"{0xc000030000, 0x8, 0x8}, 0x1, 0xc000040000", []goroutine.Word{{Address: 0xc000040000, Position: 2}}},
		"small numbers are none":                   {"0x1, 0x7fff, 0x0", nil},
		"words before the end are read":            {"0xc000010000, 0xc000020000, ...", []goroutine.Word{{Address: 0xc000010000}, {Address: 0xc000020000, Position: 1}}},
		"no arguments are known":                   {"...", nil},
		"there are none":                           {"", nil},
		"an address has up to sixteen digits":      {"0xffffffffffffffff, 0x12345678", []goroutine.Word{{Address: 1<<64 - 1}, {Address: 0x12345678, Position: 1}}},
		"what is no argument ends the reading":     {"0xc000010000, xyz, 0xc000020000", []goroutine.Word{{Address: 0xc000010000}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, others := range []int{0, 1, 3} {
				if diff := cmp.Diff(test.want, wordsOf(t, others, test.arguments, test.arguments), cmp.Transformer("none", func(w []goroutine.Word) []goroutine.Word { return append([]goroutine.Word{}, w...) })); diff != "" {
					t.Errorf("after %d others (-want +got):\n%s", others, diff)
				}
			}
		})
	}
}

func TestWordsOfAKnownCallMayHaveOtherLengths(t *testing.T) {
	want := []goroutine.Word{{Address: 0xc000010000}, {Address: 0xc000030000, Type: 0x4f0a20, Position: 1}, {Address: 0x123456, Position: 3}}
	last := "0xc000010000, {0x4f0a20, 0xc000030000}, 0x1, 0x123456"
	for _, other := range []string{
		"0xc000010000, {0x4f0a20, 0xc000030000}, 0x12, 0x12345",
		"0xc00001000, {0x4f0a200, 0xc000030000}, 0x1, 0x123456",
		"0x0, {0x0, 0x0}, 0x0, 0x0",
		"0xc000010000, {0x4f0a20, 0xc000030000}, 0x12345678, 0x1",
	} {
		if diff := cmp.Diff(want, wordsOf(t, 4, other, last)); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", other, diff)
		}
	}
}

// A call and an argument, as the runtime prints them.
var (
	wordCall  = regexp.MustCompile(`^\s*(\S.*?[^.])\(([^()]*)\)$`)
	wordInner = regexp.MustCompile(`(\{[^{}]*)\{[^{}]*\}`)
	wordItem  = regexp.MustCompile(`\{[^{}]*\}|[^,{}]+`)
	wordPlain = regexp.MustCompile(`^0x([0-9a-f]+)$`)
	wordPair  = regexp.MustCompile(`^\{0x([0-9a-f]+)\??, 0x([0-9a-f]+)\}$`)
)

// slowWords reads the words of a body in an obvious way.
func slowWords(g *goroutine.Goroutine) (words []goroutine.Word) {
	frame := 0
	for line := range bytes.Lines(g.Body) {
		call := wordCall.FindSubmatch(bytes.TrimRight(line, "\r\n\t "))
		if call == nil || bytes.HasPrefix(line, []byte("created by")) {
			continue
		}
		arguments, position := string(call[2]), -1
		for wordInner.MatchString(arguments) {
			arguments = wordInner.ReplaceAllString(arguments, "$1...")
		}
		for _, item := range wordItem.FindAllString(arguments, -1) {
			hex := func(digits string) uint64 { n, _ := strconv.ParseUint(digits, 16, 64); return n }
			if item = strings.TrimSpace(item); item == "" {
				continue
			}
			position++
			w := goroutine.Word{Frame: uint16(frame), Position: uint8(position)}
			if m := wordPlain.FindStringSubmatch(item); m != nil {
				w.Address = hex(m[1])
			} else if m := wordPair.FindStringSubmatch(item); m != nil && hex(m[1]) >= 1<<16 {
				w.Type, w.Address = hex(m[1]), hex(m[2])
			}
			if w.Address >= 1<<16 {
				words = append(words, w)
			}
		}
		frame++
	}
	return words
}

func TestWordsOfRealDumpsAreThoseOfASlowReader(t *testing.T) {
	compared, words := 0, 0
	for _, pattern := range []string{"goroutine/gen/debug2-go*.txt", "goroutine/public/stackgazer-crdb-stacks.txt", "series/*/*/*/goroutine-debug2.txt"} {
		if !corpus.Has(t, pattern) {
			continue
		}
		paths, _ := filepath.Glob(corpus.Path(t, pattern))
		for _, path := range paths {
			_, _, err := goroutine.ParseText(open(t, path), goroutine.Config{Words: true}, func(g *goroutine.Goroutine) error {
				if g.System || g.Stack.Elided != 0 || len(g.Body) == 0 {
					return nil
				}
				compared++
				words += len(g.Words)
				if diff := cmp.Diff(slowWords(g), append([]goroutine.Word(nil), g.Words...)); diff != "" {
					t.Errorf("%s, goroutine %d (-want +got):\n%s", path, g.ID, diff)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if compared < 5000 || words < 50_000 {
		t.Errorf("only %d goroutines with %d words were compared", compared, words)
	}
}

func TestWithoutTheOptionNoWordsAreRead(t *testing.T) {
	_, _, err := goroutine.ParseText(open(t, "testdata/debug2-go1.26.8.txt"), goroutine.Config{}, func(g *goroutine.Goroutine) error {
		if len(g.Words) > 0 {
			t.Errorf("goroutine %d has %d words", g.ID, len(g.Words))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
