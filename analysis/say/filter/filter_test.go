package filter_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/say/filter"
)

// probe is a family of stuck probe workers as the diff of two snapshots has it.
func probe() *filter.Facts {
	return &filter.Facts{
		Title: "prober.(*worker).run", Kind: analysis.KindGoroutine,
		Frames:  []string{"net/http.(*persistConn).roundTrip", "k8s.io/kubernetes/pkg/kubelet/prober.(*worker).doProbe", "k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run"},
		Creator: "k8s.io/kubernetes/pkg/kubelet/prober.(*manager).AddPod", States: map[string]int{"select": 34, "IO wait": 0},
		Verdict: analysis.Leaking, Rules: []string{"cohort"}, Marked: []string{"tenant=a"}, Members: &analysis.Members{States: []string{analysis.Labelled("select", analysis.LabelsOf(map[string]string{"tenant": "rare"}))}, Columns: &analysis.Columns{ID: []int64{1}, State: []uint16{0}}}, Labels: []string{"t3", "t4"}, Unit: "u1", Process: "kubelet",
		Triage: &analysis.Triage{},
		Wait:   filter.Known(12), Count: filter.Known(34), Delta: filter.Known(34), Growth: filter.Known(280),
	}
}

// socket is a family of accepted sockets, without the fields of goroutines.
func socket() *filter.Facts {
	return &filter.Facts{
		Title: "TCP accepted on port 10255", Kind: analysis.KindDescriptor, Verdict: analysis.Stable,
		Attributes: map[string]string{"protocol": "TCP", "remote": "10.0.0.1:443", "state": "CLOSE_WAIT", "path": "/var/lib/kubelet/pods"},
		Members:    &analysis.Members{Columns: &analysis.Columns{ID: []int64{3, 25}, Sub: []int64{0, 48213}}},
		Count:      filter.Known(2), Delta: filter.Known(0),
	}
}

