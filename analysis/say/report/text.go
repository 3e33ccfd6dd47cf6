package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// JSON writes the report as the public contract leakdiff.report/1, without spaces: over the wire
// indentation is a sixth of it.
func JSON(w io.Writer, r Report) error { return writeJSON(w, r) }

// IndentedJSON is JSON for a terminal.
func IndentedJSON(w io.Writer, r Report) error { return writeJSON(w, r, jsontext.WithIndent(" ")) }

func writeJSON(w io.Writer, r Report, more ...jsonv2.Options) error {
	// The options of version 1 keep every byte of the contract; it is written in one pass.
	if err := jsonv2.MarshalWrite(w, r, append(more, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false))...); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// Text writes the answer of a report for a terminal, on one screen, and the groups that pass its
// filter. Control and bidi characters of the input are shown as \xNN.
func Text(w io.Writer, c Case, t Terminal) error {
	var blocks [][]string
	for _, block := range screenOf(&c.Report, t) {
		if len(block) > 0 {
			blocks = append(blocks, block)
		}
	}
	if f := c.Listed().Filter; f != nil {
		blocks = append(blocks, wrapped(f.said(), listColumns, mostLines))
	}
	switch {
	case len(c.Report.Series) == 0:
		if problems := problemLines(c.Report.Problems); problems != nil {
			blocks = append(blocks, problems)
		}
	case c.Listed().Filter != nil:
		for i := range c.listed.Series {
			blocks = append(blocks, passing(&c.listed.Series[i]))
		}
	}
	lines := make([]string, len(blocks))
	for i, block := range blocks {
		lines[i] = strings.Join(block, "\n") + "\n"
	}
	// Hard spaces are for pages.
	_, err := io.WriteString(w, strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(strings.Join(lines, "\n")))
	return err
}

// StateLine is the first line of a text: the state of the answer, whose dumps they are, and how many.
func StateLine(r *Report, t Terminal) string { return newScreen(r, t).head() }

// leadingKind is the kind that represents a series best: goroutines, else the first
// that was captured.
func leadingKind(j JudgedSeries) (analysis.Kind, analysis.Counts) {
	for _, k := range analysis.Kinds() {
		counts := make(analysis.Counts, len(j.Snapshots))
		for i, s := range j.Snapshots {
			counts[i] = analysis.CountOf(s.Totals.Of(k))
		}
		if known := len(counts.Known()); known*2 >= len(j.Snapshots) && known > 0 {
			return k, counts
		}
	}
	return "", nil
}

// passing lists the families that pass a filter, including those that do not move, because the
// reader asked for them.
func passing(s *Series) []string {
	if len(s.Families) == 0 {
		return []string{"no group passes the filter"}
	}
	out := []string{fmt.Sprintf("%-14s %-10s %8s %7s  %-5s %s", "verdict", "kind", "most", "rise", "", "group")}
	for _, f := range s.Families {
		text := fmt.Sprintf("%-14s %-10s %8d %+7d  %-5s %s", strings.ReplaceAll(string(f.Verdict), "_", " "), f.Kind, f.Counts.Highest(), f.Rise, f.Handle, cut(f.Title, widestTitle))
		out = append(out, wording.Printable(text))
	}
	return out
}

// The groups that pass a filter have columns of their own, widestTitle of them for the title.
const (
	listColumns = 120
	widestTitle = 70
)

func sortedByCount(families []Family) []Family {
	out := slices.Clone(families)
	slices.SortStableFunc(out, func(a, b Family) int { return b.Counts.Last() - a.Counts.Last() })
	return out
}

// cut shortens to n runes with an ellipsis.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n-1]) + "…"
}

// CaseSummary is a case in one line of a list.
type CaseSummary struct {
	// Headline and State are those of the diagnosis.
	Headline, State string
	Verdict         analysis.Verdict
	// Process and Host name those of the case, that of the diagnosis first: "containerd,
	// kubelet" and "node-1".
	Process, Host string
	// Course is that of the series of the diagnosis, else of the first one that it tells of.
	Course
	// Aside is how many families grow and were called benign. It is set only if no
	// other grows.
	Aside int
}

// mostAbout is how many processes or hosts a list names of a case.
const mostAbout = 2

// about names the processes and the hosts of a case, each once and that of the diagnosis first.
func (r *Report) about(name func(*Series) string) (processes, hosts []string) {
	add := func(list *[]string, name string) {
		if name != "" && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	order := r.seriesInOrder()
	if r.Diagnosis.Series != nil {
		order = slices.Concat([]int{*r.Diagnosis.Series}, order)
	}
	for _, i := range order {
		s := &r.Series[i]
		add(&processes, name(s))
		if s.Host != nil {
			add(&hosts, *s.Host)
		}
	}
	return processes, hosts
}

// Summary summarises a case for a list.
func (c *Case) Summary() CaseSummary {
	return c.Report.summary(func(i int) Course { return c.Series[i].course() })
}

// summary takes the course of the process of the answer, else of the first one that it tells of.
func (r *Report) summary(course func(series int) Course) CaseSummary {
	s := CaseSummary{Headline: r.Diagnosis.Sentence, State: r.Diagnosis.State, Verdict: r.Diagnosis.Verdict}
	if order := r.seriesInOrder(); r.Diagnosis.Series != nil {
		s.Course = course(*r.Diagnosis.Series)
	} else if len(order) > 0 {
		s.Course = course(order[0])
	}
	processes, hosts := r.about(func(s *Series) string { return cmp.Or(s.Called, s.Process) })
	s.Process, s.Host = wording.Commas(processes, mostAbout), wording.Commas(hosts, mostAbout)
	for i := range r.Series {
		aside, _ := r.Series[i].setAside()
		s.Aside += len(aside)
	}
	if s.Verdict.Rose() {
		s.Aside = 0
	}
	// Gone families are common. A list is about what grows.
	if !s.Verdict.Rose() && s.Verdict != analysis.Saturated && s.Verdict != analysis.TooFewPoints {
		s.Verdict = analysis.Stable
	}
	return s
}
