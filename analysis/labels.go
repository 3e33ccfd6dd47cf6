package analysis

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Labels are the pprof labels of a goroutine as a JSON object in the order of its keys, ""
// without any. Equal sets are equal.
//
//	{"svc":"db","tenant":"a"}
type Labels string

// Label is one of them.
type Label struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// mostLabels and longestLabel bound what is kept of the labels of one goroutine.
const (
	mostLabels   = 16
	longestLabel = 200
)

// LabelsOf returns the set of a map. Of more than 16 labels the first by name are kept, and of
// a longer text the first 200 bytes.
func LabelsOf(labels map[string]string) Labels {
	if len(labels) == 0 {
		return ""
	}
	kept := make(map[string]string, min(len(labels), mostLabels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if len(kept) < mostLabels {
			kept[clipLabel(key)] = clipLabel(labels[key])
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return ""
	}
	return Labels(text)
}

func clipLabel(s string) string {
	if len(s) <= longestLabel {
		return s
	}
	return strings.ToValidUTF8(s[:longestLabel], "") + "…"
}

// List returns the labels by key, none of a text that LabelsOf did not make.
func (l Labels) List() []Label {
	if l == "" {
		return nil
	}
	var labels map[string]string
	if json.Unmarshal([]byte(l), &labels) != nil {
		return nil
	}
	var out []Label
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, Label{key, labels[key]})
	}
	return out
}

// String is the list as people write it.
//
//	"svc=db tenant=a"
func (l Labels) String() string {
	var words []string
	for _, label := range l.List() {
		words = append(words, label.String())
	}
	return strings.Join(words, " ")
}

// String is the label as people write it: "tenant=a".
func (l Label) String() string { return l.Key + "=" + l.Value }

// Labelled returns the entry of Members.States for a state with labels.
func Labelled(state string, labels Labels) string {
	if labels == "" {
		return state
	}
	return state + labelSign + string(labels)
}

// labelSign stands between a state and labels. The runtime prints no such state.
const labelSign = "\x00"

// CutLabels splits an entry of Members.States.
func CutLabels(entry string) (state string, labels Labels) {
	state, rest, _ := strings.Cut(entry, labelSign)
	return state, Labels(rest)
}

// LabelSets yields the label sets of members, one of equal sets in each variant at least. It
// costs what the states do, not what the members do.
func (m *Members) LabelSets() iter.Seq[Labels] {
	return func(yield func(Labels) bool) {
		entries := func(states []uint16) bool {
			for _, state := range states {
				if _, labels := CutLabels(m.States[state]); labels != "" && !yield(labels) {
					return false
				}
			}
			return true
		}
		for _, p := range m.Packed {
			if !entries(p.States()) {
				return
			}
		}
		if m.Columns == nil {
			return
		}
		for _, entry := range m.States {
			if _, labels := CutLabels(entry); labels != "" && !yield(labels) {
				return
			}
		}
	}
}

// LabelCount is on how many goroutines a label is.
type LabelCount struct {
	Label
	Count int `json:"count"`
}

// mostLabelCounts bounds the labels that are counted of one family: a label for each request
// explains nothing.
const mostLabelCounts = 200

// LabelCounts counts each label of some sets, whose numbers of goroutines are given: the most
// frequent ones first, at most 200.
func LabelCounts(sets map[Labels]int) []LabelCount {
	counts := map[Label]int{}
	for set, n := range sets {
		for _, label := range set.List() {
			counts[label] += n
		}
	}
	ranked := RankLabels(counts)
	return slices.Clip(ranked[:min(len(ranked), mostLabelCounts)])
}

// RankLabels lists labels with their numbers of goroutines, the most frequent first.
func RankLabels(counts map[Label]int) []LabelCount {
	out := make([]LabelCount, 0, len(counts))
	for label, n := range counts {
		out = append(out, LabelCount{label, n})
	}
	slices.SortFunc(out, func(a, b LabelCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
	})
	return out
}