func TestAFilterAsksForWhatItSays(t *testing.T) {
	tests := map[string]struct {
		filter        string
		probe, socket bool
	}{
		"nothing lets everything pass":                        {"", true, true},
		"blanks are nothing":                                  {" \t ", true, true},
		"a word looks into functions without regard to case":  {"PROBER", true, false},
		"a word looks into the creator":                       {"AddPod", true, false},
		"a word looks into attributes":                        {"close_wait", false, true},
		"a word looks into the title":                         {"accepted", false, true},
		"signs of functions are signs of words":               {"prober.(*worker).run", true, false},
		"two words must both be found":                        {"prober accepted", false, false},
		"one of two words is enough":                          {"prober|accepted", true, true},
		"or may stand between blanks":                         {"prober | accepted", true, true},
		"and binds looser than or":                            {"prober|accepted close_wait", false, true},
		"minus leaves out":                                    {"-prober", false, true},
		"minus binds closer than or":                          {"-prober|doProbe", true, true},
		"quotes keep blanks":                                  {`"accepted on"`, false, true},
		"quotes keep bars":                                    {`"a|b"`, false, false},
		"an expression is one of RE2":                         {`/\(\*worker\)\.(run|do)/`, true, false},
		"an expression is asked as written":                   {`/PROBER/`, false, false},
		"a path is a word":                                    {"/var/lib/kubelet", false, true},
		"an address is a word":                                {"10.0.0.1:443", false, true},
		"a scope of C++ is a word":                            {"ns::call", false, false},
		"a function is asked of the stack alone":              {"func:AddPod", false, false},
		"a function of the stack":                             {"func:doProbe", true, false},
		"a creator":                                           {"created:addpod", true, false},
		"a package":                                           {"pkg:net/http", true, false},
		"a package and what lies below":                       {"pkg:k8s.io/kubernetes", true, false},
		"the end of a package":                                {"pkg:prober", true, false},
		"half of a package's name is none":                    {"pkg:net/htt", false, false},
		"a package that is left out":                          {"-pkg:net/http", false, true},
		"a package by expression":                             {"pkg:/^net/", true, false},
		"a state":                                             {"state:select", true, false},
		"a state that no member is in":                        {`state:"IO wait"`, false, false},
		"the state of a socket":                               {"state:CLOSE_WAIT", false, true},
		"a kind":                                              {"kind:goroutines", true, false},
		"one of two kinds":                                    {"kind:thread|descriptor", false, true},
		"a field is not taken over across blanks":             {"kind:thread | descriptor", false, false},
		"a verdict":                                           {"verdict:leaking|suspicious", true, false},
		"a rule":                                              {"rule:cohort", true, false},
		"triage of a family that nobody looked at":            {"triage:unreviewed", true, false},
		"triage that is not known holds nothing":              {"-triage:benign", true, true},
		"a pprof label":                                       {"label:tenant=a", true, false},
		"a pprof label that only a member has":                {"label:tenant=rare", true, false},
		"a snapshot":                                          {"label:t3", true, false},
		"a unit exactly":                                      {"unit=u1", true, false},
		"a process":                                           {"process=kubelet", true, false},
		"an attribute":                                        {"remote:10.0.0", false, true},
		"a path of a descriptor":                              {"path:/var/lib", false, true},
		"a wait in minutes":                                   {"wait>10m", true, false},
		"a wait in hours":                                     {"wait>1h", false, false},
		"a wait in seconds":                                   {"wait>=720s", true, false},
		"a wait without a unit is in minutes":                 {"wait>11", true, false},
		"a count":                                             {"count>50", false, false},
		"a count exactly":                                     {"count=2", false, true},
		"a change":                                            {"delta>0", true, false},
		"a change that is not there":                          {"delta=0", false, true},
		"a minus of typography":                               {"delta>\u22121", true, true},
		"growth per hour":                                     {"growth>5/h", true, false},
		"growth per minute":                                   {"growth>5/m", false, false},
		"a descriptor's number":                               {"fd:25", false, true},
		"descriptors above a number":                          {"fd>100", false, false},
		"an inode":                                            {"inode:48213", false, true},
		"an inode of 0 identifies nothing":                    {"inode:0", false, false},
		"the example of the issue, which net/http leaves out": {"func:prober wait>10m delta>0 -pkg:net/http", false, false},
		"the example of the issue without the package":        {"func:prober wait>10m delta>0 /worker/ run|stop", true, false},
		"names of fields may be capital":                      {"FUNC:prober", true, false},
		"comparisons of what is not known hold nothing":       {"growth<1000000", true, false},
		"a bar between a field and a word asks the word of itself": {"kind:thread | accepted", false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, err := filter.Parse(tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			if got := [2]bool{f.Match(probe()), f.Match(socket())}; got != [2]bool{tt.probe, tt.socket} {
				t.Errorf("%q: probe and socket pass %v, want %v", tt.filter, got, [2]bool{tt.probe, tt.socket})
			}
		})
	}
}

