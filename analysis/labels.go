package analysis

import (
	"encoding/json"
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
		words = append(words, label.Key+"="+label.Value)
	}
	return strings.Join(words, " ")
}

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

// Labelled reports whether a member may have labels. It costs what the states do.
func (m *Members) Labelled() bool {
	return slices.ContainsFunc(m.States, func(entry string) bool { return strings.Contains(entry, labelSign) })
}
