package line_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

func read(r io.Reader) (all []line.Line, in *line.Reader) {
	in = line.NewReader(r)
	for l := range in.All() {
		all = append(all, l)
	}
	return all, in
}

func TestEveryLineKnowsItsPlace(t *testing.T) {
	got, in := read(iotest.OneByteReader(strings.NewReader("a\r\n\nlast")))
	want := []line.Line{
		{Text: "a", Number: 1, Offset: 0, Length: 1, Ended: true},
		{Text: "", Number: 2, Offset: 3, Length: 0, Ended: true},
		{Text: "last", Number: 3, Offset: 4, Length: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if in.Offset() != 8 || in.Failure("x") != nil {
		t.Errorf("got offset %d, %v", in.Offset(), in.Failure("x"))
	}
	if diff := cmp.Diff(analysis.Place{Line: 3, Offset: 4, Length: 4}, got[2].Place()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnlyTheBeginningOfALongLineIsKept(t *testing.T) {
	got, _ := read(strings.NewReader(strings.Repeat("x", line.MaxText+7) + "\nnext\n"))
	if len(got) != 2 || len(got[0].Text) != line.MaxText || !got[0].Clipped || got[0].Length != line.MaxText+7 || got[1].Text != "next" || got[1].Offset != line.MaxText+8 {
		t.Errorf("got %d lines, the first of %d bytes", len(got), got[0].Length)
	}
}

func TestAFailureIsNoEnd(t *testing.T) {
	broken := errors.New("disk on fire")
	got, in := read(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if err := in.Failure("x.txt"); len(got) != 2 || !errors.Is(err, broken) || !strings.Contains(err.Error(), "x.txt") {
		t.Errorf("got %d lines, %v", len(got), err)
	}
}

func TestProblemsAreBoundedAndSaySo(t *testing.T) {
	p := line.Problems{Path: "x.txt"}
	for range line.MaxProblems + 5 {
		p.Add(analysis.Note, line.Line{Number: 2, Offset: 9}, "what", "why", "hint")
	}
	all := p.All()
	if len(all) != line.MaxProblems+1 || all[0].Line != 2 || all[0].Offset != 9 || !strings.HasPrefix(all[line.MaxProblems].What, "5 more problems") {
		t.Errorf("got %d problems, %+v", len(all), all[len(all)-1])
	}
	var q line.Problems
	q.Add(analysis.Note, line.Line{}, "what", "why", "hint")
	if q.All()[0].Offset != -1 {
		t.Errorf("a problem of the whole file: got %+v", q.All()[0])
	}
	if got := line.Quote(strings.Repeat("é", 50)); len(got) > 300 || !strings.HasSuffix(got, "…") {
		t.Errorf("got %q", got)
	}
}

// TestLinesAreTheTextBetweenLineFeeds compares with strings.Split.
func TestLinesAreTheTextBetweenLineFeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.StringMatching(`[a-c \r]{0,5}\n?`)).Draw(t, "text"), "")
		want := strings.Split(text, "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		got, _ := read(strings.NewReader(text))
		if len(got) != len(want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
		for i, l := range got {
			if l.Text != strings.TrimSuffix(want[i], "\r") || text[l.Offset:l.Offset+l.Length] != l.Text {
				t.Fatalf("line %d: %+v, want %q", i, l, want[i])
			}
		}
	})
}
