package view

import (
	"path"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// sentence: "18 snapshots of 2 processes; times from captured_at (certain); nobody
// has changed anything."
func (m *identityMaker) sentence() string {
	n := 0
	m.each(func(*analysis.Snapshot) { n++ })
	if n == 0 {
		return "No snapshot of any process counts in this case."
	}
	out := []string{wording.PagePlural(int64(n), "snapshot", "snapshots") + " of " + wording.PagePlural(int64(len(m.in.Series)), "process", "processes"), m.timeSources(n)}
	inForce := len(m.in.Said.Effects)
	switch inForce {
	case 0:
		out = append(out, "nobody has changed anything")
	default:
		out = append(out, wording.PagePlural(int64(inForce), "edit is", "edits are")+" in force")
	}
	return strings.Join(out, "; ") + "."
}

// timeSources: "times from file names (medium) and captured_at (certain), 2
// without a time".
func (m *identityMaker) timeSources(n int) string {
	count := map[string]int{}
	var order []string
	untimed := 0
	m.each(func(s *analysis.Snapshot) {
		if s.CapturedAt.IsZero() {
			untimed++
			return
		}
		words := sourceWords(s.TimeFact)
		if count[words] == 0 {
			order = append(order, words)
		}
		count[words]++
	})
	slices.SortStableFunc(order, func(a, b string) int { return count[b] - count[a] })
	switch {
	case untimed == n:
		return "no time is known, the order is that of the names"
	case untimed > 0:
		return "times from " + wording.List(order, 3) + ", " + wording.Exact(int64(untimed)) + " without a time"
	}
	return "times from " + wording.List(order, 3)
}

// sourceWords names the sort of a time's source with its confidence:
//
//	"kubelet-probe-leak/t1/captured_at"  ->  captured_at (certain)
func sourceWords(f analysis.Fact) string {
	source := f.Source
	switch {
	case strings.HasPrefix(source, "entered by a person"):
		return "what people entered"
	case strings.HasPrefix(source, "time inside"):
		source = "inside the files"
	case strings.HasPrefix(source, "file name"):
		source = "the files’ names"
	case strings.HasPrefix(source, "file time"):
		source = "file times in the archive"
	case !strings.Contains(source, " "):
		source = path.Base(source)
	}
	return Visible(source) + " (" + sureWord(string(f.Confidence)) + ")"
}

// sureWord is the word of the bars.
func sureWord(confidence string) string {
	if confidence == string(analysis.High) {
		return "certain"
	}
	return confidence
}

// mind says what could be wrong.
func (m *identityMaker) mind() string {
	var untimed, zoneless, lowTime, lowName, unnamed int64
	m.each(func(s *analysis.Snapshot) {
		switch {
		case s.CapturedAt.IsZero():
			untimed++
		case s.TimeFact.Confidence == analysis.Low:
			lowTime++
		}
		if s.Zoneless && !s.CapturedAt.IsZero() {
			zoneless++
		}
		switch {
		case !s.Process.Name.Known():
			unnamed++
		case s.Process.Name.Confidence == analysis.Low:
			lowName++
		}
	})
	var out []string
	if zoneless > 0 {
		out = append(out, wording.PagePlural(zoneless, "time", "times")+" came without a zone and "+isAre(zoneless)+" taken as "+m.in.Said.Zone.String()+".")
	}
	if untimed > 0 {
		out = append(out, wording.PagePlural(untimed, "snapshot has", "snapshots have")+" no time: the order is that of the names, and rates are per snapshot.")
	}
	if lowTime > 0 {
		out = append(out, "The "+wording.PagePlural(lowTime, "time", "times")+" of low confidence may be those of copying, not of capturing.")
	}
	if lowName > 0 {
		out = append(out, "The program of "+wording.PagePlural(lowName, "snapshot", "snapshots")+" is a guess.")
	}
	if unnamed > 0 {
		out = append(out, "Nothing names the program of "+wording.PagePlural(unnamed, "snapshot", "snapshots")+".")
	}
	if n := int64(len(m.in.Said.Problems)); n > 0 {
		out = append(out, wording.PagePlural(n, "edit changes", "edits change")+" nothing any more; the list below says why.")
	}
	return strings.Join(out, " ")
}

func isAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