func TestAnErrorSaysWhereWhatAndWhatToWrite(t *testing.T) {
	tests := map[string]struct {
		filter string
		column int
		says   string
	}{
		"a mistyped field":                          {"prober fun:x", 8, `no field is called "fun", expected a field such as func`},
		"a field by another name":                   {"package:net", 1, "a field such as pkg"},
		"a field that does not exist":               {"localhost:8080", 1, `quote it: "localhost:8080"`},
		"a value that is missing":                   {"func: x", 6, "a value is missing behind func:, expected a word"},
		"a number that is none":                     {"count>many", 7, `"many" is no number, expected a number`},
		"a time that is none":                       {"wait>10x", 6, `"10x" is no time, expected a time such as 10m`},
		"a rate that is none":                       {"growth>5/year", 8, `"5/year" is no rate, expected a rate such as 5/h`},
		"a number that is beyond everything":        {"count>1" + strings.Repeat("0", 30), 7, "is no number"},
		"text that is compared as a number":         {"func>3", 5, "func is no number and cannot be compared with >"},
		"a word that is on no list":                 {"kind:gorotine", 6, "expected one of goroutine, thread, descriptor, watch"},
		"a verdict that does not exist":             {"verdict:bad", 9, `no verdict is called "bad"`},
		"a quote that is not closed":                {`a "b c`, 3, "the quote is not closed"},
		"a quote that holds nothing":                {`""`, 1, "the quotes are empty"},
		"a quote with a word behind it":             {`"a"b`, 4, "a word goes on behind its quote"},
		"an expression that is not closed":          {"x /foo.*", 3, "the expression is not closed"},
		"an expression that is not understood":      {"/a(/", 1, "the expression is not understood (missing closing ): `a(`)"},
		"an expression that becomes too large":      {"/(a{99}){10}[ab]{9}/", 1, "the expression is too large"},
		"expressions that are too large together":   {"x" + strings.Repeat(" -/((.?){20}){10}!/", 50), 23, "the expressions of the filter are too large together"},
		"an expression of a number":                 {"count:/1/", 7, "count is a number"},
		"an expression that is too long":            {"/" + strings.Repeat("a", 201) + "/", 1, "is longer than 200 bytes"},
		"or with nothing to its right":              {"a |", 4, "a term is missing beside |"},
		"or with nothing to its left":               {"|a", 1, "a term is missing beside |"},
		"or with nothing between":                   {"a||b", 3, "a term is missing beside |"},
		"minus with nothing behind it":              {"a - b", 3, "a term is missing behind -"},
		"columns count characters and not bytes":    {"äöü fun:x", 5, "no field"},
		"a filter that is too long":                 {strings.Repeat("a", 1001), 1001, "the filter is too long"},
		"more terms than anybody writes":            {strings.Repeat("a ", 65), 130, "too many terms"},
		"an operator that compares for being other": {"count!=3", 1, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := filter.Parse(tt.filter)
			if tt.says == "" {
				if err != nil {
					t.Errorf("%v, want it to be understood as a word", err)
				}
				return
			}
			var e *filter.Error
			if !errors.As(err, &e) {
				t.Fatalf("%q gives %v, want a *filter.Error", tt.filter, err)
			}
			if e.Column != tt.column || !strings.Contains(e.Error(), tt.says) {
				t.Errorf("column %d: %s\nwant column %d and %q", e.Column, e, tt.column, tt.says)
			}
		})
	}
}

func TestAFilterIsPrintedAsItIsUnderstood(t *testing.T) {
	for text, want := range map[string]string{
		"kind:goroutine|thread  wait>1h":      "kind:goroutine|kind:thread wait>60m",
		"kind:thread | x":                     "kind:thread | x",
		`"a|b" -"-c" "a:b" "" `:               "",
		`"a|b" -"-c" "func:b"`:                `"a|b" -"-c" "func:b"`,
		"FUNC=x /a b/ growth>=1/m delta<-3.5": "func=x /a b/ growth>=60/h delta<-3.5",
		`"10.0.0.1:443" path:"/var lib"`:      `10.0.0.1:443 path:"/var lib"`,
		`verdict:"too few points"`:            "verdict:too_few_points",
	} {
		f, err := filter.Parse(text)
		if err != nil && want != "" {
			t.Errorf("%q: %v", text, err)
		}
		if got := f.String(); got != want {
			t.Errorf("%q is printed as %q, want %q", text, got, want)
		}
	}
}

