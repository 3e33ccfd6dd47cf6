package envelope_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"leakdiff/analysis"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/samples/corpus"
)

// content is a file, turned into UTF-8 as the unpacking does it.
func content(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte("\xff\xfe")) {
		return data
	}
	units := make([]uint16, len(data)/2-1)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(data[2+2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

func unwrap(t testing.TB, data []byte, cfg envelope.Config) ([]envelope.Section, envelope.Info, []analysis.Problem) {
	t.Helper()
	sections, info, problems, err := envelope.Unwrap(bytes.NewReader(data), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(bytes.Count(data, []byte("\n"))); info.Bytes != int64(len(data)) || info.Lines != want && info.Lines != want+1 {
		t.Errorf("got %d lines, %d bytes, want %d, %d", info.Lines, info.Bytes, want, len(data))
	}
	return sections, info, problems
}

func text(t testing.TB, s *envelope.Section) []byte {
	t.Helper()
	r, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(data)) != s.Bytes {
		t.Errorf("the section has %d bytes, %d were promised", len(data), s.Bytes)
	}
	return data
}

// block is what must be the same of a goroutine, however it was wrapped.
type block struct {
	id, parent            int64
	state, labels, stack  string
	wait                  int
	leaked, locked, dumps bool
}

func parse(t testing.TB, plain []byte) []block {
	t.Helper()
	list, _ := parsePlaces(t, plain)
	return list
}

func parsePlaces(t testing.TB, plain []byte) (list []block, offsets []int64) {
	t.Helper()
	stacks := map[*analysis.Stack]string{}
	_, _, err := goroutine.ParseText(bytes.NewReader(plain), goroutine.Config{}, func(g *goroutine.Goroutine) error {
		if stacks[g.Stack] == "" {
			stacks[g.Stack] = fmt.Sprint(*g.Stack)
		}
		list = append(list, block{g.ID, g.Parent, g.State, g.Labels, stacks[g.Stack], g.Wait, g.Leaked, g.Locked, g.Dumper})
		offsets = append(offsets, g.Offset)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, offsets
}

// located checks that each goroutine is found again in the raw text.
func located(t testing.TB, data []byte, s *envelope.Section) {
	t.Helper()
	list, offsets := parsePlaces(t, text(t, s))
	lines := bytes.SplitAfter(data, []byte("\n"))
	starts := make([]int64, len(lines)+1)
	for i, l := range lines {
		starts[i+1] = starts[i] + int64(len(l))
	}
	for i, at := range offsets {
		line, raw := s.Locate(at)
		if line < 1 || int(line) > len(lines) || raw < starts[line-1] || raw >= starts[line] {
			t.Errorf("goroutine %d is said to be in line %d at %d", list[i].id, line, raw)
			return
		}
		word := fmt.Sprintf("goroutine %d ", list[i].id)
		array := strings.Join(strings.Fields(strings.Trim(fmt.Sprint([]byte(word)), "[]")), ",")
		if here := data[raw:starts[line]]; !bytes.Contains(here, []byte(word)) && !bytes.Contains(here, []byte(array)) {
			t.Errorf("line %d from byte %d does not hold %q", line, raw, word)
			return
		}
		if len(lines[line-1]) > 100_000 && !bytes.HasPrefix(data[raw:], []byte(word)) {
			t.Errorf("byte %d of a long line is not %q", raw, word)
			return
		}
	}
}

type row struct {
	path, goroutines, threads string
}

func rows(t testing.TB, prefixes ...string) (out []row) {
	t.Helper()
	data, err := os.ReadFile(corpus.Path(t, "EXPECTED.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		c := strings.Split(strings.TrimRight(line, "\n"), "\t")
		for _, p := range prefixes {
			if strings.HasPrefix(c[0], p) {
				out = append(out, row{c[0], c[2], c[3]})
			}
		}
	}
	return out
}

func TestEveryWrappedFileOfTheTableIsReadWhole(t *testing.T) {
	all := rows(t, "bundles/log-wrapped/", "goroutine/prefixed/", "goroutine/signals/")
	if len(all) != 22 {
		t.Errorf("%d rows, want 22", len(all))
	}
	plain := parse(t, content(t, corpus.Path(t, "goroutine", "gen", "debug2-go1.26.8.txt")))
	signal := parse(t, content(t, corpus.Path(t, "goroutine", "signals", "containerd-SIGUSR1.stacks.log")))
	for _, row := range all {
		if !corpus.Has(t, row.path) {
			continue
		}
		t.Run(row.path, func(t *testing.T) {
			data := content(t, corpus.Path(t, row.path))
			sections, info, problems := unwrap(t, data, envelope.Config{})
			if len(sections) != 1 || info.LoneHeaders != 0 || len(problems) > 0 {
				t.Fatalf("got %d sections, %d lone headers, problems %v", len(sections), info.LoneHeaders, problems)
			}
			got := parse(t, text(t, &sections[0]))
			if want, _ := strconv.Atoi(row.goroutines); len(got) != want {
				t.Errorf("got %d goroutines, want %d", len(got), want)
			}
			if strings.Contains(row.path, "prefixed/") {
				same(t, got, plain)
			}
			if strings.Contains(row.path, "line-escaped") {
				same(t, got, signal)
			}
			located(t, data, &sections[0])
			t.Logf("%s %+v %v %d headers", sections[0].Form, sections[0].Source, sections[0].Time, sections[0].Headers)
		})
	}
}

func same(t testing.TB, got, want []block) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got %d goroutines, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("goroutine %d of the dump:\n got %+v\nwant %+v", i, got[i], want[i])
			return
		}
	}
}
