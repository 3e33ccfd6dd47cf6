package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// mostCompared is how many rows a comparison for a terminal has, unless it has all.
const mostCompared = 20

// Text is a comparison for a terminal, the largest changes first.
//
//	app, t0 to t9
//	goroutines 46 to 91, +45
//	+45  0 to 45  45 new             limit.(*Sem).Acquire
//	 -2  9 to 7   3 new, 5 gone      http.(*conn).serve
//	12 groups are as they were
func (c *Comparison) Text(a, b *analysis.Snapshot, all bool) string {
	var out strings.Builder
	who := cmp.Or(b.Process.Name.Value, "unnamed process")
	if b.Process.Host.Known() {
		who += " on " + b.Process.Host.Value
	}
	fmt.Fprintf(&out, "%s, %s to %s\n", wording.Printable(who), wording.Printable(a.Label), wording.Printable(b.Label))
	for _, kind := range analysis.Kinds() {
		if from, to := c.TotalsA.Of(kind), c.TotalsB.Of(kind); from != nil && to != nil {
			fmt.Fprintf(&out, "%s %s to %s, %+d\n", wording.Kinds(kind), wording.Exact(int64(*from)), wording.Exact(int64(*to)), *to-*from)
		}
	}
	for _, text := range c.Warnings {
		fmt.Fprintf(&out, "%s\n", wording.Printable(text))
	}
	rows := slices.Clone(c.Rows)
	slices.SortStableFunc(rows, func(x, y ComparisonRow) int {
		return cmp.Or(cmp.Compare(magnitude(y.Delta), magnitude(x.Delta)), cmp.Compare(y.B, x.B))
	})
	var cells [][3]string
	var titles []string
	same, more := 0, 0
	for i := range rows {
		r := &rows[i]
		switch {
		case all:
		case !r.moved():
			same++
			continue
		case len(cells) == mostCompared:
			more++
			continue
		}
		delta := "0"
		if r.Delta != 0 {
			delta = fmt.Sprintf("%+d", r.Delta)
		}
		cells = append(cells, [3]string{delta, fmt.Sprintf("%d to %d", r.A, r.B), r.members()})
		titles = append(titles, wording.Printable(r.Title))
	}
	var width [3]int
	for _, row := range cells {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for i, row := range cells {
		fmt.Fprintf(&out, "%*s  %-*s  %-*s  %s\n", width[0], row[0], width[1], row[1], width[2], row[2], titles[i])
	}
	if more > 0 {
		fmt.Fprintf(&out, "%s with --all\n", wording.Plural(more, "smaller change", "smaller changes"))
	}
	if same > 0 {
		fmt.Fprintln(&out, wording.Plural(same, "group is as it was", "groups are as they were"))
	}
	return out.String()
}

func magnitude(n int) int { return max(n, -n) }

// moved reports that members came or went.
func (r *ComparisonRow) moved() bool {
	return r.Delta != 0 || r.New != nil && *r.New > 0 || r.Gone != nil && *r.Gone > 0
}

// members says who came and went, "" where members cannot be followed.
func (r *ComparisonRow) members() string {
	var out []string
	for _, x := range []struct {
		n    *int
		word string
	}{{r.New, "new"}, {r.Gone, "gone"}} {
		if x.n != nil && *x.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", *x.n, x.word))
		}
	}
	return strings.Join(out, ", ")
}
