package join_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/samples/corpus"
)

// everything is all of a result but the hashes of addresses.
func everything(o *analysis.Objects) (out []string) {
	for _, k := range o.Kinds {
		text := fmt.Sprintf("%d %s %s %v %s %d %v", k.Count, k.Name, k.Type, k.Each, k.Level, k.Parts, k.Holders)
		for row := range k.Rows() {
			text += fmt.Sprintf(" %d%v", row.Root, row.Parts)
		}
		out = append(out, text)
	}
	return out
}

// programs draws dumps in which a few goroutines show a few addresses in every way.
func programs(t *rapid.T) string {
	var d dump
	n := rapid.IntRange(1, 60).Draw(t, "goroutines")
	objects := rapid.IntRange(1, 30).Draw(t, "objects")
	word := func(how int) string {
		w := fmt.Sprintf("0x%x", address(rapid.IntRange(0, objects).Draw(t, "object")))
		switch how {
		case 0:
			return w + "?"
		case 1:
			return "{0x4f0a20, " + w + "}"
		case 2:
			return "{" + w + ", 0x8, 0x8}"
		case 3:
			return "0x1"
		}
		return w
	}
	for i := range n {
		var calls []string
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			function := rapid.SampledFrom([]string{"ex.org/a.(*A).run", "ex.org/a.(*B).run", "ex.org/b.(*C).wait", "net.(*conn).Read", "ex.org/b.do", "ex.org/a.(*A).run.func1", "main.loop", "sync.(*Mutex).Lock"}).Draw(t, "function")
			var words []string
			place := 10 // what a call prints depends on its place in the program
			for range rapid.IntRange(1, 3).Draw(t, "words") {
				how := rapid.IntRange(0, 7).Draw(t, "how")
				words = append(words, word(how))
				place = 8*place + how
			}
			calls = append(calls, fmt.Sprintf("%s(%s)\n\t/src/main.go:7 +0x%x", function, strings.Join(words, ", "), place))
		}
		creator := ""
		if c := rapid.IntRange(0, 20).Draw(t, "creator"); c > 0 {
			creator = fmt.Sprintf("ex.org/a.start%d in goroutine %d", c%2, 10+c)
		}
		d.add(10+i, creator, calls...)
	}
	return d.String()
}

var (
	staleWord = regexp.MustCompile(`0x[0-9a-f]+\?`)
	heapWord  = regexp.MustCompile(`0x[0-9a-f]{9,}`)
)

// forget replaces each stale word by another.
func forget(text string) string { return staleWord.ReplaceAllString(text, "0x0?") }

// rename gives each address another one in its block.
func rename(text string, flip uint64) string {
	return heapWord.ReplaceAllStringFunc(text, func(word string) string {
		n, _ := strconv.ParseUint(word[2:], 16, 64)
		return fmt.Sprintf("0x%x", n^flip&(1<<26-1)&^7)
	})
}

func shuffle(text string, seed uint64) string {
	blocks := strings.Split(strings.TrimRight(text, "\n"), "\n\n")
	r := rand.New(rand.NewPCG(seed, 1))
	r.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	return strings.Join(blocks, "\n\n") + "\n\n"
}

// unchanged reports what a change of the text does to the objects.
func unchanged(t testing.TB, text string, flip, seed uint64) {
	t.Helper()
	want := everything(objectsOf(t, text))
	for name, changed := range map[string]string{
		"stale words are others":    forget(text),
		"addresses are renamed":     rename(text, flip),
		"goroutines are shuffled":   shuffle(text, seed),
		"and all of it is the case": shuffle(rename(forget(text), flip), seed),
	} {
		if diff := cmp.Diff(want, everything(objectsOf(t, changed))); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
}

func TestStaleWordsNamesOfAddressesAndOrderChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := programs(t)
		flip, seed := rapid.Uint64().Draw(t, "flip"), rapid.Uint64().Draw(t, "seed")
		want := everything(objectsIn(text))
		for name, changed := range map[string]string{
			"stale words are others":  forget(text),
			"addresses are renamed":   rename(text, flip),
			"goroutines are shuffled": shuffle(text, seed),
		} {
			if diff := cmp.Diff(want, everything(objectsIn(changed))); diff != "" {
				t.Fatalf("%s (-before +after):\n%s\n%s", name, diff, text)
			}
		}
	})
}

func TestRealDumpsChangeNoMoreThanDrawnOnes(t *testing.T) {
	paths, err := filepath.Glob(corpus.Path(t, "series", "*", "t*", "*", "goroutine-debug2.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		unchanged(t, string(data), uint64(i)*0x9e3779b97f4a7c15, uint64(i))
	}
	if len(paths) < 30 {
		t.Errorf("only %d dumps were read", len(paths))
	}
}

func TestAGoroutineIsInOneObjectAtMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { once(t, programs(t)) })
}

// once fails if a goroutine of a text is in two objects, or an object does not have its
// shape.
func once(t interface{ Fatalf(string, ...any) }, text string) {
	o := objectsIn(text)
	left := map[int64]int{}
	_, _, _ = goroutine.ParseText(strings.NewReader(text), goroutine.Config{}, func(g *goroutine.Goroutine) error {
		left[g.ID]++
		return nil
	})
	for _, k := range o.Kinds {
		rows, parts := 0, 0
		for _, r := range k.Each {
			parts += r.N
		}
		for row := range k.Rows() {
			rows++
			if len(row.Parts) != k.Parts || parts != k.Parts || !slices.IsSorted(row.Parts) || !slices.Contains(row.Parts, row.Root) {
				t.Fatalf("%s has %d parts: %+v", k.Name, k.Parts, row)
			}
			for _, id := range row.Parts {
				if left[id]--; left[id] < 0 {
					t.Fatalf("goroutine %d is in two objects", id)
				}
			}
		}
		if rows != k.Count {
			t.Fatalf("%d objects %s, counted as %d", rows, k.Name, k.Count)
		}
	}
}

func FuzzObjects(f *testing.F) {
	f.Add(connections(2, 3))
	f.Add("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:1 +0x1\n\n")
	f.Add("goroutine 9223372036854775807 [running]:\nmain.(*T).main(0xc000000000, {0x1, 0xc000000000})\n\t/src/main.go:1 +0x1\ncreated by main.main in goroutine 9223372036854775807\n\t/src/main.go:1\n")
	f.Fuzz(func(t *testing.T, text string) { once(t, text) })
}
