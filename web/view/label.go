package view

import (
	"fmt"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// maxLabelRows bounds the pprof labels of a table.
const maxLabelRows = 20

// labelSection is the table of pprof labels, the most frequent first, of so many goroutines.
// address is that of the families with a label, nil without links.
func labelSection(labels []analysis.LabelCount, of int, at string, address func(analysis.Label) string) document.Blocks {
	if len(labels) == 0 {
		return nil
	}
	table := document.Table{
		Look: "data", Label: "Labels", Caption: "pprof labels at " + at, Head: heads("Label", "Goroutines*", "Share*"), Parts: []document.Part{{}},
	}
	for _, l := range labels[:min(len(labels), maxLabelRows)] {
		name := document.Span{Look: document.Literal, Text: Visible(l.String())}
		if address != nil {
			name.URL = address(l.Label)
		}
		table.Parts[0].Rows = append(table.Parts[0].Rows, document.Row{Cells: []document.Cell{
			{Header: true, Look: "wrap", Text: document.Text{name}}, {Look: "num", Name: "Goroutines", Text: document.Words(wording.Number(int64(l.Count)))},
			{Look: "num", Name: "Share", Text: document.Words(wording.PageShare(float64(l.Count), float64(of), 1))},
		}})
	}
	note := "What the program set with pprof.Do."
	if len(labels) > maxLabelRows {
		note = fmt.Sprintf("%d of %d, the most frequent first. %s", maxLabelRows, len(labels), note)
	}
	return document.Blocks{document.NewSection("h-label", "Labels at "+at, note, table)}
}

// labels are those of the families of the snapshot, with links to the families that have them.
func (m *snapshotMaker) labels() document.Blocks {
	if m.main() != analysis.KindGoroutine {
		return nil
	}
	counts, of := map[analysis.Label]int{}, 0
	for i := range m.in.Snapshot.Groups {
		g := &m.in.Snapshot.Groups[i]
		if g.Family == nil || g.Family.Kind != analysis.KindGoroutine {
			continue
		}
		of += g.Count
		for _, l := range m.in.Snapshot.Labels[g.Family.Fingerprint] {
			counts[l.Label] += l.Count
		}
	}
	var address func(analysis.Label) string
	if !m.in.Frozen {
		address = func(l analysis.Label) string {
			return m.here.with("q", filter.Is(filter.Label, l.String()))
		}
	}
	return labelSection(analysis.RankLabels(counts), of, Visible(m.in.Snapshot.Label), address)
}

// partLabels are the different labels of the goroutines of an object, as people write them.
func partLabels(parts []report.ObjectPart) string {
	var words []string
	for i := range parts {
		for _, l := range parts[i].Labels {
			words = append(words, Visible(l.String()))
		}
	}
	slices.Sort(words)
	return wording.Commas(slices.Compact(words), maxObjectParts)
}
