package view

import (
	"cmp"
	"net/url"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// address is a page with what its query chooses: each control of a page is a link to the
// same page with a part of its query changed. A kept page has no address.
type address struct {
	path  string
	query url.Values
	kept  bool
}

// with is the page with parts of its query changed, names and values in turn; an empty
// value drops a part.
func (a *address) with(change ...string) string {
	if a.kept {
		return ""
	}
	q := make(url.Values, len(a.query)+1)
	for k, v := range a.query {
		q[k] = slices.Clone(v)
	}
	for i := 0; i+1 < len(change); i += 2 {
		if q.Set(change[i], change[i+1]); change[i+1] == "" {
			q.Del(change[i])
		}
	}
	return a.path + "?" + q.Encode()
}

// hidden are the parts that a form on the page carries along.
func (a *address) hidden(without ...string) []Pair {
	var out []Pair
	for k, values := range a.query {
		for _, v := range values {
			if !slices.Contains(without, k) {
				out = append(out, Pair{k, v})
			}
		}
	}
	slices.SortStableFunc(out, func(x, y Pair) int { return cmp.Compare(x.Name, y.Name) })
	return out
}

// order is a column by which rows are sorted: names from a to z at first, figures from the
// largest. now is the column that sorts, usual the one where nothing was asked for.
func (a *address) order(text, by, now string, down bool, usual string) DiffHead {
	h := DiffHead{Text: text, Numeric: by != "name"}
	dir := "desc"
	if by == "name" {
		dir = "asc"
	}
	switch {
	case now == by && down, now == "" && by == usual:
		h.Sort, h.Arrow, dir = "descending", "↓", "asc"
	case now == by:
		h.Sort, h.Arrow, dir = "ascending", "↑", "desc"
	}
	h.URL = a.with("sort", by, "dir", dir)
	return h
}

// kinds choose one kind of members, or all families.
func (a *address) kinds(families int, count map[analysis.Kind]int, chosen analysis.Kind) []DiffTab {
	out := []DiffTab{{Text: "All " + wording.Number(int64(families)), URL: a.with("kind", ""), Current: chosen == ""}}
	for _, k := range analysis.Kinds() {
		if count[k] > 0 || k == chosen {
			out = append(out, DiffTab{Text: kindTitle(k) + " " + wording.Number(int64(count[k])), URL: a.with("kind", string(k)), Current: k == chosen})
		}
	}
	return out
}

// shows choose what the figures are.
func (a *address) shows(chosen string) []DiffTab {
	var out []DiffTab
	for _, s := range []struct{ show, text string }{{showMembers, "Members"}, {showBase, "Change to base"}, {showPrevious, "Change to previous"}} {
		out = append(out, DiffTab{Text: s.text, URL: a.with("show", s.show), Current: chosen == s.show})
	}
	return out
}

// pers choose by what the figures are divided, among the loads that fit.
func (a *address) pers(all []Load, chosen *Load, fits func(*Load) bool) []DiffTab {
	out := []DiffTab{{Text: "as counted", URL: a.with("per", ""), Current: chosen == nil}}
	for i := range all {
		if l := &all[i]; fits(l) {
			out = append(out, DiffTab{Text: "per " + l.Words, URL: a.with("per", l.Name), Current: chosen == l})
		}
	}
	return out
}