// drawTerm draws a term that Parse could have made.
func drawTerm(t *rapid.T) filter.Term {
	var fields []filter.Field
	for _, h := range filter.Fields() {
		fields = append(fields, h.Field)
	}
	fields = append(append(fields, filter.Attributes()...), "", "", "")
	term := filter.Term{Not: rapid.Bool().Draw(t, "not"), Field: rapid.SampledFrom(fields).Draw(t, "field")}
	switch term.Field {
	case filter.Wait, filter.Count, filter.Delta, filter.Growth, filter.FD, filter.Inode:
		term.Op = rapid.SampledFrom([]filter.Op{":", "=", ">", ">=", "<", "<="}).Draw(t, "op")
		term.Number = rapid.OneOf(rapid.Float64Range(-1e15, 1e15).Filter(func(n float64) bool { return n == 0 || math.Abs(n) >= 1e-6 }), rapid.Map(rapid.IntRange(-100, 100), func(n int) float64 { return float64(n) })).Draw(t, "number")
		return term
	case "":
	default:
		term.Op = rapid.SampledFrom([]filter.Op{":", "="}).Draw(t, "op")
	}
	switch term.Field {
	case filter.Kind:
		term.Text = string(rapid.SampledFrom(analysis.Kinds()).Draw(t, "kind"))
	case filter.Verdict:
		term.Text = rapid.SampledFrom([]string{"leaking", "too_few_points"}).Draw(t, "verdict")
	case filter.Triage:
		term.Text = rapid.SampledFrom([]string{"unreviewed", "benign"}).Draw(t, "triage")
	default:
		if term.Pattern = rapid.IntRange(0, 4).Draw(t, "pattern") == 0; term.Pattern {
			term.Text = rapid.StringMatching(`[a-z.*()/]{1,6}`).Filter(understood).Draw(t, "expression")
			break
		}
		term.Text = rapid.OneOf(rapid.StringN(1, 12, 40), rapid.StringMatching(`[a-z:=<>|"/\\ -]{1,8}`)).Draw(t, "text")
	}
	return term
}

// understood reports that /text/ alone is an expression with that text.
func understood(text string) bool {
	f, err := filter.Parse("/" + text + "/")
	return err == nil && len(f.Clauses) == 1 && len(f.Clauses[0].Terms) == 1 && f.Clauses[0].Terms[0].Pattern && f.Clauses[0].Terms[0].Text == text
}

func TestWhatIsPrintedIsUnderstoodAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want filter.Filter
		for range rapid.IntRange(0, 5).Draw(t, "clauses") {
			var c filter.Clause
			for range rapid.IntRange(1, 3).Draw(t, "terms") {
				c.Terms = append(c.Terms, drawTerm(t))
			}
			want.Clauses = append(want.Clauses, c)
		}
		text := want.String()
		got, err := filter.Parse(text)
		if len(text) > filter.MaxLength {
			if err == nil {
				t.Fatalf("%d bytes are read, which is more than a filter may have", len(text))
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(filter.Term{})); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}

func TestAWordThatNamesNoFieldFindsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[A-Za-z0-9.*()/]{1,20}`).Filter(func(s string) bool { return s[0] != '/' }).Draw(t, "word")
		f, err := filter.Parse(word)
		if err != nil {
			t.Fatal(err)
		}
		if row := (&filter.Facts{Title: "x " + strings.ToUpper(word) + " y"}); !f.Match(row) {
			t.Errorf("%q does not find itself in %q", word, row.Title)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"func:prober wait>10m delta>0 -pkg:net/http /re/ a|b", `"a \" b" kind:goroutine|thread`, "growth>=5/h | x", "/var/lib/kubelet /a/ //", "-/x/|y fun:x", "count>\u22123", "a | | b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := filter.Parse(text)
		if err != nil {
			var e *filter.Error
			if !errors.As(err, &e) || e.Column < 1 || e.Column > utf8.RuneCountInString(text)+1 || e.What == "" {
				t.Fatalf("%q gives %v", text, err)
			}
			return
		}
		parsed.Match(probe())
		printed := parsed.String()
		if len(printed) > filter.MaxLength {
			return
		}
		again, err := filter.Parse(printed)
		if err != nil {
			t.Fatalf("%q is printed as %q, which is refused: %v", text, printed, err)
		}
		if again.String() != printed {
			t.Fatalf("%q is printed as %q and then as %q", text, printed, again.String())
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	for _, text := range []string{"prober", "func:prober wait>10m delta>0 -pkg:net/http", `/\(\*worker\)\.run$/`} {
		b.Run(fmt.Sprint(len(text)), func(b *testing.B) {
			f, err := filter.Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			row := probe()
			b.ReportAllocs()
			for b.Loop() {
				f.Match(row)
			}
		})
	}
}

func TestALongFilterOfPlainExpressionsIsTaken(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("/"+strings.Repeat("a", 197)+"/ ", 5))
	if _, err := filter.Parse(text); err != nil {
		t.Errorf("%d bytes of plain letters: %v", len(text), err)
	}
}
