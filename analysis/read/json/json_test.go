package json_test

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/json"
)

var limits = json.Limits{Value: 1 << 10, Depth: 8}

// walk reads every value and returns its tokens, one character each.
func walk(r *json.Reader) (kinds string, err error) {
	for {
		t, err := r.Next()
		if err != nil {
			return kinds, err
		}
		kinds += string(rune(t.Kind()))
	}
}

func TestTextThatIsNoJSONSaysWhyAndWhere(t *testing.T) {
	for name, tt := range map[string]struct {
		in, kinds string
		want      error
		at        analysis.Place
	}{
		"whole":                   {"{\"a\":[1,null]}\n", `{"[0n]}`, io.EOF, analysis.Place{Line: 2, Offset: 15}},
		"two values":              {`{"a":1} {"a":2}`, `{"0}{"0}`, io.EOF, analysis.Place{Line: 1, Offset: 15}},
		"nothing":                 {"", "", io.EOF, analysis.Place{Line: 1}},
		"cut inside a string":     {"{\n\"a\": \"bc", `{"`, io.ErrUnexpectedEOF, analysis.Place{Line: 2, Offset: 7}},
		"cut behind a comma":      {"[1,", `[0`, io.ErrUnexpectedEOF, analysis.Place{Line: 1, Offset: 3}},
		"no value":                {"[1,\nnope]", `[0`, &json.SyntaxError{Why: "invalid character 'o' in literal null (expecting 'u')"}, analysis.Place{Line: 2, Offset: 4}},
		"not a number":            {"[NaN]", `[`, &json.SyntaxError{Why: "invalid character 'N' looking for beginning of value"}, analysis.Place{Line: 1, Offset: 1}},
		"no colon":                {`{"a" 1}`, `{"`, &json.SyntaxError{Why: "invalid character '1' after object key"}, analysis.Place{Line: 1, Offset: 5}},
		"no comma":                {`{"a":1 "b":2}`, `{"0`, &json.SyntaxError{Why: "invalid character '\"' after object key:value pair"}, analysis.Place{Line: 1, Offset: 7}},
		"the wrong bracket":       {"[1\n}", `[0`, &json.SyntaxError{Why: "invalid character '}' after array element"}, analysis.Place{Line: 2, Offset: 3}},
		"nested too deep":         {`[[[[[[[[[`, `[[[[[[[[`, &json.LimitError{Why: "more than 8 values lie inside each other"}, analysis.Place{Line: 1, Offset: 9}},
		"a string too long":       {`{"a":"` + strings.Repeat("x", 64<<10), `{"`, &json.LimitError{Why: "a single value is longer than 1024 bytes"}, analysis.Place{Line: 1, Offset: 5}},
		"a name twice":            {`{"a":1,"a":2}`, `{"0"0}`, io.EOF, analysis.Place{Line: 1, Offset: 13}},
		"bytes that are no UTF-8": {"[\"\xff\",\"\\ud800\"]", `[""]`, io.EOF, analysis.Place{Line: 1, Offset: 14}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				r := json.NewReader(in, limits)
				kinds, err := walk(r)
				if diff := cmp.Diff(tt.want.Error(), err.Error()); kinds != tt.kinds || diff != "" {
					t.Errorf("got %s, %v (-want +got):\n%s", kinds, err, diff)
				}
				if diff := cmp.Diff(tt.at, r.Place()); diff != "" {
					t.Errorf("place (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestAFailureOfTheStreamIsNoSyntax(t *testing.T) {
	broken := errors.New("disk on fire")
	r := json.NewReader(io.MultiReader(strings.NewReader(`{"a":[1,2`), iotest.ErrReader(broken)), limits)
	if kinds, err := walk(r); kinds != `{"[0` || !errors.Is(err, broken) || !errors.Is(r.Failure(), broken) {
		t.Errorf("got %s, %v, %v", kinds, err, r.Failure())
	}
}

func TestMembersAndElementsArePassedOneByOne(t *testing.T) {
	r := json.NewReader(strings.NewReader(`{"a":"x","b":[1,"y",{"c":2}],"d":7,"e":{"f":null},"g":"\ud83d\ude00"}`), limits)
	var got []string
	text := func() error {
		s, err := r.Text()
		got = append(got, s)
		return err
	}
	err := r.Object(func(name string) error {
		got = append(got, name)
		switch name {
		case "b", "d", "g":
			if r.Peek() != '"' {
				return r.Array(text)
			}
			return text()
		}
		return r.Object(func(name string) error { got = append(got, name); return r.Skip() })
	})
	if diff := cmp.Diff([]string{"a", "b", "", "y", "", "d", "e", "f", "g", "😀"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if end := r.End(); end.Offset != r.Bytes() {
		t.Errorf("ended at %+v of %d bytes", end, r.Bytes())
	}
}

func TestUnquoteKeepsBytesThatAreNoUTF8(t *testing.T) {
	for in, want := range map[string]string{
		`""`:                               "",
		`"a\u00e9\n` + "\xff\xfe" + `\"é"`: "aé\n\xff\xfe\"é",
		`"\ud83d\ude00\ud800"`:             "😀\ufffd",
	} {
		if got := json.Unquote([]byte(in)); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

// TestTextAroundValuesIsReadLineByLine: a value that is broken costs its line.
func TestTextAroundValuesIsReadLineByLine(t *testing.T) {
	in := "warning: x\r\n\ufeff{\"a\":1},\n\n[2] noise\n{\"b\" 3} {\"lost\":1}\n{\"c\":\n4}{\"d\":5}\n" + strings.Repeat("z", 40<<10)
	for piece, source := range map[string]io.Reader{"whole": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in))} {
		r := json.NewReader(source, limits)
		var got []string
		for {
			c, ok := r.Begin()
			if !ok {
				break
			}
			at := r.Place()
			if at.Line != int64(strings.Count(in[:at.Offset], "\n"))+1 || in[at.Offset] != c {
				t.Errorf("%s: %q stands at %+v", piece, c, at)
			}
			if c == '{' || c == '[' {
				if err := r.Skip(); err == nil {
					got = append(got, in[at.Offset:r.End().Offset])
					continue
				}
			}
			l := r.RestOfLine(12)
			if in[l.Offset:l.Offset+int64(len(l.Text))] != l.Text || l.Number != int64(strings.Count(in[:l.Offset], "\n"))+1 {
				t.Errorf("%s: %+v", piece, l)
			}
			got = append(got, "- "+l.Text)
		}
		want := []string{"- warning: x", `{"a":1}`, "[2]", "- noise", `- 3} {"lost":1`, "{\"c\":\n4}", `{"d":5}`, "- zzzzzzzzzzzz"}
		if diff := cmp.Diff(want, got); diff != "" || r.Bytes() != int64(len(in)) {
			t.Errorf("%s: %d bytes of %d (-want +got):\n%s", piece, r.Bytes(), len(in), diff)
		}
	}
}

// TestAPrefixGivesAPrefixOfTheTokens cuts a document anywhere.
func TestAPrefixGivesAPrefixOfTheTokens(t *testing.T) {
	whole := "{\"a\": [1.5, true, \"\\u00e9\\\\\"],\n \"b\": {\"c\": null}}"
	all, _ := walk(json.NewReader(strings.NewReader(whole), limits))
	rapid.Check(t, func(t *rapid.T) {
		cut := rapid.IntRange(1, len(whole)-1).Draw(t, "cut")
		got, err := walk(json.NewReader(strings.NewReader(whole[:cut]), limits))
		if !strings.HasPrefix(all, got) || err != io.ErrUnexpectedEOF {
			t.Fatalf("cut at %d: %s of %s, %v", cut, got, all, err)
		}
	})
}

// FuzzReader compares with encoding/json, and places with the text.
func FuzzReader(f *testing.F) {
	f.Add([]byte("{\"a\":[1,2.5e3,{\"b\":\"\\u00e9\\ud800\xff\"}],\n\"a\":null}"))
	f.Add([]byte("x\n{\"a\":1},\n{\"b\" 2}\n[true,false] y"))
	f.Add([]byte(":"))
	f.Fuzz(func(t *testing.T, in []byte) {
		roomy := json.Limits{Value: 1 << 20}
		r := json.NewReader(bytes.NewReader(in), roomy)
		err := r.Skip()
		if _, end := r.Next(); stdjson.Valid(in) != (err == nil && end == io.EOF) {
			t.Fatalf("%v, %v", err, end)
		}
		lines := json.NewReader(iotest.HalfReader(bytes.NewReader(in)), roomy)
		for last := int64(-1); ; {
			c, ok := lines.Begin()
			if !ok {
				break
			}
			at := lines.Place()
			if at.Offset <= last || in[at.Offset] != c || at.Line != int64(bytes.Count(in[:at.Offset], []byte("\n")))+1 {
				t.Fatalf("%q at %+v after %d", c, at, last)
			}
			last = at.Offset
			if raw, err := lines.Raw(); err == io.ErrUnexpectedEOF {
				return
			} else if err != nil {
				lines.RestOfLine(10)
			} else if !bytes.Equal(raw, in[at.Offset:lines.End().Offset]) {
				t.Fatalf("%q at %+v", raw, at)
			} else if raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && json.Unquote(raw) != string(raw[1:len(raw)-1]) {
				t.Fatalf("%q became %q", raw, json.Unquote(raw))
			}
		}
		if lines.Bytes() != int64(len(in)) {
			t.Fatalf("%d of %d bytes", lines.Bytes(), len(in))
		}
	})
}
