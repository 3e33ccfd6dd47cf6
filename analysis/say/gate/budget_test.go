package gate

import (
	"errors"
	"math"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

// FuzzBudget holds that a budget is either refused with the place and what to do, or has a
// line for each line of the file that says something.
func FuzzBudget(f *testing.F) {
	for _, text := range []string{"20 func:x", "2 per connections func:net/http.(*conn).serve # c", "1 per a object *x.Y", "0 -pkg:a|b", "1e400 x", "NaN x", "3 per", "# only"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBudget("budget", text)
		if err != nil {
			var fault *analysis.Fault
			if !errors.As(err, &fault) || fault.Hint == "" || !strings.HasPrefix(fault.Where, "budget") {
				t.Errorf("%q is refused with %#v", text, err)
			}
			return
		}
		said := 0
		for line := range strings.Lines(text) {
			if line, _, _ = strings.Cut(line, "#"); strings.TrimSpace(line) != "" {
				said++
			}
		}
		if said != len(b.lines) {
			t.Errorf("%d lines of %d", len(b.lines), said)
		}
		for _, l := range b.lines {
			if !(l.each >= 0) || math.IsInf(l.each, 0) || (l.object == "") == l.filter.Empty() {
				t.Errorf("%q became %+v", text, l)
			}
			l.named(&report.ObjectCount{Name: "*x.Y", Type: "*example.com/x.Y"})
		}
	})
}

func TestAProcessIsFoundInABaselineByNameOrIfBothHaveOne(t *testing.T) {
	of := func(names ...string) *report.Report {
		r := &report.Report{}
		for _, name := range names {
			n := len(name)
			r.Series = append(r.Series, report.Series{Process: name, Families: []report.Family{{Fingerprint: "g1:x", Counts: analysis.Counts{analysis.Counted(n)}}}})
		}
		return r
	}
	for _, c := range []struct {
		name      string
		then, now *report.Report
		process   string
		want      int // the count there, 0 for no such process
	}{
		{"the same name", of("shop", "db"), of("db", "shop"), "db", 2},
		{"another name of the only one", of("shop"), of("shop.test"), "shop.test", 4},
		{"another name beside others", of("shop", "db"), of("shop.test"), "shop.test", 0},
		{"several series of one name have the highest", of("shop", "shop"), of("shop"), "shop", 4},
		{"a new process beside the old one", of("shop"), of("shop", "db"), "db", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := newBaseline(c.then, c.now).of(c.process).highest("g1:x"); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func (p *thenProcess) highest(fingerprint string) int {
	if p == nil {
		return 0
	}
	return p.families[fingerprint].highest
}
