package view

import (
	"cmp"
	"slices"
)

// Choice is one entry of a select box.
type Choice struct {
	Value, Text string
	// Label is how a person names the snapshot: "t3". Text begins with it.
	Label string
	// Group is the process that the entry belongs to.
	Group string
}

// ChoiceGroup is the entries of one process.
type ChoiceGroup struct {
	Name    string
	Choices []Choice
}

func groupChoices(choices []Choice) []ChoiceGroup {
	var out []ChoiceGroup
	for _, c := range choices {
		if n := len(out); n == 0 || out[n-1].Name != c.Group {
			out = append(out, ChoiceGroup{Name: c.Group})
		}
		last := &out[len(out)-1]
		last.Choices = append(last.Choices, c)
	}
	return out
}

// maxChoices is the number of snapshots a select box offers. The others are found by their
// label. nearChoices are offered on both sides of what is chosen.
const (
	maxChoices  = 200
	nearChoices = 5
)

// fewChoices are the snapshots that a select box offers: all where there are not many,
// else those to keep with their neighbours, and of each process the first, the last and
// some evenly spread. Missing says that there are others.
func fewChoices(all []Choice, keep ...string) (out []Choice, missing bool) {
	if len(all) <= maxChoices {
		return all, false
	}
	kept, n := make([]bool, len(all)), 0
	add := func(i int, most int) {
		if !kept[i] && n < most {
			kept[i], n = true, n+1
		}
	}
	groups := 0
	for i, c := range all {
		if i == 0 || all[i-1].Group != c.Group {
			groups++
		}
		if c.Value != "" && slices.Contains(keep, c.Value) {
			for k := max(i-nearChoices, 0); k <= min(i+nearChoices, len(all)-1); k++ {
				add(k, len(all))
			}
		}
	}
	most := max(maxChoices, n)
	each := max((maxChoices-n)/groups, 2)
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].Group == all[from].Group {
			to++
		}
		for k := range each {
			add(from+k*(to-1-from)/(each-1), most)
		}
		from = to
	}
	for i, c := range all {
		if kept[i] {
			out = append(out, c)
		}
	}
	return out, true
}

// Named finds the snapshot that somebody names by its id or its label: "t3", or
// "kubelet t3". Of several with the label it is that of the process of near, else the
// first. What names none is given back.
func Named(all []Choice, text, near string) string {
	process := ""
	if i := slices.IndexFunc(all, func(c Choice) bool { return c.Value == near }); i >= 0 {
		process = all[i].Group
	}
	first, own := "", ""
	for _, c := range all {
		if c.Value == text {
			return text
		}
		if c.Label != text && c.Group+" "+c.Label != text {
			continue
		}
		first = cmp.Or(first, c.Value)
		if c.Group == process {
			own = cmp.Or(own, c.Value)
		}
	}
	return cmp.Or(own, first, text)
}

// few are the entries with the given numbers, all where there are none.
func few[T any](all []T, numbers []int) []T {
	if numbers == nil {
		return all
	}
	var out []T
	for _, i := range numbers {
		if i < len(all) {
			out = append(out, all[i])
		}
	}
	return out
}
