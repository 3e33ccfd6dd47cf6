package lsof

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/samples/corpus"
)

// slowCells cuts a row below its titles in the plainest way, cell by cell; nil where
// it does not fit below them.
func slowCells(head, text string) map[string]string {
	cells, from, wide := map[string]string{}, 0, ""
	for _, title := range strings.Fields(head) {
		start := strings.Index(head, title)
		end := start + len(title)
		switch title {
		case "COMMAND", "TASKCMD":
			wide = title
			continue
		case "NAME":
			if from < len(text) && start <= len(text) && strings.TrimSpace(text[from:max(from, start)]) != "" {
				return nil
			}
			cells[title] = text[min(start, len(text)):]
			continue
		case "FD":
			end += 2
		}
		if from < len(text) && end < len(text) && text[end] != ' ' && text[end-1] != ' ' {
			return nil
		}
		content := text[min(from, len(text)):min(end, len(text))]
		words := strings.FieldsFunc(content, func(r rune) bool { return r == ' ' })
		if wide != "" && len(words) > 0 {
			last := words[len(words)-1] // blanks inside the name are part of it
			cells[wide] = unescape(strings.TrimSpace(content[:strings.LastIndex(content, last)]))
			words, wide = []string{last}, ""
		}
		if len(words) > 1 {
			return nil
		}
		from, cells[title] = end, strings.Join(words, "")
	}
	return cells
}

// cellsOf are the cells of a row as the titles call them.
func cellsOf(row *Row) map[string]string {
	return map[string]string{"COMMAND": row.Command, "USER": row.User, "FD": row.FDText, "TYPE": row.Type,
		"DEVICE": row.Device, "NODE": row.Node, "NAME": row.NameText}
}

// checkRows compares every row of a table with the same line read alone below its
// header, and with slowCells.
func checkRows(t *testing.T, raw []byte) (compared int) {
	t.Helper()
	rows := map[int64]Row{}
	for _, row := range parse(t, ParseTable, raw).rows {
		rows[row.Descriptor.Place.Offset] = row
	}
	head, offset := "", int64(0)
	for line := range bytes.Lines(raw) {
		at := offset
		offset += int64(len(line))
		text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		if _, ok := header(text); ok && strings.HasPrefix(strings.TrimLeft(text, " "), commandTitle) {
			head = text
			continue
		}
		row, ok := rows[at]
		if !ok || head == "" || at == 0 {
			continue
		}
		alone := parse(t, ParseTable, []byte(head+"\n"+string(line))).rows
		if len(alone) != 1 {
			t.Fatalf("%q alone gives %d rows", text, len(alone))
		}
		alone[0].Descriptor.Place, row.Descriptor.Place = analysis.Place{}, analysis.Place{}
		if diff := cmp.Diff(alone[0], row); diff != "" {
			t.Fatalf("%q alone and in its listing (-alone +listing):\n%s", text, diff)
		}
		cells := slowCells(head, text)
		if cells == nil || !isFD(cells["FD"]) || !isPID(cells["PID"]) {
			continue // read by the look of its tokens
		}
		for title, got := range cellsOf(&row) {
			if want, ok := cells[title]; ok && got != want {
				t.Fatalf("%q below\n%q: %s is %q, want %q", text, head, title, got, want)
			}
		}
		compared++
	}
	return compared
}

func isTable(raw []byte) bool {
	return bytes.Contains(raw, []byte("COMMAND ")) && bytes.Contains(raw, []byte(" NODE NAME")) && !bytes.ContainsAny(raw, "\t")
}

func TestRowsReadTheSameAloneAndCutPlainly(t *testing.T) {
	all := 0
	for _, name := range []string{"E.txt", "K.txt", "R_g.txt", "Tqs.txt", "fg.txt", "nP.txt", "o.txt", "repeat.txt", "L1.txt"} {
		all += checkRows(t, sample(t, name))
	}
	if all < 500 {
		t.Errorf("only %d rows of the samples were compared", all)
	}
}

func TestRowsOfTheCorpusReadTheSameAloneAndCutPlainly(t *testing.T) {
	root, all := corpus.Path(t), 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.Contains(path, "lsof") {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() > 100<<10 {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && isTable(raw) {
			all += checkRows(t, raw)
		}
		return err
	})
	if err != nil || all < 5000 {
		t.Errorf("%d rows compared, %v", all, err)
	}
}

// FuzzRows moves blanks and bytes about in real tables.
func FuzzRows(f *testing.F) {
	seed(f, "nP.txt", "K.txt", "fg.txt", "Tqs.txt")
	f.Add([]byte("COMMAND PID TYPE FD NAME\nx 1 REG 3u /a\n"))
	f.Add([]byte("COMMAND     PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME\n" +
		"zoo\\x2418   0 6 root   54u  IPv6 314891      0t0  TCP [::1]:48024->[::1]:46779 (ESTABLISHED)\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 1<<14 {
			return
		}
		for _, row := range parse(t, ParseTable, raw).rows {
			checkPlace(t, raw, row.Descriptor.Place)
		}
		if plainText(raw) {
			checkRows(t, raw)
		}
	})
}

// plainText reports whether a file is what slowCells can cut: ASCII, with titles that
// stand once in their header and lines that are whole.
func plainText(raw []byte) bool {
	for _, c := range raw {
		if c >= 0x7f || c < ' ' && c != '\n' {
			return false
		}
	}
	for line := range strings.Lines(string(raw)) {
		seen := map[string]bool{}
		if !strings.HasPrefix(strings.TrimLeft(line, " "), commandTitle) {
			continue
		}
		for _, title := range strings.Fields(line) {
			if seen[title] || strings.Count(line, title) > 1 {
				return false
			}
			seen[title] = true
		}
	}
	return bytes.HasSuffix(raw, []byte("\n"))
}

func TestEachDescriptorIsFirstOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type key struct{ pid, fd int }
		seen, m := map[key]bool{}, newMerger()
		near := rapid.IntRange(0, 300)
		for range rapid.IntRange(0, 200).Draw(t, "rows") {
			k := key{rapid.IntRange(0, 3).Draw(t, "pid"), near.Draw(t, "fd")}
			if rapid.IntRange(0, 9).Draw(t, "far") == 0 {
				k.fd += 1<<31 - 400
			}
			first, full := m.first(&Row{PID: k.pid, FD: k.fd, IsDescriptor: true})
			if first == seen[k] || full {
				t.Fatalf("%+v: first %t, full %t", k, first, full)
			}
			seen[k] = true
			if rapid.IntRange(0, 50).Draw(t, "part") == 0 {
				clear(seen)
				m.reset()
			}
		}
	})
}

// TestNameMayBeginUnderTheRoomOfFD has NAME where access and lock of FD may stand.
func TestNameMayBeginUnderTheRoomOfFD(t *testing.T) {
	got := parse(t, ParseTable, []byte("COMMAND PID TYPE FD NAME\nx      12  REG  3u   /abc\n"))
	if len(got.rows) != 1 || got.rows[0].FD != 3 || got.rows[0].PID != 12 || got.rows[0].NameText != " /abc" {
		t.Errorf("got %+v", got.rows)
	}
}
