package gate

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// The elements of a JUnit report, as readers of pipelines know them.
type (
	suites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Suites   []suite  `xml:"testsuite"`
	}
	suite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	testCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *failure `xml:"failure,omitempty"`
		Error   *failure `xml:"error,omitempty"`
		Skipped *skipped `xml:"skipped,omitempty"`
		Output  string   `xml:"system-out,omitempty"`
	}
	failure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	skipped struct {
		Message string `xml:"message,attr"`
	}
)

// JUnit writes a suite for each process: items that accuse by the verdicts are failures, others
// passed with their text as output, those that are set aside skipped. What could not be checked
// is an error. A process without any has one test, which passed. A budget has a suite with a test
// for each line.
func JUnit(w io.Writer, r *report.Gate, all *report.Report, verdicts []analysis.Verdict) error {
	out := suites{Name: "leakdiff"}
	var names []string
	for i := range all.Series {
		names = append(names, name(all.Series[i].Process, all.Series[i].Host))
	}
	for _, u := range r.Unchecked {
		if u.Line == 0 {
			names = append(names, name(u.Process, u.Host))
		}
	}
	for k, process := range names {
		of := suite{Name: process}
		if slices.Contains(names[:k], process) {
			continue // the items of both are there
		}
		for _, item := range slices.Concat(r.Items, r.SetAside) {
			if item.Line == 0 && name(item.Process, item.Host) == of.Name {
				of.add(item, verdicts)
			}
		}
		for _, u := range r.Unchecked {
			if u.Line == 0 && name(u.Process, u.Host) == of.Name {
				of.leave(r, u)
			}
		}
		if len(of.Cases) == 0 {
			of.Cases = []testCase{{Class: of.Name, Name: "nothing grows"}}
		}
		out.add(of)
	}
	if len(r.Lines) > 0 {
		out.add(budgetSuite(r))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *suites) add(of suite) {
	of.Tests = len(of.Cases)
	s.Tests, s.Failures, s.Errors = s.Tests+of.Tests, s.Failures+of.Failures, s.Errors+of.Errors
	s.Suites = append(s.Suites, of)
}

// budgetSuite has a test for each line of the budget, which fails for the processes that exceed
// it.
func budgetSuite(r *report.Gate) suite {
	of := suite{Name: "budget"}
	for _, line := range r.Lines {
		c := testCase{Class: of.Name, Name: wording.Printable(line.Text)}
		for i := range r.Items {
			item := &r.Items[i]
			if item.Line != line.Number {
				continue
			}
			said := wording.Printable(name(item.Process, item.Host) + ": " + item.Title + ": " + item.Text)
			if c.Failure == nil {
				c.Failure = &failure{Message: said, Type: item.Rule, Text: stackText(item.Stack)}
				of.Failures++
			} else {
				c.Failure.Message += " " + said
			}
		}
		for _, u := range r.Unchecked {
			if u.Line == line.Number && c.Failure == nil {
				c.Error = &failure{Message: wording.Printable(u.Text), Type: "unchecked"}
				of.Errors++
			}
		}
		of.Cases = append(of.Cases, c)
	}
	return of
}

func (s *suite) add(item report.GateItem, verdicts []analysis.Verdict) {
	c := testCase{Class: s.Name, Name: wording.Printable(item.Title)}
	text := wording.Printable(item.Text)
	switch {
	case item.Why != "":
		c.Skipped = &skipped{item.Why}
		s.Skipped++
	case item.Accuses(verdicts):
		c.Failure = &failure{Message: word(&item) + ": " + text, Type: item.Rule, Text: stackText(item.Stack)}
		s.Failures++
	default:
		c.Output = word(&item) + ": " + text
	}
	s.Cases = append(s.Cases, c)
}

// leave adds what could not be checked.
func (s *suite) leave(r *report.Gate, u report.GateUnchecked) {
	what := "something was read"
	if r.Baseline {
		what = "the baseline is compared"
	}
	s.Cases = append(s.Cases, testCase{Class: s.Name, Name: what, Error: &failure{Message: wording.Printable(u.Text), Type: "unchecked"}})
	s.Errors++
}

// name is a process with its host, "leakdiff" without both: readers need a name.
func name(process string, host *string) string {
	switch {
	case host != nil && *host != "" && process != "":
		return wording.Printable(*host + "/" + process)
	case process != "":
		return wording.Printable(process)
	}
	return "leakdiff"
}

func stackText(stack []report.StackFrame) string {
	var b strings.Builder
	for i := range stack {
		f := &stack[i]
		if f.CreatedBy {
			b.WriteString("created by ")
		}
		fmt.Fprintln(&b, wording.Printable(f.Function))
		if f.File != "" {
			fmt.Fprintf(&b, "\t%s:%d\n", wording.Printable(f.File), f.Line)
		}
	}
	return b.String()
}
